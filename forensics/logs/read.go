package logs

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"
)

// A Source is one log that can be read: a file, a journal, standard input.
type Source struct {
	// Path is how quotes name it.
	Path string
	// Origin is who writes it, as in [File]; "" when only its content tells.
	Origin string
	// AnyWriter is that of [File].
	AnyWriter bool
	// Unit is the systemd service of the kubelet, without the suffix, where it is none of [KubeletUnits]; "" otherwise.
	Unit string
	// Node is the node that wrote it, where its place tells so; "" otherwise.
	Node string
	// Once says that it can be opened only once, and Far that opening it costs much, as of a file far behind in an archive.
	// [Reader] heeds both.
	Once, Far bool
	// dating is what other logs of the node tell of its year; nil if they tell nothing.
	dating *dating
	// kept is what was kept of it; nil if it is to be opened.
	kept *kept
	// Copy is asked for when the log begins to be read; what it returns gets the text, decompressed, and is closed at the end. nil
	// is nobody.
	Copy func() io.WriteCloser
	// Open begins to read it. It may block. What it returns may know more than its bytes: when the log was written last
	// (ModTime() time.Time), at the end what happened to it while it was read (Changed(read int64) string, "" for nothing),
	// the place where a time begins ([io.ReaderAt], [io.Seeker] and Size() int64), and that it holds records of a journal, of
	// which only so many were asked for and which have no numbers (MaxRecords() int64).
	Open func(context.Context) (io.ReadCloser, error)
}

// An input may know more than its bytes.
type (
	// modTimer tells when the log was written last.
	modTimer interface{ ModTime() time.Time }
	// changer tells, at the end, what happened to the log while it was read; "" is nothing.
	changer interface{ Changed(read int64) string }
	// seeker finds the place in a large log where a time begins.
	seeker interface {
		io.ReaderAt
		io.Seeker
		Size() int64
	}
	// limiter tells how many records of a journal were asked for: the newest.
	limiter interface{ MaxRecords() int64 }
)

// Options say what [Read] reads.
type Options struct {
	// Since and Until bound the times that count; zero is no bound. Lines without a time follow the line above them.
	Since, Until time.Time
	// Now is when the logs were collected: what has no year is not later. Zero is the current year's end for nobody: a
	// log without dates then has no times.
	Now time.Time
	// Zone is the zone of the node's clock, for times that name none; UTC by default.
	Zone *time.Location
	// Boot is when the node was booted, for the kernel's own times; zero when unknown.
	Boot time.Time
	// Do makes the call that reads a log, under a name. Of a log on a mount that does not answer it never returns: then Do
	// returns an error that wraps that of ctx when ctx ends. By default the call is made as it is, and left behind.
	Do func(ctx context.Context, name string, read func() error) error
	// Stall is how long a log may give nothing before it is left behind, and the next one is read; 0 is for ever.
	Stall time.Duration
	// Workers is how many goroutines look at lines; as many as there are processors by default.
	Workers int
}

func (o Options) withDefaults() Options {
	o.Workers = cmp.Or(o.Workers, min(runtime.GOMAXPROCS(0), 16))
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	if o.Do == nil {
		o.Do = do
	}
	return o
}

// do makes a call in the goroutine that it is called in. A panic is returned as an error: what is read may be hostile.
func do(ctx context.Context, name string, read func() error) (err error) {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: not started: %w", name, err)
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: panic: %v", name, p)
		}
	}()
	return read()
}

// Read reads logs, one after another, and tells what they say. Several files of one log belong into one call, oldest
// first. What cannot be read is told in [Story.Files]. When ctx ends, the story is of what was read until then.
func Read(ctx context.Context, sources []Source, opt Options) Story {
	folder := newFolder()
	r := newReader(opt, nil, func(path string, f *found) {
		if f.known {
			folder.add(path, f.occurrence)
		} else {
			folder.seen(path, f.entry)
		}
	})
	defer r.close()
	files := make([]File, 0, len(sources))
	for _, src := range sources {
		files = append(files, r.file(ctx, src))
	}
	story := folder.story(files)
	story.spanFiles()
	return story
}

// spanFiles sets the times of the story to those of its files.
func (s *Story) spanFiles() {
	s.First, s.Last = nil, nil
	for _, f := range s.Files {
		if f.First != nil && (s.First == nil || f.First.Before(*s.First)) {
			s.First = f.First
		}
		if f.Last != nil && (s.Last == nil || f.Last.After(*s.Last)) {
			s.Last = f.Last
		}
	}
}

// scanAll scans chunks until the end.
func scanAll(work <-chan *chunk, end <-chan struct{}) {
	for {
		select {
		case c := <-work:
			c.scan()
			close(c.done)
		case <-end:
			return
		}
	}
}

