package report

import (
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// laneTitles are the lanes in the order in which they are drawn.
var laneTitles = []struct{ id, title string }{
	{laneSyncLoop, "Kubelet and its sync loop"},
	{laneDeletions, "Pods on their way out"},
	{laneVolumes, "Volumes"},
	{laneDisk, "Disk, images, evictions"},
	{laneRuntime, "Container runtime"},
	{laneKernel, "Kernel"},
}

const (
	laneSyncLoop  = "syncloop"
	laneDeletions = "deletions"
	laneVolumes   = "volumes"
	laneDisk      = "disk"
	laneRuntime   = "runtime"
	laneKernel    = "kernel"
)

// laneOf is where an event is drawn; "" for what is no trouble, and for the steps of deletions and operations, which
// have moments of their own.
func laneOf(e logs.Event) string {
	if lane, ok := kindLanes[e.Kind]; ok {
		return lane
	}
	switch k := string(e.Kind); {
	case strings.HasPrefix(k, "kernel-"):
		return laneKernel
	case strings.HasPrefix(k, "eviction-"), strings.HasPrefix(k, "image-"), k == string(logs.KindContainerGCFailed):
		return laneDisk
	case strings.HasPrefix(k, "podgc-"):
		return laneDeletions
	}
	return ""
}

// kindLanes are the lanes of the kinds whose names do not tell.
var kindLanes = map[logs.Kind]string{
	logs.KindSyncLoopSkipped: laneSyncLoop, logs.KindPLEGUnhealthy: laneSyncLoop, logs.KindEventChannelFull: laneSyncLoop,
	logs.KindHousekeepingLong: laneSyncLoop, logs.KindSyncLoopHealth: laneSyncLoop, logs.KindWatchdogWithheld: laneSyncLoop,
	logs.KindNodeNotReady: laneSyncLoop, logs.KindKubeletFatal: laneSyncLoop, logs.KindKubeletPanic: laneSyncLoop,
	logs.KindKubeletWatchdog: laneSyncLoop, logs.KindAPIUnreachable: laneSyncLoop, logs.KindAPIUnauthorized: laneSyncLoop,
	logs.KindCertExpired: laneSyncLoop, logs.KindProcessLimit: laneSyncLoop, logs.KindInotifyLimit: laneSyncLoop,
	logs.KindCheckpointCorrupt: laneSyncLoop, logs.KindDBusFailed: laneSyncLoop,

	logs.KindOrphan: laneDeletions, logs.KindOrphanRemoveFailed: laneDeletions, logs.KindOrphanCleanupFailed: laneDeletions,
	logs.KindOrphanMounted: laneDeletions, logs.KindOrphanDirRemoved: laneDeletions, logs.KindOrphanVolumeRemoved: laneDeletions,
	logs.KindCgroupDeleteFailed: laneDeletions, logs.KindPodKillFailed: laneDeletions, logs.KindPodKillIncomplete: laneDeletions,
	logs.KindPodDeleteFailed: laneDeletions, logs.KindPodStatusFailed: laneDeletions, logs.KindPodRestartBlocked: laneDeletions,
	logs.KindPodVolumesLeft: laneDeletions, logs.KindPodContainersLeft: laneDeletions, logs.KindPodCgroupLeft: laneDeletions,

	logs.KindDeviceInUse: laneVolumes, logs.KindCSIDriverMissing: laneVolumes, logs.KindCSIAborted: laneVolumes,
	logs.KindCSIDeadline: laneVolumes, logs.KindCSIUnavailable: laneVolumes, logs.KindCSIFailed: laneVolumes,
	logs.KindCSIVolDataMissing: laneVolumes, logs.KindCSIRegistrationFailed: laneVolumes, logs.KindMountFailed: laneVolumes,
	logs.KindUnmountFailed: laneVolumes, logs.KindUnmountBusy: laneVolumes, logs.KindDeviceMountFailed: laneVolumes,
	logs.KindDeviceUnmountFailed: laneVolumes, logs.KindAttachFailed: laneVolumes, logs.KindOperationFailed: laneVolumes,
	logs.KindVolumesNotMounted: laneVolumes, logs.KindSubPathFailed: laneVolumes,

	logs.KindDiskFull: laneDisk, logs.KindReadOnly: laneDisk, logs.KindAdmissionRefused: laneDisk, logs.KindStatsFailed: laneDisk,

	logs.KindPLEGRelistFailed: laneRuntime, logs.KindPLEGIgnored: laneRuntime, logs.KindSandboxCreateFailed: laneRuntime,
	logs.KindSandboxStopFailed: laneRuntime, logs.KindSandboxRemoveFailed: laneRuntime, logs.KindContainerCreateFailed: laneRuntime,
	logs.KindContainerStartFailed: laneRuntime, logs.KindContainerStopFailed: laneRuntime, logs.KindContainerRemoveFailed: laneRuntime,
	logs.KindContainerNameReserved: laneRuntime, logs.KindRuntimeCallFailed: laneRuntime, logs.KindRuntimeDown: laneRuntime,
	logs.KindShimFailed: laneRuntime, logs.KindCNIDeleteFailed: laneRuntime, logs.KindCNIAddFailed: laneRuntime,
	logs.KindNetworkNotReady: laneRuntime, logs.KindCgroupNoSpace: laneRuntime,
}
