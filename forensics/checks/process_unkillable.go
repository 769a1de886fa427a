package checks

import (
	"fmt"
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/headline"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// processUnkillable finds processes that SIGKILL does not end.
var processUnkillable = forensics.Check{
	ID:    "process-unkillable",
	Title: "A process cannot be killed until a wait ends",
	Doc: `Two kinds of processes:

- The first thread has ended (state Z) while another one waits in the kernel (state D), in a wait that SIGKILL is not known to
  end. The process was killed or has called exit, and cannot end. A thread that a signal would wake got none: the first
  thread of some programs ends by itself while the others work, and such a process is not reported.
- A thread is in a wait that no signal ends, for longer than --hung-after.

In a saved text, a kernel stack is enough: that of a process that has ended and waits for others of its PID namespace, or of one in a
frozen cgroup (v1) below a command that has sent it SIGKILL. So is a list of threads with the first one ended and another in state D.

The process keeps its open files, its mounts, its cgroup and so its pod: its container cannot be killed. Waiting longer,
kill -9 and deleting the pod with --force do not help. The process ends only after the thread's wait.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceProcesses, forensics.SourceThreads}, {forensics.SourceThreads}},
	Run: func(p *forensics.Pass) {
		reportSavedUnkillable(p)
		if seen, why := p.Evidence.Saw(forensics.SourceProcesses); !seen {
			p.Unjudged("the processes were not read: %s", why)
			return
		}
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

func reportSavedUnkillable(p *forensics.Pass) {
	frozen := slices.ContainsFunc(p.Evidence.Cgroups, func(g runtimes.PodCgroup) bool { return killedInFreezer(p, g) })
	dying := map[forensics.Entity]bool{}
	for _, t := range p.Evidence.Threads {
		if !stall.UnkillableByText(t) || t.Dying && dying[stall.SavedSubject(t)] || frozen && t.Wait.Kind == procs.WaitFreezer { // which container-unkillable reports
			continue
		}
		subject := stall.SavedSubject(t)
		dying[subject] = dying[subject] || t.Dying
		name := savedName(t)
		if t.PID == 0 {
			name = findings.Capital(name)
		}
		f := forensics.Finding{
			Severity: forensics.Warning, Subject: subject, Confidence: forensics.Likely, Effect: name + " cannot be killed",
			Title:         headline.Fit(name + " cannot be killed: its cgroup is frozen"),
			ConfidenceWhy: "the text shows the wait, and not for how long; whether it has ended since is not known",
			Detail:        findings.Sentences(t.Wait.Meaning, "A kill takes effect when the cgroup is thawed."), Refs: []forensics.Ref{stall.ThreadRef(t)},
			Remedies: []forensics.Remedy{incident.Look("shows which processes are in state D, and where they wait in the kernel", "ps", "-eo", "pid,ppid,state,wchan:32,comm")},
		}
		switch {
		case t.Dying:
			f.Title = headline.Fit(name + " cannot exit: one thread is blocked in the kernel")
			f.Effect = name + " cannot exit"
			f.ConfidenceWhy = "the text shows that the first thread has ended, and where another one waits; whether it has ended since is not known"
			f.Detail = findings.Sentences("It was killed or has called exit, and cannot end.", fmt.Sprintf("Its thread %d %s.", t.TID, forensics.DescribeWait(t, forensics.WaitAtLeast{})), t.Wait.Meaning,
				"A kill takes effect when that wait ends.")
		case t.Wait.Kind == procs.WaitExit:
			f.Title = headline.Fit(name + " cannot end: it waits for other processes of its PID namespace")
			f.Detail = findings.Sentences(t.Wait.Meaning, "The kernel has killed them already. One that has not ended waits in the kernel, or its parent outside of the namespace has not reaped it.")
		}
		p.Report(f)
	}
}

// outlivesKill says whether a thread waits for more than a moment in a wait that SIGKILL does not end.
func outlivesKill(p *forensics.Pass, w stall.Waiter) bool {
	return w.Thread.State == "D" && !w.Thread.Wait.Killable() && (w.Thread.Same || w.Seconds >= stall.HungAfter(p))
}

func unkillableFinding(p *forensics.Pass, process procs.Process, w stall.Waiter, dead bool) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: findings.ProcessEntity(process.PID), Confidence: forensics.Certain, Because: []forensics.Entity{forensics.ThreadEntity(w.Thread)},
		Title:  findings.ProcessTitle(p, process.PID) + " cannot be killed: blocked in the kernel" + forTime(w) + stall.OnWhat(p, w.Thread),
		Effect: findings.ProcessTitle(p, process.PID) + " cannot be killed",
		Detail: findings.Sentences(findings.Capital(findings.ProcessName(p, process.PID))+" cannot be killed now.",
			fmt.Sprintf("Its thread %d %s.", w.Thread.TID, forensics.DescribeWait(w.Thread, w.WaitAtLeast)), w.Thread.Wait.Meaning, "A kill takes effect when that wait ends."),
		ConfidenceWhy: "the kernel function of the wait: " + w.Thread.Wait.Function, Refs: []forensics.Ref{stall.ThreadRef(w.Thread)},
		Since: stall.ThreadSince(p, w.Thread, w.Seconds),
	}
	if dead {
		f.Title = findings.ProcessTitle(p, process.PID) + " cannot exit: one thread blocked in the kernel" + forTime(w) + stall.OnWhat(p, w.Thread)
		f.Effect = findings.ProcessTitle(p, process.PID) + " cannot exit"
		f.Detail = findings.Sentences(findings.Capital(findings.ProcessName(p, process.PID))+" was killed or has called exit, and cannot end.",
			fmt.Sprintf("Its thread %d %s.", w.Thread.TID, forensics.DescribeWait(w.Thread, w.WaitAtLeast)), w.Thread.Wait.Meaning, "A kill takes effect when that wait ends.")
	}
	if process.PodUID != "" {
		f.Pods = []string{process.PodUID}
	}
	return logview.WithHungTask(p, f, w.Thread)
}

// forTime is " for 10 min", " for at least 10 min", or nothing where no age is known.
func forTime(w stall.Waiter) string {
	switch {
	case !w.Known:
		return ""
	case w.Measured:
		return " for " + text.Duration(w.Seconds)
	}
	return " for at least " + text.Duration(w.Seconds)
}
