package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
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

// addLogs adds what log files say, together, and the goroutine dumps that stand in them.
func (a *app) addLogs(in *input, names []string) {
	if len(names) == 0 {
		return
	}
	for _, name := range names {
		if dumps, _ := readDumps(name); len(dumps) > 0 {
			in.add(forensics.Evidence{Dumps: dumps, Coverage: []forensics.Source{{
				Source: forensics.SourceGoroutines + ":" + name, Status: forensics.SourceRead, Detail: "found in the log",
			}}})
		}
	}
	opt := logs.Options{Now: time.Now(), Zone: time.Local}
	for _, f := range in.addSources(logSources(names, opt), opt).Files {
		var err error
		status := forensics.SourceStatus(f.Status)
		if status != forensics.SourceRead {
			err = errors.New(cmp.Or(f.Detail, f.Status))
		}
		in.took(a, status.Usable(), f.Path, err)
	}
}

// addLogText adds a log that is held in memory.
func (in *input) addLogText(name string, text []byte) {
	_, _ = in.addDumps(name, text) // a log may hold a dump, and mostly does not
	in.addSources([]logs.Source{{Path: name, Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(text)), nil
	}}}, logs.Options{Now: time.Now(), Zone: time.Local})
}

// addSources reads logs into the evidence.
func (in *input) addSources(sources []logs.Source, opt logs.Options) logs.Story {
	story := logs.Read(in.ctx, sources, opt)
	part, _ := forensics.LogsEvidence(story)
	in.add(part)
	return story
}
