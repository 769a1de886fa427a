package checks

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// ProcessUnkillable finds processes that a kill does not end.
var ProcessUnkillable = forensics.Check{
	ID:    "process-unkillable",
	Title: "A process cannot be killed before a wait ends",
	Doc: `A process of which the first thread has ended (state Z) while another waits in the kernel (state D) in a wait that SIGKILL
is not known to end: it was killed or has called exit, and cannot go. A thread that a signal would wake was sent none: there
are programs whose first thread ends by itself, and the others work on. And one with a thread in a wait that no signal ends (Wait.Kill "no"), for longer than --hung-after. It
keeps its files, its mounts, its cgroup and so its pod: a container that cannot be killed. Waiting longer, kill -9 and
deleting the pod with --force change nothing; only what the thread waits for does.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceProcesses}, {forensics.SourceThreads}},
	Run: func(p *forensics.Pass) {
		done := map[int]bool{}
		for _, w := range waiters(p, "") {
			process, ok := p.Model.Process(w.thread.PID)
			dead := ok && process.State == "Z" && outlivesKill(p, w)
			if !ok || process.Kernel || done[process.PID] || w.thread.Wait.Kind == procs.WaitWriteback ||
				!dead && (w.thread.Wait.Kill != "no" || w.seconds < hungAfter(p)) {
				continue
			}
			done[process.PID] = true
			p.Report(unkillableFinding(p, process, w, dead))
		}
	},
}

// outlivesKill says whether a thread waits so that it would still be there after a SIGKILL, and for more than a moment.
func outlivesKill(p *forensics.Pass, w waiter) bool {
	return w.thread.State == "D" && w.thread.Wait.Kill != "yes" && (w.thread.Same || w.seconds >= hungAfter(p))
}

func unkillableFinding(p *forensics.Pass, process procs.Process, w waiter, dead bool) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: processEntity(process.PID), Because: []forensics.Entity{forensics.ThreadEntity(w.thread)},
		Title:         who(p, process.PID) + " could not be killed now: its thread " + fmt.Sprint(w.thread.TID) + " " + forensics.DescribeWait(w.thread),
		Detail:        w.thread.Wait.Meaning + " A kill takes effect when that wait ends.",
		ConfidenceWhy: "the kernel's own word for the wait: " + w.thread.Wait.Function, Refs: []forensics.Ref{threadRef(w.thread)},
		Since: threadSince(p, w.thread, w.seconds),
	}
	if dead {
		f.Title = who(p, process.PID) + " has been ended and cannot go: its thread " + fmt.Sprint(w.thread.TID) + " " + forensics.DescribeWait(w.thread)
	}
	if process.PodUID != "" {
		f.Pods = []string{process.PodUID}
	}
	return withHungTask(p, f, w.thread)
}
