package checks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// replayPodGC says whom the pod garbage collector deletes by the dump of the API, and who else deletes pods.
func replayPodGC(p *forensics.Pass) {
	reportReplay(p, withThreshold(p.Evidence))
	reportDeleters(p)
	reportVanished(p)
}

var podGC = forensics.Entity{Kind: forensics.KindController, ID: "pod-garbage-collector"}

// withThreshold is the dump with the threshold of a controller that runs on this node, where nobody told another.
func withThreshold(e *forensics.Evidence) apidump.Dump {
	d := *e.Cluster
	if d.TerminatedPodGCThreshold != nil {
		return d
	}
	for _, process := range e.Processes {
		if !strings.HasPrefix(process.Comm, "kube-controller") || !ofControlPlane(process) {
			continue
		}
		for _, arg := range process.Command {
			if value, ok := strings.CutPrefix(arg, "--terminated-pod-gc-threshold="); ok {
				if n, err := strconv.Atoi(value); err == nil {
					d.TerminatedPodGCThreshold = &n
				}
			}
		}
	}
	return d
}

// ofControlPlane says whether a process may be a part of the control plane: one outside of any pod, or of a static pod, whose
// manifest is a file of the node. The kubelet makes the UID of such a pod from that file, as a hash without dashes
// (pkg/kubelet/config/common.go, applyDefaults). In other pods anything can be called so.
func ofControlPlane(process procs.Process) bool { return !strings.Contains(process.PodUID, "-") }

func reportReplay(p *forensics.Pass, d apidump.Dump) {
	replay := d.PodGC(d.NewestKubelet())
	if !replay.NodesKnown {
		p.Unjudged("the dump has no nodes, so that pods of nodes that are gone cannot be told")
	}
	byRule := map[apidump.Rule][]apidump.Pod{}
	for _, v := range replay.Victims {
		byRule[v.Rule] = append(byRule[v.Rule], d.Pods[v.Pod])
	}
	if pods := byRule[apidump.Terminated]; len(pods) > 0 {
		p.Report(terminatedFinding(d, replay, pods))
	}
	if pods := byRule[apidump.OutOfService]; len(pods) > 0 {
		f := victimsFinding(d, pods, forensics.Warning, "that terminate on a node that is out of service")
		f.Detail += " Their containers may still run there: a volume that is then attached elsewhere is written to by two nodes."
		p.Report(f)
	}
	if pods := byRule[apidump.Orphaned]; len(pods) > 0 {
		f := victimsFinding(d, pods, forensics.Warning, "of "+nodesOf(pods)+", which the dump does not have")
		f.Confidence, f.ConfidenceWhy = forensics.Likely, "the controller also waits 40 s and asks the API server for the node"
		f.Detail += " If the machine still runs, so do their containers: a volume that is then attached elsewhere is written to by two nodes."
		p.Report(f)
	}
	if pods := byRule[apidump.UnscheduledTerminating]; len(pods) > 0 {
		p.Report(victimsFinding(d, pods, forensics.Info, "that are being deleted and never had a node"))
	}
}

func terminatedFinding(d apidump.Dump, replay apidump.Replay, pods []apidump.Pod) forensics.Finding {
	f := victimsFinding(d, pods, forensics.Info, fmt.Sprintf("of %d that have ended, which is more than its threshold of %d", replay.Terminated, replay.Threshold))
	order := "the oldest first"
	if replay.EvictedFirst {
		order = "evicted ones first, then the oldest"
	}
	thrown, owned := 0, map[string]int{}
	for _, victim := range pods {
		if victim.Evicted() {
			thrown++
		}
		for _, o := range victim.Owners {
			owned[o.Kind]++
		}
	}
	f.Detail += fmt.Sprintf(" It takes %s: %d of them were evicted.", order, thrown)
	if owned["Job"] > 0 {
		f.Detail += fmt.Sprintf(" %s of Jobs go, and with them their logs; the Jobs keep their counts.", text.Plural(owned["Job"], "pod"))
	}
	if len(d.Nodes) == 0 {
		f.Confidence, f.ConfidenceWhy = forensics.Likely, "the dump has no nodes to tell the version, on which the order rests"
	}
	return f
}

