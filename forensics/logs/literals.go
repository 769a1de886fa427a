package logs

// literals are what lines must hold, at least one of them, to be parsed at all. They are matched byte by byte, in the line
// as it stands: none holds a character that klog or JSON escapes. None is shorter than ten bytes, so that a search can
// skip.
func literals() []string {
	return []string{
		// Orphans and cgroups.
		"rphaned pod", "Orphan pod", "orphaned volume", "cgroup paths",
		// The sync loop, PLEG, the watchdog.
		"SyncLoop (", "SyncLoop ADD", "SyncLoop UPDATE", "SyncLoop REMOVE", "SyncLoop DELETE", "SyncLoop RECONCILE", "main sync loop", "sync Loop took", "pping pod synchronization", "ousekeeping took longer",
		"vent channel is full", "Unable to retrieve pods", "Ignoring events for pod", "container finished",
		"notify watchdog", "Node became not ready",
		// The deletion of pods.
		"begin teardown", "must be torn down", "Cancelling current pod sync", "ncTerminatingPod enter",
		"ncTerminatedPod enter", "Pod terminating with", "Killing container", "not completed in grace",
		"did not complete in", "exited normally", "Pod termination ", "Pod terminated all", "volumes to unmount",
		"volumes are unmounted", "is terminated, but", "Error syncing pod", "after a successful KillPod",
		"is terminated and ", "worker can now stop", "termination is finished", "Delaying pod deletion",
		"removed from etcd", "to delete status for", "to update status for", "no longer known to the kubelet",
		"restart with same UID", "Pod cannot start yet",
		// Volumes.
		"No retries permitted until", "} failed with: ", "operationExecutor.", "Volume.WaitForAttach",
		"Volume.MountDevice", "Volume.SetUp succeeded", "Volume.TearDown", "Volume.Attach succeeded",
		"UnmountDevice succeeded", "Volume detached", "mount volumes for pod", "RegisterPlugin error",
		"registered CSI drivers", "load volume data file", "kubernetes.io/csi: ",
		// Disk pressure.
		"image filesystem", "delete unused images", "Removing image", "arbage collection failed",
		"garbage collect required", "to admit pod", "to pull image", "ttempting to reclaim", "without evicting pods",
		"must evict pod", "ranked for eviction", "evicted successfully", "failed to evict", "to be cleaned up",
		"cannot evict a critical", "unable to evict any", "summary stats",
		// The container runtime.
		"service failed", "sanity check failed", "runtime not ready", "runtime network not ready",
		"reserve container name", "failed (delete)", "network for sandbox", "failed (add)", "delete shim",
		"kill container", "containerd task", "create shim", "ttrpc: closed", "shim disconnected",
		"Failed to stop sandbox", "termination failed with", "connect to the Docker",
		// Pod garbage collection.
		"arbage collecting", "force deleting Pod", "orphaned Pod", "unscheduled terminating Pod",
		// The kernel.
		"blocked for more than", "in I/O wait for more", "nfs: server ", "libceph: mon", "libceph: osd", "libceph: mds", "ceph: mds0", "]: mds0 hung", "reconnect denied", "rejected session", "has not responded in", "offline device",
		"to dead device", "active paths: 0", "Device offlined", "recovery timed out", "controller is down", "resetting controller", " timeout, abort", " timeout, reset", " timeout, compl", " timeout, disab",
		"timing out command", "hard resetting link", "esetting device", "filesystem read-only", "has been shut down",
		"do_force_shutdown", "utting down filesystem", "unmount the filesystem", "): mounted filesystem", "): Mounting V", "first mount of filesystem", "I/O error, ", "I/O error on", "log I/O error", "metadata I/O error", "orruption ",
		"EXT4-fs error", "Detected IO errors", "Aborting journal", "ut of memory", "oom-kill:constraint", "result of limit of",
		"fork rejected", "SLUB: Unable", "soft lockup", "detected stall", "to become free", "out-of-data-space",
		"out of data space", "free data blocks",
		// The life of the kubelet.
		"Kubelet version", "Version: v", "FLAG: --v=", "Filesystem UUIDs", "cAdvisor running", "Container Manager object",
		"Using cri version", "runtime initialized", "initialized, version", "Started kubelet", "Starting to listen",
		"Volume Manager", "populator starts to run", "registered node", "command failed", "to run kubelet",
		"to run Kubelet", "start ContainerManager", "start cAdvisor", "panic: runtime error", "[running]:",
		"fatal error: ", "Observed a panic", "SIGABRT: abort", "SIGQUIT: quit", "SIGSEGV: seg", "SIGBUS: bus",
		"ain process exited", "atchdog timeout", "Scheduled restart job", "Stopping kubelet", "Stopped kubelet",
		"Kubernetes Kubelet", "start to sync state",
		// The API server, certificates, limits.
		"certificate has expired", "client certificate", "ailed to watch *", "ailed to list *", "updating node status",
		"update node status", "update lease", "lease exists", "register node with API", "checkpoint is corrupted",
		"state checkpoint policy", "read checkpoint file", "too many open files", "no space left on device",
		"cannot allocate memory", "resource temporarily unavailable", "pthread_create failed", "new OS thread",
		"10000-thread limit", "ead-only file system", "dbus: connection", "waiting for systemd", "transient scope unit",
		"xtables lock", "docker cgroup driver", "prepare subPath", "issuing cadvisor", "rootFs info", "imageFs info",
		// Noise.
		"read config path", "read pod IP from", "retrieve network namespace", "system container stats",
		"context cancellation error", "getting volume limit", "reading product_name", "iptables canary",
		"end of JSON input", "driver call failed", "command: init", "DeleteContainer returned", "ameserver limits",
		"ApplyOOMScoreAdj", "creating a mirror pod",
	}
}
