package logs

// Disk pressure: image_gc_manager.go, eviction_manager.go, kubelet.go, and the pulls that fail afterwards.
const (
	// kindImageGC: `"Disk usage on image filesystem is over the high threshold…"`. Number is the usage in percent, Reason the
	// threshold.
	kindImageGC Kind = "image-gc"
	// KindImageGCAll: `"Attempting to delete unused images"`: every unused image goes, whatever the threshold.
	KindImageGCAll Kind = "image-gc-all"
	// KindImageRemoved: `"Removing image to free bytes"`. Image (id), Number is its bytes.
	KindImageRemoved Kind = "image-removed"
	// KindImageGCFailed: `"Image garbage collection failed once…"`, `"… multiple times in a row"`, `failed to garbage
	// collect required amount of images`. Reason, Code ("once" for the harmless first one).
	KindImageGCFailed Kind = "image-gc-failed"
	// KindContainerGCFailed: `"Container garbage collection failed"`. Reason, Code.
	KindContainerGCFailed Kind = "container-gc-failed"
	// kindImageRemoveFailed: `"RemoveImage from image service failed" image=…`, of a runtime that answers. Image, Reason.
	kindImageRemoveFailed Kind = "image-remove-failed"
	// kindImageFSCapacity: `invalid capacity 0 on image filesystem`.
	kindImageFSCapacity Kind = "image-fs-capacity-zero"
	// KindEvictionReclaiming: `"Eviction manager: attempting to reclaim"`. Reason is the resource; Code is "condition" where the event of a
	// node says it, which lasts until another one ends it.
	KindEvictionReclaiming Kind = "eviction-reclaiming"
	// kindEvictionRelieved: `"Eviction manager: able to reduce resource pressure without evicting pods."`. Reason.
	kindEvictionRelieved Kind = "eviction-relieved"
	// KindEvictionMustEvict: `"Eviction manager: must evict pod(s) to reclaim"`. Reason is the resource.
	KindEvictionMustEvict Kind = "eviction-must-evict"
	// kindEvictionRanked: `"Eviction manager: pods ranked for eviction" pods=[…]`. PodName is the first, Reason the list.
	kindEvictionRanked Kind = "eviction-ranked"
	// KindEvictionEvicted: `"Eviction manager: pod is evicted successfully"`. PodName, PodUID.
	KindEvictionEvicted Kind = "eviction-evicted"
	// KindEvictionFailed: `"Eviction manager: pod failed to evict"`. PodName, Reason.
	KindEvictionFailed Kind = "eviction-failed"
	// KindEvictionCleanupTimeout: `"Eviction manager: timed out waiting for pods to be cleaned up"`. PodName, Reason.
	KindEvictionCleanupTimeout Kind = "eviction-cleanup-timeout"
	// KindEvictionCritical: `"Eviction manager: cannot evict a critical pod"`. PodName.
	KindEvictionCritical Kind = "eviction-critical-pod"
	// KindEvictionNone: `"Eviction manager: unable to evict any pods from the node"`, `… eviction thresholds have been met, but no
	// pods are active to evict`.
	KindEvictionNone Kind = "eviction-none"
	// kindEvictionStatsFailed: `"Eviction manager: failed to get summary stats"`. Reason.
	kindEvictionStatsFailed Kind = "eviction-stats-failed"
	// KindAdmissionRefused: `"Failed to admit pod to node" nodeCondition=[…]`. PodName; Reason is the conditions.
	KindAdmissionRefused Kind = "admission-refused"
	// KindImagePullFailed: `"PullImage from image service failed" image=…`, `"Failed to pull image"`, and errors syncing
	// a pod with ErrImagePull, ImagePullBackOff or ErrImageNeverPull. Image, PodName, Reason, Code (gRPC or the word).
	KindImagePullFailed Kind = "image-pull-failed"
	// kindSandboxImageDeleted: containerd's `ImageDelete event &ImageDelete{Name:…/pause:3.5,…}`. Image.
	kindSandboxImageDeleted Kind = "sandbox-image-deleted"
	// kindImageMissed is a sentence, or a row of a table, with ImagePullBackOff or the like.
	kindImageMissed Kind = "image-missed"
)

