package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/redact"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/mask"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// Collect examines a node and returns the evidence. It only reads. It returns when everything is read or ctx ends,
// whichever is first, and always with what it has read. The error says that the root cannot be opened at all.
//
// Calls that do not return from the kernel are left behind (see package probe), and each of them blocks a thread. While
// one is blocked, the calling process cannot exit: it is a zombie with a live thread. So the nodeforensics command
// collects in a child process. A program that must exit should do so, too.
func Collect(ctx context.Context, opt Options) (forensics.Evidence, error) {
	c, err := newCollector(ctx, opt)
	if err != nil {
		return c.evidence, err
	}
	if c.fs.Live() {
		c.live(ctx)
	} else {
		c.offline(ctx)
	}
	c.finish(ctx)
	return c.evidence, nil
}

// collector is one run of Collect.
type collector struct {
	opt      Options
	fs       *hostfs.FS
	redactor *redact.Redactor
	started  time.Time

	mu       sync.Mutex
	evidence forensics.Evidence
}

func newCollector(ctx context.Context, opt Options) (*collector, error) {
	c := &collector{opt: opt.withDefaults(), evidence: forensics.NewEvidence()}
	c.started = c.opt.Now()
	c.redactor = redact.New(c.opt.RedactKey)
	fsys, err := probe.Do(ctx, c.opt.Calls, "root "+c.opt.Root, func() (*hostfs.FS, error) { return hostfs.Open(c.opt.Root) })
	if err != nil {
		return c, fmt.Errorf("collect: %w", err)
	}
	c.fs = fsys
	c.tell(forensics.Evidence{Schema: forensics.EvidenceSchema, Collected: c.started.UTC(), Root: c.opt.Root, Collector: c.self()})
	return c, nil
}

// tell masks a part, adds it to the evidence and passes it on.
func (c *collector) tell(part forensics.Evidence) {
	mask.Part(c.redactor, &part)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.evidence.Merge(part)
	c.opt.Emit(part)
}

// seen is a copy of what has been collected so far; its lists are shared and not to be changed.
func (c *collector) seen() forensics.Evidence {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.evidence
}

// read runs one reader under a deadline of its own and records how it went. What the reader returns counts even with
// an error; one that does not return counts as timed out. The context of the reader ends a tenth of its time before it is
// given up, so that it can return what it has.
func (c *collector) read(ctx context.Context, source string, limit time.Duration, f func(context.Context) (forensics.Evidence, error)) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	began := c.opt.Now()
	type result struct {
		part forensics.Evidence
		err  error
	}
	r, err := probe.Do(ctx, c.opt.Calls, "read "+source, func() (result, error) {
		ctx, cancel := sooner(ctx, c.grace(ctx, limit))
		defer cancel()
		part, err := f(ctx)
		return result{part, cmp.Or(err, ctx.Err())}, nil
	})
	if err == nil {
		err = r.err
	}
	entry := forensics.Source{Source: source, Status: statusOf(err), Seconds: c.opt.Now().Sub(began).Seconds()}
	if err != nil {
		entry.Detail = err.Error()
	}
	for _, covered := range r.part.Coverage { // the reader knows better
		if covered.Source == source {
			entry = covered
			entry.Seconds = c.opt.Now().Sub(began).Seconds()
		}
	}
	r.part.Coverage = append(r.part.Coverage, entry)
	c.tell(r.part)
}

// grace is the tenth of the time that a reader has, of limit or until ctx ends.
func (c *collector) grace(ctx context.Context, limit time.Duration) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, max(deadline.Sub(c.opt.Now()), 0))
	}
	return limit / 10
}

// statusOf names the way in which a source was missing.
func statusOf(err error) forensics.SourceStatus {
	switch {
	case err == nil:
		return forensics.SourceRead
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), errors.Is(err, probe.ErrBusy):
		return forensics.SourceTimeout
	case errors.Is(err, nodefs.ErrTruncated):
		return forensics.SourceTruncated
	case errors.Is(err, fs.ErrPermission):
		return forensics.SourceDenied
	case errors.Is(err, fs.ErrNotExist):
		return forensics.SourceAbsent
	}
	return forensics.SourceMalformed
}

// absent records sources that cannot be had in this run.
func (c *collector) absent(why string, sources ...string) {
	var part forensics.Evidence
	for _, s := range sources {
		part.Coverage = append(part.Coverage, forensics.Source{Source: s, Status: forensics.SourceAbsent, Detail: why})
	}
	c.tell(part)
}

// self is what is known of the examination when it begins: what it measures is judged by its limits, whether or not it ends.
func (c *collector) self() forensics.Collector {
	return forensics.Collector{
		Version: c.opt.Version, Command: append([]string{}, c.opt.Command...), PID: selfPID(),
		HungAfterSeconds: c.opt.HungAfter.Seconds(), SlowAfterSeconds: c.opt.SlowAfter.Seconds(), Outstanding: []forensics.Blocked{},
	}
}

// finish tells what the run cost and which calls have not come back.
func (c *collector) finish(ctx context.Context) {
	now := c.opt.Now()
	self := c.self()
	self.Seconds, self.PeakBytes, self.GivenUp = now.Sub(c.started).Seconds(), peakMemory(), c.opt.Calls.GivenUp()
	for _, call := range c.opt.Calls.Outstanding() {
		self.Outstanding = append(self.Outstanding, forensics.Blocked{Key: call.Key, TID: call.TID, Seconds: now.Sub(call.Since).Seconds()})
	}
	if err := ctx.Err(); err != nil {
		self.Interrupted = "the timeout expired"
		if errors.Is(err, context.Canceled) {
			self.Interrupted = "the run was interrupted"
		}
	}
	c.tell(forensics.Evidence{Collector: self, Redactions: c.redactor.Ledger()})
}
