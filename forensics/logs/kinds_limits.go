package logs

// The API server, certificates and the limits of the node, as the kubelet meets them. Reason.
const (
	KindAPIUnreachable    Kind = "api-unreachable"        // reflector, lease and node status errors
	kindAPISynced         Kind = "api-synced"             // -v 2: `Caches populated for …`: a list that a reflector asked for has come
	KindAPIUnauthorized   Kind = "api-unauthorized"       // `Unauthorized`
	KindCertExpired       Kind = "cert-expired"           // `x509: certificate has expired or is not yet valid`, `… client certificate … is expired`
	kindCertsRenewed      Kind = "certs-renewed"          // `Done renewing certificates.`, as kubeadm writes
	kindThinPoolLow       Kind = "thin-pool-low"          // `devmapper: Thin Pool has … free data blocks`, of dockerd and CRI-O
	KindDiskFull          Kind = "disk-full"              // `no space left on device` outside of cgroups and inotify; Path
	kindCgroupNoSpace     Kind = "cgroup-no-space"        // `mkdir /sys/fs/cgroup/…: no space left on device`, `cannot allocate memory`; Path
	kindNamespaceLimit    Kind = "namespace-limit"        // `fork/exec …: no space left on device`: user.max_user_namespaces and its kin
	kindInotifyLimit      Kind = "inotify-limit"          // `inotify_init: too many open files`, `inotify_add_watch …: no space left on device`
	kindProcessLimit      Kind = "process-limit"          // `resource temporarily unavailable` of fork, `too many open files`, thread limits
	kindReadOnly          Kind = "read-only"              // `read-only file system`; Path
	kindFSDamaged         Kind = "fs-damaged"             // `structure needs cleaning`, EUCLEAN; Path
	kindCheckpointCorrupt Kind = "checkpoint-corrupt"     // `checkpoint is corrupted`, policy differs from the state; Path
	KindDBusFailed        Kind = "dbus-failed"            // `dbus: connection closed`, `Timeout waiting for systemd to create`, transient unit timeouts
	kindKeyringLimit      Kind = "keyring-limit"          // `unable to join session keyring: … disk quota exceeded`
	kindXtablesLock       Kind = "xtables-lock"           // `Another app is currently holding the xtables lock`
	kindCgroupDriver      Kind = "cgroup-driver-mismatch" // `kubelet cgroup driver: … is different from docker cgroup driver`
	kindSubPathFailed     Kind = "subpath-failed"         // `failed to prepare subPath for volumeMount`; PodName, Container
	kindMountDead         Kind = "mount-dead"             // `transport endpoint is not connected`, `stale NFS file handle` in any other message; Path
	kindPathIOError       Kind = "path-io-error"          // `input/output error` of a path, in any other message; Path
	kindStatsFailed       Kind = "stats-failed"           // summary statistics fail: eviction and image GC are blind; Reason
)

