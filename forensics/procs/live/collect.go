// Package live reads the processes and threads of the live machine, and who keeps its mounts busy, from /proc: [Collect] finds
// who is there, which threads wait in a file system, for how long and on which path; [Holders] finds every descriptor,
// directory and mapping by which a process holds a mount, and [KernelHolders] what holds one in the kernel. Packages procs
// and holders say what all that means.
//
// The sources are proc(5), sysfs, kcmp(2) and, for paths, the memory of the waiting process. Files of procfs that need a
// lock of the process (cmdline, maps, stack, syscall) are read under package probe, since the process may be blocked with
// it. No server of a file system is ever asked, as fuser(1) would: stat(2) on a hung mount does not return.
package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// Collect reads all processes, or those of [Options].PIDs, and finds the threads among them that wait in a file system, in one pass over /proc.
//
// It touches no file system but procfs, with one exception: to find the mount that a path is on, symbolic links on
// local file systems are read in the process's own root directory.
//
// The error is not nil only if /proc cannot be listed. Everything else that goes wrong stands in the Snapshot, also
// that ctx ended before the pass was complete.
func Collect(ctx context.Context, fsys *hostfs.FS, opt Options) (Snapshot, error) {
	snap := Snapshot{Processes: []procs.Process{}, Threads: []procs.Thread{}, Problems: []error{}}
	c, err := newCollector(ctx, fsys, opt)
	if err != nil {
		return snap, err
	}
	defer func() { _ = c.proc.Close() }()
	pids := opt.PIDs
	if len(pids) == 0 {
		if pids, err = c.pids(); err != nil {
			return snap, err
		}
	}
	c.readBoot()
	c.processes = make([]procs.Process, 0, len(pids))
	for _, pid := range pids {
		if err := ctx.Err(); err != nil {
			c.problems.add("processes not read", err)
			continue
		}
		c.process(pid)
	}
	c.ages()
	snap.Processes, snap.BootTime, snap.Problems = c.processes, c.boot, c.problems.list()
	for i := range c.waiting {
		snap.Threads = append(snap.Threads, c.waiting[i].Thread)
	}
	return snap, nil
}

// A collector is the state of one pass over /proc. It belongs to one goroutine; calls that may not return get
// nothing of it but what they own.
type collector struct {
	ctx    context.Context
	fsys   *hostfs.FS
	proc   *hostfs.Dir
	opt    Options
	limits Limits

	boot      time.Time
	processes []procs.Process
	waiting   []waitingThread
	problems  problems

	readers    map[uint64]int // by mount namespace, a process with the root of that: see unchrooted
	buf        []byte         // for files whose reading cannot block
	lost       int            // processes that did not answer
	cgroupLost bool           // reading /proc/PID/cgroup waits for the cgroup lock: no more of that

	podCommands, hostCommands commandBudget
}

// A waitingThread is a Thread with what is known about it until the end of the pass.
type waitingThread struct {
	procs.Thread
	processor int
}

func newCollector(ctx context.Context, fsys *hostfs.FS, opt Options) (*collector, error) {
	proc, err := fsys.OpenDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list of processes: %w", err)
	}
	return &collector{
		ctx: ctx, fsys: fsys, proc: proc, opt: opt, limits: opt.Limits.withDefaults(),
		readers: map[uint64]int{}, buf: make([]byte, 0, 4<<10),
	}, nil
}

// pids lists the processes.
func (c *collector) pids() ([]int, error) {
	entries, err := c.proc.Entries(1 << 22) // more than PID_MAX_LIMIT; the other names in /proc are few
	if err != nil && !errors.Is(err, nodefs.ErrTruncated) {
		return nil, fmt.Errorf("list of processes: %w", err)
	}
	pids := make([]int, 0, len(entries))
	for _, entry := range entries {
		if pid, ok := parseID(entry.Name); ok {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	if len(pids) > c.limits.Processes {
		c.problems.add("processes", fmt.Errorf("%d left out: %w", len(pids)-c.limits.Processes, nodefs.ErrTruncated))
		pids = pids[:c.limits.Processes]
	}
	return pids, nil
}

// readBoot reads when the machine was started: the line "btime 1763622000" of /proc/stat.
func (c *collector) readBoot() {
	text, err := c.proc.ReadFile("stat", limitSystem)
	if err != nil && !errors.Is(err, nodefs.ErrTruncated) {
		c.problems.add("boot time", err)
		return
	}
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte("btime ")); ok {
			if seconds, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64); err == nil {
				c.boot = time.Unix(seconds, 0).UTC()
				return
			}
		}
	}
	c.problems.add("boot time", errors.New("/proc/stat has no line btime"))
}

// ticksPerSecond is the unit of times in /proc: sysconf(_SC_CLK_TCK), which is 100 on every architecture that runs
// kubelets (USER_HZ, include/asm-generic/param.h).
const ticksPerSecond = 100

// started turns ticks since boot into a time, which is as exact as the boot time.
func (c *collector) started(ticks uint64) time.Time {
	if c.boot.IsZero() {
		return time.Time{}
	}
	seconds, rest := ticks/ticksPerSecond, ticks%ticksPerSecond
	return c.boot.Add(time.Duration(seconds)*time.Second + time.Duration(rest)*(time.Second/ticksPerSecond))
}

// uptime returns the seconds since boot, 0 if unknown.
func (c *collector) uptime() float64 {
	text, err := c.read(c.proc, "uptime")
	if err != nil {
		return 0
	}
	word, _, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	seconds, err := strconv.ParseFloat(word, 64)
	if err != nil {
		return 0
	}
	return seconds
}

// read reads a small file that cannot block, into the buffer that all of them share.
func (c *collector) read(dir *hostfs.Dir, name string) ([]byte, error) {
	text, err := dir.Append(c.buf[:0], name, limitSmall)
	c.buf = text[:0]
	return text, err
}

// head reads what the kernel gives in one piece, into the buffer that all reads share.
func (c *collector) head(dir *hostfs.Dir, name string) ([]byte, error) {
	return dir.Head(c.buf[:0], name)
}
