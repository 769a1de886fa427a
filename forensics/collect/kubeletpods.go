package collect

import (
	"github.com/nodeforensics/nodeforensics/internal/poduid"
)

// knownPods says of a UID whether something on this node is of that pod: what the kubelet's list says of it is decisive then.
func (c *collector) knownPods() func(uid string) bool {
	e := c.seen()
	known := map[string]bool{}
	for i := range e.PodDirs {
		known[e.PodDirs[i].UID] = true
	}
	for i := range e.Pods {
		known[e.Pods[i].UID] = true
	}
	for i := range e.Cgroups {
		known[e.Cgroups[i].PodUID] = true
	}
	for i := range e.Processes {
		known[e.Processes[i].PodUID] = true
	}
	for i := range e.Sandboxes {
		known[e.Sandboxes[i].PodUID] = true
	}
	for i := range e.Containers {
		known[e.Containers[i].PodUID] = true
	}
	for i := range e.Mounts.Mounts {
		if parts := poduid.Path.FindStringSubmatch(e.Mounts.Mounts[i].MountPoint); parts != nil {
			known[parts[1]] = true
		}
	}
	return func(uid string) bool { return known[uid] }
}
