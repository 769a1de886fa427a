package logs

// Lines that look like trouble and are none; [NoiseReason] says why.
const (
	noiseConfigPath     Kind = "noise-config-path"            // `"Unable to read config path"`
	noiseCNIStatusHook  Kind = "noise-cni-status-hook"        // `failed to read pod IP from plugin/docker`, CNI status hook during deletion
	noiseSystemStats    Kind = "noise-system-container-stats" // `"Failed to get system container stats"`
	noiseSyncCancelled  Kind = "noise-sync-cancelled"         // `"Sync exited with context cancellation error"`
	noiseVolumeLimits   Kind = "noise-volume-limits"          // `Error getting volume limit for plugin`
	noiseProductName    Kind = "noise-product-name"           // `Error while reading product_name`
	noiseIPTablesCanary Kind = "noise-iptables-canary"        // `Could not set up iptables canary`
	noiseFlexVolume     Kind = "noise-flexvolume"             // FlexVolume driver probe: `unexpected end of JSON input`
	noiseAlreadyGone    Kind = "noise-already-gone"           // `"DeleteContainer returned error"`, `… from runtime service failed` with gRPC code NotFound
	noiseUnimplemented  Kind = "noise-unimplemented"          // a runtime service call that failed with gRPC code Unimplemented
	noiseStartPLEG      Kind = "noise-start-pleg"             // `PLEG is not healthy: pleg has yet to be successful` while the kubelet starts
	noiseImageFSStart   Kind = "noise-image-fs-start"         // `invalid capacity 0 on image filesystem` once while the kubelet starts
	noiseDNSLimits      Kind = "noise-dns-limits"             // `"Nameserver limits exceeded"`
	noiseOOMScoreAdj    Kind = "noise-oom-score"              // `Failed to ApplyOOMScoreAdj`, only in containers
	noiseMirrorPod      Kind = "noise-mirror-pod"             // `"Failed creating a mirror pod" … already exists`
)

// noiseMessages look like trouble and are none.
func noiseMessages() []message {
	return []message{
		{
			kind: noiseConfigPath, severity: SeverityNoise, words: `"Unable to read config path"`,
			harmless: "the directory for static pods is configured and does not exist: the kubelet looks again every 20 s, " +
				"and nothing depends on it unless static pods are wanted",
			rules: []rule{{start: "Unable to read config path"}},
		},
		{
			kind: noiseCNIStatusHook, severity: SeverityNoise, words: `"failed to read pod IP"`,
			harmless: "the runtime asked for the address of a pod whose network is being taken down: it is gone, as it " +
				"should be, and the deletion goes on",
			rules: []rule{
				{has: "failed to read pod IP from plugin/docker"},
				{has: "CNI failed to retrieve network namespace path"},
			},
		},
		{
			kind: noiseSystemStats, severity: SeverityNoise, words: `"Failed to get system container stats"`,
			harmless: "accounting for the kubelet's and the runtime's own cgroups finds no such cgroup: only these two " +
				"numbers are missing, and nothing is decided by them",
			rules: []rule{{start: "Failed to get system container stats"}},
		},
		{
			kind: noiseSyncCancelled, severity: SeverityNoise, words: `"Sync exited with context cancellation error"`,
			harmless: "since 1.22 a pod that is deleted cancels the sync that runs: this is how a normal deletion begins",
			rules:    []rule{{start: "Sync exited with context cancellation error", level: 2}},
		},
		{
			kind: noiseVolumeLimits, severity: SeverityNoise, words: `"Error getting volume limit for plugin"`,
			harmless: "a cloud's volume plugin has no limit to tell on a node that is not of this cloud",
			rules:    []rule{{start: "Error getting volume limit for plugin", level: 4}},
		},
		{
			kind: noiseProductName, severity: SeverityNoise, words: `"Error while reading product_name"`,
			harmless: "the kubelet looks in the firmware's tables for a cloud, and virtual machines and containers may " +
				"have none",
			rules: []rule{{start: "Error while reading product_name"}},
		},
		{
			kind: noiseIPTablesCanary, severity: SeverityNoise, words: `"Could not set up iptables canary"`,
			harmless: "the kubelet watches for other programs that flush its rules, and cannot set its mark: rules are " +
				"kept by kube-proxy, not by this",
			rules: []rule{
				{start: "Could not set up iptables canary", fill: noCause},
				{has: "iptables canary", fill: noCause},
			},
		},
		{
			kind: noiseFlexVolume, severity: SeverityNoise, words: `"FlexVolume: driver call failed"`,
			harmless: "a FlexVolume driver's directory holds no working driver: it matters only to pods that use that " +
				"driver",
			rules: []rule{
				{has: "FlexVolume", err: "unexpected end of JSON input"},
				{has: "driver call failed", err: "executable file not found"},
				{start: "Failed to unmarshal output for command: init"},
			},
		},
		{
			kind: noiseAlreadyGone, severity: SeverityNoise, words: "a container that is already gone",
			harmless: "the kubelet asks for a container that has just been removed by itself: the answer says that the " +
				"work is done",
			rules: []rule{{start: "DeleteContainer returned error"}},
		},
		{
			kind: noiseUnimplemented, severity: SeverityNoise, words: "a call that the runtime does not know",
			harmless: "an older runtime does not know this call of a newer kubelet, which then goes on without it",
		},
		{
			kind: noiseStartPLEG, severity: SeverityNoise, words: `"pleg has yet to be successful"`,
			harmless: "PLEG has not yet listed the containers for the first time: usual for the first seconds of a " +
				"kubelet's life",
		},
		{
			kind: noiseImageFSStart, severity: SeverityNoise, words: `"invalid capacity 0 on image filesystem"`,
			harmless: "the first collection of image garbage comes before the first statistics: usual once at the start",
		},
		{
			kind: noiseDNSLimits, severity: SeverityNoise, words: `"Nameserver limits exceeded"`,
			harmless: "the node's resolv.conf names more than three servers, and pods get the first three: a configuration " +
				"to tidy, not a fault",
			rules: []rule{{start: "Nameserver limits ", fill: noCause}},
		},
		{
			kind: noiseOOMScoreAdj, severity: SeverityNoise, words: `"Failed to ApplyOOMScoreAdj"`,
			harmless: "a kubelet in a container may not protect itself from the OOM killer",
			rules:    []rule{{start: "Failed to ApplyOOMScoreAdj"}},
		},
		{
			kind: noiseMirrorPod, severity: SeverityNoise, words: `"Failed creating a mirror pod"`,
			harmless: "the mirror of a static pod is already at the API server",
			rules:    []rule{{start: "Failed creating a mirror pod", err: "already exists"}},
		},
	}
}
