package live

import (
	"context"
	"slices"
	"strconv"

	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// Resample reads threads that [Collect] has returned a second time, and returns copies that say what has become of
// them: Same, Gone, or neither, which means that the thread has run meanwhile but is in the same system call again or
// still, or that nothing can be said. Since two readings prove a wait of the time between them, a thread that is Same
// has waited SampledSeconds longer than at the first reading. That time is known to 10 ms.
//
// Threads that are Gone already are left alone.
func Resample(ctx context.Context, fsys *hostfs.FS, threads []procs.Thread, opt Options) []procs.Thread {
	again := slices.Clone(threads)
	c, err := newCollector(ctx, fsys, opt)
	if err != nil {
		return again
	}
	defer func() { _ = c.proc.Close() }()
	now := c.uptime() // before all of the readings, so that no wait comes out too long
	for i := range again {
		if ctx.Err() != nil {
			break
		}
		if !again[i].Gone {
			c.readAgain(&again[i], now)
		}
	}
	return again
}

// readAgain compares a thread with what it was.
func (c *collector) readAgain(t *procs.Thread, now float64) {
	name := strconv.Itoa(t.PID)
	dir, err := c.proc.OpenDir(name)
	if err != nil {
		t.Gone = isGone(err)
		return
	}
	defer func() { _ = dir.Close() }()
	task := taskDir(t.TID)
	text, err := c.read(dir, task+"stat")
	if err != nil {
		t.Gone = isGone(err)
		return
	}
	stat, err := procs.ParseStat(text)
	if err != nil {
		return
	}
	if stat.StartTicks != t.StartTicks || !stat.Sleeps() {
		t.Gone = true
		return
	}
	look := c.readLook(dir, task)
	if look.counted && t.Switches > 0 && look.switches == t.Switches {
		noteSame(t, now)
		return
	}
	v := visit{c: c, pid: t.PID, key: "pid " + name, dir: dir, stat: stat}
	call, ok := v.syscallAgain(task)
	t.Gone = procs.Idle([]byte(look.wchan)) || ok && !sameCall(t.Syscall, call)
}

// syscallAgain reads the system call, nil if the thread is in none; ok is false if it could not be read.
func (v *visit) syscallAgain(task string) (call *procs.Syscall, ok bool) {
	if v.stat.Kernel() {
		return nil, true
	}
	text, err := ask(v, func() (string, error) { return readSyscall(v.dir, task), nil })
	if err != nil || text == "" {
		return nil, false
	}
	if s, ok := procs.ParseSyscall(text); ok {
		call = &s
	}
	return call, true
}

func sameCall(a, b *procs.Syscall) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Number == b.Number && slices.Equal(a.Args, b.Args)
}

// noteSame notes that a thread has not run since it was read first.
func noteSame(t *procs.Thread, now float64) {
	t.Same = true
	if t.UptimeSeconds == 0 || now <= t.UptimeSeconds {
		return
	}
	before := t.SampledSeconds
	t.SampledSeconds = now - t.UptimeSeconds
	seconds := t.SampledSeconds
	if t.WaitSeconds != nil {
		seconds = *t.WaitSeconds + t.SampledSeconds - before
	} else {
		t.WaitFrom = procs.WaitFromSamples
	}
	t.WaitSeconds = &seconds
}
