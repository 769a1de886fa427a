package checks

import (
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/fsview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// threadBlocked finds threads that are blocked in a file system.
var threadBlocked = forensics.Check{
	ID:    "thread-blocked",
	Title: "A thread is blocked in a file system",
	Doc: `A thread that provably has waited in a file system or for a disk longer than --hung-after. The kernel shows that wait (wchan,
kernel stack); the state letter does not matter: a wait for a FUSE server is state S. The threads of one process that wait
for the same thing are one finding, named after the one that has waited longest.

Throttling by dirty pages is not a hang and is left out. So is a wait for a file lock (flock, fcntl) of another program.

The kernel's own message about the thread ("blocked for more than 120 seconds") is quoted where the kernel log has it. The
kernel logs none about waits that a signal ends, such as those for NFS and FUSE.

A goroutine dump alone shows such a wait, too. Other checks judge what the kubelet does on that stack. This one reports a
goroutine of which the callers are cut off, if it provably has waited in a call on a file for at least a minute.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceThreads, forensics.SourceGoroutines}},
	Run: func(p *forensics.Pass) {
		reportCutStacks(p)
		if ok, why := p.Evidence.Saw(forensics.SourceThreads); !ok {
			p.Unjudged("the threads were not read: %s", why)
			return
		}
		type group struct {
			pid    int
			device string
			wait   procs.WaitKind
		}
		var unknown []string
		counts, first, order := map[group]int{}, map[group]stall.Waiter{}, []group{}
		for _, w := range stall.Waiters(p, "") {
			if noHang(w.Thread.Wait) {
				continue
			}
			if w.Seconds < stall.HungAfter(p) {
				if !w.Measured {
					unknown = append(unknown, forensics.ThreadEntity(w.Thread).ID)
				}
				continue
			}
			g := group{w.Thread.PID, w.Thread.Device, w.Thread.Wait.Kind}
			if counts[g]++; counts[g] == 1 {
				first[g] = w
				order = append(order, g)
			}
		}
		for _, g := range order {
			p.Report(blockedFinding(p, first[g], counts[g]))
		}
		if len(unknown) > 0 {
			p.Unjudged("%s not judged: the duration of the wait is unknown (%s)", text.Plural(len(unknown), "waiting thread"), findings.Some(unknown))
		}
	},
}

// reportCutStacks reports what a cut dump alone shows.
func reportCutStacks(p *forensics.Pass) {
	list := stall.CutStacks(p)
	if len(list) == 0 {
		return
	}
	part := "a file system call"
	if n := stall.Count(list); n > 1 {
		part = fmt.Sprintf("%s file system calls", stall.Number(n))
	}
	who := "a program"
	if p.Evidence.Dumps[list[0].Dump].Program == "kubelet" {
		who = "kubelet"
	}
	f := stall.Finding(p, list[0].Entity(), stall.Headline{Is: who + " is stuck", May: who + " may be stuck", Part: part, Effect: who + " is blocked in a file system"}, list, nil)
	f.Severity, f.Because = forensics.Warning, nil
	f.Detail = findings.Sentences(f.Detail, "The dump is cut: what called it is not known.")
	p.Report(f)
}

// noHang says that a wait ends by itself, or when another program is done.
func noHang(w procs.Wait) bool { return w.Kind == procs.WaitWriteback || w.Kind == procs.WaitFileLock }

func blockedFinding(p *forensics.Pass, w stall.Waiter, count int) forensics.Finding {
	t := w.Thread
	name := findings.ProcessTitle(p, t.PID)
	if process, _ := p.Model.Process(t.PID); process.Comm == "" && t.Comm != "" {
		name = fmt.Sprintf("%s (pid %d)", t.Comm, t.PID)
	}
	who, verb, atLeast := name, " has", "at least "
	if count > 1 {
		who, verb = fmt.Sprintf("%d threads of %s", count, name), " have"
	}
	if w.Measured {
		atLeast = ""
	}
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: forensics.ThreadEntity(t), Confidence: forensics.Certain,
		Because:       forensics.Causes(p.Model, forensics.ThreadEntity(t)),
		Title:         who + verb + " been blocked for " + atLeast + text.Duration(w.Seconds) + stall.OnWhat(p, t),
		Effect:        strings.Replace(strings.Replace(who+verb, " has", " is", 1), " have", " are", 1) + " blocked",
		ConfidenceWhy: w.From, Refs: []forensics.Ref{stall.ThreadRef(t)}, Since: stall.ThreadSince(p, t, w.Seconds),
	}
	f.Detail = strings.TrimSpace(fmt.Sprintf("Thread %d/%d (%s) %s. %s", t.PID, t.TID, t.Comm, forensics.DescribeWait(t, p.Model.Waited(t)), t.Wait.Meaning)) + waitFacts(t)
	if p.Model.Answered(t.Device) {
		f.Detail += " The file system responded to this program: only this call, or what it accesses, takes long."
	}
	text, refs := fsview.Behind(p, t.Device)
	f.Detail += text
	f.Refs = append(f.Refs, refs...)
	if j := p.Model.GoroutineOf(t.PID, t.TID); j != nil {
		f.Detail += fmt.Sprintf(" It runs goroutine %d.", j.Goroutine)
	}
	if process, ok := p.Model.Process(t.PID); ok && process.PodUID != "" {
		f.Pods = []string{process.PodUID}
	}
	return logview.WithHungTask(p, f, t)
}

// waitFacts says which part of the kernel a thread waits in, and whether a signal ends the wait.
func waitFacts(t procs.Thread) string {
	text := ""
	if name := subsystems[t.Wait.Kind]; name != "" {
		text = " The wait is in " + name
		if t.Wait.FS != "" && t.Wait.Kind != procs.WaitFUSE {
			text += " (" + t.Wait.FS + ")"
		}
		text += "."
	}
	switch {
	case t.Wait.Killable():
		text += " SIGKILL ends the wait; no other signal does. The kernel's hung-task detector never reports such a wait."
	case t.Wait.Unkillable():
		text += " No signal ends the wait, not even SIGKILL."
	}
	if t.State == "S" && t.Wait.Kind == procs.WaitFUSE {
		text += " Its state is S: the kernel counts it neither as blocked nor in the load average."
	}
	return text
}

// subsystems name the parts of the kernel.
var subsystems = map[procs.WaitKind]string{
	procs.WaitServer:   "the client of a network file system",
	procs.WaitRetry:    "the client of a network file system",
	procs.WaitFUSE:     "the kernel's FUSE client",
	procs.WaitAutofs:   "the automounter",
	procs.WaitJournal:  "the journal of a disk file system",
	procs.WaitBlock:    "the block layer",
	procs.WaitFrozen:   "the freeze protection of a file system",
	procs.WaitFSLock:   "the locks of directories, superblocks and mounts",
	procs.WaitMmapLock: "memory management (the lock of a memory map)",
	procs.WaitCgroup:   "the cgroup core",
	procs.WaitFreezer:  "the freezer of cgroups",
	procs.WaitExit:     "process exit",
}
