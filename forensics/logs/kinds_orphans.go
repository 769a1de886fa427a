package logs

// Orphaned pod directories (kubelet_volumes.go, kubelet_pods.go).
const (
	// KindOrphan is the summary of each housekeeping round: `"There were many similar errors…" err="orphaned pod …"
	// numErrs=N` [`Orphaned pod "UID" found, but volume paths are still present on disk : There were a total of N
	// errors…`]. Only the first orphan is named. PodUID, Path, Reason (what prevents it), Code (errno); Number is N.
	// Events of more than 64 UIDs are folded into one without a UID; Story.Orphans says how many there were.
	KindOrphan Kind = "orphan"
	// KindOrphanDetail is one orphan at -v 5: `"Orphan pod" err=…`. As KindOrphan, Number 0.
	KindOrphanDetail Kind = "orphan-detail"
	// kindOrphanMounted, -v 3: `"Orphaned pod found, but volumes are not cleaned up"` (they are still mounted) and
	// `"Orphaned pod found, but volumes not yet removed…"`. PodUID.
	kindOrphanMounted Kind = "orphan-mounted"
	// kindOrphanRemoving, -v 3: `"Orphaned pod found, removing"`. PodUID.
	kindOrphanRemoving Kind = "orphan-removing"
	// KindOrphanRemoveFailed: `"Failed to remove orphaned pod dir"`. PodUID, Reason, Code.
	KindOrphanRemoveFailed Kind = "orphan-remove-failed"
	// kindOrphanVolumeRemoved: `"Cleaned up orphaned volume from pod"`. PodUID, Path.
	kindOrphanVolumeRemoved Kind = "orphan-volume-removed"
	// kindOrphanDirRemoved: `"Cleaned up orphaned pod volumes dir"`; the last that is heard of a pod. PodUID, Path.
	kindOrphanDirRemoved Kind = "orphan-dir-removed"
	// KindOrphanCleanupFailed: `"Failed cleaning up orphaned pod directories"`. Reason, Code.
	KindOrphanCleanupFailed Kind = "orphan-cleanup-failed"
	// KindCgroupDeleteFailed: `"Failed to delete cgroup paths"`, `"Failed to destroy orphaned pod cgroup"`. PodUID,
	// Path, Reason, Code.
	KindCgroupDeleteFailed Kind = "cgroup-delete-failed"
)

// orphanMessages are those of kubelet_volumes.go, and of the removal of pod cgroups.
var orphanMessages = []message{
	{
		kind: kindOrphanMounted, lane: LaneDeletions, words: "orphaned pod directory still has mounts",
		rules: []rule{
			{start: "Orphaned pod \"", has: " found, but volumes are not cleaned up", level: 3, fill: orphanOnly},
			{start: "Orphaned pod \"", has: " found, but volumes not yet removed", level: 3, fill: orphanOnly},
			{start: "Orphaned pod found, but volumes are not cleaned up", level: 3},
			{start: "Orphaned pod found, but volumes not yet removed", level: 3},
		},
	},
	{
		kind: kindOrphanRemoving,
		rules: []rule{
			{start: "Orphaned pod \"", has: " found, removing", level: 3, fill: orphanOnly},
			{start: "Orphaned pod found, removing", level: 3},
		},
	},
	{
		kind: KindOrphan, lane: LaneDeletions, words: "orphaned pod directory cannot be removed",
		rules: []rule{
			{start: "There were many similar errors", fill: orphan},
			{start: "orphaned pod \"", has: " found, but ", fill: orphanText},
			{start: "Orphaned pod \"", has: " found, but ", fill: orphanText},
		},
	},
	{
		kind: KindOrphanDetail, words: "orphaned pod directory cannot be removed",
		rules: []rule{{start: "Orphan pod", level: 5, fill: orphanDetail}},
	},
	{
		kind: KindOrphanRemoveFailed, lane: LaneDeletions, words: "orphaned pod directory could not be removed",
		rules: []rule{
			{start: "Failed to remove orphaned pod dir", fill: osFailure},
			{start: "Failed to remove orphaned pod \"", fill: orphanRemoveFailed},
			{start: "Failed cleaning pods: [", fill: cleaningFailed}, // kubelet.go, until 1.5
		},
	},
	{
		kind: kindOrphanVolumeRemoved, lane: LaneDeletions,
		rules: []rule{{start: "Cleaned up orphaned volume from pod", fill: orphanRemoved}},
	},
	{
		kind: kindOrphanDirRemoved, lane: LaneDeletions,
		rules: []rule{
			{start: "Cleaned up orphaned pod volumes dir", fill: orphanRemoved},
			{start: "Cleaned up orphaned volumes dir from pod", fill: orphanRemoved},
		},
	},
	{
		kind: KindOrphanCleanupFailed, lane: LaneDeletions, words: "cleanup of orphaned pod directories failed",
		rules: []rule{{start: "Failed cleaning up orphaned pod directories", fill: osFailure}},
	},
	{
		kind: KindCgroupDeleteFailed, lane: LaneDeletions, words: "pod cgroup could not be deleted",
		rules: []rule{
			{start: "Failed to delete cgroup paths", fill: cgroupFailure},
			{start: "failed to delete cgroup paths", fill: cgroupFailure},
			{start: "Failed to destroy orphaned pod cgroup", fill: cgroupFailure},
			{start: "Failed to remove cgroup", err: "kubepods", fill: cgroupFailure}, // runc, in the kubelet or beside it
		},
	},
}

// Orphaned says whether the kubelet calls the pod of a message orphaned: it neither knows the pod nor finds a running container of it.
func (k Kind) Orphaned() bool {
	switch k {
	case KindOrphan, KindOrphanDetail, kindOrphanMounted, kindOrphanRemoving, KindOrphanRemoveFailed, kindOrphanVolumeRemoved, kindOrphanDirRemoved:
		return true
	}
	return false
}
