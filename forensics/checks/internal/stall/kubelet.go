package stall

import (
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// Functions by which parts of the kubelet are recognized on a stack.
const (
	HousekeepingFrame = "kubelet.(*Kubelet).HandlePodCleanups"
	orphansFrame      = "kubelet.(*Kubelet).cleanupOrphanedPodDirs" // which only housekeeping calls
	SyncLoopFrame     = "kubelet.(*Kubelet).syncLoopIteration"
	ReconcilerFrame   = "volumemanager/reconciler.(*reconciler)"
	operationFrame    = "nestedpendingoperations.(*nestedPendingOperations).Run"
	PopulatorFrame    = "populator.(*desiredStateOfWorldPopulator)"
)

// Subsystems of the kubelet that findings of several checks are about.
var (
	HousekeepingEntity  = forensics.Entity{Kind: forensics.KindSubsystem, ID: "housekeeping"}
	SyncLoopEntity      = forensics.Entity{Kind: forensics.KindSubsystem, ID: "syncloop"}
	PlegEntity          = forensics.Entity{Kind: forensics.KindSubsystem, ID: "pleg"}
	VolumeManagerEntity = forensics.Entity{Kind: forensics.KindSubsystem, ID: "volume-manager"}
)

// VolumeSites are the functions by which the kubelet checks whether a pod still has volumes, outermost first.
func VolumeSites() []Site {
	return []Site{
		{"kubelet.(*Kubelet).podVolumesExist", "1.10 to 1.36", "checks whether a pod has volumes"},
		{"kubelet.(*Kubelet).removeOrphanedPodVolumeDirs", "1.19 to 1.36", "removes empty volume directories"},
		{"removeall.RemoveDirsOneFilesystem", "1.19 to 1.36", "removes a tree of directories"},
		{"removeall.RemoveAllOneFilesystem", "1.9 to 1.36", "removes a pod's directory"},
		{"os.RemoveAll", "1.5 and older", "removes a pod's directory, mounts included"},
		{"pkg/util/mount.(*NsenterMounter).IsLikelyNotMountPoint", "1.15 and older with --containerized", "runs findmnt in the host's namespace"},
		{"pkg/util/mount.(*Mounter).IsLikelyNotMountPoint", "1.16 and older", "checks with stat whether a volume is mounted"},
		{"k8s.io/utils/mount.(*Mounter).IsLikelyNotMountPoint", "1.17 to 1.19", "checks with stat whether a volume is mounted"},
		{"mount-utils.(*Mounter).isLikelyNotMountPointStatx", "1.30 to 1.36", "checks with statx, where the path lookup can still block"},
		{"mount-utils.(*Mounter).IsLikelyNotMountPoint", "1.20 to 1.36", "checks whether a volume is mounted"},
		{"pkg/volume/util.PathExists", "1.10 to 1.13", "checks with stat whether a directory exists"},
		{"pkg/util/mount.PathExists", "1.12 to 1.16", "checks with stat whether a directory exists"},
		{"k8s.io/utils/mount.PathExists", "1.17 to 1.19", "checks with stat whether a directory exists"},
		{"mount-utils.PathExists", "1.20 to 1.36", "checks with stat whether a directory, or the mount point of a CSI volume, exists"},
		{"ReadDirNoStat", "1.5 to 1.36", "lists volume directories"},
		{"io/ioutil.ReadDir", "1.24 and older", "lists volume directories and calls lstat on each entry"},
	}
}

// cutOrphans says whether a stack ends with the clean-up of orphaned pods: that is all that is left of housekeeping where somebody has cut a dump.
func cutOrphans(g goroutines.Goroutine) bool {
	return g.CreatedBy == nil && len(g.Frames) > 0 && isFunc(g.Frames[len(g.Frames)-1].Func, orphansFrame)
}

// BlockedHousekeeping finds where housekeeping is blocked: goroutines of a dump or, without a dump, the thread that is likely to run it.
func BlockedHousekeeping(p *forensics.Pass) ([]Goroutine, *HousekeepingThread) {
	if list := sorting.Delete(All(p, HousekeepingFrame, orphansFrame), func(t Goroutine) bool {
		return !HasFrame(t.Goroutine, HousekeepingFrame) && !cutOrphans(t.Goroutine)
	}); len(list) > 0 {
		return list, nil
	}
	if saw, _ := p.Evidence.Saw(forensics.SourceGoroutines); saw {
		return nil, nil // the dump shows that housekeeping is not blocked
	}
	return nil, findHousekeepingThread(p)
}

// HousekeepingThread is a thread of the kubelet that likely runs housekeeping; only where there is no dump.
type HousekeepingThread struct {
	Thread  procs.Thread
	Seconds float64
	Why     string
}

// findHousekeepingThread finds the blocked thread of the kubelet that likely runs housekeeping.
func findHousekeepingThread(p *forensics.Pass) *HousekeepingThread {
	k := p.Evidence.Kubelet
	if k == nil || k.PID == 0 {
		return nil
	}
	failed := SyncLoopFailed(p) != nil
	for _, w := range Waiters(p, "") {
		uid, volume := forensics.PodOf(w.Thread.Path)
		if w.Thread.PID != k.PID || w.Seconds < HungAfter(p) || uid == "" || volume == "" {
			continue
		}
		state, _ := p.Model.PodState(uid)
		switch {
		case failed:
			return &HousekeepingThread{w.Thread, w.Seconds, "no goroutine dump; a kubelet thread is blocked on a pod volume, and the kubelet's syncloop health check fails"}
		case state == forensics.PodOrphaned, state == forensics.PodLikelyOrphaned:
			return &HousekeepingThread{w.Thread, w.Seconds, "no goroutine dump; a kubelet thread is blocked on a volume of an orphaned pod, and only housekeeping accesses those"}
		}
	}
	return nil
}

// StalledSyncLoop lists the sync loop's goroutines that are blocked outside housekeeping: one, or several in old kubelets that
// survived a panic.
func StalledSyncLoop(p *forensics.Pass) []Goroutine {
	return sorting.Delete(All(p, SyncLoopFrame), func(t Goroutine) bool { return HasFrame(t.Goroutine, HousekeepingFrame) })
}

// SyncLoopFailed is the endpoint whose syncloop check fails, nil if there is none.
func SyncLoopFailed(p *forensics.Pass) *kubelet.Endpoint {
	if p.Evidence.Kubelet == nil {
		return nil
	}
	for _, e := range p.Evidence.Kubelet.Endpoints {
		if slices.Contains(e.Failed, "syncloop") {
			return &e
		}
	}
	return nil
}

// StuckOperations are the blocked volume operations, without those that wait for a CSI driver; and the populator, which is no operation
// and delays new volumes only.
func StuckOperations(p *forensics.Pass) []Goroutine {
	list := All(p, operationFrame, PopulatorFrame)
	return sorting.Delete(list, func(t Goroutine) bool { return t.Wait.Kind == WaitCSI })
}
