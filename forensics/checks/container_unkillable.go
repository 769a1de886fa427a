package checks

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/shellword"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// containerUnkillable finds containers that a kill does not end.
var containerUnkillable = forensics.Check{
	ID:    "container-unkillable",
	Title: "A container cannot be killed",
	Doc: `A container ends when its last process ends, and the kubelet removes its pod only then. Every attempt to stop the container
times out (DeadlineExceeded, after the grace period and 2 minutes). Its volumes stay mounted, and a replacement pod on
another node cannot have them.

Three things show that a kill does not end it:

- Its pod is being deleted, and one of its threads is in a wait that no signal ends, or waits for a FUSE server after a
  signal (state D). That wait is longer than --hung-after.
- Its first process has ended, and waits for others in its process namespace (zap_pid_ns_processes) or for one of its threads.
- Its cgroup is frozen with cgroup v1, where a kill takes effect after the thaw. With v2 a kill takes effect at once.

The container of a process is read from its cgroup, so this works for all runtimes and versions. A container with such a wait
whose pod is not being deleted belongs to process-unkillable.`,
	Severity: forensics.Critical,
	Needs:    []forensics.Need{{forensics.SourceProcesses, forensics.SourceCgroups}, {forensics.SourceThreads, forensics.SourceCgroups}},
	Run: func(p *forensics.Pass) {
		for _, c := range stuckContainers(p) {
			p.Report(c.finding(p))
		}
		for _, g := range p.Evidence.Cgroups {
			for _, frozen := range g.Frozen {
				if state, _ := p.Model.PodState(g.PodUID); frozen.V1 && (state == forensics.PodTerminating || stopFails(p, g) || killedInFreezer(p, g)) {
					p.Report(frozenFinding(p, g, frozen))
				}
			}
		}
		for _, source := range []string{forensics.SourceProcesses, forensics.SourceThreads} {
			if seen, why := p.Evidence.Saw(source); !seen {
				p.Unjudged("the %s were not read: %s", source, why)
				return
			}
		}
	},
}

// A stuckContainer is one that has been killed, or will be, and the waits that block its end.
type stuckContainer struct {
	id, pod string
	killed  bool   // already
	how     string // the evidence for that
	waits   []stall.Waiter
}

func stuckContainers(p *forensics.Pass) []*stuckContainer {
	var order []*stuckContainer
	byID := map[string]*stuckContainer{}
	at := func(process procs.Process) *stuckContainer {
		if byID[process.ContainerID] == nil {
			byID[process.ContainerID] = &stuckContainer{id: process.ContainerID, pod: process.PodUID}
			order = append(order, byID[process.ContainerID])
		}
		return byID[process.ContainerID]
	}
	for _, w := range stall.Waiters(p, "") {
		process, ok := p.Model.Process(w.Thread.PID)
		if !ok || process.ContainerID == "" || process.PodUID == "" {
			continue
		}
		switch c := at(process); {
		case w.Thread.Wait.Function == "zap_pid_ns_processes":
			c.killed, c.how = true, fmt.Sprintf("the container's first process %d has ended and waits for the others", process.PID)
		case process.State == "Z":
			c.killed, c.how = true, fmt.Sprintf("the container's process %d has ended, except for thread %d", process.PID, w.Thread.TID)
			c.waits = append(c.waits, w)
		case signalless(w.Thread) && w.Seconds >= stall.HungAfter(p):
			c.waits = append(c.waits, w)
		}
	}
	return sorting.Delete(order, func(c *stuckContainer) bool {
		if len(c.waits) == 0 || c.killed {
			return len(c.waits) == 0
		}
		state, _ := p.Model.PodState(c.pod)
		if listed, _ := p.Model.ListedPods(); state != forensics.PodTerminating && !listed[c.pod] {
			p.Unjudged("it is not known whether pod %s is being deleted: no list of the kubelet has it", c.pod)
		}
		return state != forensics.PodTerminating
	})
}

// stopFails says whether the logs show that a container of a pod cannot be stopped.
func stopFails(p *forensics.Pass, g runtimes.PodCgroup) bool {
	return slices.ContainsFunc(logview.Events(p, logs.KindContainerStopFailed, logs.KindSandboxStopFailed, logs.KindPodKillFailed, logs.KindShimFailed), func(e logs.Event) bool {
		return logview.UIDOf(p, e.Subject) == g.PodUID || e.Container != "" && slices.ContainsFunc(g.Containers, func(id string) bool { return strings.HasPrefix(id, e.Container) })
	})
}

// killedInFreezer says whether a text shows one frozen cgroup and the stack of a process in the freezer, which is taken over only if the text
// shows that somebody has killed it.
func killedInFreezer(p *forensics.Pass, g runtimes.PodCgroup) bool {
	return len(p.Evidence.Cgroups) == 1 && slices.ContainsFunc(g.Frozen, func(f runtimes.FrozenCgroup) bool { return f.V1 }) &&
		slices.ContainsFunc(p.Evidence.Threads, func(t procs.Thread) bool { return stall.UnkillableByText(t) && t.Wait.Kind == procs.WaitFreezer })
}

