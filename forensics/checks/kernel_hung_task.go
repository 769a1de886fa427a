package checks

import (
	"fmt"
	"slices"
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
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// kernelHungTask finds tasks that the kernel reports as hung, and that no other check sees.
var kernelHungTask = forensics.Check{
	ID:    "kernel-hung-task",
	Title: "The kernel reports a hung task",
	Doc: `"INFO: task X:PID blocked for more than 120 seconds" (kernel/hung_task.c): a task in uninterruptible sleep, usually on a disk or a
file system. The kernel repeats the line every 120 s, but writes ten at most (kernel.hung_task_warnings), so that silence proves nothing.
Waits that SIGKILL ends, such as those for NFS and FUSE, are never reported. The stack below the line shows what the task waits for. If the
log shows one disk or server in trouble that this can be, it is the likely cause. Threads that were read while they waited are left to thread-blocked.`,
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
			if written >= 10 && !i.Booted { // the kernel's limit: it writes no more
				i.Current = true
			}
			if t, _ := traceOf(p, i.Events[len(i.Events)-1]); backSince(p, i, t.Wait) {
				i.Current = false
			}
			f := hungTaskFinding(p, i)
			t, _ := traceOf(p, i.Events[len(i.Events)-1])
			p.ReportAlike([2]string{"hung task", t.Wait.FS}, func(n int) string {
				title := findings.Plural(n, "task") + " hung in the kernel: blocked for more than 2 min"
				if t.Wait.FS != "" {
					title += " in " + t.Wait.FS
				}
				return title
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
	list := spec.Find(p, logview.Events(p, logs.KindKernelHungTask))
	for n, i := range list {
		list[n].Current = i.Current || i.Ended == nil && (listed(known[taskNumber(i.Events[len(i.Events)-1].Process)]) || notKilledSince(p, i))
	}
	return list
}

// notKilledSince says whether a container could not be killed within the hour after a program of one was reported as hung.
func notKilledSince(p *forensics.Pass, task incident.Incident) bool {
	const near = 3600
	name, _, _ := strings.Cut(task.Events[0].Process, " (")
	return ofContainers(name) && slices.ContainsFunc(logview.Events(p, logs.KindContainerStopFailed), func(e logs.Event) bool {
		after := logview.Between(task.Last, e.Last)
		return notKilled(e) && after > 0 && after < near
	})
}

// listed says whether a listing of processes shows the thread in state D, beside the kernel's report of its hang.
func listed(t procs.Thread) bool {
	return t.Saved != "" && t.State == "D" && t.WaitFrom == "hung-task" && (len(t.Stack) == 0 || t.WChan != "")
}

// taskNumber is the number in "name (4711)".
func taskNumber(process string) string {
	return strings.TrimSuffix(process[strings.LastIndexByte(process, '(')+1:], ")")
}

func hungTaskFinding(p *forensics.Pass, i incident.Incident) forensics.Finding {
	e := i.Events[len(i.Events)-1]
	name := strings.Replace(e.Process, " (", " (task ", 1) // the kernel's number is that of the thread
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
	t, traced := traceOf(p, e)
	if traced {
		f.Title = headline.Fit(f.Title + stall.OnWhat(p, t))
		f.Because = forensics.Causes(p.Model, forensics.ThreadEntity(t))
		if t.Wait.Kind == procs.WaitFrozen && len(f.Because) == 0 {
			f.Because = []forensics.Entity{unnamedFrozen}
		}
		f.Detail = findings.Sentences(f.Detail, fmt.Sprintf("%s shows that it waits in %s. %s", map[bool]string{false: "Its stack", true: "A listing of processes"}[listed(t)], t.Wait.Function, t.Wait.Meaning)+waitFacts(t))
		f.Refs = append(f.Refs, stall.ThreadRef(t))
	} else {
		f.Detail = findings.Sentences(f.Detail, "The stack that the kernel writes below the line shows what the task waits for.")
		if _, frozen := savedFreeze(p); frozen {
			f.Because = []forensics.Entity{unnamedFrozen}
		}
	}
	if devices := stuckDevices(p); traced && ofNetworkDevice(t.Wait.Function) {
		for _, device := range devices {
			if device.Grave() && meets(device, i.First, i.Last) {
				f.Because = append(f.Because, device.Subject)
			}
		}
	} else if cause, ok := blamed(p, i, t.Wait); ok {
		f.Because = []forensics.Entity{cause.Subject}
		f.Detail = findings.Sentences(f.Detail, fmt.Sprintf("At the same time, %s was in trouble: the likely cause.", cause.Subject))
		f.Confidence, f.ConfidenceWhy = forensics.Likely, "the kernel log shows the task, and one disk or server in trouble at that time"
	}
	if i.Grave() {
		f.Remedies = []forensics.Remedy{incident.Look("shows the stacks of the blocked tasks, with the disk or server that they wait for", "dmesg", "-T")}
	}
	return f
}

// hangsTask says whether a task still hung at the log's end for which a disk or server is the only one to blame: then what stopped it is not over.
func hangsTask(p *forensics.Pass, suspect forensics.Entity) bool {
	return slices.ContainsFunc(hungTasks(p), func(i incident.Incident) bool {
		t, _ := traceOf(p, i.Events[len(i.Events)-1])
		cause, ok := blamed(p, i, t.Wait)
		return ok && cause.Subject == suspect && i.Grave() && i.Last != nil
	})
}

// stillListed says whether the text of a hung task shows it in a later listing, too.
func stillListed(p *forensics.Pass, i incident.Incident) bool {
	t, ok := traceOf(p, i.Events[len(i.Events)-1])
	return ok && listed(t)
}

// traceOf is the thread of a message, with the stack that the kernel wrote below it.
func traceOf(p *forensics.Pass, e logs.Event) (procs.Thread, bool) {
	id := taskNumber(e.Process)
	for _, t := range p.Evidence.Threads {
		if t.Saved != "" && strconv.Itoa(t.TID) == id {
			return t, true
		}
	}
	return procs.Thread{}, false
}

// backSince says whether the only server that a hung task can have waited for is back since the task was reported, or a disk is and no other is
// in trouble: then the task goes on.
func backSince(p *forensics.Pass, task incident.Incident, wait procs.Wait) bool {
	if list := suspects(p, task, wait); !slices.ContainsFunc(list, incident.Incident.Grave) && slices.ContainsFunc(list, func(i incident.Incident) bool {
		return i.Ended != nil && !i.Booted && task.Last != nil && i.Ended.After(*task.Last) && i.Events[0].Kind == "kernel-device-offline"
	}) {
		return true
	}
	cause, ok := blamed(p, task, wait)
	return ok && cause.Ended != nil && !cause.Booted && !cause.Current && task.Last != nil && !cause.Ended.Before(*task.Last) &&
		slices.ContainsFunc(lostServers(p), func(i incident.Incident) bool { return i.Subject == cause.Subject })
}

// blamed is the only disk, file system or server that was in trouble within ten minutes of a hung task. Those that are in trouble still come
// first, and of several the one that the name of the task has, as that of "jbd2/dm-3-8".
func blamed(p *forensics.Pass, task incident.Incident, wait procs.Wait) (cause incident.Incident, ok bool) {
	list := suspects(p, task, wait)
	name, _, _ := strings.Cut(task.Events[0].Process, " (")
	_, device, _ := strings.Cut(name, "/")
	named := func(i incident.Incident) bool {
		return device == i.Subject.ID || strings.HasPrefix(device, i.Subject.ID+"-")
	}
	for _, better := range []func(incident.Incident) bool{incident.Incident.Grave, named} {
		if slices.ContainsFunc(list, better) {
			list = sorting.Delete(list, func(i incident.Incident) bool { return !better(i) })
		}
	}
	if len(list) == 0 || slices.ContainsFunc(list, func(i incident.Incident) bool { return i.Subject != list[0].Subject }) {
		return incident.Incident{}, false
	}
	return list[len(list)-1], true
}

// suspects are the disks, file systems and servers that a hung task may wait for.
func suspects(p *forensics.Pass, task incident.Incident, wait procs.Wait) []incident.Incident {
	lists := [][]incident.Incident{lostServers(p), failingDisks(p), failingFileSystems(p)}
	switch wait.Kind {
	case procs.WaitServer, procs.WaitRetry, procs.WaitFUSE:
		lists = lists[:1]
	case procs.WaitBlock, procs.WaitJournal:
		lists = lists[1:]
	}
	return sorting.Delete(slices.Concat(lists...), func(i incident.Incident) bool { return !meetsTask(i, task, wait) })
}

// meetsTask says whether a disk, file system or server was in trouble within ten minutes of a hung task.
func meetsTask(i, task incident.Incident, wait procs.Wait) bool {
	const near = 10 * time.Minute
	switch {
	case i.First != nil && task.Last != nil:
		blocked := task.Events[0].Number // before it was reported
		return logview.Between(i.First, task.Last) >= -near.Seconds() && (i.Current || logview.Between(i.Last, task.First)-blocked <= near.Seconds())
	case i.First == nil && task.Last == nil: // dmesg without -T: only the order of the lines is known, and the stack has to name the daemon
		return wait.FS == "ceph" && strings.Contains(wait.Function, i.Subject.ID[:min(3, len(i.Subject.ID))]) && logview.Below(i.Events[:1], task.Events)
	}
	return i.First == nil && i.Grave() && gravity(worstOf(i).Kind) > 0 // a listing shows it, as of when it was made
}
