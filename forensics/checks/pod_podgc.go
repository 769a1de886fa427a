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
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// podPodGC says whom the control plane deletes and has deleted, and who may have deleted a pod that is gone.
var podPodGC = forensics.Check{
	ID:    "pod-podgc",
	Title: "The control plane deletes pods",
	Doc: `One round of the pod garbage collector of the kube-controller-manager (pkg/controller/podgc/gc_controller.go),
replayed on a dump of the API. It deletes terminated pods above --terminated-pod-gc-threshold (12,500; the evicted ones
first since 1.27, before that the oldest), pods that terminate on a node with the out-of-service taint (since 1.24),
pods of nodes that are no objects any more, and terminating pods that never had a node. It does nothing for a pod that
terminates on a node that is there and ready. It deletes the object only: on a node that still runs, the containers of an
orphaned pod go on, and may write to a volume that another node has taken over. That is a warning, the others are
information.

The threshold is that of the flag, or of a kube-controller-manager that runs here. The version is taken from the newest
kubelet: a control plane is at least as new. Before it takes a node as gone the controller waits 40 seconds and asks
again, which a dump cannot show. What it has deleted already, and by which rule, is told by its log.

Who else deletes pods of this node is told from their conditions, their owners (a Job's TTL, an Argo Workflow's podGC)
and the taints of the node; for a pod of which only traces are left, from owners in its namespace whose name its own
begins with, which is a guess.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceAPIDump, forensics.SourceLogs}},
	Run: func(p *forensics.Pass) {
		logged := podGCInLog(p)
		if p.Evidence.Cluster == nil {
			if !logged {
				p.Unjudged("no dump of the API was given, and no log of kube-controller-manager was read: on most nodes there is none")
			}
			return
		}
		replayPodGC(p)
	},
}

// podGCInLog tells which pods the log of kube-controller-manager says were deleted, by which rule. It is false where no
// such log was read.
func podGCInLog(p *forensics.Pass) bool {
	read := slices.ContainsFunc(logview.Story(p).Files, func(f logs.File) bool { return f.Origin == "kube-controller-manager" })
	for _, kind := range podGCRules {
		if list := logview.Events(p, kind); len(list) > 0 {
			p.Report(podGCFinding(p, kind, list))
			read = true
		}
	}
	return read
}

// podGCRules are the kinds of messages that name a rule.
var podGCRules = []logs.Kind{logs.KindPodGCOrphaned, logs.KindPodGCOutOfService, logs.KindPodGCUnscheduled, logs.KindPodGCTerminated}

func podGCFinding(p *forensics.Pass, kind logs.Kind, list []logs.Event) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Info, Subject: podGC, Confidence: forensics.Certain, Since: logview.First(list), Refs: logview.EventRefs(list...),
		ConfidenceWhy: "the log of kube-controller-manager says so",
	}
	var names []string
	for _, e := range append(slices.Clone(list), podGCDeleted(p, kind)...) {
		if e.PodName != "" {
			names = append(names, e.PodName)
			f.Pods = append(f.Pods, findings.UIDs(logview.UIDOf(p, e.Subject))...)
		}
	}
	names, f.Pods = findings.Union(nil, names), findings.Union(nil, f.Pods)
	pods := "pods"
	if len(names) > 0 {
		pods = findings.Some(names)
	}
	var most float64
	for _, e := range list {
		most = max(most, e.Max, e.Number)
	}
	when := fmt.Sprintf(" (%s, from %s to %s)", findings.Times(logview.Count(list)), logview.Moment(logview.First(list)), logview.Moment(logview.Last(list)))
	switch kind {
	case logs.KindPodGCOrphaned:
		f.Severity = forensics.Warning
		f.Title = "PodGC has deleted " + pods + ": the API server does not know their node"
		f.Detail = "Only the objects are gone. If that node still runs, so do their containers, beside the new ones" + when + "."
		f.Remedies = []forensics.Remedy{{
			Action: remedy.ActionLook, Command: []string{"kubectl", "get", "nodes"}, Why: "shows whether the node was deleted or renamed",
			Risk: "none: it reads. Make sure that the old node is off before its volumes are used elsewhere",
		}, {
			Action: remedy.ActionLook, Command: []string{"sh", "-c", "journalctl -u kubelet | grep -i register"}, Why: "shows, on that node, whether its kubelet registered again",
			Risk: "none: it reads",
		}}
	case logs.KindPodGCOutOfService:
		f.Severity = forensics.Warning
		f.Title = fmt.Sprintf("PodGC has deleted %.0f terminating pods of nodes with the taint out-of-service", most)
		f.Detail = "The taint says that the node is off. If it is not, its containers still run" + when + "."
	case logs.KindPodGCUnscheduled:
		f.Title = "PodGC has deleted " + pods + ": terminating, and never scheduled to a node"
		f.Detail = "They ran nowhere" + when + "."
	default:
		f.Title = fmt.Sprintf("PodGC has deleted finished pods, up to %.0f at a time", most)
		f.Detail = "There were more than --terminated-pod-gc-threshold. From 1.27 on evicted ones go first, then the oldest" + when + "."
		if len(names) > 0 {
			f.Detail += " Among them: " + findings.Some(names) + "."
		}
	}
	return f
}

// podGCDeleted are the pods that no line gives another rule for: those beyond the threshold.
func podGCDeleted(p *forensics.Pass, kind logs.Kind) []logs.Event {
	if kind != logs.KindPodGCTerminated {
		return nil
	}
	other := map[string]bool{}
	for _, e := range logview.Events(p, logs.KindPodGCOrphaned, logs.KindPodGCUnscheduled) {
		other[e.PodName] = true
	}
	return slices.DeleteFunc(logview.Events(p, logs.KindPodGCDeleting), func(e logs.Event) bool { return other[e.PodName] || !strings.Contains(e.PodName, "/") })
}

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

// victimsFinding has all pods of a rule, in the order in which they go, and names the first in its detail.
func victimsFinding(d apidump.Dump, pods []apidump.Pod, severity forensics.Severity, which string) forensics.Finding {
	const listed = 10
	f := forensics.Finding{
		Severity: severity, Subject: podGC, Confidence: forensics.Certain,
		Title: fmt.Sprintf("the pod garbage collector deletes %s %s", text.Plural(len(pods), "pod"), which),
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
	f.Detail = "In this order: " + strings.Join(names, ", ")
	if more := len(pods) - listed; more > 0 {
		f.Detail += fmt.Sprintf(" and %d more", more)
	}
	f.Detail += "."
	if kept > 0 {
		f.Detail += fmt.Sprintf(" Finalizers keep the objects of %d of them all the same.", kept)
	}
	f.Refs, f.ConfidenceWhy = refs, "replayed on the dump"
	return f
}

// victimState is what the rules of the pod garbage collector look at.
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
		return fmt.Sprintf("%s (%s and others)", text.Plural(len(names), "node"), names[0])
	}
	return "node " + strings.Join(names, ", ")
}

// reportDeleters says who deletes pods of this node that are going, or has deleted those that failed.
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
		p.ReportAlike(rulesOf(deleters), func(n int) string {
			return fmt.Sprintf("%d pods go because of %s (%s)", n, deleters[0].Who, deleters[0].Rule)
		}, f)
	}
}

// rulesOf are who deletes a pod and by which rules: all that go by the same ones are one thing.
func rulesOf(deleters []apidump.Deleter) string {
	var rules []string
	for _, by := range deleters {
		rules = append(rules, by.Who+"\x00"+by.Rule)
	}
	return strings.Join(rules, "\x00")
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
		if left.UID == "" || listed[left.UID] || listed[left.MirrorUID] || seen[left.UID] || !left.FromLogDir() {
			continue
		}
		seen[left.UID] = true
		by := p.Model.Cluster().VanishedBy(left.Namespace, left.Name)
		if len(by) == 0 {
			continue
		}
		p.ReportAlike(rulesOf(by), func(n int) string {
			return fmt.Sprintf("%d pods, which the API no longer has, may have been deleted by %s (%s)", n, by[0].Who, by[0].Rule)
		}, forensics.Finding{
			Severity: forensics.Info, Subject: findings.PodEntity(left.UID), Pods: []string{left.UID}, Since: by[0].When,
			Title:         fmt.Sprintf("pod %s/%s, which the API no longer has, may have been deleted by %s", left.Namespace, left.Name, by[0].Who),
			Detail:        by[0].Why + ".",
			Confidence:    forensics.Possible,
			ConfidenceWhy: "the pod's name begins with the owner's; its object is gone",
			Refs:          []forensics.Ref{{Source: forensics.SourceAPIDump, Excerpt: by[0].Why}},
		})
	}
}
