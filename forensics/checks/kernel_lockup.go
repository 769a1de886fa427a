package checks

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/headline"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// kernelLockup finds CPUs that were stuck.
var kernelLockup = forensics.Check{
	ID:    "kernel-lockup",
	Title: "A CPU was stuck: lockup or RCU stall",
	Doc: `"soft lockup - CPU#3 stuck for 22s!", "rcu_sched self-detected stall", hard lockups: code of the kernel did not give up a CPU for
tens of seconds. Nothing else runs there meanwhile: PLEG, probes and leases time out. Causes are a bug of a driver or file system,
very large directory or memory structures, or a hypervisor that gave the CPU to others. Three within the last half hour are a warning, and
two that are at least 20 s and at most 10 min apart: the CPU is still stuck, or again. So is one of two minutes or more, one whose CPU has counted
thousands of ticks meanwhile ("14999 ticks this GP": it was not the hypervisor that paused it), and one at which the kernel panicked
(kernel.softlockup_panic, kernel.hardlockup_panic).`,
	Severity: forensics.Warning,
	Needs:    logview.Needs,
	Run: func(p *forensics.Pass) {
		incident.SawKernel(p)
		for _, i := range lockups(p) {
			p.Report(lockupFinding(p, i))
		}
	},
}

// ofProgram says whether a thread of a program was stuck. A hypervisor pauses idle CPUs, too, most often.
func ofProgram(e logs.Event) bool { return e.Process != "" && !strings.HasPrefix(e.Process, "swapper") }

func lockups(p *forensics.Pass) []incident.Incident {
	spec := incident.Spec{Window: 30 * time.Minute, Subject: func(logs.Event) forensics.Entity { return incident.Thing("kernel", "cpu") }}
	list := spec.Find(p, logview.Events(p, "kernel-lockup"))
	panicked := slices.ContainsFunc(logview.Events(p, "kernel-panic"), func(e logs.Event) bool { return e.Cause() == "lockup" })
	for n := range list {
		if panicked || interrupted(p) || slices.ContainsFunc(list[n].Events, saidAgain) {
			continue
		}
		between := logview.Between(list[n].First, list[n].Last) // a pause of the hypervisor shows on several CPUs at once
		if (between < 20 || between > 600) && longestStall(p, list[n]) < 120 {
			list[n].Minor = list[n].Count < logview.FewFailures
			if slices.ContainsFunc(list[n].Events, ofProgram) {
				list[n].Expect(p, logview.FewFailures)
			}
		}
	}
	return list
}

// interrupted says whether a stalled CPU has counted thousands of ticks of its clock meanwhile: it ran. One that a hypervisor has paused counts
// none.
func interrupted(p *forensics.Pass) bool {
	const many = 5000 // 5 s at 1000 Hz, 20 s at 250 Hz
	return slices.ContainsFunc(logview.Events(p, "kernel-stall-ticks"), func(e logs.Event) bool { return e.Max >= many })
}

// saidAgain says whether a thread was stuck twice, where no line has a time. The kernel writes of one at most every 20 s (kernel/watchdog.c).
func saidAgain(e logs.Event) bool {
	return e.First == nil && e.Process != "" && len(e.Quotes) > 1 && e.Quotes[0].Text != e.Quotes[1].Text
}

// longestStall is how long a CPU was stuck, in seconds; 0 where no line says so.
func longestStall(p *forensics.Pass, i incident.Incident) (longest float64) {
	for _, e := range slices.Concat(i.Events, logview.Events(p, "kernel-stall-length")) {
		longest = max(longest, e.Max)
	}
	return longest
}

func lockupFinding(p *forensics.Pass, i incident.Incident) forensics.Finding {
	worst := i.Events[0]
	for _, e := range i.Events {
		if e.Max > worst.Max {
			worst = e
		}
	}
	f := incident.Certain(i.Finding(p, "CPUs have been stuck", "A CPU was stuck"))
	if worst.Process == "" && strings.Contains(worst.Reason, "rcu") || strings.HasPrefix(worst.Process, "swapper") {
		f.Lone = f.Lone && logview.Brief(p) && worst.Process == "" // otherwise mostly a paused machine
	}
	if longest := longestStall(p, i); longest > 0 {
		f.Title = headline.Fit("CPUs were stuck " + findings.Times(i.Count) + ", up to " + text.Duration(longest) + " in " +
			cmp.Or(worst.Process, "the kernel") + ", last at " + logview.Moment(i.Last))
	}
	f.Detail = findings.Sentences(f.Detail, "What runs on a stuck CPU makes no progress. Timeouts of the kubelet and of probes at these times are its effects.")
	if i.Grave() {
		f.Remedies = []forensics.Remedy{incident.Look("shows the code in which each CPU was stuck", "dmesg", "-T")}
	}
	return f
}
