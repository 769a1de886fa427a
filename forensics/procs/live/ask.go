package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// errNoAnswer says that reading from a process has not returned: its memory map or exec lock is held.
var errNoAnswer = errors.New("no answer")

// maxExtensions is how often a call gets its time again because its thread has not had a CPU.
const maxExtensions = 10

// ask makes a call that may block on a lock of this process, within the limit. Once one call has not returned, no
// further one is made.
func ask[T any](v *visit, call func() (T, error)) (T, error) {
	answer := new(T) // a call that does not return may still write to it
	var result error
	err := v.ask(func() { *answer, result = call() })
	if err != nil {
		var none T
		return none, err
	}
	return *answer, result
}

// ask is the part of the function ask that is the same for all types. An error says that the call has not returned.
func (v *visit) ask(call func()) error {
	if v.lost != nil {
		return v.lost
	}
	var tid atomic.Int32
	ctx, cancel := v.c.patience(&tid)
	defer cancel()
	_, err := probe.Do(ctx, v.c.opt.Group, v.key, func() (struct{}, error) {
		tid.Store(int32(threadID()))
		call()
		return struct{}{}, nil
	})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, probe.ErrBusy):
		return v.lose(err)
	case errors.Is(err, context.Canceled) && v.c.ctx.Err() == nil:
		return v.lose(v.noAnswer())
	}
	return err
}

func (v *visit) noAnswer() error {
	return fmt.Errorf("%s: %w within %v", v.key, errNoAnswer, v.c.limits.Read)
}

// lose notes that the process does not answer.
func (v *visit) lose(err error) error {
	v.lost = err
	v.c.lost++
	v.c.problems.add("processes that do not answer", err)
	return err
}

// inLane is ask for what is read of every process: without another goroutine, as long as it returns. It is false if it
// has not, and then the caller owns nothing any more, see [probe.Lane]: lost goes on in its place.
func (v *visit) inLane(l *probe.Lane, call, lost func()) (back bool) {
	extensions, ctx := 0, v.c.ctx
	wait := func(tid int) bool {
		extensions++
		return ctx.Err() == nil && extensions <= maxExtensions && v.c.starves(tid)
	}
	back, err := l.Call(v.key, v.c.patienceLimit(), wait, call, func() {
		if ctx.Err() == nil {
			_ = v.lose(v.noAnswer())
		} else {
			v.lost = ctx.Err()
		}
		lost()
	})
	if back && err != nil {
		_ = v.lose(err)
	}
	return back
}

// patienceLimit is how long a call may take at first.
func (c *collector) patienceLimit() time.Duration {
	if c.lost >= c.limits.Lost {
		return c.limits.Read / 10
	}
	return c.limits.Read
}

// patience returns a context that ends when a call has had its time. On a machine with much to do, a thread may be ready
// to run all that time without getting a CPU; that is no reason to lose what it was to find out.
func (c *collector) patience(tid *atomic.Int32) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(c.ctx)
	limit, extensions := c.patienceLimit(), 0
	var check func()
	check = func() {
		if ctx.Err() != nil {
			return
		}
		if extensions++; extensions > maxExtensions || !c.starves(int(tid.Load())) {
			cancel()
			return
		}
		time.AfterFunc(limit, check)
	}
	timer := time.AfterFunc(limit, check)
	return ctx, func() { timer.Stop(); cancel() }
}

// starves says whether a thread of this program lacks nothing but a CPU. 0 is one that has not begun. One that is in a futex
// waits for its turn in the scheduler of Go, which has interrupted it: what it calls waits nowhere like that.
func (c *collector) starves(tid int) bool {
	if !c.fsys.Live() || tid == 0 {
		return c.fsys.Live()
	}
	task := strconv.Itoa(ownPID()) + "/" + taskDir(tid)
	text, err := c.proc.ReadFile(task+"stat", limitSmall)
	if err != nil {
		return false
	}
	if stat, err := procs.ParseStat(text); err != nil || lacksCPU(stat.State) {
		return err == nil
	}
	wchan, err := c.proc.ReadFile(task+"wchan", limitSmall)
	return err == nil && bytes.HasPrefix(wchan, []byte("futex_"))
}

// lacksCPU says whether a thread in some state runs, would if it could, or is stopped by a signal or a tracer: none of
// these is a wait for the process that was asked.
func lacksCPU(state string) bool { return slices.Contains([]string{"R", "T", "t"}, state) }
