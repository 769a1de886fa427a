package checks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
)

// podUnschedulable finds pods that fit on no node.
var podUnschedulable = forensics.Check{
	ID:    "pod-unschedulable",
	Title: "A pod cannot be scheduled",
	Doc: `A pending pod of an API dump with the condition PodScheduled=False and the reason Unschedulable. The scheduler has
tried, and its message says why no node is suitable. The check distinguishes the usual reasons after an eviction:

- A taint remains (disk pressure lasts for at least five minutes).
- A node selector matches no node.
- The volume of a claim is bound to a node that no longer exists or is full.
- A resource is insufficient.

The finding names an evicted pod of the same owner. A pod that waits for its first scheduling attempt is not reported.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceAPIDump}},
	Run: func(p *forensics.Pass) {
		if p.Evidence.Cluster == nil {
			return
		}
		for _, pod := range p.Evidence.Cluster.Pods {
			if c := pod.Unscheduled; c != nil && c.Reason == "Unschedulable" && pod.Phase == "Pending" && pod.Deleting == nil {
				reportUnschedulable(p, pod)
			}
		}
	},
}

// obstacles says what words of the scheduler's message mean (kube-scheduler pkg/scheduler/framework/plugins).
var obstacles = []struct{ words, meaning, more string }{
	{"volume node affinity conflict", "its volume is bound to nodes that cannot run it, or that no longer exist", ""},
	{"node.kubernetes.io/disk-pressure", "nodes are under disk pressure", "The taint remains for at least five minutes after space was freed."},
	{"node.kubernetes.io/memory-pressure", "nodes are under memory pressure", ""},
	{"node.kubernetes.io/unreachable", "nodes are unreachable", ""},
	{"node.kubernetes.io/not-ready", "nodes are not ready", ""},
	{"node.kubernetes.io/unschedulable", "nodes are cordoned", ""},
	{"untolerated taint", "nodes have a taint that it does not tolerate", ""},
	{"didn't tolerate", "nodes have a taint that it does not tolerate", ""},
	{"didn't match Pod's node affinity/selector", "its node selector or affinity matches no node", ""},
	{"didn't match node selector", "its node selector matches no node", ""},
	{"unbound immediate PersistentVolumeClaims", "one of its claims is not bound", ""},
	{"persistentvolumeclaim", "one of its claims does not exist or is being deleted", ""},
	{"Insufficient ", "nodes have insufficient resources", ""},
	{"Too many pods", "nodes run their maximum number of pods", ""},
	{"didn't have free ports", "its host ports are in use", ""},
}

func reportUnschedulable(p *forensics.Pass, pod apidump.Pod) {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: findings.PodEntity(pod.UID), Confidence: forensics.Certain, Pods: []string{pod.UID}, Since: pod.Unscheduled.Since,
		ConfidenceWhy: "the scheduler's message in the API dump says so",
		Effect:        "pods cannot be scheduled",
		Refs:          []forensics.Ref{{Source: forensics.SourceAPIDump, Excerpt: pod.Unscheduled.Message}},
	}
	if pod.Partial {
		f.Confidence, f.ConfidenceWhy = forensics.Likely, "the scheduler's event says so; whether it was scheduled since is not known"
	}
	type key struct {
		obstacles, message string // message where no obstacle is known
		lost               string // claims
	}
	var k key
	var why, more []string
	for i, o := range obstacles {
		if strings.Contains(pod.Unscheduled.Message, o.words) {
			why, more = append(why, o.meaning), append(more, o.more)
			k.obstacles += fmt.Sprintln(i)
		}
	}
	if len(why) == 0 {
		why = append(why, pod.Unscheduled.Message)
		k.message = pod.Unscheduled.Message
	}
	if strings.Contains(pod.Unscheduled.Message, "node.kubernetes.io/disk-pressure") {
		f.Because = append(f.Because, pressedDisks(p)...)
	}
	what := strings.Join(why, "; ")
	f.Title = "Pod " + pod.ID() + " cannot be scheduled: " + what
	f.Detail = findings.Sentences(append([]string{"The scheduler finds no suitable node: " + what + "."}, more...)...)
	for _, name := range pod.Claims {
		c, ok := p.Model.Cluster().Claim(pod.Namespace, name)
		if !ok {
			continue
		}
		if lost := p.Model.Cluster().Lost(c); lost != "" {
			k.lost += fmt.Sprintln(c.ID())
			f.Detail += " " + findings.Capital(lost) + ". Until this is fixed, the pod cannot be scheduled."
		}
		if c.Deleting != nil {
			f.Detail += fmt.Sprintf(" Claim %s is being deleted.", c.ID())
			f.Because = append(f.Because, forensics.Entity{Kind: forensics.KindClaim, ID: c.ID()})
		}
	}
	if old, ok := evictedSibling(p, pod); ok {
		f.Detail += fmt.Sprintf(" It replaces pod %s, evicted from %s: %s", old.ID(), old.Node, strings.TrimSpace(old.Message))
	}
	p.ReportAlike(k, func(n int) string { return findings.Plural(n, "pod") + " cannot be scheduled: " + what }, f)
}

// pressedDisks is the disk of the node that the text says to be under pressure.
func pressedDisks(p *forensics.Pass) []forensics.Entity {
	if p.Evidence.Collector.PID != 0 || logview.PressureInLog(p) == nil || !logview.PressureInLog(p).Disk() {
		return nil
	}
	return []forensics.Entity{incident.Thing(forensics.KindDisk, "node")}
}

// evictedSibling is an evicted pod of the same controller, the first.
func evictedSibling(p *forensics.Pass, pod apidump.Pod) (apidump.Pod, bool) {
	type owner struct{ namespace, uid string }
	pods := p.Evidence.Cluster.Pods
	evicted := forensics.Once(p, "evicted pods by owner", func() map[owner]int {
		by := map[owner]int{}
		for i, other := range slices.Backward(pods) {
			for _, o := range other.Owners {
				if other.Evicted() && o.UID != "" {
					by[owner{other.Namespace, o.UID}] = i
				}
			}
		}
		return by
	})
	first := len(pods)
	for _, o := range pod.Owners {
		if i, ok := evicted[owner{pod.Namespace, o.UID}]; ok {
			first = min(first, i)
		}
	}
	if first == len(pods) {
		return apidump.Pod{}, false
	}
	return pods[first], true
}
