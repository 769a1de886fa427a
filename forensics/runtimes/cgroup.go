package runtimes

import (
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/cri"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/poduid"
)

// A PodCgroup is the cgroup of one pod. It lives from before the pod's first container until after its volumes are
// unmounted (kubelet pkg/kubelet/cm), so a pod that still terminates has one.
type PodCgroup struct {
	PodUID string `json:"pod_uid"`
	// Path is the directory, for cgroup v1 in the hierarchy in which it was found first.
	Path string `json:"path"`
	// Paths are the directories in all hierarchies: one with cgroup v2, one a controller with v1.
	Paths []string `json:"paths"`
	// Containers are the container ids of the cgroups below it, without doubles.
	Containers []string `json:"containers"`
	// Frozen are those of its cgroups whose processes do not run: itself, or of containers.
	Frozen []FrozenCgroup `json:"frozen"`
	// Dying counts the cgroups below it that were removed and that the kernel keeps, since memory is still charged to them
	// (nr_dying_descendants of cgroup.stat; v2 only).
	Dying int `json:"dying_descendants,omitempty"`
}

// A FrozenCgroup is one whose processes are stopped by the freezer.
type FrozenCgroup struct {
	Path string `json:"path"`
	// State is "frozen", or "freezing" while a process in it cannot be stopped.
	State string `json:"state"`
	// V1 says that a kill waits for the thaw; with cgroup v2 it does not (kernel Documentation, cgroup-v2, cgroup.freeze).
	V1 bool `json:"v1,omitempty"`
}

// CgroupTotals are numbers of the whole machine.
type CgroupTotals struct {
	// Version is "v1", "v2" or "hybrid" (v1 controllers with a v2 hierarchy beside them).
	Version string `json:"version,omitempty"`
	// MemoryCgroups counts the memory cgroups that the kernel keeps, dying ones included (/proc/cgroups); it can have 65,535.
	MemoryCgroups int `json:"memory_cgroups,omitempty"`
	// Dying counts the removed cgroups of the unified hierarchy that the kernel still keeps.
	Dying int `json:"dying_descendants,omitempty"`
}

// Cgroups are what is known of the cgroups of a machine.
type Cgroups struct {
	Pods   []PodCgroup // sorted by UID
	Totals CgroupTotals
}

// podCgroup is what the name of a pod's cgroup ends with. The systemd driver cannot have dashes in the name of a slice and
// writes underscores (pkg/kubelet/cm, escapeSystemdCgroupName).
var podCgroup = pattern.New(`pod(` + strings.ReplaceAll(poduid.Pattern, "}-", "}[-_]") + `)(?:\.slice(?::([^:]*):[0-9a-f]{64})?)?$`)

// PodOfCgroup returns the UID of the pod that a cgroup is, by the name of its directory or slice; "" if it is none.
func PodOfCgroup(name string) string {
	found := podCgroup.FindStringSubmatch(name)
	if found == nil || found[2] != "" && !cri.IsScope(name, "") {
		return ""
	}
	return strings.ReplaceAll(found[1], "_", "-")
}