// reader is one run of Read.
type reader struct {
	opt   Options
	words []string // nil: those of all messages that are known
	// tell takes what was found, in order.
	tell func(path string, f *found)
	work chan *chunk
	end  chan struct{}
	// keep keeps what is read; nil mostly.
	keep *keptWriter
	// kept is called when more of a log was kept.
	kept func()
	// free are buffers for chunks; how many there are bounds the memory.
	free chan []byte
	// matchers are what logs were searched with, by the program that wrote them.
	matchers struct {
		sync.Mutex
		of map[string]*matcher
	}
}

// shortLog is the length of a log, in bytes, that takes less time to search than a matcher of its own takes to make.
const shortLog = 32 << 10

// wordsOfAll finds the words of all messages that are known.
var wordsOfAll = sync.OnceValue(func() *matcher { return newMatcher(literals(), nil) })

// matcher is for a log that begins like the sample. Logs of one program are alike, so that the first one lays the windows for all.
func (r *reader) matcher(origin string, sample []byte) *matcher {
	if r.words == nil && len(sample) < shortLog {
		return wordsOfAll()
	}
	r.matchers.Lock()
	defer r.matchers.Unlock()
	m, ok := r.matchers.of[origin]
	if !ok {
		words := r.words
		if words == nil {
			words = literals()
		}
		m = newMatcher(words, sample)
		if r.matchers.of == nil {
			r.matchers.of = map[string]*matcher{}
		}
		r.matchers.of[origin] = m
	}
	return m
}

func newReader(opt Options, words []string, tell func(path string, f *found)) *reader {
	r := &reader{opt: opt.withDefaults(), words: words, tell: tell, work: make(chan *chunk), end: make(chan struct{})}
	r.free = make(chan []byte, 2*r.opt.Workers+2)
	for range cap(r.free) {
		r.free <- nil // made when it is needed
	}
	for range r.opt.Workers {
		go scanAll(r.work, r.end)
	}
	return r
}

// close ends the workers. A producer that is stuck is left behind.
func (r *reader) close() { close(r.end) }

// A reading is that of one source, from its beginning on.
type reading struct {
	ctx      context.Context
	cancel   context.CancelFunc
	progress *progress
	producer *producer
	chunks   chan *chunk
	ended    chan error // when chunks is closed
}

// file reads one source to its end and folds what it says.
func (r *reader) file(ctx context.Context, src Source) File { return r.rest(r.begin(ctx, src)) }

// begin begins to read a source. As much is read ahead as there are buffers for.
func (r *reader) begin(ctx context.Context, src Source) *reading {
	of := &reading{
		progress: &progress{File: File{Path: src.Path, Origin: cmp.Or(src.Origin, "unknown"), AnyWriter: src.AnyWriter, Status: "read"}, shapes: map[string]int{}, mixed: src.Origin == ""},
		chunks:   make(chan *chunk, cap(r.free)),
		ended:    make(chan error, 1),
	}
	of.ctx, of.cancel = context.WithCancel(ctx)
	producer := &producer{r: r, src: src, chunks: of.chunks}
	of.producer = producer
	go func() {
		of.ended <- r.opt.Do(of.ctx, "log "+src.Path, func() error {
			defer close(of.chunks)
			if src.kept != nil {
				return producer.again(of.ctx)
			}
			return producer.run(of.ctx)
		})
	}()
	return of
}

// rest folds what a source says, to its end.
func (r *reader) rest(of *reading) File {
	defer of.cancel()
	p, producer := of.progress, of.producer
	for {
		var stalled <-chan time.Time
		if r.opt.Stall > 0 {
			stalled = time.After(r.opt.Stall)
		}
		select {
		case <-stalled:
			p.Status, p.Detail = "timeout", fmt.Sprintf("no data for %v", r.opt.Stall)
			return r.describe(p)
		case c, more := <-of.chunks:
			if !more {
				err := <-of.ended
				if r.keep != nil {
					r.keep.of, r.keep.err = producer, err
				}
				p.compression, p.changed, p.skippedBytes = producer.compression, producer.changed, producer.skipped
				p.others = producer.others
				if p.yearFound = producer.yearFound; producer.zoneFound {
					p.zoneFound = producer.parser.zone
				}
				return r.finish(p, producer, err)
			}
			<-c.done
			r.fold(p, c)
			if r.keep != nil {
				r.keep.parser = c.parser
				r.keep.chunk(c)
				if r.kept != nil {
					r.kept()
				}
			}
			r.release(c)
		case <-of.ctx.Done(): // what is under way is left alone: it may be stuck in the kernel
			p.Status, p.Detail = "timeout", "not read to the end in time"
			return r.describe(p)
		}
	}
}

func (r *reader) release(c *chunk) {
	if c.again { // it has no buffer
		return
	}
	buf := c.text[:0]
	c.text, c.found = nil, nil
	select {
	case r.free <- buf:
	default:
	}
}
