// Package probe runs calls that may block forever.
//
// A stat on a dead NFS or FUSE mount, a read of /proc/PID/cmdline of a process that holds its own mmap lock, a
// connection to a stopped daemon: the kernel may not give the calling thread back, not even for SIGKILL. [Do] runs
// such a call on a goroutine of its own, waits for it as long as its context allows, and then leaves it behind. What
// was left behind is kept in the [Group] and listed by [Group.Outstanding], so that a report can name the threads
// that the examination itself has lost.
//
// A thread that never returns keeps its process from exiting: a Go program with one thread in an uninterruptible
// wait becomes a zombie leader with a live thread after os.Exit, and after SIGKILL. Programs that must get back to
// the shell therefore run their probes in a child process; see package forensics.
package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// ErrBusy says that an earlier call with the same key has not returned. The new call was not started: one hung
// server costs one thread, however many of its mounts are probed.
var ErrBusy = errors.New("an earlier call has not returned")

// A Call is a call that was started and has not returned.
type Call struct {
	Key string `json:"key"`
	// TID is the kernel's id of the thread that is inside the call; 0 where thread ids are not known.
	TID int `json:"tid,omitempty"`
	// Since is when the call was started.
	Since time.Time `json:"since"`
}

// A Group remembers outstanding calls, at most one for each key. The zero value is ready for use. A Group may be
// used by several goroutines at once.
type Group struct {
	mu    sync.Mutex
	calls map[string]*Call
	lost  int
}

// Outstanding lists the calls that have not returned, oldest first.
func (g *Group) Outstanding() []Call {
	g.mu.Lock()
	defer g.mu.Unlock()
	calls := make([]Call, 0, len(g.calls))
	for _, call := range g.calls {
		calls = append(calls, *call)
	}
	sorting.Stable(calls, func(a, b Call) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Key, b.Key))
	})
	return calls
}

// GivenUp counts the calls that did not return in time, whether or not they returned later.
func (g *Group) GivenUp() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lost
}

func (g *Group) start(key string) (*Call, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, busy := g.calls[key]; busy {
		return nil, false
	}
	if g.calls == nil {
		g.calls = map[string]*Call{}
	}
	call := &Call{Key: key, Since: time.Now()}
	g.calls[key] = call
	return call, true
}

func (g *Group) entered(call *Call, tid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	call.TID = tid
}

func (g *Group) done(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.calls, key)
}

func (g *Group) busy(key string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, busy := g.calls[key]
	return busy
}

// abandon records a call that was begun without a record.
func (g *Group) abandon(key string, call *Call) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.calls == nil {
		g.calls = map[string]*Call{}
	}
	g.calls[key] = call
}

func (g *Group) giveUp() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lost++
}

// Do runs call and returns what it returns. When ctx ends first, Do returns an error that wraps ctx.Err() and leaves
// the call running. While a call with the same key is outstanding, Do returns [ErrBusy] at once.
//
// The key names what may block: a superblock ("0:46"), a process ("pid 4711"), a socket. A nil group keeps no record.
// A panic in call is returned as an error: what the call was asked about may be hostile.
func Do[T any](ctx context.Context, g *Group, key string, call func() (T, error)) (T, error) {
	answer := new(T) // a call that was left behind may still write to it
	back, err := do(ctx, g, key, func() (err error) {
		*answer, err = call()
		return err
	})
	if !back {
		var none T
		return none, err
	}
	return *answer, err
}

// do says whether the call has returned. It is the part of Do that is the same for all types.
func do(ctx context.Context, g *Group, key string, call func() error) (back bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, fmt.Errorf("%s: not started: %w", key, err)
	}
	if g == nil {
		g = &Group{}
	}
	record, ok := g.start(key)
	if !ok {
		return false, fmt.Errorf("%s: %w", key, ErrBusy)
	}
	answers := make(chan error, 1)
	go func() {
		var err error
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("%s: panic: %v", key, p)
			}
			g.done(key)
			answers <- err
		}()
		unlock := onThread(func(tid int) { g.entered(record, tid) })
		defer unlock()
		err = call()
	}()
	select {
	case err := <-answers:
		return true, err
	case <-ctx.Done():
	}
	select { // an answer that came together with the deadline counts
	case err := <-answers:
		return true, err
	default:
	}
	g.giveUp()
	return false, fmt.Errorf("%s: no answer: %w", key, ctx.Err())
}
