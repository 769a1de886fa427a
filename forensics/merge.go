package forensics

import (
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/backing"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/redact"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

// NewEvidence is evidence in which nothing has been seen yet, with arrays that are empty, not nil.
func NewEvidence() Evidence {
	return Evidence{
		Schema: EvidenceSchema, Coverage: []Source{}, Namespaces: []mounts.Table{}, Probes: []mounts.Probe{}, FUSEQueues: []mounts.FUSEQueue{}, DiskProgress: []mounts.DiskProgress{},
		Processes: []procs.Process{}, Threads: []procs.Thread{}, PodDirs: []kubelet.PodDir{}, Pods: []kubelet.Pod{},
		Runtimes: []runtimes.Runtime{}, Sandboxes: []runtimes.Sandbox{}, Containers: []runtimes.Container{}, Images: []runtimes.Image{},
		Cgroups: []runtimes.PodCgroup{}, Dumps: []Dump{}, Backings: []backing.Backing{}, Redactions: []redact.LedgerEntry{},
		Mounts:    mounts.Table{Mounts: []mounts.Mount{}},
		Collector: Collector{Command: []string{}, Outstanding: []Blocked{}},
	}
}

// Merge takes over what a part holds: single values and lists replace those that are there, because a later part
// knows more; coverage, pods, dumps, namespaces and objects of the API are added, and a source that is told again
// replaces its entry.
func (e *Evidence) Merge(part Evidence) {
	if !part.Collected.IsZero() {
		e.Collected = part.Collected
	}
	if part.Root != "" {
		e.Root = part.Root
	}
	if part.Collector.PID != 0 {
		e.Collector = part.Collector
	}
	if part.Node.Name != "" {
		e.Node = part.Node
	}
	if part.Mounts.Mounts != nil {
		e.Mounts = part.Mounts
	}
	if part.Kubelet != nil {
		e.Kubelet = part.Kubelet
	}
	if part.CgroupTotals != nil {
		e.CgroupTotals = part.CgroupTotals
	}
	if part.MountUse != nil {
		e.MountUse = part.MountUse
	}
	if part.Disks != nil {
		e.Disks = part.Disks
	}
	if part.Logs != nil {
		e.Logs = part.Logs
	}
	if part.CPUProfile != nil {
		e.CPUProfile = part.CPUProfile
	}
	if part.Cluster != nil {
		all := apidump.NewDump()
		if e.Cluster != nil {
			all.Merge(*e.Cluster)
		}
		all.Merge(*part.Cluster)
		e.Cluster = &all
	}
	replace(&e.Probes, part.Probes)
	replace(&e.FUSEQueues, part.FUSEQueues)
	replace(&e.DiskProgress, part.DiskProgress)
	replace(&e.Processes, part.Processes)
	replace(&e.Threads, part.Threads)
	replace(&e.PodDirs, part.PodDirs)
	replace(&e.Cgroups, part.Cgroups)
	replace(&e.Runtimes, part.Runtimes)
	replace(&e.Sandboxes, part.Sandboxes)
	replace(&e.Containers, part.Containers)
	replace(&e.Images, part.Images)
	replace(&e.Backings, part.Backings)
	replace(&e.Redactions, part.Redactions)
	e.Namespaces = append(e.Namespaces, part.Namespaces...)
	e.Pods = append(e.Pods, part.Pods...)
	e.Dumps = append(e.Dumps, part.Dumps...)
	for _, s := range part.Coverage {
		e.Cover(s)
	}
}

func replace[T any](have *[]T, part []T) {
	if part != nil {
		*have = part
	}
}
