// Package read recognises saved files by their content and adds them to the evidence: evidence and report JSON of
// nodeforensics, goroutine dumps in every form, a mount table (/proc/PID/mountinfo), the kubelet's list of pods, objects
// of the API (kubectl get -o json), and logs in any form, and what tools of the system print (mount, findmnt, df, ps, kernel stacks), also between other lines. All may be compressed (gzip, zstd, bzip2, xz), and members of
// archives (tar, zip) or of directories.
//
// [Files] reads whole files, of one node or of several. The other functions parse one kind, whose source is known, into evidence
// that has nothing else; [forensics.Evidence.Merge] adds it.
//
// Untrusted files cannot fill the memory. JSON is limited in bytes and in its decoded size, and mount tables in bytes.
// Dumps and logs are read as streams. Secrets are masked by [Redact].
package read

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// What is read of one file at most. All else is read without being held in memory.
const (
	// maxUnlabelledJSON is how many bytes of JSON are read that does not say at its beginning what it is.
	maxUnlabelledJSON = 32_000_000
	// maxMountTable is how many bytes of a mount table are read, some 120,000 mounts; Linux allows 100,000 in a namespace
	// (fs.mount-max).
	maxMountTable = 24_000_000
)

// A File is something that was saved.
type File struct {
	// Name is what errors and the evidence call it: a path, or "-" for standard input.
	Name string
	// Open opens it at its beginning. A log is opened several times, and a Stream once.
	Open func() (Content, error)
	// Stream says that it can be read only once, as a pipe can.
	Stream bool

	// member says that nobody has named it: it is of an archive or a directory. far says that it can be opened again only by
	// reading all that stands before it.
	member, far bool
}

// Content is an open file. Of a log, one that is an [io.Seeker] and [io.ReaderAt], too, is read from where the wanted time begins.
type Content interface {
	io.ReadCloser
	// Size is how many bytes there are; 0 where that is unknown.
	Size() int64
	// ModTime is when it was saved; zero where that is unknown.
	ModTime() time.Time
}

// FSFile is a file of a file system, such as [os.DirFS] gives.
func FSFile(fsys fs.FS, name string) File {
	return File{Name: name, Open: func() (Content, error) {
		f, err := fsys.Open(name)
		if err != nil {
			return nil, err
		}
		info, err := f.Stat()
		if err != nil {
			_ = f.Close()
			return nil, err
		}
		return fsContent{f, info}, nil
	}}
}

type fsContent struct {
	fs.File
	info fs.FileInfo
}

func (c fsContent) Size() int64        { return c.info.Size() }
func (c fsContent) ModTime() time.Time { return c.info.ModTime() }

// Options say how [Files] reads. The zero value will do.
type Options struct {
	// Now is the time now, for logs whose lines have no year; see [logs.Options].
	Now time.Time
	// Since leaves out older lines of logs; zero is no bound.
	Since time.Time
	// Zone returns the zone of the node's clock, for logs whose lines name none; nil is UTC. It is called if there is a log.
	Zone func() *time.Location
	// Only is the source of which something is to be read ([forensics.SourceLogs] or [forensics.SourceGoroutines]); "" is all.
	// Then files that were named are read as such, whatever they look like.
	Only string
}

func (o Options) logs() logs.Options {
	opt := logs.Options{Now: o.Now, Since: o.Since}
	if o.Zone != nil {
		opt.Zone = o.Zone()
	}
	return opt
}

// A Result says whether a file could be used.
type Result struct {
	Name string
	// Kind is what the file was: "report", "evidence", or the name of a source ([forensics.SourceGoroutines],
	// [forensics.SourceLogs] and others). It is empty for an unrecognized file.
	Kind string
	// Used says that the file is part of the evidence, at least in part.
	Used bool
	// Err says why the file, or with Used a part of it, could not be used. It comes without the name.
	Err error
}

// patience is how long after the end of its context Files waits for logs, which come to an end by themselves.
const patience = 4 * time.Second

// Files recognises files and returns what they say, each node's apart, in the order in which nodes were found; there is always
// one. What names no node belongs to the only node there is. If there are several, it comes last, without a name; of objects
// of the API, each node gets its own.
//
// The results are in the order in which the files were read, logs last; when the context ends, files that were not read
// completely are missing.
func Files(ctx context.Context, opt Options, files ...File) ([]forensics.Evidence, []Result) {
	r := &reader{opt: opt}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.files(ctx, files)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		select {
		case <-done:
		case <-time.After(patience):
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return r.byNode(), r.results
}

// reader puts evidence together. What it reads after it was closed is lost.
type reader struct {
	opt   Options
	logs  logs.Reader
	file  string // that is read now
	node  string // which it names; "" if it names none
	inLog []dumpInLog
	// events are the files of which events were found among objects of the API.
	events map[string]bool

	mu      sync.Mutex
	parts   []part
	stories []logs.Story
	results []Result
	closed  bool
}

// A part is what one file says.
type part struct {
	file, node string
	forensics.Evidence
	system *systemText // what is joined when all was read; nil for most files
}

func (r *reader) files(ctx context.Context, files []File) {
	x := &expander{ctx: ctx, now: r.opt.Now, visit: r.visit, fail: func(name string, err error) { r.finish(Result{Name: name, Err: err}) }}
	for _, f := range files {
		func() {
			defer r.recover(f.Name)
			x.expand(f, true)
		}()
	}
	r.readLogs(ctx)
}

// recover is deferred while a file is read, which may be hostile: an error in its reader must not keep the others from being read.
func (r *reader) recover(name string) {
	if p := recover(); p != nil {
		r.finish(Result{Name: name, Err: fmt.Errorf("internal error, skipped: %v", p)})
	}
}

func (r *reader) finish(got Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.results = append(r.results, got)
	}
}

// add takes over what a file says.
func (r *reader) add(e forensics.Evidence) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.parts = append(r.parts, part{r.file, r.node, e, nil})
	}
}

// addSystem takes over what tools of the system have printed in a file, and says whether that was anything.
func (r *reader) addSystem(file, node string, x *systemText) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed && x.seen != nil {
		r.parts = append(r.parts, part{file: file, node: node, system: x})
	}
	return x.seen != nil
}

// counter counts the bytes that are read.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