// diskMessages are image and container garbage collection, evictions, admission, and pulls that fail.
var diskMessages = []message{
	{
		kind: kindImageGC, lane: LaneDisk, words: "disk usage is over the image garbage collection threshold",
		rules: []rule{
			{start: "Disk usage on image filesystem is over the high threshold", fill: imageGC},
			{start: "[imageGCManager]: Disk usage on image filesystem is at ", fill: imageGC},
		},
	},
	{
		kind: KindImageGCAll, lane: LaneDisk, words: "the kubelet deletes every unused image",
		rules: []rule{
			{start: "Attempting to delete unused images"},
			{start: "attempting to delete unused images"},
		},
	},
	{
		kind: KindImageRemoved, lane: LaneDisk, words: "image removed",
		rules: []rule{
			{start: "Removing image to free bytes", fill: imageRemoved},
			{start: "[imageGCManager]: Removing image \"", fill: imageRemoved},
		},
	},
	{
		kind: kindImageRemoveFailed, lane: LaneDisk, words: "image could not be removed",
		rules: []rule{
			{start: "RemoveImage \"", has: "from image service failed", fill: imageKept},
			{start: "RemoveImage from image service failed", fill: imageKept},
		},
	},
	{
		kind: KindImageGCFailed, lane: LaneDisk, words: "image garbage collection failed",
		rules: []rule{
			{start: "Image garbage collection failed once", fill: imageGCFailed},
			{start: "Image garbage collection failed", fill: imageGCFailed},
			{event: "ImageGCFailed", fill: eventOfImageGC},
			{event: "FreeDiskSpaceFailed"},
			{start: "missing image stats: &ImageFsInfoResponse{", fill: statsMissing},
			{start: "eviction manager: unexpected error when attempting to reduce ", has: "with errors in image deletion", fill: imageGCFailed},
			{start: "failed to garbage collect required amount of images", fill: imageGCFailed},
			{start: "Failed to garbage collect required amount of images", fill: imageGCFailed},
		},
	},
	{
		kind: KindContainerGCFailed, lane: LaneDisk, words: "container garbage collection failed",
		rules: []rule{{start: "Container garbage collection failed"}, {event: "ContainerGCFailed"}},
	},
	{
		kind: kindImageFSCapacity, lane: LaneDisk, words: "image file system could not be measured",
		rules: []rule{{start: "invalid capacity 0 on image filesystem"}, {event: "InvalidDiskCapacity", fill: eventOfCapacity}},
	},
	{
		kind: KindEvictionReclaiming, lane: LaneDisk, byReason: true, words: "eviction manager reclaims a resource",
		rules: append(ofManager(rule{start: "attempting to reclaim", fill: evictionResource}),
			rule{event: "EvictionThresholdMet", fill: eventOfPressure},
			rule{event: "NodeHasDiskPressure", fill: eventOfPressure},
			rule{event: "KubeletHasDiskPressure", fill: eventOfPressure},
			rule{event: "NodeHasInsufficientMemory", fill: eventOfPressure},
			rule{event: "KubeletHasInsufficientMemory", fill: eventOfPressure},
			rule{event: "NodeHasInsufficientPID", fill: eventOfPressure},
			rule{event: "KubeletHasInsufficientPID", fill: eventOfPressure}),
	},
	{
		kind: kindEvictionRelieved, lane: LaneDisk, byReason: true, words: "pressure ended without eviction",
		rules: append(ofManager(rule{start: "able to reduce", fill: evictionRelieved}),
			rule{event: "NodeHasNoDiskPressure", fill: eventOfPressure}, rule{event: "NodeHasSufficientMemory", fill: eventOfPressure}, rule{event: "NodeHasSufficientPID", fill: eventOfPressure}),
	},
	{
		kind: KindEvictionMustEvict, lane: LaneDisk, byReason: true, words: "pods must be evicted",
		rules: ofManager(rule{start: "must evict pod(s) to reclaim", fill: evictionResource}),
	},
	{
		kind: kindEvictionRanked, lane: LaneDisk,
		rules: ofManager(rule{start: "pods ranked for eviction", fill: evictionRanked}),
	},
	{
		kind: KindEvictionEvicted, lane: LaneDisk, words: "pod evicted",
		rules: append(ofManager(rule{start: "pod ", has: " is evicted successfully", fill: noCause}), rule{event: "Evicted", has: "The node was low on resource", fill: eventOfEviction}, rule{event: "Evicted", has: "The node had condition: ", fill: eventOfEviction}),
	},
	{
		kind: KindEvictionFailed, lane: LaneDisk, words: "pod could not be evicted",
		rules: ofManager(rule{start: "pod ", has: " failed to evict", fill: evictionFailed}),
	},
	{
		kind: KindEvictionCleanupTimeout, lane: LaneDisk, words: "evicted pod was not cleaned up in time",
		rules: ofManager(rule{start: "timed out waiting for pod", fill: noCode}),
	},
	{
		kind: KindEvictionCritical, lane: LaneDisk, words: "a critical pod cannot be evicted",
		rules: ofManager(rule{start: "cannot evict a critical", fill: noCause}),
	},
	{
		kind: KindEvictionNone, lane: LaneDisk, words: "no pod could be evicted",
		rules: append(ofManager(rule{start: "unable to evict any pods", fill: noCause}, rule{start: "eviction thresholds have been met, but no pods are active to evict", fill: noCause}),
			rule{has: "eviction thresholds have been met, but no pods are active to evict", prose: true, fill: noCause}),
	},
	{
		kind: kindEvictionStatsFailed, lane: LaneDisk, words: "eviction manager has no statistics",
		rules: ofManager(rule{start: "failed to get summary stats", fill: noCode}, rule{start: "failed to get get summary stats", fill: noCode},
			rule{start: "failed to synchronize", fill: noStats}, rule{start: "failed to get HasDedicatedImageFs", fill: noStats}),
	},
	{
		kind: KindAdmissionRefused, lane: LaneDisk, byReason: true, words: "pod was rejected by the node",
		rules: []rule{
			{start: "Failed to admit pod", has: "node has conditions: ", fill: admission},
			{start: "Failed to admit pod to node", fill: admission},
		},
	},
	{
		kind: kindSandboxImageDeleted, severity: SeverityRoutine, words: "the runtime deleted the image of sandboxes",
		rules: []rule{
			{start: "ImageDelete event &ImageDelete{Name:", fill: sandboxImage, runtime: true},
			{start: "ImageDelete event name:", fill: sandboxImage, runtime: true}, // containerd 1.7
		},
	},
	{
		kind: kindImageMissed, severity: SeverityRoutine, words: "an image is missing, by what a sentence says",
		rules: []rule{{has: "ImagePullBackOff", prose: true, fill: ofText}, {has: "ImagePullBackoff", prose: true, fill: ofText}, {has: "ErrImageNeverPull", prose: true, fill: ofText}},
	},
	{
		kind: KindImagePullFailed, lane: LaneDisk, words: "image could not be pulled",
		rules: []rule{
			{start: "Failed to pull image", fill: imagePull},
			{event: "ErrImageNeverPull", fill: eventOfNeverPull},
			{start: "PullImage \"", has: "from image service failed", fill: imagePull},
			{start: "PullImage from image service failed", fill: imagePull},
			{start: "PullImage \"", has: " failed", find: "PullImage ", fill: imagePull, runtime: true}, // containerd
		},
	},
}

// ofManager puts the eviction manager's name before its messages, as old kubelets and new ones write it.
func ofManager(rules ...rule) []rule {
	var all []rule
	for _, r := range rules {
		text := r.start
		for _, name := range []string{"Eviction manager: ", "eviction manager: "} {
			r.start = name + text
			all = append(all, r)
		}
	}
	return all
}