// limitMessages are troubles that any message can contain: the API server, certificates, and the limits of the node. They come
// after all others, so that a volume that finds no space is a failed mount first.
var limitMessages = []message{
	{
		kind: KindCertExpired, lane: LaneSyncLoop, words: "certificate has expired or is not yet valid",
		rules: []rule{
			{start: "Unable to connect to the server: ", has: "certificate has expired or is not yet valid", fill: trouble}, // kubectl
			{start: "Unable to authenticate the request due to an error", has: "certificate has expired or is not yet valid", fill: trouble},
			{start: "Unable to authenticate the request", err: "certificate has expired or is not yet valid", fill: trouble}, // since 1.21
			{event: "ComponentRefused", fill: wholeMessage},                                                                  // a row that internal/kubectl has read
			{has: "urrently active client certificate has expired", prose: true, fill: trouble},                              // client-go/transport and the kubelet
			{start: "error execution phase certs/", has: "the certificate has expired", fill: trouble},                       // kubeadm
			{has: "x509: certificate has expired or is not yet valid: current time ", prose: true, fill: certTrouble},
			{has: "certificate has expired or is not yet valid", fill: certTrouble},
			{has: "bootstrap client certificate", err: "expired", fill: trouble},
			{event: "CertificateExpired"}, // a row that internal/kubectl has read of what kubeadm prints
		},
	},
	{
		kind: kindCertsRenewed, severity: SeverityRoutine, words: "certificates of the control plane were renewed",
		rules: []rule{{start: "Done renewing certificates"}}, // cmd/kubeadm/app/cmd/certs.go
	},
	{
		kind: KindAPIUnreachable, lane: LaneSyncLoop, words: "API server is unreachable",
		rules: []rule{
			{has: "Failed to watch *", fill: apiTrouble},
			{has: "ailed to list *", fill: apiTrouble},
			{start: "Error updating node status", fill: apiTrouble},
			{start: "Unable to update node status", fill: apiTrouble},
			{start: "Failed to update lease", fill: apiTrouble},
			{start: "failed to update lease", fill: apiTrouble},
			{start: "failed to update node lease", fill: apiTrouble}, // 1.13 to 1.17
			{start: "Failed to ensure lease exists", fill: apiTrouble},
			{start: "failed to ensure lease exists", fill: apiTrouble}, // before 1.27
			{start: "failed to ensure node lease exists", fill: apiTrouble},
			{start: "Unable to register node ", has: "with API server", fill: apiTrouble},
			{start: "Remotedialer proxy error", err: ": connect: ", fill: apiTrouble},
			{start: "Failed to connect to proxy", err: ": connect: ", fill: apiTrouble},
			{start: "failed to get CA certs: ", fill: apiTrouble}, // the agent of k3s and RKE2, which starts its kubelet after that
			{start: "Failed to get status for pod", err: "dial tcp ", fill: apiTrouble},
			{start: "Failed to contact API server when waiting for CSINode publishing", err: "dial tcp ", fill: apiInfo},
			{start: "Failed to contact API server when waiting for CSINode publishing: Unauthorized", fill: apiInfo},
			{start: "Unable to write event", err: "dial tcp ", fill: apiTrouble},
			{start: "Unable to authenticate the request due to an error", err: "dial tcp ", fill: apiTrouble},
		},
	},
	{
		kind: kindAPISynced, severity: SeverityRoutine, summed: true, words: "a list came from the API server",
		rules: []rule{{start: "Caches populated", level: 2}}, // client-go/tools/cache/reflector.go, 1.27
	},
	{kind: KindAPIUnauthorized, lane: LaneSyncLoop, words: "API server rejects the credentials of the kubelet"},
	{
		kind: kindCheckpointCorrupt, lane: LaneSyncLoop, words: "checkpoint file of the kubelet is invalid",
		rules: []rule{
			{has: "checkpoint is corrupted", fill: trouble},
			{has: "differs from state checkpoint policy", fill: trouble},
			{has: "could not restore state from checkpoint", fill: trouble}, // state_checkpoint.go of each manager that has one
			{has: "please drain node and remove policy state file", fill: trouble},
			{has: "] the expected machine state is different from the real one", fill: trouble},
			{start: "Continue after failing to read checkpoint file", fill: trouble},
			{start: "Please drain this node and delete the CPU manager checkpoint file", fill: trouble}, // the second line, up to 1.19
		},
	},
	{
		kind: kindInotifyLimit, lane: LaneSyncLoop, words: "inotify limit is reached", deep: true,
		rules: []rule{
			{start: "failed to create fsnotify watcher", has: "too many open files", fill: trouble}, // kubectl logs -f
			{has: "Failed to allocate directory watch", err: "oo many open files", fill: trouble},
			{has: "Failed to add control inotify watch descriptor", err: "o space left on device", fill: trouble},
			{start: "tail: inotify ", has: "cannot be used", err: "oo many open files", fill: trouble},
			{start: "Failed to create control group inotify object", err: "oo many open files", fill: trouble}, // systemd in a container
			{start: "Failed to allocate manager object", err: "oo many open files", fill: trouble},
			{start: "tail: inotify resources exhausted", fill: trouble},
			{start: "System.IO.IOException: The configured user limit", has: "inotify instances has been reached", fill: trouble},
			{has: "inotify_init", err: "too many open files", fill: trouble},
			{has: "failed to create inotify: No file descriptors available", fill: ofNanny}, // dnsmasq
			{has: "watcher", err: "too many open files", fill: trouble},                     // fsnotify.NewWatcher
			{app: true, has: "watcher", err: "too many open files", fill: trouble},
			{has: `failed to watch file "/var/log/pods/`, err: "no space left on device", prose: true, fill: trouble}, // kubectl logs
			{has: "inotify_add_watch", err: "no space left on device", fill: trouble},
			{has: "inotify watcher", err: "no space left on device", fill: trouble},
		},
	},
	{
		kind: kindCgroupNoSpace, lane: LaneRuntime, words: "cgroup could not be created", deep: true,
		rules: []rule{
			{has: "mkdir /sys/fs/cgroup", err: "no space left on device", prose: true, fill: trouble},
			{has: "mkdir /sys/fs/cgroup", err: "cannot allocate memory", fill: trouble},
		},
	},
	{
		kind: kindNamespaceLimit, lane: LaneRuntime, words: "limit of namespaces is reached", deep: true,
		rules: []rule{ // clone(2) and unshare(2), ENOSPC
			{has: "fork/exec ", err: "no space left on device", fill: trouble},
			{has: "unshare", err: "no space left on device", fill: trouble},
		},
	},
	{
		kind: kindProcessLimit, lane: LaneSyncLoop, words: "limit of processes, threads or open files is reached", deep: true,
		rules: []rule{
			{has: "too many open files", fill: openFiles},
			{has: "fork/exec /", err: "resource temporarily unavailable", prose: true, fill: trouble},
			{has: "fork/exec", err: "resource temporarily unavailable", fill: trouble},
			{has: "fork: retry: ", err: "esource temporarily unavailable", fill: trouble}, // a shell
			{has: "OCI runtime ", err: "esource temporarily unavailable", find: "emporarily unavailable", fill: trouble},
			{has: "pthread_create failed", fill: trouble},
			{has: "failed to create new OS thread", fill: trouble},
			{has: "program exceeds 10000-thread limit", fill: trouble},
		},
	},
	{
		kind: KindDiskFull, lane: LaneDisk, words: "no space left on device", deep: true,
		rules: []rule{
			{event: "UnexpectedAdmissionError", has: "no space left on device", fill: trouble},
			{has: "no space left on device", fill: noSpace},
			{start: "mkdir: cannot create directory ", has: "No space left on device", fill: trouble},
			{start: "touch: cannot touch ", has: "No space left on device", fill: trouble},
		},
	},
	{
		kind: kindThinPoolLow, lane: LaneDisk, words: "thin pool of the runtime has too few free blocks", deep: true,
		rules: []rule{
			{event: "ThinPoolFull", fill: wholeMessage}, // a row that internal/kubectl has read
			{start: "devmapper: Thin Pool has ", has: "which is less than minimum required", fill: trouble},
			{start: "Error response from daemon: devmapper: Thin Pool has ", has: "which is less than minimum required", fill: trouble},
			{has: "blocks which is less than minimum required", fill: trouble}, // of data or metadata
		},
	},
	{
		kind: kindKeyringLimit, lane: LaneRuntime, words: "quota of the kernel's keys is reached", deep: true,
		rules: []rule{
			{has: "join session keyring", err: "disk quota exceeded", fill: trouble},
			{has: "crun: create keyring `", err: "Disk quota exceeded", prose: true, fill: trouble},
		},
	},
	{
		kind: kindReadOnly, lane: LaneDisk, words: "file system is read-only",
		rules: []rule{{event: "UnexpectedAdmissionError", has: "ead-only file system", fill: trouble}, {has: "ead-only file system", fill: trouble}},
	},
	{
		kind: kindFSDamaged, lane: LaneDisk, words: "a file system is damaged", deep: true,
		rules: []rule{{has: "tructure needs cleaning", fill: trouble}},
	},
	{
		kind: kindMountDead, lane: LaneVolumes, words: "a mount is dead: its server has ended, or no longer knows it",
		rules: []rule{
			{start: "OSError: [Errno 107] Transport endpoint is not connected: '/", fill: pathOfPython},
			{start: "OSError: [Errno 116] Stale file handle: '/", fill: pathOfPython},
			{app: true, has: ": transport endpoint is not connected", fill: pathOfGo},
			{app: true, has: ": stale NFS file handle", fill: pathOfGo},
			{has: ": host is down", fill: pathOfGo},
			{has: "ransport endpoint is not connected", fill: trouble},
			{has: "tale NFS file handle", fill: trouble},
			{has: "tale file handle", fill: trouble},
		},
	},
	{
		kind: KindDBusFailed, lane: LaneSyncLoop, words: "systemd does not respond over D-Bus", deep: true,
		rules: []rule{
			{start: "[system] The maximum number of active connections for UID 0 ", fill: trouble}, // dbus-daemon
			{start: "[system] Failed to activate service 'org.freedesktop.systemd1': timed out", fill: trouble},
			{start: "Failed to get properties: Failed to activate service 'org.freedesktop.systemd1'", fill: trouble}, // systemctl
			{start: "Failed to list units: ", has: "maximum number of active connections for UID 0 ", fill: trouble},
			{start: "Failed to open connection to \"system\" message bus: The maximum number of active connections for UID 0 ", fill: trouble},
			{has: "Failed to activate service 'org.freedesktop.systemd1'", fill: trouble},
			{has: "org.freedesktop.DBus.Error.LimitsExceeded", fill: trouble},
			{has: "maximum number of active connections for UID", fill: trouble},
			{has: "aximum number of pending replies per connection has been reached", fill: trouble}, // dbus-daemon, bus/connection.c
			{has: "Failed to start transient service unit: Argument list too long", fill: trouble},
			{has: "dbus: connection closed", fill: trouble},
			{has: "Timeout waiting for systemd to", fill: trouble},
			{has: "Failed to start transient scope unit", fill: trouble},
		},
	},
	{
		kind: kindXtablesLock, words: "xtables lock is in use",
		rules: []rule{{has: "holding the xtables lock", fill: trouble}},
	},
	{
		kind: kindCgroupDriver, words: "cgroup drivers of kubelet and runtime differ",
		rules: []rule{{has: "is different from docker cgroup driver", fill: trouble}},
	},
	{
		kind: kindSubPathFailed, lane: LaneVolumes, words: "subPath could not be prepared",
		rules: []rule{{has: "ailed to prepare subPath for volumeMount", fill: subPath}, {has: "ailed to create subPath directory for volumeMount", fill: subPath}},
	},
	{
		kind: kindStatsFailed, lane: LaneDisk, words: "statistics could not be collected",
		rules: []rule{
			{start: "Error from server (InternalError): ", has: "Internal Error: failed to ", fill: statsRefused}, // kubectl get --raw /api/v1/nodes/N/proxy/stats/summary
			{has: "serving /stats/summary: Internal Error: failed to ", fill: statsRefused},
			{start: "error while getting metrics summary from Kubelet", has: "Internal Error: ", fill: statsRefused}, // heapster
			{start: "Internal Error: failed to ", fill: statsRefused},                                                // curl of the kubelet itself
			{start: "Partial failure issuing cadvisor", fill: trouble},
			{start: "Unable to get rootfs data from cAdvisor interface", fill: trouble},
			{has: "failed to get summary stats", fill: trouble},
			{has: "failed to get rootFs info", fill: trouble},
			{has: "failed to get imageFs info", fill: trouble},
			{has: "failed to get root cgroup stats", fill: trouble}, // in the answer of /stats/summary, too
			{has: "system container ", err: " not found in metrics", fill: trouble},
			{has: "ailed to get device for dir", err: " in cached partitions map", fill: trouble},
			{start: "Failed to scrape node", err: "500 Internal Server Error", fill: trouble}, // metrics-server, to which the kubelet answers that
			{has: "unable to fetch metrics from Kubelet ", err: "500 Internal Server Error", fill: trouble},
		},
	},
	{
		kind: kindPathIOError, lane: LaneDisk, words: "a file cannot be read or written: input/output error",
		rules: []rule{
			{start: "controller failed {", has: ": input/output error", fill: trouble}, // Talos
			{has: ": input/output error", fill: failedPath},
		},
	},
}