// signalless says whether no signal ends a wait. A thread waits for a FUSE server interruptibly (S) until it gets a signal, and from then
// on in state D, once the server has taken the request (fs/fuse/dev.c, request_wait_answer). Throttled writers continue by themselves,
// and a frozen cgroup is a finding of its own.
func signalless(t procs.Thread) bool {
	return t.Wait.Unkillable() && t.Wait.Kind != procs.WaitWriteback && t.Wait.Kind != procs.WaitFreezer || t.Wait.FS == "fuse" && t.State == "D"
}

func (c *stuckContainer) finding(p *forensics.Pass) forensics.Finding {
	worst := c.waits[0]
	f := forensics.Finding{
		Severity: forensics.Critical, Subject: containerEntity(c.id), Confidence: forensics.Certain, Pods: []string{c.pod}, Since: stall.ThreadSince(p, worst.Thread, worst.Seconds),
		Title: containerTitle(p, c.id, c.pod) + " cannot be killed: " + findings.ProcessTitle(p, worst.Thread.PID) + " blocked in the kernel" + forTime(worst) +
			stall.OnWhat(p, worst.Thread),
		Effect: containerTitle(p, c.id, c.pod) + " cannot be killed",
	}
	f.ConfidenceWhy = "the kernel function of the wait: " + worst.Thread.Wait.Function
	if worst.Seconds < stall.HungAfter(p) {
		f.Severity, f.Confidence = forensics.Warning, forensics.Likely
		lasts := "its duration is unknown"
		if worst.Measured {
			lasts = "it began only " + text.Duration(worst.Seconds) + " before it was read"
		}
		f.ConfidenceWhy += ", but " + lasts
	}
	how := c.how
	if !c.killed {
		_, why := p.Model.PodState(c.pod)
		how = "the pod is being deleted: " + why
	}
	f.Detail = findings.Sentences(fmt.Sprintf("Thread %s of %s %s.", forensics.ThreadEntity(worst.Thread).ID, lower(containerName(p, c.id, c.pod)),
		forensics.DescribeWait(worst.Thread, worst.WaitAtLeast)), worst.Thread.Wait.Meaning, findings.Capital(how)+".",
		"Until that wait ends, the pod stays Terminating and keeps its volumes. Deleting it with --force removes it from the API and frees nothing.")
	for _, w := range c.waits[:min(len(c.waits), findings.MaxQuoted)] {
		f.Because = append(f.Because, forensics.ThreadEntity(w.Thread))
		f.Refs = append(f.Refs, stall.ThreadRef(w.Thread))
	}
	if more := len(c.waits) - findings.MaxQuoted; more > 0 {
		f.Detail += " " + text.Plural(more, "more thread") + " of this container wait in the same way."
	}
	return f
}

func frozenFinding(p *forensics.Pass, g runtimes.PodCgroup, frozen runtimes.FrozenCgroup) forensics.Finding {
	subject, title := forensics.Entity{Kind: forensics.KindPod, ID: g.PodUID}, findings.PodTitle(p, g.PodUID)
	for _, id := range g.Containers {
		if strings.Contains(path.Base(frozen.Path), id) {
			subject, title = containerEntity(id), containerTitle(p, id, g.PodUID)
		}
	}
	state, why := p.Model.PodState(g.PodUID)
	if why = "is being deleted: " + why; state != forensics.PodTerminating {
		why = "has a container that cannot be stopped, by the log"
		if killedInFreezer(p, g) {
			why = "has a process in the freezer that was killed, by the text"
		}
	}
	return forensics.Finding{
		Severity: forensics.Critical, Subject: subject, Pods: []string{g.PodUID}, Confidence: forensics.Likely,
		ConfidenceWhy: "read from freezer.state; what froze it, and whether on purpose, is not known",
		Title:         title + " cannot be killed: its cgroup is " + frozen.State,
		Effect:        title + " cannot be killed",
		Detail: "Pod " + p.Model.Pod(g.PodUID).String() + " " + why + ". With cgroup v1 a kill takes effect when the cgroup is thawed. " +
			"An interrupted pause, checkpoint or update of the container leaves it frozen.",
		Refs: []forensics.Ref{{Source: forensics.SourceCgroups + ":" + frozen.Path, Excerpt: "freezer.state " + strings.ToUpper(frozen.State)}},
		Remedies: []forensics.Remedy{{
			Action: remedy.ActionResume, Instruction: "Thaw the cgroup: write THAWED to " + shellword.Quote(frozen.Path+"/freezer.state"), Why: "the processes continue, and the pending kill takes effect",
			OnlyIf: "the container was not paused on purpose (by a backup or a debugger)", Risk: "the processes run until the kill reaches them",
		}},
	}
}

func containerEntity(id string) forensics.Entity {
	return forensics.Entity{Kind: forensics.KindContainer, ID: id}
}

// containerTitle names a container for a headline: "Container app of pod shop/cart-0". An ID says less than the process that a headline
// names next, and a pod's UID leaves no room for both.
func containerTitle(p *forensics.Pass, id, pod string) string {
	if name := p.Model.ContainerName(id); name != "" {
		return "Container " + name + " of " + lower(findings.PodTitle(p, pod))
	}
	return "A container of " + lower(findings.PodTitle(p, pod))
}

// lower is a sentence as a part of another one.
func lower(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// containerName begins a sentence: "Container c of pod default/web (UID)".
func containerName(p *forensics.Pass, id, pod string) string {
	return "Container " + cmp.Or(p.Model.ContainerName(id), fmt.Sprintf("%.12s", id)) + " of pod " + p.Model.Pod(pod).String()
}
