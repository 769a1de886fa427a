package checks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// podGCInLog tells which pods the log of kube-controller-manager says were deleted, by which rule. It is false where no
// such log was read.
func podGCInLog(p *forensics.Pass) bool {
	read := slices.ContainsFunc(story(p).Files, func(f logs.File) bool { return f.Origin == "kube-controller-manager" })
	for _, kind := range podGCRules {
		if list := events(p, kind); len(list) > 0 {
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
		Severity: forensics.Info, Subject: podGC, Since: firstSaid(list), Refs: quotesOf(list...),
		ConfidenceWhy: "the log of kube-controller-manager says so",
	}
	var names []string
	for _, e := range append(slices.Clone(list), podGCDeleted(p, kind)...) {
		if e.PodName != "" {
			names = append(names, e.PodName)
			f.Pods = append(f.Pods, uids(uidOf(p, e.Subject))...)
		}
	}
	names, f.Pods = union(nil, names), union(nil, f.Pods)
	pods := "pods"
	if len(names) > 0 {
		pods = some(names)
	}
	var most float64
	for _, e := range list {
		most = max(most, e.Max, e.Number)
	}
	when := fmt.Sprintf(" (%s, from %s to %s)", times(said(list)), moment(firstSaid(list)), moment(lastSaid(list)))
	switch kind {
	case logs.KindPodGCOrphaned:
		f.Severity = forensics.Warning
		f.Title = "PodGC has deleted " + pods + ": the API server does not know their node"
		f.Detail = "Only the objects are gone. If that node still runs, so do their containers, beside the new ones" + when + "."
		f.Remedies = []forensics.Remedy{{
			Command: "kubectl get nodes; journalctl -u kubelet | grep -i register", Why: "shows whether the node was deleted or renamed, and whether its kubelet registered again",
			Risk: "none: it reads. Make sure that the old node is off before its volumes are used elsewhere",
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
			f.Detail += " Among them: " + some(names) + "."
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
	for _, e := range events(p, logs.KindPodGCOrphaned, logs.KindPodGCUnscheduled) {
		other[e.PodName] = true
	}
	return slices.DeleteFunc(events(p, logs.KindPodGCDeleting), func(e logs.Event) bool { return other[e.PodName] || !strings.Contains(e.PodName, "/") })
}
