package checks

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// podPodGC says which pods the control plane deletes or has deleted, and which controller may have deleted a missing pod.
var podPodGC = forensics.Check{
	ID:    "pod-podgc",
	Title: "The control plane deletes pods",
	Doc: `One round of the pod garbage collector of the kube-controller-manager (pkg/controller/podgc/gc_controller.go),
replayed on an API dump. The pod garbage collector deletes:

- Terminated pods above --terminated-pod-gc-threshold (12,500). Since 1.27 it deletes evicted pods first, before that the
  oldest.
- Terminating pods on a node with the out-of-service taint (since 1.24).
- Pods of nodes without a Node object.
- Terminating pods that never had a node.

It does nothing for a terminating pod on an existing, ready node. It deletes only the object. On a node that still runs,
the containers of an orphaned pod keep running. They may write to a volume that another node has attached. That is a
warning; the others are information.

The threshold is that of the flag, or of a kube-controller-manager on this node. The version is that of the newest
kubelet: a control plane is at least as new. Before the controller treats a node as deleted, it waits 40 seconds and
queries the API server again; a dump cannot show that. The controller's log shows the pods that it has deleted, and the
rule.

Other controllers that delete pods of this node are found in pod conditions, in owners (a Job's TTL, an Argo Workflow's
podGC) and in node taints. For a pod that only left traces, the finding guesses: an owner in its namespace whose name is a
prefix of the pod's name.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceAPIDump, forensics.SourceLogs}},
	Run: func(p *forensics.Pass) {
		logged := podGCInLog(p)
		if whole, _ := p.Evidence.Saw(forensics.SourceAPIDump); !whole || p.Evidence.Cluster == nil || !p.Evidence.Cluster.Whole() { // --api has the pods of one node
			if !logged {
				p.Unjudged("no API dump was given, and no log of kube-controller-manager was read; most nodes have none")
			}
			return
		}
		replayPodGC(p)
	},
}

// podGCInLog reports the pods that the kube-controller-manager deleted according to its log, and the rule. It is false where no such log
// was read.
func podGCInLog(p *forensics.Pass) bool {
	read := slices.ContainsFunc(logview.Story(p).Files, func(f logs.File) bool { return f.Origin == "kube-controller-manager" })
	named := false
	for _, kind := range podGCRules {
		list := logview.Events(p, kind)
		if kind == logs.KindPodGCOrphaned && len(list) == 0 { // whose lines may be cut off, or beyond the log's verbosity
			list = logview.Events(p, "podgc-orphaned-done")
		}
		if len(list) > 0 {
			p.Report(podGCFinding(p, kind, list))
			read, named = true, true
		}
	}
	if list := logview.Events(p, logs.KindPodGCDeleting); len(list) > 0 && !named {
		p.Report(podGCFinding(p, logs.KindPodGCDeleting, list))
		read = true
	}
	return read
}

// podGCRules are the kinds of messages that name a rule.
var podGCRules = []logs.Kind{logs.KindPodGCOrphaned, logs.KindPodGCOutOfService, logs.KindPodGCUnscheduled, logs.KindPodGCTerminated}

func podGCFinding(p *forensics.Pass, kind logs.Kind, list []logs.Event) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Info, Subject: podGC, Confidence: forensics.Certain, Since: logview.First(list), Refs: logview.EventRefs(list...),
		ConfidenceWhy: "the kube-controller-manager's log says so",
	}
	var names []string
	for _, e := range append(slices.Clone(list), podGCDeleted(p, kind)...) {
		if e.PodName != "" {
			names = append(names, e.PodName)
			f.Pods = append(f.Pods, findings.UIDs(logview.UIDOf(p, e.Subject))...)
		}
	}
	names, f.Pods = findings.Union(nil, names), findings.Union(nil, f.Pods)
	pods, which := "Pods", ""
	switch {
	case len(names) == 1:
		pods = "Pod " + names[0]
	case len(names) > 1:
		pods, which = findings.Plural(len(names), "pod"), "Among the pods: "+findings.Some(names)+"."
	}
	were := " were"
	if len(names) == 1 {
		were = " was"
	}
	var most float64
	for _, e := range list {
		most = max(most, e.Max, e.Number)
	}
	when := fmt.Sprintf("The log has %s, %s.", findings.Plural(int(logview.Count(list)), "such message"), logview.Span(logview.First(list), logview.Last(list)))
	switch kind {
	case logs.KindPodGCOrphaned:
		f.Severity = forensics.Warning
		f.Title = pods + were + " deleted by pod garbage collection: the Node object does not exist"
		f.Detail = findings.Sentences("Only the objects were deleted. If that node still runs, the old containers still run beside the new ones.", when, which)
		f.Remedies = []forensics.Remedy{{
			Action: remedy.ActionLook, Command: []string{"kubectl", "get", "nodes"}, Why: "shows whether the node was deleted or renamed",
			Risk: "none: read-only. Make sure that the old node is off before its volumes are used elsewhere",
		}, {
			Action: remedy.ActionLook, Command: []string{"sh", "-c", "journalctl -u kubelet | grep -i register"}, Why: "run on that node, shows whether its kubelet registered again",
			Risk: "none: read-only",
		}}
	case logs.KindPodGCDeleting: // the lines that name the other rules need -v 2 or more, that of the threshold is always written
		f.Severity, f.Confidence, f.ConfidenceWhy = forensics.Warning, forensics.Possible, "the log shows the deletions, and not by which rule"
		f.Title = pods + were + " deleted by pod garbage collection: their node may not exist"
		f.Detail = findings.Sentences("Only the objects were deleted. If a node was deleted and still runs, the old containers still run beside the new ones. The log does not name the rule; its message needs -v 2.", when, which)
		f.Remedies = []forensics.Remedy{{
			Action: remedy.ActionLook, Command: []string{"kubectl", "get", "nodes"}, Why: "shows whether the node of the pods was deleted or renamed, or has the out-of-service taint",
			Risk: "none: read-only. Make sure that the old node is off before its volumes are used elsewhere",
		}}
	case logs.KindPodGCOutOfService:
		f.Severity = forensics.Warning
		f.Title = findings.Plural(int(most), "terminating pod") + " deleted by pod garbage collection: node has the out-of-service taint"
		f.Detail = findings.Sentences("The taint means that the node is off. If it is not off, the containers still run.", when)
	case logs.KindPodGCUnscheduled:
		f.Title = pods + were + " deleted by pod garbage collection: terminating and never scheduled"
		f.Detail = findings.Sentences("These pods ran on no node.", when, which)
	default:
		f.Title = fmt.Sprintf("Terminated pods were deleted by pod garbage collection, up to %s at a time", findings.Thousands(int64(most)))
		if len(names) > 0 {
			which = "Among the pods: " + findings.Some(names) + "."
		}
		f.Detail = findings.Sentences("Their number exceeded --terminated-pod-gc-threshold. Since 1.27, evicted pods are deleted first, then the oldest.", when, which)
	}
	return f
}

// podGCDeleted are the pods without a message about another rule: those beyond the threshold.
func podGCDeleted(p *forensics.Pass, kind logs.Kind) []logs.Event {
	if kind != logs.KindPodGCTerminated {
		return nil
	}
	other := map[string]bool{}
	for _, e := range logview.Events(p, logs.KindPodGCOrphaned, logs.KindPodGCUnscheduled) {
		other[e.PodName] = true
	}
	return sorting.Delete(logview.Events(p, logs.KindPodGCDeleting), func(e logs.Event) bool { return other[e.PodName] || !strings.Contains(e.PodName, "/") })
}

// replayPodGC reports the pods that the pod garbage collector deletes according to the API dump, and other controllers that delete pods.
func replayPodGC(p *forensics.Pass) {
	reportReplay(p, withThreshold(p.Evidence))
	reportDeleters(p)
	reportVanished(p)
}

var podGC = forensics.Entity{Kind: forensics.KindController, ID: "pod-garbage-collector"}

// withThreshold is the dump with the threshold of a controller that runs on this node, where no other was given.
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
		p.Unjudged("the dump has no nodes, so pods of deleted nodes cannot be found")
	}
	byRule := map[apidump.Rule][]apidump.Pod{}
	for _, v := range replay.Victims {
		byRule[v.Rule] = append(byRule[v.Rule], d.Pods[v.Pod])
	}
	if pods := byRule[apidump.Terminated]; len(pods) > 0 {
		p.Report(terminatedFinding(d, replay, pods))
	}
	if pods := byRule[apidump.OutOfService]; len(pods) > 0 {
		f := victimsFinding(d, pods, forensics.Warning, "terminating pod", "node has the out-of-service taint")
		f.Detail += " Their containers may still run there. If a volume is then attached elsewhere, two nodes write to it."
		p.Report(f)
	}
	if pods := byRule[apidump.Orphaned]; len(pods) > 0 {
		f := victimsFinding(d, pods, forensics.Warning, "pod", nodesOf(pods)+" not in the API dump")
		f.Confidence, f.ConfidenceWhy = forensics.Likely, "the controller also waits 40 s and queries the API server for the node"
		f.Detail += " If the machine still runs, their containers still run. If a volume is then attached elsewhere, two nodes write to it."
		p.Report(f)
	}
	if pods := byRule[apidump.UnscheduledTerminating]; len(pods) > 0 {
		p.Report(victimsFinding(d, pods, forensics.Info, "terminating pod", "never scheduled to a node"))
	}
}

func terminatedFinding(d apidump.Dump, replay apidump.Replay, pods []apidump.Pod) forensics.Finding {
	f := victimsFinding(d, pods, forensics.Info, "pod", fmt.Sprintf("%s exceed its threshold of %s",
		findings.Plural(replay.Terminated, "terminated pod"), findings.Thousands(int64(replay.Threshold))))
	order := "the oldest pods first"
	if replay.EvictedFirst {
		order = "evicted pods first, then the oldest"
	}
	evicted, owned := 0, map[string]int{}
	for _, victim := range pods {
		if victim.Evicted() {
			evicted++
		}
		for _, o := range victim.Owners {
			owned[o.Kind]++
		}
	}
	f.Detail += fmt.Sprintf(" It deletes %s. %s of these pods were evicted.", order, findings.Thousands(int64(evicted)))
	if owned["Job"] > 0 {
		f.Detail += fmt.Sprintf(" Pods of Jobs are deleted with their logs (%s here). The Jobs keep their counts.", findings.Thousands(int64(owned["Job"])))
	}
	if len(d.Nodes) == 0 {
		f.Confidence, f.ConfidenceWhy = forensics.Likely, "the dump has no nodes, so the version is not known; the order depends on it"
	}
	return f
}

// victimsFinding has all pods of a rule, in the order of their deletion, and names the first in its detail.
func victimsFinding(d apidump.Dump, pods []apidump.Pod, severity forensics.Severity, noun, why string) forensics.Finding {
	const listed = 10
	f := forensics.Finding{
		Severity: severity, Subject: podGC, Confidence: forensics.Certain,
		Title: findings.Plural(len(pods), noun) + " deleted by pod garbage collection: " + why,
	}
	var names []string
	refs := []forensics.Ref{{Source: forensics.SourceAPIDump, Excerpt: fmt.Sprintf("%s, %s", text.Plural(len(d.Pods), "pod"), text.Plural(len(d.Nodes), "node"))}}
	kept := 0
	for i, victim := range pods {
		if i < listed {
			names = append(names, victim.ID())
		}
		f.Pods = append(f.Pods, victim.UID)
		refs = append(refs, forensics.Ref{Source: forensics.SourceAPIDump, Excerpt: fmt.Sprintf("Pod %s, %s", victim.ID(), victimState(victim))})
		if len(victim.Finalizers) > 0 {
			kept++
		}
	}
	f.Detail = "The next round deletes, in this order: " + strings.Join(names, ", ")
	if more := len(pods) - listed; more > 0 {
		f.Detail += fmt.Sprintf(" and %d more", more)
	}
	f.Detail += "."
	if kept > 0 {
		f.Detail += fmt.Sprintf(" %s of these pods have finalizers: their objects remain after the deletion.", findings.Thousands(int64(kept)))
	}
	f.Refs, f.ConfidenceWhy = refs, "the controller's rules were replayed on the API dump"
	return f
}

// victimState is what the rules of the pod garbage collector use.
func victimState(victim apidump.Pod) string {
	words := "phase " + cmp.Or(victim.Phase, "unknown")
	if victim.Reason != "" {
		words += ", reason " + victim.Reason
	}
	if victim.Node != "" {
		words += ", node " + victim.Node
	}
	return words
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
		return fmt.Sprintf("%s (%s and others)", findings.Plural(len(names), "node"), names[0])
	}
	return "node " + strings.Join(names, ", ")
}

// reportDeleters says which controller deletes terminating pods of this node, or has deleted failed ones.
func reportDeleters(p *forensics.Pass) {
	d := p.Evidence.Cluster
	for _, victim := range d.Pods {
		if !findings.OnThisNode(p.Evidence, victim) || victim.Deleting == nil && victim.Disrupted == nil && !victim.Evicted() {
			continue
		}
		deleters := p.Model.Cluster().Deleters(victim)
		if len(deleters) == 0 {
			continue
		}
		f := forensics.Finding{
			Severity: forensics.Info, Subject: findings.PodEntity(victim.UID), Confidence: forensics.Certain, Pods: []string{victim.UID},
			Since:         deleters[0].When,
			ConfidenceWhy: "the pod, its owners and its node in the API dump show it",
		}
		is, are := "is being deleted", "are being deleted"
		if victim.Evicted() {
			is, are = "was evicted", "were evicted"
		}
		f.Title = fmt.Sprintf("Pod %s %s by %s", victim.ID(), is, deleters[0].Who)
		var why []string
		for _, by := range deleters {
			why = append(why, by.Who+": "+by.Why)
		}
		f.Detail = strings.Join(why, "; ") + "."
		f.Refs = []forensics.Ref{{Source: forensics.SourceAPIDump, Excerpt: deleters[0].Why}}
		p.ReportAlike(rulesOf(deleters), func(n int) string {
			return fmt.Sprintf("%s %s by %s (%s)", findings.Plural(n, "pod"), are, deleters[0].Who, deleters[0].Rule)
		}, f)
	}
}

// rulesOf are the controllers that delete a pod and their rules: pods with the same ones are one finding.
func rulesOf(deleters []apidump.Deleter) string {
	var rules []string
	for _, by := range deleters {
		rules = append(rules, by.Who+"\x00"+by.Rule)
	}
	return strings.Join(rules, "\x00")
}

// reportVanished names controllers that may have deleted pods that left traces here and are not in the dump.
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
		if left.UID == "" || listed[left.UID] || listed[left.MirrorUID] || seen[left.UID] || !left.FromLogDir() {
			continue
		}
		seen[left.UID] = true
		by := p.Model.Cluster().VanishedBy(left.Namespace, left.Name)
		if len(by) == 0 {
			continue
		}
		p.ReportAlike(rulesOf(by), func(n int) string {
			return fmt.Sprintf("%s not in the API may have been deleted by %s (%s)", findings.Plural(n, "pod"), by[0].Who, by[0].Rule)
		}, forensics.Finding{
			Severity: forensics.Info, Subject: findings.PodEntity(left.UID), Pods: []string{left.UID}, Since: by[0].When,
			Title:         fmt.Sprintf("Pod %s/%s is not in the API and may have been deleted by %s", left.Namespace, left.Name, by[0].Who),
			Detail:        by[0].Why + ".",
			Confidence:    forensics.Possible,
			ConfidenceWhy: "the pod's name begins with the owner's name; the pod object no longer exists",
			Refs:          []forensics.Ref{{Source: forensics.SourceAPIDump, Excerpt: by[0].Why}},
		})
	}
}
