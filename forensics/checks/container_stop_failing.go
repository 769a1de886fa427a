package checks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/deletion"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/cri"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// containerStopFailing finds containers and sandboxes that cannot be stopped or removed.
var containerStopFailing = forensics.Check{
	ID:    "container-stop-failing",
	Title: "Containers or sandboxes cannot be stopped or removed",
	Doc: `"StopContainer … failed", "StopPodSandbox … failed", "RemoveContainer … failed", "failed to destroy network for sandbox", errors of
the shim: the kubelet tries again. Most often a process does not end since it waits in the kernel, or a mount of the container is in use.
Three failures that continue at the end of the log are a warning; of a container that
was killed and has not ended ("did not receive an exit event", "to be killed: wait container", DeadlineExceeded), one; and one answer to "docker rm" that it is busy. An AppArmor
profile that denies SIGKILL to the runtime (apparmor="DENIED" operation="signal") counts at once. Of a few lines that were picked from a log, one root file
system that is busy is enough. Pods that are stuck in Terminating are left to pod-terminating-stuck.`,
	Severity: forensics.Warning,
	Needs:    logview.Needs,
	Run: func(p *forensics.Pass) {
		logview.SawKubelet(p)
		stuck := map[string]bool{}
		for _, s := range deletion.InLog(p) {
			stuck[s.Subject.ID] = true
		}
		spec := incident.Spec{Subject: func(e logs.Event) forensics.Entity {
			subject := podOrContainer(p, e)
			if stuck[subject.ID] || len(stuck) > 0 && subject.Kind == forensics.KindContainer { // of one of them, most likely
				return forensics.Entity{}
			}
			return subject
		}}
		list := logview.Events(p, logs.KindContainerStopFailed, "container-remove-failed", logs.KindSandboxStopFailed, "sandbox-remove-failed",
			logs.KindCNIDeleteFailed, logs.KindShimFailed, logs.KindPodKillFailed, logs.KindPodKillIncomplete, "pod-containers-left")
		found := spec.Find(p, slices.Concat(list, silentSandboxes(p, list)))
		var all int64 // one cause stops all: people quote a line or two of each
		for _, i := range found {
			if i.Current {
				all += i.Count
			}
		}
		for _, i := range found {
			i.Minor = all < logview.FewFailures && !slices.ContainsFunc(i.Events, notKilled) && !slices.ContainsFunc(i.Events, busyByHand) && (!rootBusy(i) || !logview.Picked(p, i.Last))
			if i.Minor && len(found) == 1 && len(p.Evidence.Threads) == 0 { // else the text goes on with what is seen of the cause
				switch {
				case onlySandboxes(i) && !unknownSandbox(i):
					i.Expect(p, logview.FewFailures)
				case slices.ContainsFunc(i.Events, func(e logs.Event) bool {
					return e.Kind == logs.KindPodKillFailed && timedOut(e) || strings.Contains(e.Reason, directKill)
				}):
					i.ExpectAgain(p, logview.FewFailures, aCall)
				}
			}
			name := thingTitle(p, i)
			f := i.Finding(p, name+" cannot be stopped or removed", name+" could not be stopped or removed")
			f.Lone = f.Lone && !unknownSandbox(i) && !strings.Contains(i.Reason(), "executable file not found") // which its image lacks
			incident.ByRuntime(p, &f)
			byHungTask(p, &f, i)
			byBlockedThread(p, &f, i)
			byLost(p, &f, i.Events)
			for _, e := range i.Events {
				f.Because = findings.Union(f.Because, leaksIn(p, e.Reason))
			}
			if i.Grave() {
				client := "crictl"
				if e := i.Events[0]; e.Origin == "dockerd" || busyByHand(e) {
					client = "docker"
				}
				look := incident.Look("shows which process is blocked in the kernel (state D), and where: no signal ends it", "ps", "-eo", "pid,state,wchan:32,args")
				look.Risk = "none: read-only. ps reads command lines and can itself hang on a blocked process"
				f.Remedies = []forensics.Remedy{incident.Look("shows the state of the containers", client, "ps", "-a"), look}
				if i.Events[0].Origin == "kernel" && i.Events[0].Code == "EACCES" {
					f.Remedies[1] = incident.Look("shows the profiles and what they are for; that of the container must allow signals of the runtime", "aa-status")
				}
			}
			kind := i.Events[0].Kind
			p.ReportAlike(kind, func(n int) string {
				return findings.Plural(n, string(i.Subject.Kind)) + " cannot be stopped or removed: " + logs.Words(kind)
			}, f)
		}
	},
}

// silentSandboxes are the answers about sandboxes that came too late, of those that could not be stopped, either.
func silentSandboxes(p *forensics.Pass, stops []logs.Event) []logs.Event {
	return sorting.Delete(logview.Events(p, "sandbox-silent"), func(e logs.Event) bool {
		return !slices.ContainsFunc(stops, func(s logs.Event) bool { return s.Container != "" && s.Container == e.Container })
	})
}

// directKill is what dockerd says of a container that has not ended ten seconds after SIGKILL.
const directKill = "trying direct SIGKILL"

// onlySandboxes reports whether the runtime has refused to stop or to remove a sandbox: nobody quotes one such line for another cause.
func onlySandboxes(i incident.Incident) bool {
	return !slices.ContainsFunc(i.Events, func(e logs.Event) bool {
		return e.Kind != logs.KindSandboxStopFailed && e.Kind != "sandbox-remove-failed" && e.Kind != logs.KindCNIDeleteFailed
	})
}

