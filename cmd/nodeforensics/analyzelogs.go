package main

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"os"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// logHead is how much of a file is looked at to see whether it is a log.
const logHead = 64 << 10

// isLog says whether a file is a log, by its beginning. Standard input can be read only once and is looked at later.
func isLog(name string) bool {
	if name == "-" {
		return false
	}
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return false
	}
	text, err := io.ReadAll(io.LimitReader(f, logHead))
	return err == nil && (logs.IsCompressed(text) || logs.Recognise(text))
}

// addLogs adds what log files say, together, and the goroutine dumps that stand in them. It returns how many could be
// read.
func (a *app) addLogs(e *forensics.Evidence, names []string) (read int) {
	if len(names) == 0 {
		return 0
	}
	opt := logs.Options{Now: time.Now(), Zone: time.Local}
	for _, name := range names {
		if dumps, _ := readDumps(name); len(dumps) > 0 {
			e.Merge(forensics.Evidence{Dumps: dumps, Coverage: []forensics.Source{{
				Source: forensics.SourceGoroutines + ":" + name, Status: forensics.SourceRead, Detail: "found in the log",
			}}})
		}
	}
	for _, f := range mergeLogs(e, logSources(names, opt), opt).Files {
		if status := forensics.SourceStatus(f.Status); status != forensics.SourceRead {
			a.complain("%s: %s", printable(f.Path), printable(cmp.Or(f.Detail, f.Status)))
			if !status.Usable() {
				continue
			}
		}
		read++
	}
	return read
}

// addLogText adds a log that is held in memory.
func (in *input) addLogText(name string, text []byte) {
	_, _ = in.addDumps(name, text) // a log may hold a dump, and mostly does not
	mergeLogs(in.evidence, []logs.Source{{Path: name, Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(text)), nil
	}}}, logs.Options{Now: time.Now(), Zone: time.Local})
}

// mergeLogs reads logs into the evidence, which is masked when all files are in it.
func mergeLogs(e *forensics.Evidence, sources []logs.Source, opt logs.Options) logs.Story {
	story := logs.Read(context.Background(), sources, opt)
	part, _ := forensics.LogsEvidence(story)
	e.Merge(part)
	return story
}
