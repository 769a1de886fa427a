package checks

import (
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/cri"
	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
	"github.com/nodeforensics/nodeforensics/internal/headline"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// kernelOOM finds processes that the kernel killed because memory ran out.
var kernelOOM = forensics.Check{
	ID:    "kernel-oom",
	Title: "The kernel killed processes: out of memory",
	Doc: `"Out of memory: Killed process": memory of the whole node ran out. "Memory cgroup out of memory": a container or pod reached its
memory limit. Each kill is over at once, and one is information. Three of a pod, or of the node, the last within half an hour, are a
warning. So is a single one that hit the kubelet or the container runtime, at which the kernel panicked, or with which a saved log ends; and,
in a saved text, one that hit a program that serves FUSE file systems, whose mounts have then lost their server.`,
	Severity: forensics.Warning,
	Needs:    logview.Needs,
	Run: func(p *forensics.Pass) {
		incident.SawKernel(p)
		for _, i := range ooms(p) {
			reportOOM(p, i)
		}
	},
}

// ooms are the kills, by the pod, the cgroup or the node whose memory ran out.
func ooms(p *forensics.Pass) []incident.Incident {
	return forensics.Once(p, "kills for memory", func() []incident.Incident {
		spec := incident.Spec{Window: 30 * time.Minute, Subject: func(e logs.Event) forensics.Entity {
			switch pod := incident.PodOf(p, e); {
			case e.Kind == "kernel-oom":
				return incident.Thing("kernel", "memory")
			case pod.Kind != "":
				return pod
			case e.Path != "":
				return incident.Thing(forensics.KindPath, e.Path)
			case e.Kind == "kernel-oom-invoked":
				return incident.Thing("kernel", "oom-killer")
			}
			return incident.Thing("kernel", "cgroup-memory")
		}}
		list := spec.Find(p, append(logview.Events(p, "kernel-oom", "kernel-oom-cgroup"), invoked(p)...))
		panicked := slices.ContainsFunc(logview.Events(p, "kernel-panic"), func(e logs.Event) bool { return e.Cause() == "memory" })
		live, _ := p.Evidence.Saw(forensics.SourceProcesses)
		starved := slices.ContainsFunc(limits, func(l limit) bool { // of what the whole node needs, while a container has its own limit
			return strings.HasPrefix(string(l.kind), "kernel-") && slices.ContainsFunc(l.find(p), incident.Incident.Grave)
		})
		for n, i := range list {
			vital := slices.ContainsFunc(i.Events, func(e logs.Event) bool {
				name, _, ok := strings.Cut(e.Process, " (")
				return ok && (name == "kubelet" || cri.IsLogName(name) || p.Evidence.Collector.PID == 0 && fsfamily.ServesFUSE(name))
			})
			ends := !live && (!starved && len(hugeGroups(p)) == 0 || i.Events[0].Kind == "kernel-oom") && logview.Within(i.Last, logview.Story(p).Last, 3*time.Second) && logview.Ago(p, i.Events) <= 3 // what somebody has cut out to show it, with what the kubelet says of it
			list[n].Minor = i.Count < logview.FewFailures && !vital && !ends && (!panicked || i.Events[0].Kind != "kernel-oom")
		}
		return list
	})
}

// invoked are the calls of the OOM killer of which a text does not show whom it has killed, since it was cut there.
func invoked(p *forensics.Pass) []logs.Event {
	kills, calls := logview.Events(p, "kernel-oom", "kernel-oom-cgroup"), logview.Events(p, "kernel-oom-invoked")
	statistics := func(e logs.Event) bool { return e.Process == "" && e.Path != "" } // which follow a call
	if len(kills) > 0 || !slices.ContainsFunc(calls, statistics) || slices.ContainsFunc(calls, func(e logs.Event) bool { return !statistics(e) }) {
		calls = sorting.Delete(slices.Clone(calls), statistics)
	}
	if !logview.Written(p) || logview.Below(calls, kills) {
		return nil
	}
	if ofCgroup := sorting.Delete(slices.Clone(calls), func(e logs.Event) bool { return e.PodUID == "" && e.Path == "" }); len(ofCgroup) > 0 {
		return ofCgroup
	}
	return calls
}

// muchForKubelet is more memory than a kubelet needs, in MB: most have 100 to 300, and some that run hundreds of pods 1000.
const muchForKubelet = 2000

func reportOOM(p *forensics.Pass, i incident.Incident) {
	var victims []string
	for _, e := range i.Events {
		if strings.Contains(e.Process, " (") {
			victims = findings.Union(victims, []string{e.Process})
		}
	}
	f := i.Finding(p, "", "")
	if i.Events[0].Origin != "kubelet" { // which reports it as an event
		f = incident.Certain(f)
	}
	count, last := findings.Times(i.Count), ", last at "+logview.Moment(i.Last)
	switch i.Subject.Kind {
	case forensics.KindPod:
		f.Title = findings.PodTitle(p, i.Subject.ID) + " was out of memory " + count + last
	case forensics.KindPath:
		f.Title = "cgroup " + i.Subject.ID + " was out of memory " + count + last
	default:
		f.Title = "The node was out of memory " + count + last
		if process := i.Events[0].Process; i.Events[0].Kind == "kernel-oom-invoked" && process != "" {
			f.Title = "The kernel had no memory for " + process + " " + count + last
		} else if i.Events[0].Kind == "kernel-oom-invoked" {
			f.Title = "The kernel listed all processes to kill one for its memory " + count + last
		} else if i.Events[0].Kind != "kernel-oom" {
			f.Title = "A container was out of memory " + count + last
		}
	}
	if len(victims) > 0 {
		f.Title += ": " + victims[0] + " killed"
		f.Detail = findings.Sentences(f.Detail, "Killed: "+findings.Some(victims)+".")
	}
	f.Title = headline.Fit(f.Title)
	if slices.ContainsFunc(i.Events, func(e logs.Event) bool {
		name, _, _ := strings.Cut(e.Process, " (")
		return name == "kubelet" && e.Max >= muchForKubelet
	}) {
		if leaks := hugeGroups(p); len(leaks) > 0 {
			f.Because = append(f.Because, leaks...)
			f.Detail = findings.Sentences(f.Detail, "The kubelet had much memory itself, and each of its many goroutines keeps some.")
		}
	}
	if i.Grave() {
		f.Remedies = []forensics.Remedy{incident.Look("shows which processes used the memory when the kernel killed", "dmesg", "-T")}
	}
	p.ReportAlike(i.Events[0].Kind, func(n int) string { return findings.Plural(n, "pod") + " out of memory: processes killed" }, f)
}
