// Package checks is the list of all checks, one file each.
//
// A check's id is for ever. Each check has a test for a positive, for a near miss, and for evidence without its
// sources.
package checks

import "github.com/nodeforensics/nodeforensics/forensics"

// All returns every check, in the order in which reports list them.
func All() []forensics.Check {
	return []forensics.Check{
		mountHung, mountSlow, mountFrozen, mountStale, mountDisconnected, mountIOError, mountOrphaned,
		mountStacked, mountLeakedNamespace, mountDetached, unmountBusy, fuseServerDead, fuseServerMismatch,
		threadBlocked, processUnkillable, zombieBuildup,
		kubeletHousekeepingBlocked, kubeletSyncloopStalled, kubeletStartBlocked, kubeletVolumeManagerBlocked,
		kubeletStatusManagerBlocked, kubeletPodWorkerBlocked, kubeletEvictionBlocked, kubeletPLEGUnhealthy,
		kubeletGoroutineLeak, kubeletLockContention, kubeletNotRunning, kubeletRestarting,
		runtimeUnresponsive, runtimeOperationStuck, csiDriverMissing, csiOperationStuck,
		podOrphaned, podOrphanedMounted, podOrphanedVolData,
		podTerminatingStuck, podPodGC, podUnschedulable, pvcTerminating,
		podCgroupLeftover, containerUnkillable,
		diskPressure, diskNearThreshold, deletedOpenFiles,
		imageGCFailing, imageGCRemovedInUse, evictionStuck,
		kernelServerUnresponsive, kernelHungTask, kernelLockup, kernelIOError, fileSystemError, kernelOOM,
		limitExhausted, networkDeviceStuck,
		volumeMountFailing, volumeAttachFailing, volumeUnmountFailing,
		sandboxCreateFailing, containerCreateFailing, containerStopFailing,
		certificateExpired, apiServerUnreachable, nodeNotReady, kubeletStateInvalid, kubeletStatsFailing,
		logNoise,
	}
}
