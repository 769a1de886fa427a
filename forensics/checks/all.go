// Package checks is the list of all checks, one file each.
//
// A check's id is for ever. Each check has a test for a positive, for a near miss, and for evidence without its
// sources.
package checks

import "github.com/nodeforensics/nodeforensics/forensics"

// All returns every check, in the order in which reports list them.
func All() []forensics.Check {
	return []forensics.Check{
		MountHung, MountSlow, MountFrozen, MountStale, MountDisconnected, MountIOError, MountOrphaned,
		MountStacked, MountLeakedNamespace, MountDetached, UnmountBusy, FUSEServerDead, FUSEServerMismatch,
		ThreadBlocked, ProcessUnkillable, ZombieBuildup,
		KubeletHousekeepingBlocked, KubeletSyncloopStalled, KubeletStartBlocked, KubeletVolumeManagerBlocked,
		KubeletStatusManagerBlocked, KubeletPodWorkerBlocked, KubeletEvictionBlocked, KubeletPLEGUnhealthy,
		KubeletGoroutineLeak, KubeletLockContention, KubeletNotRunning, KubeletRestarting,
		RuntimeUnresponsive, CSIDriverMissing, CSIOperationStuck,
		PodOrphaned, PodOrphanedMounted, PodTerminatingStuck, PodPodGC, PodUnschedulable, PVCTerminatingHeld,
		DeletedOpenFiles,
		ImageGCFailing, ImageGCRemovedInUse, EvictionStuck,
		LogNoise,
	}
}
