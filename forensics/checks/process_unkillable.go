package checks

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// processUnkillable finds processes that a kill does not end.
var processUnkillable = forensics.Check{
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
		for _, w := range stall.Waiters(p, "") {
			process, ok := p.Model.Process(w.Thread.PID)
			dead := ok && process.State == "Z" && outlivesKill(p, w)
			if !ok || process.Kernel || done[process.PID] || w.Thread.Wait.Kind == procs.WaitWriteback ||
				!dead && (!w.Thread.Wait.Unkillable() || w.Seconds < stall.HungAfter(p)) {
				continue
			}
			done[process.PID] = true
			p.Report(unkillableFinding(p, process, w, dead))
		}
	},
}

// outlivesKill says whether a thread waits so that it would still be there after a SIGKILL, and for more than a moment.
func outlivesKill(p *forensics.Pass, w stall.Waiter) bool {
	return w.Thread.State == "D" && !w.Thread.Wait.Killable() && (w.Thread.Same || w.Seconds >= stall.HungAfter(p))
}

func unkillableFinding(p *forensics.Pass, process procs.Process, w stall.Waiter, dead bool) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: findings.ProcessEntity(process.PID), Confidence: forensics.Certain, Because: []forensics.Entity{forensics.ThreadEntity(w.Thread)},
		Title:         findings.ProcessName(p, process.PID) + " could not be killed now: its thread " + fmt.Sprint(w.Thread.TID) + " " + forensics.DescribeWait(w.Thread, w.WaitAtLeast),
		Detail:        w.Thread.Wait.Meaning + " A kill takes effect when that wait ends.",
		ConfidenceWhy: "the kernel's own word for the wait: " + w.Thread.Wait.Function, Refs: []forensics.Ref{stall.ThreadRef(w.Thread)},
		Since: stall.ThreadSince(p, w.Thread, w.Seconds),
	}
	if dead {
		f.Title = findings.ProcessName(p, process.PID) + " has been ended and cannot go: its thread " + fmt.Sprint(w.Thread.TID) + " " + forensics.DescribeWait(w.Thread, w.WaitAtLeast)
	}
	if process.PodUID != "" {
		f.Pods = []string{process.PodUID}
	}
	return logview.WithHungTask(p, f, w.Thread)
}