// victimsFinding names the first pods of a rule.
func victimsFinding(d apidump.Dump, pods []apidump.Pod, severity forensics.Severity, which string) forensics.Finding {
	const listed = 10
	f := forensics.Finding{
		Severity: severity, Subject: podGC,
		Title: fmt.Sprintf("the pod garbage collector deletes %s %s", text.Plural(len(pods), "pod"), which),
	}
	var names []string
	kept := 0
	for i, victim := range pods {
		if i < listed {
			names = append(names, victim.ID())
			f.Pods = append(f.Pods, victim.UID)
		}
		if len(victim.Finalizers) > 0 {
			kept++
		}
	}
	f.Detail = "In this order: " + strings.Join(names, ", ")
	if more := len(pods) - listed; more > 0 {
		f.Detail += fmt.Sprintf(" and %d more", more)
	}
	f.Detail += "."
	if kept > 0 {
		f.Detail += fmt.Sprintf(" Finalizers keep the objects of %d of them all the same.", kept)
	}
	f.Refs = []forensics.Ref{{Source: forensics.SourceAPIDump, Excerpt: fmt.Sprintf("%s, %s", text.Plural(len(d.Pods), "pod"), text.Plural(len(d.Nodes), "node"))}}
	f.ConfidenceWhy = "replayed on the dump"
	return f
}

func nodesOf(pods []apidump.Pod) string {
	var names []string
	seen := map[string]bool{}
	for _, victim := range pods {
		if !seen[victim.Node] {
			seen[victim.Node] = true
			names = append(names, victim.Node)
		}
	}
	if len(names) > 3 {
		return fmt.Sprintf("%s (%s and others)", text.Plural(len(names), "node"), names[0])
	}
	return "node " + strings.Join(names, ", ")
}

// reportDeleters says who deletes pods of this node that are going, or has deleted those that failed.
func reportDeleters(p *forensics.Pass) {
	d := p.Evidence.Cluster
	for _, victim := range d.Pods {
		if !onThisNode(p.Evidence, victim) || victim.Deleting == nil && victim.Disrupted == nil && !victim.Evicted() {
			continue
		}
		deleters := p.Model.Cluster().Deleters(victim)
		if len(deleters) == 0 {
			continue
		}
		f := forensics.Finding{
			Severity: forensics.Info, Subject: podEntity(victim.UID), Pods: []string{victim.UID},
			Title:         fmt.Sprintf("pod %s goes because of %s", victim.ID(), deleters[0].Who),
			Since:         deleters[0].When,
			ConfidenceWhy: "told by the pod's object, its owners and its node in the dump of the API",
		}
		var why []string
		for _, by := range deleters {
			why = append(why, by.Who+": "+by.Why)
		}
		f.Detail = strings.Join(why, "; ") + "."
		f.Refs = []forensics.Ref{{Source: forensics.SourceAPIDump, Excerpt: deleters[0].Why}}
		p.Report(f)
	}
}

// reportVanished names who may have deleted pods that left traces here and are not in the dump.
func reportVanished(p *forensics.Pass) {
	d := p.Evidence.Cluster
	if len(d.Pods) == 0 {
		return
	}
	listed := map[string]bool{}
	for _, pod := range d.Pods {
		listed[pod.UID] = true
		if pod.Mirror != "" {
			listed[pod.Mirror] = true
		}
	}
	seen := map[string]bool{}
	for _, left := range p.Evidence.Pods {
		if left.UID == "" || listed[left.UID] || listed[left.MirrorUID] || seen[left.UID] || left.Source != "log-dir" {
			continue
		}
		seen[left.UID] = true
		by := p.Model.Cluster().VanishedBy(left.Namespace, left.Name)
		if len(by) == 0 {
			continue
		}
		p.Report(forensics.Finding{
			Severity: forensics.Info, Subject: podEntity(left.UID), Pods: []string{left.UID}, Since: by[0].When,
			Title:         fmt.Sprintf("pod %s/%s, which the API no longer has, may have been deleted by %s", left.Namespace, left.Name, by[0].Who),
			Detail:        by[0].Why + ".",
			Confidence:    forensics.Possible,
			ConfidenceWhy: "the pod's name begins with the owner's; its object is gone",
			Refs:          []forensics.Ref{{Source: forensics.SourceAPIDump, Excerpt: by[0].Why}},
		})
	}
}

// onThisNode says whether a pod of the API is one of the node that was examined; without a node (saved files) all are.
func onThisNode(e *forensics.Evidence, pod apidump.Pod) bool {
	names := []string{e.Node.Name}
	if e.Kubelet != nil {
		names = append(names, e.Kubelet.NodeName)
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == "" })
	return len(names) == 0 || slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, pod.Node) })
}

func podEntity(uid string) forensics.Entity {
	return forensics.Entity{Kind: forensics.KindPod, ID: uid}
}
