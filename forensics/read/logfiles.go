package read

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// dumpInLog is the memory for the stacks of a dump that stands in a log, in bytes.
const dumpInLog = 24 << 20

// logFiles adds what log files say, together, and the goroutine dumps that stand in them.
func (r *reader) logFiles(ctx context.Context, files []File) {
	if len(files) == 0 {
		return
	}
	for _, f := range files {
		if dumps := dumpsInLog(f); len(dumps) > 0 {
			r.add(foundInLog(f.Name, dumps))
		}
	}
	opt := r.opt.logs()
	for _, f := range r.logs(ctx, LogSources(files, opt), opt).Files {
		got := Result{Name: f.Path, Kind: forensics.SourceLogs}
		status := forensics.SourceStatus(f.Status)
		got.Used = status.Usable()
		if status != forensics.SourceRead {
			got.Err = errors.New(cmp.Or(f.Detail, f.Status))
		}
		r.finish(got)
	}
}

// dumpsInLog are the goroutine dumps in a log, which mostly has none.
func dumpsInLog(f File) []forensics.Dump {
	content, err := f.Open()
	if err != nil {
		return nil
	}
	defer func() { _ = content.Close() }()
	dumps, _ := Dumps(f.Name, content, goroutines.Digester{Bytes: dumpInLog})
	return dumps
}

// logStream adds a log that can be read only once, and the goroutine dumps in it.
func (r *reader) logStream(ctx context.Context, d document) (used bool, err error) {
	out, copied := io.Pipe()
	dumps := make(chan []forensics.Dump, 1)
	go func() {
		found, _ := Dumps(d.name, out) // a log may hold a dump, and mostly does not
		_, _ = io.Copy(io.Discard, out)
		dumps <- found
	}()
	both := io.TeeReader(d.text, copied)
	r.logs(ctx, []logs.Source{{Path: d.name, Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(both), nil
	}}}, r.opt.logs())
	_, _ = io.Copy(io.Discard, both)
	_ = copied.Close()
	if found := <-dumps; len(found) > 0 {
		r.add(foundInLog(d.name, found))
	}
	return true, nil
}

func foundInLog(name string, dumps []forensics.Dump) forensics.Evidence {
	return forensics.Evidence{Dumps: dumps, Coverage: []forensics.Source{{
		Source: forensics.SourceGoroutines + ":" + name, Status: forensics.SourceRead, Detail: "found in the log",
	}}}
}

// logs reads logs into the evidence.
func (r *reader) logs(ctx context.Context, sources []logs.Source, opt logs.Options) logs.Story {
	story := logs.Read(ctx, sources, opt)
	part, _ := Logs(story)
	r.add(part)
	return story
}

// LogSources are log files as [logs.Read] takes them, in the order of their first lines if all can be opened twice and have
// times. Files of archives and directories that are no logs are left out.
func LogSources(files []File, opt logs.Options) []logs.Source {
	type dated struct {
		source logs.Source
		first  time.Time
	}
	var list []dated
	for _, f := range files {
		first, isLog, err := look(f, opt)
		if !isLog {
			continue
		}
		source := logSource(f)
		if err != nil { // it may have taken its time to fail
			source.Open = func(context.Context) (io.ReadCloser, error) { return nil, err }
		}
		list = append(list, dated{source, first})
	}
	if !slices.ContainsFunc(list, func(d dated) bool { return d.first.IsZero() }) {
		sorting.Stable(list, func(a, b dated) int { return a.first.Compare(b.first) })
	}
	sources := make([]logs.Source, 0, len(list))
	for _, d := range list {
		sources = append(sources, d.source)
	}
	return sources
}

func logSource(f File) logs.Source {
	origin := ""
	if strings.Contains(f.Name, "controller-manager") {
		origin = "kube-controller-manager"
	}
	return logs.Source{Path: f.Name, Origin: origin, Open: func(context.Context) (io.ReadCloser, error) { return f.Open() }}
}

// look opens a file once, since those of an archive are found by reading all before them: it returns the time of the first
// lines, zero where there is none or it cannot be known beforehand, and whether a file that nobody has named is a log.
func look(f File, opt logs.Options) (first time.Time, isLog bool, err error) {
	if f.Stream {
		return time.Time{}, true, nil
	}
	content, err := f.Open()
	if err != nil {
		return time.Time{}, !f.member, err
	}
	defer func() { _ = content.Close() }()
	if !f.member {
		return logs.FirstTime(content, opt), true, nil
	}
	head := make([]byte, headSize)
	n, _ := io.ReadFull(content, head)
	head = head[:n]
	first = logs.FirstTime(&memberContent{Reader: bytes.NewReader(head), saved: content.ModTime()}, opt)
	if logs.IsCompressed(head) {
		head = unpackedHead(head)
	}
	return first, logs.Recognise(head), nil
}
