package checks

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/headline"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// kernelHungTask finds tasks that the kernel reports as hung, and that no other check sees.
var kernelHungTask = forensics.Check{
	ID:    "kernel-hung-task",
	Title: "The kernel reports a hung task",
	Doc: `"INFO: task X:PID blocked for more than 120 seconds" (kernel/hung_task.c): a task in uninterruptible sleep, usually on a disk or a
file system. The kernel repeats the line every 120 s, but writes ten at most (kernel.hung_task_warnings), so that silence proves nothing.
Waits that SIGKILL ends, such as those for NFS and FUSE, are never reported. If the log shows one disk or server in trouble, it is the
likely cause. Threads that were read while they waited are left to thread-blocked.`,
	Severity: forensics.Warning,
	Needs:    logview.Needs,
	Run: func(p *forensics.Pass) {
		incident.SawKernel(p)
		list := hungTasks(p)
		var written int64
		for _, i := range list {
			written += i.Count
		}
		for _, i := range list {
			if written >= 10 { // the kernel's limit: it writes no more
				i.Current = true
			}
			f := hungTaskFinding(p, i)
			p.ReportAlike("hung task", func(n int) string {
				return findings.Plural(n, "task") + " hung in the kernel: blocked for more than 2 min"
			}, f)
		}
	},
}

// hungTasks are those that the kernel reported, but for threads that thread-blocked reports.
func hungTasks(p *forensics.Pass) []incident.Incident {
	known, blocked := map[string]procs.Thread{}, map[string]bool{}
	for _, t := range p.Evidence.Threads {
		known[strconv.Itoa(t.TID)] = t
	}
	for _, w := range stall.Waiters(p, "") {
		if w.Seconds >= stall.HungAfter(p) && !noHang(w.Thread.Wait) {
			blocked[strconv.Itoa(w.Thread.TID)] = true
		}
	}
	spec := incident.Spec{Window: 10 * time.Minute, Subject: func(e logs.Event) forensics.Entity {
		id := taskNumber(e.Process)
		if blocked[id] {
			return forensics.Entity{}
		}
		if t, ok := known[id]; ok {
			return forensics.ThreadEntity(t)
		}
		return incident.Thing(forensics.KindProcess, id)
	}}
	return spec.Find(p, logview.Events(p, logs.KindKernelHungTask))
}

// taskNumber is the number in "name (4711)".
func taskNumber(process string) string {
	return strings.TrimSuffix(process[strings.LastIndexByte(process, '(')+1:], ")")
}

func hungTaskFinding(p *forensics.Pass, i incident.Incident) forensics.Finding {
	e := i.Events[len(i.Events)-1]
	name := strings.Replace(e.Process, " (", " (pid ", 1)
	f := incident.Certain(i.Finding(p, name+" has been blocked in the kernel", name+" was blocked in the kernel"))
	if e.Max > 0 {
		f.Title = headline.Fit(fmt.Sprintf("%s has been blocked in the kernel for at least %s", name, text.Duration(e.Max)))
		if !i.Current {
			f.Title = headline.Fit(fmt.Sprintf("%s was blocked in the kernel for at least %s, last seen %s", name, text.Duration(e.Max), logview.Moment(i.Last)))
		}
		if i.First != nil {
			since := i.First.Add(-time.Duration(e.Number) * time.Second)
			f.Since = &since
		}
	}
	f.Detail = findings.Sentences(f.Detail, "The stack that the kernel writes below the line shows what the task waits for.")
	if cause, ok := blamed(p, i); ok {
		f.Because = []forensics.Entity{cause}
		f.Detail = findings.Sentences(f.Detail, fmt.Sprintf("At the same time, %s was in trouble: the likely cause.", cause))
		f.Confidence, f.ConfidenceWhy = forensics.Likely, "the kernel log shows the task, and one disk or server in trouble at that time"
	}
	if i.Grave() {
		f.Remedies = []forensics.Remedy{incident.Look("shows the stacks of the blocked tasks, with the disk or server that they wait for", "dmesg", "-T")}
	}
	return f
}

// blamed is the only disk, file system or server that was in trouble within ten minutes of a hung task.
func blamed(p *forensics.Pass, task incident.Incident) (cause forensics.Entity, ok bool) {
	const near = 10 * time.Minute
	for _, list := range [][]incident.Incident{lostServers(p), failingDisks(p), failingFileSystems(p)} {
		for _, i := range list {
			lead := logview.Between(i.First, task.Last)
			if i.First == nil || task.Last == nil || lead < -near.Seconds() || !i.Current && logview.Between(i.Last, task.First) > near.Seconds() {
				continue
			}
			if ok && i.Subject != cause {
				return forensics.Entity{}, false
			}
			cause, ok = i.Subject, true
		}
	}
	return cause, ok
}
