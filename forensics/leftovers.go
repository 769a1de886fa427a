package forensics

import (
	"path"
	"slices"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// settled is how long nothing must have changed in a pod's directory before its staying is held against the kubelet:
// housekeeping runs every two seconds, and a volume's operation is tried again after two minutes at the latest.
const settled = 10 * time.Minute

// Leftovers says what is left of a pod that is gone, and what this node's kubelet does about it; see
// [kubelet.Leftovers]. Mounts count from the host's table and from those of the other namespaces that were read.
//
// Where nothing would keep a healthy kubelet from removing the directory, and it has had time enough, the first entry is
// [kubelet.ASWUncertain]; see [Model.PodState] for whether the pod is gone at all.
func Leftovers(m *Model, d kubelet.PodDir) []kubelet.Leftover {
	left := kubelet.Leftovers(d, m.KubeletMinor(), pointsBelow(m, d))
	if !shouldBeGone(m, d, left) {
		return left
	}
	for i := range left {
		left[i].Fate = kubelet.FateNever
		left[i].Why = "it would go by itself if the kubelet did not believe that a volume of the pod is mounted"
	}
	all := []kubelet.Leftover{{
		Class: kubelet.ASWUncertain, Fate: kubelet.FateNever, Path: d.Path, MountPoints: []string{},
		Why: "nothing is mounted, nothing is in the way, the sync loop runs and nothing has changed here for a long time: the kubelet believes " +
			"that a volume of the pod is still mounted, says so only at verbosity 3, and forgets it when it is restarted",
	}}
	return append(all, slices.DeleteFunc(left, func(l kubelet.Leftover) bool { return l.Class == kubelet.Pending })...)
}

// pointsBelow lists the mount points at or below a pod's directory, from all tables.
func pointsBelow(m *Model, d kubelet.PodDir) []string {
	all := m.index.points()
	dir := path.Clean(d.Path)
	if dir == "/" {
		return slices.Clone(all)
	}
	points := []string{}
	if _, ok := slices.BinarySearch(all, dir); ok {
		points = append(points, dir)
	}
	from, _ := slices.BinarySearch(all, dir+"/")
	to, _ := slices.BinarySearch(all, dir+"0") // "0" follows "/"
	return append(points, all[from:to]...)
}

// allPoints are the mount points of all tables, sorted, each once.
func allPoints(e *Evidence) []string {
	points := []string{}
	for _, table := range append([]mounts.Table{e.Mounts}, e.Namespaces...) {
		for i := range table.Mounts {
			points = append(points, table.Mounts[i].MountPoint)
		}
	}
	slices.Sort(points)
	return slices.Compact(points)
}

// shouldBeGone says that a kubelet that is well would have removed a directory long ago. A volume's directory is made and
// removed in that of its plugin, which tells how long ago the pod's last volume can have gone.
func shouldBeGone(m *Model, d kubelet.PodDir, left []kubelet.Leftover) bool {
	k, collected := m.evidence.Kubelet, m.evidence.Collected
	if k == nil || k.PID == 0 || d.Changed == nil || collected.Sub(*d.Changed) < settled {
		return false
	}
	if k.Started != nil && collected.Sub(*k.Started) < settled {
		return false
	}
	if slices.ContainsFunc(left, func(l kubelet.Leftover) bool { return l.Fate != kubelet.FateHeals }) {
		return false
	}
	return k.Metrics["kubelet_orphan_pod_cleaned_volumes_errors"] == 0 && syncLoopIsWell(m.evidence)
}

// syncLoopIsWell says that the kubelet itself said so, somewhere where it looks (port 10248 does not).
func syncLoopIsWell(e *Evidence) bool {
	passed := false
	for _, e := range e.Kubelet.Endpoints {
		if slices.Contains(e.Failed, "syncloop") {
			return false
		}
		passed = passed || slices.Contains(e.Passed, "syncloop")
	}
	return passed
}
