package forensics

import (
	"path"
	"slices"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// settled is how long a pod's directory must be unchanged before the kubelet counts as failing to remove it:
// housekeeping runs every two seconds, and a volume's operation is tried again within two minutes.
const settled = 10 * time.Minute

// Leftovers lists the leftovers of an orphaned pod, and what this node's kubelet does about them; see
// [kubelet.Leftovers]. Mounts count from the host's table and from the tables of other namespaces that were read.
//
// If nothing prevents a healthy kubelet from removing the directory, and it has had enough time, the first entry is
// [kubelet.ASWUncertain]. [Model.PodState] says whether the pod is orphaned at all.
func Leftovers(m *Model, d kubelet.PodDir) []kubelet.Leftover {
	left := kubelet.Leftovers(d, m.KubeletMinor(), pointsBelow(m, d))
	if !shouldBeGone(m, d, left) {
		return left
	}
	for i := range left {
		left[i].Fate = kubelet.FateNever
		left[i].Why = "the kubelet would remove it if it did not believe that a volume of the pod is still mounted"
	}
	all := []kubelet.Leftover{{
		Class: kubelet.ASWUncertain, Fate: kubelet.FateNever, Path: d.Path, MountPoints: []string{},
		Why: "nothing is mounted, nothing blocks the removal, the sync loop runs and nothing has changed here for a long time. So the kubelet believes " +
			"that a volume of the pod is still mounted. It logs this only at verbosity 3, and forgets it at a restart",
	}}
	return append(all, sorting.Delete(left, func(l kubelet.Leftover) bool { return l.Class == kubelet.Pending })...)
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

// shouldBeGone says that a healthy kubelet would have removed a directory long ago. A volume's directory is made and
// removed in the directory of its plugin. The time of that directory shows when the pod's last volume can have been removed.
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

// syncLoopIsWell says that the sync loop has passed the kubelet's own check, at an endpoint with that check (port 10248 has none).
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