// unknownSandbox says whether the runtime answers that there is no such sandbox, so that there is nothing left to stop.
func unknownSandbox(i incident.Incident) bool {
	return slices.ContainsFunc(i.Events, func(e logs.Event) bool { return e.Code == "NotFound" })
}

// byHungTask explains a container that was killed and has not ended by tasks that the kernel reported as hung within an hour, or that a listing
// shows to hang still: no signal ends these. Its own threads, and the programs that start and stop containers, are in none.
func byHungTask(p *forensics.Pass, f *forensics.Finding, i incident.Incident) {
	const near = 3600
	if !slices.ContainsFunc(i.Events, notKilled) {
		return
	}
	tasks := hungTasks(p)
	journal := slices.ContainsFunc(tasks, func(t incident.Incident) bool { return ofJournal(t) && stillListed(p, t) }) // for which others wait
	for _, task := range tasks {
		name, _, _ := strings.Cut(task.Events[0].Process, " (")
		before, after := logview.Between(task.Last, i.First), logview.Between(i.Last, task.First)
		distant := task.Last == nil && !logview.Written(p) || i.Last == nil || before > near || after > near
		if _, runs := cri.OfProcess(name); runs && !distant && task.Grave() { // the runtime itself, or what has its name
			f.Because = append(f.Because, task.Subject)
			f.Confidence, f.ConfidenceWhy = forensics.Possible, "the kernel reports a task with the name of the runtime as hung; a process of a pod can have that name"
			return
		}
		distant = distant || task.Last == nil
		if ofJournal(task) && !distant && stillListed(p, task) {
			f.Because = append(f.Because, task.Subject)
			f.Confidence, f.ConfidenceWhy = forensics.Possible, "the kernel reports the journal of a file system as hung; which pod uses it, the log does not say"
			continue
		}
		if distant && !stillListed(p, task) || !ofContainers(name) || journal && !task.Grave() { // which hangs, whatever the times say
			continue
		}
		f.Because = append(f.Because, task.Subject)
		f.Detail = findings.Sentences(f.Detail, "The kernel reports "+name+" as hung: SIGKILL does not end such a task. The log does not say whether it is of this container.")
		f.Confidence, f.ConfidenceWhy = forensics.Possible, "the logs show both near one another, and do not name the container's processes"
	}
}

// ofJournal says whether a hung task writes the journal of an ext4 file system.
func ofJournal(task incident.Incident) bool {
	return strings.HasPrefix(task.Events[0].Process, "jbd2/")
}

// byBlockedThread does the same with threads whose stacks somebody has saved beside the log: who looks at a container that does not end
// shows its process.
func byBlockedThread(p *forensics.Pass, f *forensics.Finding, i incident.Incident) {
	if !slices.ContainsFunc(i.Events, notKilled) || p.Evidence.Collector.PID != 0 {
		return
	}
	for _, t := range p.Evidence.Threads {
		if !stall.UnkillableByText(t) && (t.Saved == "" || t.Wait.FS == "" || !ofContainers(t.Comm)) {
			continue
		}
		f.Because = append(f.Because, stall.SavedSubject(t))
		f.Confidence, f.ConfidenceWhy = forensics.Possible, "the text shows both, and does not say that the process is of this container"
	}
}

// byLost explains a container that was killed and has not ended by the only disk, file system or server that is in trouble then, by the kernel's
// log: a process that waits for it may not end before that.
func byLost(p *forensics.Pass, f *forensics.Finding, events []logs.Event) {
	if len(f.Because) > 0 || !slices.ContainsFunc(events, notKilled) || p.Evidence.Collector.PID != 0 {
		return
	}
	stop := incident.Incident{Events: events, First: logview.First(events), Last: logview.Last(events)}
	if cause, ok := blamed(p, stop, procs.Wait{}); ok && cause.Grave() {
		f.Because = []forensics.Entity{cause.Subject}
		f.Detail = findings.Sentences(f.Detail, fmt.Sprintf("At the same time, %s was in trouble. A process that waits for it may not end when it is killed.", cause.Subject))
		f.Confidence, f.ConfidenceWhy = forensics.Possible, "the logs show both near one another, and do not say what the container's processes wait for"
	}
}

// busyByHand says whether a daemon has answered somebody's own command, which no log repeats, that a mount of the container is in use.
func busyByHand(e logs.Event) bool {
	return e.Kind == "container-remove-failed" && e.Code == "EBUSY" && e.Last == nil
}

// rootBusy says whether a runtime could not unmount the root file system of a container that has ended: it waits for longer and longer
// between its tries, so that a few lines show one.
func rootBusy(i incident.Incident) bool {
	return i.Current && slices.ContainsFunc(i.Events, func(e logs.Event) bool { return e.Kind == logs.KindShimFailed && e.Code == "EBUSY" })
}

func notKilled(e logs.Event) bool { return e.Cause() == "not-killed" }

// ofContainers leaves out threads of the kernel, and programs of the node.
func ofContainers(comm string) bool {
	_, isRuntime := cri.OfProcess(comm)
	return !isRuntime && !cri.IsShim(comm) && comm != "kubelet" && !strings.ContainsAny(comm, "/:") && !slices.ContainsFunc([]string{"runc", "crun", "conmon", "xfsaild", "khugepaged", "kswapd", "systemd", "sshd", "mount", "umount", "nfsd", "ksoftirqd"}, func(s string) bool { return strings.HasPrefix(comm, s) })
}
