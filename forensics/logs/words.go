package logs

import (
	"strings"
)

// Words says in words what a kind of message means.
func Words(k Kind) string {
	if text, ok := kindTexts[k]; ok {
		return text
	}
	name := strings.TrimPrefix(strings.TrimPrefix(string(k), "kernel-"), "noise-")
	return strings.ReplaceAll(name, "-", " ")
}

// kindTexts are the words for kinds whose names are not plain enough.
var kindTexts = map[Kind]string{
	KindOrphan:                 "orphaned pod directory cannot be removed",
	KindOrphanMounted:          "orphaned pod directory still has mounts",
	KindSyncLoopSkipped:        "the sync loop skips all pods",
	KindPLEGUnhealthy:          "the sync loop skips all pods, since the PLEG is not healthy",
	KindPLEGRelistFailed:       "the PLEG cannot list the containers",
	KindSyncLoopHealth:         "the health check of the sync loop fails",
	KindPodVolumesLeft:         "volumes of a pod are left",
	KindImageGCFailed:          "garbage collection of images failed",
	KindNetworkNotReady:        "the network of the runtime is not ready",
	KindEventChannelFull:       "the PLEG's channel is full: the sync loop takes nothing from it",
	KindHousekeepingLong:       "housekeeping took long",
	KindRuntimeDown:            "the container runtime is down",
	KindRuntimeCallFailed:      "a call to the container runtime failed",
	KindContainerStopFailed:    "a container could not be stopped",
	KindUnmountBusy:            "unmount refused: target is busy",
	KindCSIDriverMissing:       "CSI driver is not registered",
	KindCSIAborted:             "CSI driver still works on an earlier call",
	KindCSIDeadline:            "CSI driver did not answer in time",
	KindImageGC:                "disk usage is over the threshold of image GC",
	KindImageGCAll:             "every unused image is to be deleted",
	KindImageRemoved:           "image removed",
	KindImagePullFailed:        "image could not be pulled",
	KindEvictionMustEvict:      "pods must be evicted",
	KindEvictionCritical:       "the pod to evict is critical and stays",
	KindEvictionNone:           "no pod could be evicted",
	KindEvictionEvicted:        "pod evicted",
	KindEvictionFailed:         "pod could not be evicted",
	KindEvictionCleanupTimeout: "evicted pod was not cleaned up in time",
	KindKernelHungTask:         "a task is blocked",
	KindKernelNFSDown:          "NFS server does not respond",
	KindKernelNFSTimeout:       "NFS server does not respond, calls fail",
	KindKernelNFSBack:          "NFS server is back",
	KindKernelOOM:              "the node is out of memory, a process was killed",
	kindKernelOOMCgroup:        "a container is out of memory, a process was killed",
	KindKernelIOError:          "an I/O error",
	KindKernelDeviceOffline:    "a device that is offline",
	KindKernelFSError:          "an error of the file system",
	KindKernelFSShutdown:       "a file system that has shut itself down",
	KindKernelFSReadOnly:       "a file system that was remounted read-only",
	KindKernelFSMounted:        "a file system was mounted",
	kindKernelPIDs:             "a cgroup has no process ids left",
	NoiseConfigPath:            `"Unable to read config path"`,
	noiseCNIStatusHook:         `"failed to read pod IP"`,
	noiseSystemStats:           `"Failed to get system container stats"`,
	noiseSyncCancelled:         `"Sync exited with context cancellation error"`,
	noiseVolumeLimits:          `"Error getting volume limit for plugin"`,
	noiseProductName:           `"Error while reading product_name"`,
	noiseIPTablesCanary:        `"Could not set up iptables canary"`,
	noiseFlexVolume:            `"FlexVolume: driver call failed"`,
	noiseAlreadyGone:           "a container that is already gone",
	noiseStartPLEG:             `"pleg has yet to be successful"`,
	noiseImageFSStart:          `"invalid capacity 0 on image filesystem"`,
	noiseDNSLimits:             `"Nameserver limits exceeded"`,
	noiseOOMScoreAdj:           `"Failed to ApplyOOMScoreAdj"`,
	noiseMirrorPod:             `"Failed creating a mirror pod"`,
	noiseUnimplemented:         "a call that the runtime does not know",
	KindPodGCDeleting:          "PodGC force deletes the pod",
	KindPodGCTerminated:        "PodGC deletes terminated pods",
}
