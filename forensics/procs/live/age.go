package live

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// errNoClock says that the clock of a CPU could not be read: /proc/PID/sched is missing (a kernel before 6.15 without
// CONFIG_SCHED_DEBUG), or this thread may not run on that CPU.
var errNoClock = errors.New("no scheduler clock")

const (
	clockLimit  = time.Second // a CPU with many threads takes a while to run this one
	maxBusyCPUs = 2           // so many that do not run it within the limit, and no more are tried
)

// ages finds out how long the waiting threads have waited.
//
// The scheduler notes for each thread when it ran last: se.exec_start of /proc/PID/task/TID/sched, in milliseconds of
// a clock that each CPU has for itself and that leaves out the time of interrupts and of other virtual machines. So
// this thread moves to the CPU that the waiting thread ran on last (field 39 of its stat), to read its own se.exec_start
// there: that is now, on the same clock. The difference is the age, or somewhat less.
//
// Our own clock is read first, and the thread's count of context switches last: it must be what it was when the thread
// was seen to wait. Otherwise the age would be that of whatever the thread waits for now.
func (c *collector) ages() {
	if !c.fsys.Live() {
		return // the clock of this machine proves nothing about another
	}
	groups := map[int][]*waitingThread{}
	for i := range c.waiting {
		if t := &c.waiting[i]; t.processor >= 0 {
			groups[t.processor] = append(groups[t.processor], t)
		}
	}
	if len(groups) == 0 {
		return
	}
	reserved, lost := c.reservedCPUs(), 0
	for _, cpu := range slices.Sorted(maps.Keys(groups)) {
		if reserved[cpu] {
			continue
		}
		now, err := c.clock(cpu)
		if errors.Is(err, fs.ErrNotExist) {
			return // no sched files at all
		}
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, probe.ErrBusy) {
			if lost++; lost == maxBusyCPUs {
				return
			}
		}
		if err != nil {
			continue // no age is no problem: samples will do
		}
		for _, t := range groups[cpu] {
			c.age(t, now)
		}
	}
}

// clock reads the clock of a CPU in milliseconds. On a CPU that a real-time thread has for itself it does not return.
func (c *collector) clock(cpu int) (float64, error) {
	ctx, cancel := context.WithTimeout(c.ctx, clockLimit)
	defer cancel()
	fsys := c.fsys
	return probe.Do(ctx, c.opt.Group, "cpu "+strconv.Itoa(cpu), func() (float64, error) { return cpuClock(fsys, cpu) })
}

// age compares a thread's clock with that of its CPU.
func (c *collector) age(t *waitingThread, now float64) {
	task := strconv.Itoa(t.PID) + "/" + taskDir(t.TID)
	ran, ok := c.lastRan(task)
	if !ok || !c.unmoved(t, task) {
		return
	}
	alive := t.UptimeSeconds - float64(t.StartTicks)/ticksPerSecond
	if alive <= 0 {
		return
	}
	seconds := min(max(now-ran, 0)/1000, alive)
	t.WaitSeconds, t.WaitFrom = &seconds, procs.WaitFromSched
}

// lastRan reads when a thread ran last, in milliseconds on the clock of its CPU.
func (c *collector) lastRan(task string) (float64, bool) {
	text, err := c.read(c.proc, task+"sched")
	if err != nil {
		return 0, false
	}
	ms, ok := parseExecStart(text)
	return ms, ok && ms > 0 // 0: it was about to move to another CPU
}

// unmoved says whether a thread has not run since it was seen to wait, and so is on the same CPU.
func (c *collector) unmoved(t *waitingThread, task string) bool {
	text, err := c.read(c.proc, task+"stat")
	if err != nil {
		return false
	}
	stat, err := procs.ParseStat(text)
	if err != nil || stat.StartTicks != t.StartTicks || stat.Processor != t.processor || !stat.Sleeps() {
		return false
	}
	look := c.readLook(c.proc, task)
	return look.counted && t.Switches > 0 && look.switches == t.Switches
}

// parseExecStart reads the line of /proc/PID/sched
//
//	se.exec_start                                :        938227.910062
//
// in milliseconds. The first line of the file has the thread's name, which may be anything.
func parseExecStart(text []byte) (float64, bool) {
	for line := range bytes.Lines(text) {
		key, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || string(bytes.TrimSpace(key)) != "se.exec_start" {
			continue
		}
		if ms, err := strconv.ParseFloat(string(bytes.TrimSpace(value)), 64); err == nil && ms >= 0 && ms < 1e15 {
			return ms, true
		}
	}
	return 0, false
}

// reservedCPUs are those that the machine's owner keeps free of ordinary threads (isolcpus, nohz_full). This program
// does not disturb them for the age of a thread.
func (c *collector) reservedCPUs() map[int]bool {
	cpus := map[int]bool{}
	for _, name := range []string{"isolated", "nohz_full"} {
		text, err := c.fsys.ReadFile("/sys/devices/system/cpu/"+name, limitSmall)
		if err == nil {
			parseCPUs(cpus, string(bytes.TrimSpace(text)))
		}
	}
	return cpus
}

// maxCPUs bounds what a list of CPUs may name.
const maxCPUs = 1 << 16

// parseCPUs adds the CPUs of a list such as "0-3,8".
func parseCPUs(cpus map[int]bool, list string) {
	for part := range bytes.SplitSeq([]byte(list), []byte(",")) {
		low, high, isRange := bytes.Cut(part, []byte("-"))
		if !isRange {
			high = low
		}
		from, err := strconv.ParseUint(string(low), 10, 32)
		if err != nil {
			continue
		}
		to, err := strconv.ParseUint(string(high), 10, 32)
		if err != nil {
			continue
		}
		for cpu := from; cpu <= min(to, maxCPUs); cpu++ {
			cpus[int(cpu)] = true
		}
	}
}
