package live

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// threads finds the threads of the process that wait in a file system. Nearly all threads of a machine sleep in one of
// a few functions that have nothing to do with files, and cost one small read each.
func (v *visit) threads() {
	if v.stat.State == "Z" && v.stat.Threads <= 1 || slices.Contains(v.c.opt.Self, v.pid) {
		return
	}
	if v.stat.Kernel() {
		// Kernel threads sleep uninterruptibly only where user processes would; waiting for work is S or I.
		if v.stat.State == "D" {
			v.thread(v.pid)
		}
		return
	}
	if v.stat.Threads == 1 {
		if v.stat.Sleeps() {
			v.glance(v.pid, "")
		}
		return
	}
	tids := v.tasks()
	if n := len(tids); v.stat.State == "Z" && n > 1 {
		v.alive = taskDir(tids[n-1])
	}
	for _, tid := range tids {
		v.glance(tid, taskDir(tid))
	}
}

// tasks lists the threads.
func (v *visit) tasks() []int {
	task, err := v.dir.OpenDir("task")
	if err != nil {
		if !isGone(err) {
			v.c.problems.add("threads", err)
		}
		return nil
	}
	defer func() { _ = task.Close() }()
	entries, err := task.Entries(v.c.limits.Tasks)
	if err != nil && !isGone(err) {
		v.c.problems.add("threads", fmt.Errorf("%s: %w", v.key, err))
	}
	tids := make([]int, 0, len(entries))
	for _, entry := range entries {
		if tid, ok := parseID(entry.Name); ok {
			tids = append(tids, tid)
		}
	}
	slices.Sort(tids)
	return tids
}

// glance looks at wchan only, and passes on a thread that does not sleep in one of the idle functions. It is "0" for a
// thread that runs, and for all threads where the kernel does not tell.
func (v *visit) glance(tid int, dir string) {
	name, err := v.c.head(v.dir, dir+"wchan")
	if err == nil && procs.Idle(name) && v.stat.Flags&flagExiting == 0 {
		return
	}
	v.thread(tid) // also without wchan, which kernels without CONFIG_KALLSYMS do not have
}

// thread reads what is needed to say what a thread waits for, and takes it if that is a file system.
func (v *visit) thread(tid int) {
	dir := taskDir(tid)
	text, err := v.c.read(v.dir, dir+"stat")
	if err != nil {
		return // it has ended
	}
	stat, err := procs.ParseStat(text)
	if err != nil || !stat.Sleeps() {
		return
	}
	look := v.look(dir)
	wait, ok := procs.ThreadWait(stat.State, look.wchan, look.syscall, look.stack)
	if !ok {
		return
	}
	if len(v.c.waiting) >= v.c.limits.Threads {
		v.c.problems.add("waiting threads", fmt.Errorf("%s: %w", v.key, nodefs.ErrTruncated))
		return
	}
	t := waitingThread{processor: stat.Processor, Thread: procs.Thread{
		PID: v.pid, TID: tid, Comm: stat.Comm, State: stat.State, StartTicks: stat.StartTicks,
		WChan: look.wchan, Stack: look.stack, Wait: wait, Switches: look.switches,
	}}
	if t.WChan == "0" {
		t.WChan = ""
	}
	if stat.Kernel() {
		t.Device = cmp.Or(flushedDevice(stat.Comm), journalDevice(v.c.fsys, stat.Comm))
	} else {
		v.describe(&t.Thread, dir, look)
	}
	t.UptimeSeconds = v.c.uptime()
	v.c.waiting = append(v.c.waiting, t)
}

// A look is one reading of a thread.
type look struct {
	switches uint64
	counted  bool // the switches were there
	wchan    string
	syscall  string // as in the file
	stack    []string
}

// readLook reads what cannot block. The count of context switches comes first: a later reading with the same count
// shows that the thread did not run since.
func (c *collector) readLook(dir *hostfs.Dir, task string) look {
	text, _ := c.read(dir, task+"status")
	status := procs.ParseStatus(text)
	text, _ = c.read(dir, task+"wchan")
	return look{
		switches: status.Switches, counted: status.Counted,
		wchan: string(bytes.TrimSpace(text)), stack: []string{},
	}
}

// look reads a thread, its stack and system call included.
func (v *visit) look(task string) look {
	l := v.c.readLook(v.dir, task)
	dir := v.dir
	type slow struct {
		syscall string
		stack   []string
		err     error
	}
	// The exec lock may be held by a process that executes a file on a dead mount. Then wchan has to do.
	got, err := ask(v, func() (slow, error) {
		stack, err := readStack(dir, task)
		return slow{readSyscall(dir, task), stack, err}, nil
	})
	if err != nil {
		return l
	}
	if got.err != nil && !isGone(got.err) {
		v.c.problems.add("kernel stacks", got.err)
	}
	l.syscall, l.stack = got.syscall, got.stack
	return l
}

func readSyscall(dir *hostfs.Dir, task string) string {
	text, err := dir.ReadFile(task+"syscall", limitSmall)
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(text))
}

func readStack(dir *hostfs.Dir, task string) ([]string, error) {
	text, err := dir.ReadFile(task+"stack", limitSmall)
	if err != nil && !errors.Is(err, nodefs.ErrTruncated) {
		return []string{}, err
	}
	return procs.ParseStack(string(text)), nil
}
