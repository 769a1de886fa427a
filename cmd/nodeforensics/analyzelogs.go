package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/read"
)

// logHead is how much of a file is looked at to see whether it is a log.
const logHead = 64 << 10

// isLog says whether a file is a log, by its beginning. Standard input can be read only once and is looked at later.
func isLog(name string) (bool, error) {
	if isStream(name) {
		return false, nil
	}
	f, err := openInput(name)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, logHead))
	return err == nil && (logs.IsCompressed(text) || logs.Recognise(text)), err
}

// addLogs adds what log files say, together, and the goroutine dumps that stand in them.
func (a *app) addLogs(in *input, names []string) {
	if len(names) == 0 {
		return
	}
	for _, name := range names {
		if dumps, _ := readDumps(name); len(dumps) > 0 {
			in.add(foundInLog(name, dumps))
		}
	}
	opt := logs.Options{Now: time.Now(), Zone: localZone()}
	for _, f := range in.addSources(logSources(names, opt), opt).Files {
		var err error
		status := forensics.SourceStatus(f.Status)
		if status != forensics.SourceRead {
			err = errors.New(cmp.Or(f.Detail, f.Status))
		}
		in.took(a, status.Usable(), f.Path, err)
	}
}

// addLogText adds a log that can be read only once, and the goroutine dumps in it.
func (in *input) addLogText(name string, text io.Reader) {
	out, copied := io.Pipe()
	dumps := make(chan []forensics.Dump, 1)
	go func() {
		found, _ := read.Dumps(name, out) // a log may hold a dump, and mostly does not
		_, _ = io.Copy(io.Discard, out)
		dumps <- found
	}()
	both := io.TeeReader(text, copied)
	in.addSources([]logs.Source{{Path: name, Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(both), nil
	}}}, logs.Options{Now: time.Now(), Zone: localZone()})
	_, _ = io.Copy(io.Discard, both)
	_ = copied.Close()
	if found := <-dumps; len(found) > 0 {
		in.add(foundInLog(name, found))
	}
}

func foundInLog(name string, dumps []forensics.Dump) forensics.Evidence {
	return forensics.Evidence{Dumps: dumps, Coverage: []forensics.Source{{
		Source: forensics.SourceGoroutines + ":" + name, Status: forensics.SourceRead, Detail: "found in the log",
	}}}
}

// addSources reads logs into the evidence.
func (in *input) addSources(sources []logs.Source, opt logs.Options) logs.Story {
	story := logs.Read(in.ctx, sources, opt)
	part, _ := read.Logs(story)
	in.add(part)
	return story
}
