package logs

// Known harmless messages; [NoiseReason] says why.
const (
	noiseConfigPath     Kind = "noise-config-path"            // `"Unable to read config path"`
	noiseCNIStatusHook  Kind = "noise-cni-status-hook"        // `failed to read pod IP from plugin/docker`, CNI status hook during deletion
	noiseSystemStats    Kind = "noise-system-container-stats" // `"Failed to get system container stats"`
	noiseNoRegistration Kind = "noise-no-registration"        // `RegisterPlugin error … unknown service pluginregistration.Registration`
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
	noiseBeforeStart    Kind = "noise-before-start"           // an event of the API about a pod of which a container was started later
	noiseMirrorPod      Kind = "noise-mirror-pod"             // `"Failed creating a mirror pod" … already exists`
	noiseNoObservation  Kind = "noise-no-observation"         // `eviction manager: no observation found for eviction signal allocatable…`
	noiseUnknownCgroup  Kind = "noise-unknown-cgroup"         // cAdvisor: `Failed to create existing container: …`
	noiseTestSlice      Kind = "noise-test-slice"             // systemd: `Created slice libcontainer_N_systemd_test_default.slice`
	noiseNotRegistered  Kind = "noise-not-registered"         // `Couldn't get configMap N: object N not registered`
)

// noiseMessages are known harmless messages.
var noiseMessages = []message{
	{
		kind: noiseConfigPath, severity: SeverityNoise, words: `"Unable to read config path"`,
		harmless: "the configured directory for static pods does not exist. The kubelet checks again every 20 s. " +
			"This matters only if the node needs static pods",
		rules: []rule{{start: "Unable to read config path"}},
	},
	{
		kind: noiseCNIStatusHook, severity: SeverityNoise, words: `"failed to read pod IP"`,
		harmless: "the runtime queried the IP address of a pod while its network was torn down. The address no longer exists, as expected. " +
			"The deletion continues",
		rules: []rule{
			{has: "failed to read pod IP from plugin/docker"},
			{has: "CNI failed to retrieve network namespace path"},
		},
	},
	{
		kind: noiseSystemStats, severity: SeverityNoise, words: `"Failed to get system container stats"`,
		harmless: "the kubelet and the runtime have no cgroup of their own to account. Only these two statistics are missing, and no " +
			"decision depends on them",
		rules: []rule{
			{start: "Failed to get system container stats"},
			{start: "CPUAccounting not enabled for pid"},
			{start: "MemoryAccounting not enabled for pid"},
		},
	},
	{
		kind: noiseSyncCancelled, severity: SeverityNoise, words: `"Sync exited with context cancellation error"`,
		harmless: "since 1.22 the deletion of a pod cancels its running sync. This is normal",
		rules:    []rule{{start: "Sync exited with context cancellation error", level: 2}},
	},
	{
		kind: noiseVolumeLimits, severity: SeverityNoise, words: `"Error getting volume limit for plugin"`,
		harmless: "a cloud volume plugin has no volume limit on a node of another environment",
		rules:    []rule{{start: "Error getting volume limit for plugin", level: 4}},
	},
	{
		kind: noiseProductName, severity: SeverityNoise, words: `"Error while reading product_name"`,
		harmless: "the kubelet reads the firmware tables to detect a cloud. Virtual machines and containers may have no such tables",
		rules:    []rule{{start: "Error while reading product_name"}},
	},
	{
		kind: noiseIPTablesCanary, severity: SeverityNoise, words: `"Could not set up iptables canary"`,
		harmless: "the kubelet cannot create the chain that detects flushed iptables rules. kube-proxy maintains the rules, not this chain",
		rules: []rule{
			{start: "Could not set up iptables canary", fill: noCause},
			{has: "iptables canary", fill: noCause},
		},
	},
	{
		kind: noiseFlexVolume, severity: SeverityNoise, words: `"FlexVolume: driver call failed"`,
		harmless: "the directory of a FlexVolume driver has no working driver. This matters only to pods that use the driver",
		rules: []rule{
			{has: "FlexVolume", err: "unexpected end of JSON input"},
			{has: "driver call failed", err: "executable file not found"},
			{start: "Failed to unmarshal output for command: init"},
		},
	},
	{
		kind: noiseAlreadyGone, severity: SeverityNoise, words: `"NotFound" for a removed container`,
		harmless: "the kubelet or the runtime queried a container, or its directory, cgroup or output, that had just been removed. The response confirms " +
			"the removal",
		rules: []rule{
			{start: "DeleteContainer returned error"},
			{start: "Container \"", has: "not found in pod's containers"},
			{start: "Path \"/var/lib/kubelet/pods/", has: "does not exist"},
			{start: "failed to collect filesystem stats - rootDiskErr: du command failed on ", has: "o such file or directory", fill: noCause}, // cAdvisor, up to 1.13
			{start: "Stat fs failed. Error: no such file or directory"},
			{start: "Failed to update stats for container", has: "unable to determine device info for dir", err: "no such file or directory"},
			{start: "collecting metrics for ", err: "cgroup deleted", runtime: true},
			{start: "stream copy error: reading from a closed fifo", runtime: true},
		},
	},
	{
		kind: noiseNoRegistration, severity: SeverityNoise, words: `"unknown service pluginregistration.Registration"`,
		harmless: "kubelets 1.13 to 1.16 ask each socket below plugins/ to register. That of a CSI driver serves calls; another one registers the driver",
	},
	{
		kind: noiseUnimplemented, severity: SeverityNoise, words: `"Unimplemented" for a call to the container runtime`,
		harmless: "an older runtime does not implement this call of a newer kubelet. The kubelet continues without it",
	},
	{
		kind: noiseStartPLEG, severity: SeverityNoise, words: `"pleg has yet to be successful"`,
		harmless: "the PLEG has not yet completed its first relist. This is normal in the first seconds of a kubelet run",
	},
	{
		kind: noiseImageFSStart, severity: SeverityNoise, words: `"invalid capacity 0 on image filesystem"`,
		harmless: "the first image garbage collection runs before the first statistics are available. This is normal once at the start",
	},
	{
		kind: noiseDNSLimits, severity: SeverityNoise, words: `"Nameserver limits exceeded"`,
		harmless: "the node's resolv.conf has more than three nameservers. Pods get the first three. Clean up the configuration; it is " +
			"not a fault",
		rules: []rule{{start: "Nameserver limits ", fill: noCause}},
	},
	{
		kind: noiseOOMScoreAdj, severity: SeverityNoise, words: `"Failed to ApplyOOMScoreAdj"`,
		harmless: "a kubelet in a container is not permitted to change its OOM score",
		rules: []rule{
			{start: "Failed to ApplyOOMScoreAdj"},
			{start: "Failed to ensure process in container with oom score", err: "permission denied"},
			{start: "[ContainerManager] Failed to ensure state of ", has: "oom score", err: "permission denied"},
		},
	},
	{
		kind: noiseBeforeStart, severity: SeverityNoise, words: "failures before a pod was started",
		harmless: "a later event says that a container of the pod was started, so its volumes and its sandbox are there",
	},
	{
		kind: noiseMirrorPod, severity: SeverityNoise, words: `"Failed creating a mirror pod"`,
		harmless: "the mirror pod of a static pod already exists in the API server",
		rules:    []rule{{start: "Failed creating a mirror pod", err: "already exists"}},
	},
	{
		kind: noiseNoObservation, severity: SeverityNoise, words: `"no observation found for eviction signal"`,
		harmless: "an old kubelet does not measure what pods may allocate of a resource. The thresholds of the node apply all the same",
		rules:    []rule{{start: "eviction manager: no observation found for eviction signal allocatable"}},
	},
	{
		kind: noiseUnknownCgroup, severity: SeverityNoise, words: `"Failed to create existing container"`,
		harmless: "cAdvisor found the cgroup of a container that the runtime does not know any more. Only the statistics of this container are missing",
		rules: []rule{
			{start: "Failed to create existing container: ", has: "Status 404 returned error", fill: noCause},
			{start: "Failed to create existing container: ", has: "failed to identify the read-write layer ID", fill: noCause},
		},
	},
	{
		kind: noiseTestSlice, severity: SeverityNoise, words: `"systemd_test_default.slice"`,
		harmless: "runc up to 1.0-rc10 makes and removes an empty slice to learn what systemd can do, each time it is called",
		rules: []rule{
			{start: "Created slice libcontainer_", has: "_systemd_test_default.slice", fill: noCause},
			{start: "Removed slice libcontainer_", has: "_systemd_test_default.slice", fill: noCause},
			{start: "Failed to get RecentStats(\"/libcontainer_", has: "_systemd_test_default.slice"},
		},
	},
	{
		kind: noiseNotRegistered, severity: SeverityNoise, words: `"object not registered"`,
		harmless: "the kubelet has not yet read the pod again after its start, or no longer has it: it keeps secrets and config maps of pods that it has. " +
			"It tries again",
		rules: []rule{
			{start: "Couldn't get ", err: "not registered"},
			{start: "Error preparing data for projected volume ", err: "not registered"},
		},
	},
}
