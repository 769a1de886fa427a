package read

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// manyStacks is the memory for the stacks of a dump that stands in a log, or of the only thing that is wanted, in bytes: twice
// as much as in a report, which somebody is to open.
const manyStacks = 24 << 20

// A dumpInLog is a goroutine dump that was found in a log.
type dumpInLog struct {
	file  string
	dumps []forensics.Dump
}

// addLog takes a log, of which the beginning was looked at. It returns true.
func (r *reader) addLog(ctx context.Context, f File, content Content, text *bufio.Reader, err error) bool {
	if r.logs.Options.Zone == nil {
		r.logs.Options = r.opt.logs()
	}
	if !f.far && !f.Stream { // what was looked at is opened again, and not kept until then
		content, text = nil, nil
	}
	src := logs.Source{Path: f.Name, Node: r.node, Once: f.Stream, Far: f.far, Open: func(context.Context) (io.ReadCloser, error) {
		if err != nil {
			return nil, err
		}
		if content != nil {
			first := &rest{notClosed{content}, text}
			content, text = nil, nil
			return first, nil
		}
		return f.Open()
	}}
	if strings.Contains(f.Name, "controller-manager") {
		src.Origin = "kube-controller-manager"
	}
	_, small := content.(*inMemory)
	if searched := false; r.opt.Only == "" {
		src.Copy = func() io.WriteCloser {
			if searched {
				return nil
			}
			searched = true
			return r.findStacks(f.Name, small)
		}
	}
	r.logs.Add(ctx, src)
	return true
}

// notClosed is closed by somebody else.
type notClosed struct{ Content }

func (notClosed) Close() error { return nil }

// readLogs adds what the logs say, and the goroutine dumps that stand in them.
func (r *reader) readLogs(ctx context.Context) {
	r.mu.Lock()
	var nodes []string
	for _, p := range r.parts {
		nodes = append(nodes, p.node)
	}
	r.mu.Unlock()
	stories := r.logs.Stories(ctx, nodes...)
	nodeOf := map[string]string{} // by the file, "" where it has lines of several
	for _, s := range stories {
		for _, f := range s.Files {
			if _, ok := nodeOf[f.Path]; ok {
				nodeOf[f.Path] = ""
				continue
			}
			nodeOf[f.Path] = s.Node
			if f.Format == "event" && r.events[f.Path] { // the objects of the API, of which the result was told
				continue
			}
			got := Result{Name: f.Path, Kind: forensics.SourceLogs}
			status := forensics.SourceStatus(f.Status)
			got.Used = status.Usable() || status == forensics.SourceTimeout && f.Bytes > 0 // its beginning
			if status != forensics.SourceRead {
				got.Err = errors.New(cmp.Or(f.Detail, f.Status))
			}
			r.finish(got)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	r.stories = stories
	for i, p := range r.parts {
		if p.system != nil && p.node == "" {
			r.parts[i].node = nodeOf[p.file]
		}
	}
	for _, found := range r.inLog {
		r.parts = append(r.parts, part{found.file, nodeOf[found.file], forensics.Evidence{Dumps: found.dumps, Coverage: []forensics.Source{{
			Source: forensics.SourceGoroutines + ":" + found.file, Status: forensics.SourceRead, Detail: "found in the log",
		}}}, nil})
	}
}

// findStacks looks for goroutine dumps and for kernel stacks in what is written, until it is closed. Kernel stacks of a small text were
// found before.
func (r *reader) findStacks(name string, small bool) io.WriteCloser {
	out, in := io.Pipe()
	done := make(chan []forensics.Dump, 1)
	go func() {
		dumps, _ := Dumps(name, out, goroutines.Digester{Bytes: manyStacks}) // a log mostly has none
		_, _ = io.Copy(io.Discard, out)
		done <- dumps
	}()
	f := &finder{in: in, done: func() {
		if dumps := <-done; len(dumps) > 0 {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.inLog = append(r.inLog, dumpInLog{name, dumps})
		}
	}}
	if !small {
		f.kernel = newLogStacks(name)
		f.found = func() {
			f.kernel.end()
			r.addSystem(name, "", f.kernel.to)
		}
	}
	f.stackFilter = newStackFilter(f.take, f.skipped)
	return f
}

// A finder takes a log for what looks for stacks of goroutines and of the kernel.
type finder struct {
	*stackFilter
	in     *io.PipeWriter // of the goroutines
	done   func()         // waits for them
	kernel logStacks      // its zero value takes nothing
	found  func()         // of the kernel
}

func (f *finder) take(text []byte) error {
	if f.kernel.stackReader != nil {
		f.kernel.write(text)
	}
	_, err := f.in.Write(text)
	return err
}

func (f *finder) skipped(lines int) error {
	if f.kernel.stackReader != nil {
		f.kernel.skip(lines)
	}
	return skipLines(f.in, lines)
}

// Close waits for what was found.
func (f *finder) Close() error {
	err := errors.Join(f.stackFilter.Close(), f.in.Close())
	if f.found != nil {
		f.found()
	}
	f.done()
	return err
}
