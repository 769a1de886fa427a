package checks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
)

// podUnschedulable finds pods that no node takes.
var podUnschedulable = forensics.Check{
	ID:    "pod-unschedulable",
	Title: "A pod cannot come back",
	Doc: `A pending pod of a dump of the API whose condition PodScheduled is False with the reason Unschedulable: the
scheduler has tried, and its message says why no node will do. The usual reasons after an eviction are told apart: a
taint that is still there (disk pressure stays for at least five minutes), a node selector that fits no node, a claim
whose volume is bound to a node that is gone or full, resources that are not free. An evicted pod of the same owner is
named. A pod that is only waiting for its first attempt is not reported.`,
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
var obstacles = []struct{ words, meaning string }{
	{"volume node affinity conflict", "its volume is bound to nodes that do not take it, or are gone"},
	{"node.kubernetes.io/disk-pressure", "nodes are under disk pressure; the taint stays for at least five minutes after space was freed"},
	{"node.kubernetes.io/memory-pressure", "nodes are under memory pressure"},
	{"node.kubernetes.io/unreachable", "nodes do not report"},
	{"node.kubernetes.io/not-ready", "nodes are not ready"},
	{"node.kubernetes.io/unschedulable", "nodes are cordoned"},
	{"untolerated taint", "nodes have a taint that it does not tolerate"},
	{"didn't tolerate", "nodes have a taint that it does not tolerate"},
	{"didn't match Pod's node affinity/selector", "its node selector or affinity fits no node"},
	{"didn't match node selector", "its node selector fits no node"},
	{"unbound immediate PersistentVolumeClaims", "a claim of it is not bound"},
	{"persistentvolumeclaim", "a claim of it is not there or is being deleted"},
	{"Insufficient ", "nodes have not enough free"},
	{"Too many pods", "nodes have as many pods as they take"},
	{"didn't have free ports", "its host ports are taken"},
}

func reportUnschedulable(p *forensics.Pass, pod apidump.Pod) {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: findings.PodEntity(pod.UID), Confidence: forensics.Certain, Pods: []string{pod.UID}, Since: pod.Unscheduled.Since,
		Title:         fmt.Sprintf("no node takes pod %s", pod.ID()),
		ConfidenceWhy: "the scheduler says so in the dump of the API",
		Refs:          []forensics.Ref{{Source: forensics.SourceAPIDump, Excerpt: pod.Unscheduled.Message}},
	}
	type key struct {
		obstacles, message string // message where no obstacle is known
		lost               string // claims
	}
	var k key
	var why []string
	for i, o := range obstacles {
		if strings.Contains(pod.Unscheduled.Message, o.words) {
			why = append(why, o.meaning)
			k.obstacles += fmt.Sprintln(i)
		}
	}
	if len(why) == 0 {
		why = append(why, "the scheduler says: "+pod.Unscheduled.Message)
		k.message = pod.Unscheduled.Message
	}
	what := strings.Join(why, "; ")
	f.Detail = findings.Capital(what) + "."
	for _, name := range pod.Claims {
		c, ok := p.Model.Cluster().Claim(pod.Namespace, name)
		if !ok {
			continue
		}
		if lost := p.Model.Cluster().Lost(c); lost != "" {
			k.lost += fmt.Sprintln(c.ID())
			f.Detail += " " + findings.Capital(lost) + ": as long as that is so, it cannot come back."
		}
		if c.Deleting != nil {
			f.Detail += fmt.Sprintf(" Claim %s is being deleted.", c.ID())
			f.Because = append(f.Because, forensics.Entity{Kind: forensics.KindClaim, ID: c.ID()})
		}
	}
	if old, ok := evictedSibling(p, pod); ok {
		f.Detail += fmt.Sprintf(" It takes the place of %s, which was evicted from %s: %s", old.ID(), old.Node, strings.TrimSpace(old.Message))
	}
	p.ReportAlike(k, func(n int) string { return fmt.Sprintf("no node takes %d pods: %s", n, what) }, f)
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
