package collect

import (
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// nested knows the nodes that run as containers on this one (kind, docker in docker): each has a kubelet with a mount
// namespace and pod directories of its own, and containers that hold copies of its mounts. None of that was ever the
// host's.
type nested struct {
	nodes  map[uint64]bool // namespaces of the other kubelets
	inside map[uint64]bool // namespaces of processes that run in the same containers as those
	roots  map[string]bool // superblock and root of what those kubelets have mounted
}

func nestedNodes(e *forensics.Evidence) nested {
	n := nested{nodes: map[uint64]bool{}, inside: map[uint64]bool{}, roots: map[string]bool{}}
	var containers []string
	for _, p := range e.Processes {
		examined := e.Kubelet != nil && (p.PID == e.Kubelet.PID || p.MountNS == e.Kubelet.MountNS)
		if p.MountNS == 0 || p.MountNS == e.Mounts.Namespace || examined {
			continue
		}
		if _, ok := kubelet.IsCandidate(p.Comm, p.Command); !ok || !p.MayMount() {
			continue // it has no mounts of its own, whatever it calls itself
		}
		n.nodes[p.MountNS] = true
		if at := strings.Index(p.Cgroup, p.ContainerID); p.ContainerID != "" && at >= 0 {
			containers = append(containers, p.Cgroup[:at+len(p.ContainerID)])
		}
	}
	for _, p := range e.Processes {
		if slices.ContainsFunc(containers, func(c string) bool { return strings.HasPrefix(p.Cgroup, c) }) {
			n.inside[p.MountNS] = true
		}
	}
	return n
}

// owns says whether a namespace belongs to such a node, and learns what its kubelet has mounted.
func (n nested) owns(t *mounts.Table) bool {
	if !n.nodes[t.Namespace] {
		return n.inside[t.Namespace]
	}
	for i := range t.Mounts {
		n.roots[t.Mounts[i].Device+" "+t.Mounts[i].Root] = true
	}
	return true
}

// others are the mounts that are no copies of what such nodes have mounted.
func (n nested) others(list []forensics.ForeignMount) []forensics.ForeignMount {
	return sorting.Delete(list, func(f forensics.ForeignMount) bool { return n.roots[f.Mount.Device+" "+f.Mount.Root] })
}
