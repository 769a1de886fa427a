package checks

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/shellword"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// containerUnkillable finds containers that a kill does not end.
var containerUnkillable = forensics.Check{
	ID:    "container-unkillable",
	Title: "A container cannot be killed",
	Doc: `A container ends when its last process does, and the kubelet lets its pod go only then: every attempt to stop it runs into
the time limit (DeadlineExceeded, after the grace period and 2 minutes), its volumes stay mounted, and a pod that is to take
its place on another node cannot have them.

Three things show that a kill does not end it. Its pod is being deleted, and a thread of it is in a wait that no signal ends, or
waits on for a FUSE server after a signal (state D), for longer than --hung-after. Its first process has ended, and waits for
others in its process namespace (zap_pid_ns_processes), or for a thread of its own. Its cgroup is frozen with cgroup v1,
where a kill takes effect after the thaw (with v2 it does at once). Which container a process belongs to is read from its cgroup, so it
holds for all runtimes and versions. A container that waits so while its pod is not being deleted is not reported
here: process-unkillable does.`,
	Severity: forensics.Critical,
	Needs:    []forensics.Need{{forensics.SourceProcesses}, {forensics.SourceThreads}},
	Run: func(p *forensics.Pass) {
		for _, c := range stuckContainers(p) {
			p.Report(c.finding(p))
		}
		for _, g := range p.Evidence.Cgroups {
			for _, frozen := range g.Frozen {
				if state, _ := p.Model.PodState(g.PodUID); frozen.V1 && state == forensics.PodTerminating {
					p.Report(frozenFinding(p, g, frozen))
				}
			}
		}
	},
}

// A stuckContainer is one that has been killed, or will be, and the waits that keep it.
type stuckContainer struct {
	id, pod string
	killed  bool   // not only going to be
	how     string // that shows
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
			c.killed, c.how = true, fmt.Sprintf("its first process %d has ended and waits for the others", process.PID)
		case process.State == "Z":
			c.killed, c.how = true, fmt.Sprintf("its process %d has ended, but for thread %d", process.PID, w.Thread.TID)
			c.waits = append(c.waits, w)
		case signalless(w.Thread) && w.Seconds >= stall.HungAfter(p):
			c.waits = append(c.waits, w)
		}
	}
	return slices.DeleteFunc(order, func(c *stuckContainer) bool {
		if len(c.waits) == 0 || c.killed {
			return len(c.waits) == 0
		}
		state, _ := p.Model.PodState(c.pod)
		if listed, _ := p.Model.ListedPods(); state != forensics.PodTerminating && !listed[c.pod] {
			p.Unjudged("whether pod %s is being deleted is not known: no list of the kubelet has it", c.pod)
		}
		return state != forensics.PodTerminating
	})
}

// signalless says whether no signal ends a wait. A thread waits for a FUSE server interruptibly (S) until a signal comes,
// and from then on in state D, once the server has taken the request (fs/fuse/dev.c, request_wait_answer).
// Throttled writers go on by themselves, and a frozen cgroup is a finding of its own.
func signalless(t procs.Thread) bool {
	return t.Wait.Unkillable() && t.Wait.Kind != procs.WaitWriteback && t.Wait.Kind != procs.WaitFreezer || t.Wait.FS == "fuse" && t.State == "D"
}

func (c *stuckContainer) finding(p *forensics.Pass) forensics.Finding {
	worst := c.waits[0]
	f := forensics.Finding{
		Severity: forensics.Critical, Subject: containerEntity(c.id), Confidence: forensics.Certain, Pods: []string{c.pod}, Since: stall.ThreadSince(p, worst.Thread, worst.Seconds),
		Title: containerName(p, c.id, c.pod) + " cannot be killed: thread " + forensics.ThreadEntity(worst.Thread).ID + " " + forensics.DescribeWait(worst.Thread, worst.WaitAtLeast),
	}
	f.ConfidenceWhy = "the kernel's own word for the wait: " + worst.Thread.Wait.Function
	if worst.Seconds < stall.HungAfter(p) {
		f.Severity, f.Confidence = forensics.Warning, forensics.Likely
		lasts := "nothing proves that it has lasted"
		if worst.Measured {
			lasts = "it began only " + text.Duration(worst.Seconds) + " before that was seen"
		}
		f.ConfidenceWhy += ", but " + lasts
	}
	how := c.how
	if !c.killed {
		_, why := p.Model.PodState(c.pod)
		how = "its pod is being deleted: " + why
	}
	f.Detail = findings.Sentences(findings.Capital(how)+".", worst.Thread.Wait.Meaning,
		"Until that wait ends, the pod stays Terminating and keeps its volumes; deleting it with --force hides it from the API and frees nothing.")
	for _, w := range c.waits[:min(len(c.waits), findings.MaxQuoted)] {
		f.Because = append(f.Because, forensics.ThreadEntity(w.Thread))
		f.Refs = append(f.Refs, stall.ThreadRef(w.Thread))
	}
	if more := len(c.waits) - findings.MaxQuoted; more > 0 {
		f.Detail += " " + text.Plural(more, "more thread") + " of it wait in the same way."
	}
	return f
}

func frozenFinding(p *forensics.Pass, g runtimes.PodCgroup, frozen runtimes.FrozenCgroup) forensics.Finding {
	subject, name := forensics.Entity{Kind: forensics.KindPod, ID: g.PodUID}, "pod "+p.Model.Pod(g.PodUID).String()
	for _, id := range g.Containers {
		if strings.Contains(path.Base(frozen.Path), id) {
			subject, name = containerEntity(id), containerName(p, id, g.PodUID)
		}
	}
	_, why := p.Model.PodState(g.PodUID)
	return forensics.Finding{
		Severity: forensics.Critical, Subject: subject, Pods: []string{g.PodUID}, Confidence: forensics.Likely,
		ConfidenceWhy: "freezer.state says so; who froze it, and whether on purpose, is not known",
		Title:         name + " cannot be killed: its cgroup is " + frozen.State,
		Detail:        "Its pod is being deleted: " + why + ". With cgroup v1 a kill takes effect when the cgroup is thawed. A pause, a checkpoint or an update of the container that was broken off leaves it frozen.",
		Refs:          []forensics.Ref{{Source: forensics.SourceCgroups + ":" + frozen.Path, Excerpt: "freezer.state " + strings.ToUpper(frozen.State)}},
		Remedies: []forensics.Remedy{{
			Action: remedy.ActionResume, Instruction: "Thaw the cgroup: write THAWED to " + shellword.Quote(frozen.Path+"/freezer.state"), Why: "lets the processes go on, so that the kill that waits for them takes effect",
			OnlyIf: "nobody has paused the container on purpose (a backup, a debugger)", Risk: "the processes run until the kill reaches them",
		}},
	}
}

func containerEntity(id string) forensics.Entity {
	return forensics.Entity{Kind: forensics.KindContainer, ID: id}
}

// containerName begins a sentence: "Container c of pod default/web".
func containerName(p *forensics.Pass, id, pod string) string {
	return "Container " + cmp.Or(p.Model.ContainerName(id), fmt.Sprintf("%.12s", id)) + " of pod " + p.Model.Pod(pod).String()
}
