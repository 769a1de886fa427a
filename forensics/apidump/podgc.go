package apidump

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// Rule is a reason of the pod garbage collector to delete a pod.
type Rule string

// The rules, in the order in which the controller applies them since Kubernetes 1.24 (gc_controller.go).
const (
	// Terminated: there are more terminated pods than --terminated-pod-gc-threshold.
	Terminated Rule = "terminated"
	// OutOfService: it terminates on a node that is not ready and has the out-of-service taint; since 1.24, on by
	// default since 1.26.
	OutOfService Rule = "out-of-service"
	// Orphaned: its Node object does not exist.
	Orphaned Rule = "orphaned"
	// UnscheduledTerminating: it is being deleted and was never scheduled to a node.
	UnscheduledTerminating Rule = "unscheduled"
)

// defaultThreshold is the default of --terminated-pod-gc-threshold.
const defaultThreshold = 12_500

const (
	taintOutOfService = "node.kubernetes.io/out-of-service"
	effectNoExecute   = "NoExecute"
	labelHostName     = "kubernetes.io/hostname"
)

// A victim is a pod that the pod garbage collector would delete.
type victim struct {
	Pod  int  `json:"pod"` // index in Dump.Pods
	Rule Rule `json:"rule"`
}

// Replay is what one round of the pod garbage collector would do.
type Replay struct {
	// Victims are in the order in which the controller deletes them.
	Victims []victim
	// Terminated is the number of terminated pods, Threshold that above which they are deleted; 0 or less is off.
	Terminated int
	Threshold  int
	// EvictedFirst says that evicted pods are deleted before others, as since 1.27.
	EvictedFirst bool
	// NodesKnown says that the dump has nodes: without them, pods of deleted nodes cannot be found.
	NodesKnown bool
}

// PodGC replays one round of the pod garbage collector of a version ("1.34.4", "v1.26.1-gke.3") on a dump. An empty
// version means the current one. A pod that matches several rules is listed with the first.
//
// The controller also waits 40 seconds and queries the API server again before it treats a node as deleted; a dump cannot show that.
func (d Dump) PodGC(version string) Replay {
	minor, known := minorVersion(version)
	if !known {
		minor = 1 << 30
	}
	r := Replay{Threshold: defaultThreshold, EvictedFirst: minor >= 27, NodesKnown: len(d.Nodes) > 0}
	if d.TerminatedPodGCThreshold != nil {
		r.Threshold = *d.TerminatedPodGCThreshold
	}
	taken := map[int]bool{}
	take := func(rule Rule, pods []int) {
		for _, i := range pods {
			if !taken[i] {
				taken[i] = true
				r.Victims = append(r.Victims, victim{i, rule})
			}
		}
	}
	terminated := d.podsWhere(Pod.Terminated)
	r.Terminated = len(terminated)
	if over := len(terminated) - r.Threshold; r.Threshold > 0 && over > 0 {
		d.sortForGC(terminated, r.EvictedFirst)
		take(Terminated, terminated[:over])
	}
	if minor >= 24 {
		out := d.outOfService()
		pods := d.podsWhere(func(p Pod) bool { return p.Deleting != nil && out[p.Node] })
		d.sortForGC(pods, r.EvictedFirst)
		take(OutOfService, pods)
	}
	if r.NodesKnown {
		nodes := d.nodeNames()
		take(Orphaned, d.podsWhere(func(p Pod) bool { return p.Node != "" && !nodes[p.Node] }))
	}
	take(UnscheduledTerminating, d.podsWhere(func(p Pod) bool { return p.Deleting != nil && p.Node == "" }))
	return r
}

func (d Dump) podsWhere(wanted func(Pod) bool) []int {
	var pods []int
	for i, p := range d.Pods {
		if wanted(p) {
			pods = append(pods, i)
		}
	}
	return pods
}

// sortForGC sorts pods as the controller does: the evicted first since 1.27, then the oldest, then by name, whatever
// their namespace.
func (d Dump) sortForGC(pods []int, evictedFirst bool) {
	sorting.Stable(pods, func(i, j int) int {
		a, b := &d.Pods[i], &d.Pods[j]
		if evictedFirst && a.Evicted() != b.Evicted() {
			if a.Evicted() {
				return -1
			}
			return 1
		}
		return cmp.Or(compareCreated(a, b), strings.Compare(a.Name, b.Name))
	})
}

func compareCreated(a, b *Pod) int {
	switch {
	case a.Created == nil && b.Created == nil:
		return 0
	case a.Created == nil:
		return -1
	case b.Created == nil:
		return 1
	}
	return a.Created.Compare(*b.Created)
}

// outOfService are the nodes that are not ready and have the taint, whatever its value and effect.
func (d Dump) outOfService() map[string]bool {
	nodes := map[string]bool{}
	for _, n := range d.Nodes {
		tainted := slices.ContainsFunc(n.Taints, func(t Taint) bool { return t.Key == taintOutOfService })
		nodes[n.Name] = tainted && n.Ready != "True"
	}
	return nodes
}

func (d Dump) nodeNames() map[string]bool {
	nodes := map[string]bool{}
	for _, n := range d.Nodes {
		nodes[n.Name] = true
	}
	return nodes
}

// NewestKubelet is the newest version that a node reports, "" without nodes. The control plane is at least as new: a
// kubelet must not be newer than the API server.
func (d Dump) NewestKubelet() string {
	newest, best := "", -1
	for _, n := range d.Nodes {
		if minor, ok := minorVersion(n.KubeletVersion); ok && minor > best {
			newest, best = n.KubeletVersion, minor
		}
	}
	return strings.TrimPrefix(newest, "v")
}

// minorVersion is the 34 of "v1.34.4".
func minorVersion(version string) (int, bool) {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 || parts[0] != "1" {
		return 0, false
	}
	digits, _, _ := strings.Cut(parts[1], "+")
	minor, err := strconv.Atoi(digits)
	return minor, err == nil
}
