package logs

import "strings"

// noiseRules know lines that look like trouble and are none.
func noiseRules() []rule {
	return []rule{
		{start: "Unable to read config path", kind: NoiseConfigPath},
		{has: "failed to read pod IP from plugin/docker", kind: noiseCNIStatusHook},
		{has: "CNI failed to retrieve network namespace path", kind: noiseCNIStatusHook},
		{start: "Failed to get system container stats", kind: noiseSystemStats},
		{start: "Sync exited with context cancellation error", kind: noiseSyncCancelled, level: 2},
		{start: "Error getting volume limit for plugin", kind: noiseVolumeLimits, level: 4},
		{start: "Error while reading product_name", kind: noiseProductName},
		{start: "Could not set up iptables canary", kind: noiseIPTablesCanary, fill: noCause},
		{has: "iptables canary", kind: noiseIPTablesCanary, fill: noCause},
		{has: "FlexVolume", err: "unexpected end of JSON input", kind: noiseFlexVolume},
		{has: "driver call failed", err: "executable file not found", kind: noiseFlexVolume},
		{start: "Failed to unmarshal output for command: init", kind: noiseFlexVolume},
		{start: "DeleteContainer returned error", kind: noiseAlreadyGone},
		{start: "Nameserver limits ", kind: noiseDNSLimits, fill: noCause},
		{start: "Failed to ApplyOOMScoreAdj", kind: noiseOOMScoreAdj},
		{start: "Failed creating a mirror pod", err: "already exists", kind: noiseMirrorPod},
	}
}

// noiseReasons say why a kind of line is harmless.
var noiseReasons = map[Kind]string{
	NoiseConfigPath: "the directory for static pods is configured and does not exist: the kubelet looks again every " +
		"20 s, and nothing depends on it unless static pods are wanted",
	noiseCNIStatusHook: "the runtime asked for the address of a pod whose network is being taken down: it is gone, as " +
		"it should be, and the deletion goes on",
	noiseSystemStats: "accounting for the kubelet's and the runtime's own cgroups finds no such cgroup: only these two " +
		"numbers are missing, and nothing is decided by them",
	noiseSyncCancelled: "since 1.22 a pod that is deleted cancels the sync that runs: this is how a normal deletion begins",
	noiseVolumeLimits:  "a cloud's volume plugin has no limit to tell on a node that is not of this cloud",
	noiseProductName: "the kubelet looks in the firmware's tables for a cloud, and virtual machines and containers may " +
		"have none",
	noiseIPTablesCanary: "the kubelet watches for other programs that flush its rules, and cannot set its mark: rules " +
		"are kept by kube-proxy, not by this",
	noiseFlexVolume: "a FlexVolume driver's directory holds no working driver: it matters only to pods that use that driver",
	noiseAlreadyGone: "the kubelet asks for a container that has just been removed by itself: the answer says that the " +
		"work is done",
	noiseUnimplemented: "an older runtime does not know this call of a newer kubelet, which then goes on without it",
	noiseStartPLEG: "PLEG has not yet listed the containers for the first time: usual for the first seconds of a " +
		"kubelet's life",
	noiseImageFSStart: "the first collection of image garbage comes before the first statistics: usual once at the start",
	noiseDNSLimits: "the node's resolv.conf names more than three servers, and pods get the first three: a " +
		"configuration to tidy, not a fault",
	noiseOOMScoreAdj: "a kubelet in a container may not protect itself from the OOM killer",
	noiseMirrorPod:   "the mirror of a static pod is already at the API server",
}

// NoiseReason says why lines of a kind are harmless; "" for kinds that are not noise.
func NoiseReason(k Kind) string { return noiseReasons[k] }

// IsNoise says whether lines of a kind are known to be harmless.
func (k Kind) IsNoise() bool { return strings.HasPrefix(string(k), "noise-") }
