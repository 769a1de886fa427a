package checks

import (
	"cmp"
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

// threadBlocked finds threads that wait in a file system.
var threadBlocked = forensics.Check{
	ID:    "thread-blocked",
	Title: "A thread waits in a file system",
	Doc: `A thread that provably has waited in a file system or for a disk longer than --hung-after, told by what the
kernel says it waits for (wchan, kernel stack), whatever its state letter: a wait for a FUSE server is state S. The
threads of one process that wait for the same thing are one finding, named after the one that waits longest. Throttling
by dirty pages is not a hang and is left out, and so is a wait for a lock of a file (flock, fcntl) that another program has. The kernel's own complaint about the thread ("blocked for more than 120
seconds") is quoted where its log has it; it makes none about waits that a signal ends, as those for NFS and FUSE are.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceThreads}},
	Run: func(p *forensics.Pass) {
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
			p.Unjudged("%s not judged: nothing shows for how long (%s)", text.Plural(len(unknown), "waiting thread"), findings.Some(unknown))
		}
	},
}

// noHang says that a wait ends without anybody's help, or when another program is done.
func noHang(w procs.Wait) bool { return w.Kind == procs.WaitWriteback || w.Kind == procs.WaitFileLock }

func blockedFinding(p *forensics.Pass, w stall.Waiter, count int) forensics.Finding {
	t := w.Thread
	who, verb := fmt.Sprintf("thread %d/%d (%s)", t.PID, t.TID, t.Comm), " has waited "
	if count > 1 {
		process, _ := p.Model.Process(t.PID)
		who, verb = fmt.Sprintf("%d threads of process %d (%s)", count, t.PID, cmp.Or(process.Comm, t.Comm)), " have waited "
	}
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: forensics.ThreadEntity(t), Confidence: forensics.Certain,
		Because:       forensics.Causes(p.Model, forensics.ThreadEntity(t)),
		Title:         who + verb + text.Duration(w.Seconds) + onWhat(t),
		ConfidenceWhy: w.From, Refs: []forensics.Ref{stall.ThreadRef(t)}, Since: stall.ThreadSince(p, t, w.Seconds),
	}
	f.Detail = strings.TrimSpace(fmt.Sprintf("It %s. %s", forensics.DescribeWait(t, p.Model.Waited(t)), t.Wait.Meaning)) + waitFacts(t)
	if p.Model.Answered(t.Device) {
		f.Detail += " The file system has answered when this program asked: this one call takes long, or what it concerns does."
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

// waitFacts says which part of the kernel a thread waits in, and what a signal does.
func waitFacts(t procs.Thread) string {
	text := ""
	if name := subsystems[t.Wait.Kind]; name != "" {
		text = " It is in " + name
		if t.Wait.FS != "" && t.Wait.Kind != procs.WaitFUSE {
			text += " (" + t.Wait.FS + ")"
		}
		text += "."
	}
	switch {
	case t.Wait.Killable():
		text += " SIGKILL ends the wait; no other signal does. The kernel's watch for hung tasks never reports such a wait."
	case t.Wait.Unkillable():
		text += " No signal ends the wait, SIGKILL neither."
	}
	if t.State == "S" && t.Wait.Kind == procs.WaitFUSE {
		text += " Its state is S, so it counts neither as blocked nor for the load average."
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
	procs.WaitExit:     "the end of a process",
}

func onWhat(t procs.Thread) string {
	switch {
	case t.Path != "":
		return " on " + t.Path
	case t.Wait.FS != "":
		return " in " + t.Wait.FS
	}
	return ""
}
