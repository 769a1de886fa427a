package logs

// The kinds of messages. Each comment names the message in its newest wording (older ones in brackets where they
// differ much), then the fields of Subject that it fills where the line has them, and what Number is.
//
// A line has one kind, that of its cause: a failed unmount that is refused as busy is [KindUnmountBusy], one whose
// driver is not there is [KindCSIDriverMissing], and only what no other kind explains is [KindUnmountFailed].

// Orphaned pod directories (kubelet_volumes.go, kubelet_pods.go).
const (
	// KindOrphan is the summary of each housekeeping round: `"There were many similar errors…" err="orphaned pod …"
	// numErrs=N` [`Orphaned pod "UID" found, but volume paths are still present on disk : There were a total of N
	// errors…`]. Only the first orphan is named. PodUID, Path, Reason (what prevents it), Code (errno); Number is N.
	// Events of more than 64 UIDs are folded into one without a UID; Story.Orphans says how many there were.
	KindOrphan Kind = "orphan"
	// KindOrphanDetail is one orphan at -v 5: `"Orphan pod" err=…`. As KindOrphan, Number 0.
	KindOrphanDetail Kind = "orphan-detail"
	// KindOrphanMounted, -v 3: `"Orphaned pod found, but volumes are not cleaned up"` (they are still mounted) and
	// `"Orphaned pod found, but volumes not yet removed…"`. PodUID.
	KindOrphanMounted Kind = "orphan-mounted"
	// kindOrphanRemoving, -v 3: `"Orphaned pod found, removing"`. PodUID.
	kindOrphanRemoving Kind = "orphan-removing"
	// KindOrphanRemoveFailed: `"Failed to remove orphaned pod dir"`. PodUID, Reason, Code.
	KindOrphanRemoveFailed Kind = "orphan-remove-failed"
	// KindOrphanVolumeRemoved: `"Cleaned up orphaned volume from pod"`. PodUID, Path.
	KindOrphanVolumeRemoved Kind = "orphan-volume-removed"
	// KindOrphanDirRemoved: `"Cleaned up orphaned pod volumes dir"`; the last that is heard of a pod. PodUID, Path.
	KindOrphanDirRemoved Kind = "orphan-dir-removed"
	// KindOrphanCleanupFailed: `"Failed cleaning up orphaned pod directories"`. Reason, Code.
	KindOrphanCleanupFailed Kind = "orphan-cleanup-failed"
	// KindCgroupDeleteFailed: `"Failed to delete cgroup paths"`, `"Failed to destroy orphaned pod cgroup"`. PodUID,
	// Path, Reason, Code.
	KindCgroupDeleteFailed Kind = "cgroup-delete-failed"
)

// The sync loop (kubelet.go), PLEG (generic.go) and what watches them.
const (
	// `"SyncLoop ADD" source="api" pods=[…]` [`SyncLoop (ADD, "api"): "name_ns(uid)"`] and its like, -v 2. PodName,
	// PodUID (of the first pod; the folder reads all), Reason is the source.
	KindSyncLoopAdd       Kind = "syncloop-add"
	KindSyncLoopUpdate    Kind = "syncloop-update"
	KindSyncLoopDelete    Kind = "syncloop-delete"
	kindSyncLoopRemove    Kind = "syncloop-remove"
	KindSyncLoopReconcile Kind = "syncloop-reconcile"
	// kindSyncLoopRestore is the restore from a checkpoint of old kubelets.
	kindSyncLoopRestore Kind = "syncloop-restore"
	// KindSyncLoopPLEG, -v 2: `"SyncLoop (PLEG): event for pod"`. PodName, PodUID, Container (its id), Reason is the
	// event ("ContainerDied").
	KindSyncLoopPLEG Kind = "syncloop-pleg"
	// KindSyncLoopSync, -v 4: `"SyncLoop (SYNC) pods"`. Number is their count.
	KindSyncLoopSync Kind = "syncloop-sync"
	// kindSyncLoopProbe: `"SyncLoop (probe)"` [`SyncLoop (container unhealthy)`], -v 1. PodName, Reason.
	kindSyncLoopProbe Kind = "syncloop-probe"
	// kindSyncLoopHousekeeping, -v 4, is the start; kindSyncLoopHousekeepingEnd the end (1.22 on), Number its seconds
	// (1.27 on).
	kindSyncLoopHousekeeping    Kind = "syncloop-housekeeping"
	kindSyncLoopHousekeepingEnd Kind = "syncloop-housekeeping-end"
	// kindSyncLoopNotReady, -v 4: `"SyncLoop (housekeeping, skipped): sources aren't ready yet"`.
	kindSyncLoopNotReady Kind = "syncloop-not-ready"
	// KindSyncLoopStarted: `Starting kubelet main sync loop`.
	KindSyncLoopStarted Kind = "syncloop-started"
	// KindSyncLoopSkipped: `"Skipping pod synchronization" err="[…]"` for other reasons than an unhealthy PLEG. Reason
	// is the causes joined by "; ", without durations.
	KindSyncLoopSkipped Kind = "syncloop-skipped"
	// KindPLEGUnhealthy is the same line when PLEG was last seen active too long ago, and any other that says so.
	// Reason is all causes; Number is how many seconds ago it was active.
	KindPLEGUnhealthy Kind = "pleg-unhealthy"
	// KindPLEGRelistFailed: `"GenericPLEG: Unable to retrieve pods" err=…`. Reason, Code (gRPC).
	KindPLEGRelistFailed Kind = "pleg-relist-failed"
	// KindPLEGIgnored: `PLEG: Ignoring events for pod name/namespace: …`. PodName, Reason, Code.
	KindPLEGIgnored Kind = "pleg-ignored"
	// KindEventChannelFull: `"Event channel is full, discard this relist() cycle event"`: nobody drains PLEG's channel.
	KindEventChannelFull Kind = "event-channel-full"
	// KindHousekeepingLong: `"Housekeeping took longer than expected"` [`… than 15s`], said after it returned. Number is
	// its seconds.
	KindHousekeepingLong Kind = "housekeeping-long"
	// KindSyncLoopHealth: `sync Loop took longer than expected` by healthz, only when someone asks.
	KindSyncLoopHealth Kind = "syncloop-health"
	// KindWatchdogWithheld: `"Do not notify watchdog this iteration…"`. Reason.
	KindWatchdogWithheld Kind = "watchdog-withheld"
	// KindNodeNotReady: `"Node became not ready"`. Reason is the condition's message without durations.
	KindNodeNotReady Kind = "node-not-ready"
)

// The deletion of a pod: pod_workers.go, kubelet.go, kuberuntime_container.go, status_manager.go. All have PodName and
// PodUID where the line has them.
const (
	// kindPodTeardown, -v 4: `"Pod is marked for graceful deletion, begin teardown"` and the other causes of a teardown.
	// Reason is the cause ("marked for graceful deletion", "orphaned", "evicted", "removed", "terminal phase").
	kindPodTeardown Kind = "pod-teardown"
	// kindPodSyncCancelled, -v 3: `"Cancelling current pod sync"`.
	kindPodSyncCancelled Kind = "pod-sync-cancelled"
	// kindPodTerminating, -v 4: `"SyncTerminatingPod enter"`, `"Pod terminating with grace period"`. Number is the grace
	// period in seconds.
	kindPodTerminating Kind = "pod-terminating"
	// KindContainerKilling, -v 2: `"Killing container with a grace period"` [`Killing container "docker://…" with 30
	// second grace period`]. Container; Number is the grace period in seconds.
	KindContainerKilling Kind = "container-killing"
	// kindPreStopUnfinished, -v 2: `"PreStop hook not completed in grace period"`. Container, Number the grace period.
	kindPreStopUnfinished Kind = "prestop-unfinished"
	// kindContainerExited, -v 3: `"Container exited normally"`; -v 2: `"Generic (PLEG): container finished"`. Container.
	kindContainerExited Kind = "container-exited"
	// KindPodKillFailed: `"Error syncing pod, skipping" err="failed to \"KillContainer\"…` or KillPodSandbox. Reason,
	// Code (gRPC), Container.
	KindPodKillFailed Kind = "pod-kill-failed"
	// KindPodKillIncomplete: `detected running containers after a successful KillPod, CRI violation`.
	KindPodKillIncomplete Kind = "pod-kill-incomplete"
	// kindPodContainersStopped, -v 4: `"Pod termination stopped all running containers"`, `"Pod terminated all
	// containers successfully"`.
	kindPodContainersStopped Kind = "pod-containers-stopped"
	// kindPodTerminatedSync, -v 4: `"SyncTerminatedPod enter"`.
	kindPodTerminatedSync Kind = "pod-terminated-sync"
	// KindPodVolumesWaiting, -v 3: `"Waiting for volumes to unmount for pod"`; always: `"Error syncing pod, skipping"
	// err="mounted volumes=[v]: …"`, Volume is their list.
	KindPodVolumesWaiting Kind = "pod-volumes-waiting"
	// kindPodVolumesUnmounted, -v 3: `"All volumes are unmounted for pod"`, `"Pod termination unmounted volumes"`.
	kindPodVolumesUnmounted Kind = "pod-volumes-unmounted"
	// kindPodVolumePathsClean, -v 3: `"Pod termination cleaned up volume paths"`.
	kindPodVolumePathsClean Kind = "pod-volume-paths-clean"
	// KindPodVolumesLeft, -v 3: `"Pod is terminated, but some volumes have not been cleaned up"`.
	KindPodVolumesLeft Kind = "pod-volumes-left"
	// KindPodContainersLeft, -v 3: `… but some containers are still running`, `… some containers have not been cleaned
	// up`, `… some container status has not yet been reported`. Reason is which.
	KindPodContainersLeft Kind = "pod-containers-left"
	// KindPodCgroupLeft, -v 3: `… but pod cgroup sandbox has not been cleaned up`; always: an error syncing the pod
	// with `unable to destroy cgroup paths`. Reason, Code.
	KindPodCgroupLeft Kind = "pod-cgroup-left"
	// kindPodCgroupRemoved, -v 4: `"Pod termination removed cgroups"`.
	kindPodCgroupRemoved Kind = "pod-cgroup-removed"
	// kindPodStatusFinal, -v 4: `"Pod is terminated and will need no more status updates"`, `"Pod is complete and the
	// worker can now stop"`; -v 3: `"Pod is terminated and all resources are reclaimed"`, `"The pod termination is
	// finished as SyncTerminatedPod completes its execution"`.
	kindPodStatusFinal Kind = "pod-status-final"
	// KindPodDeleteDelayed, -v 3: `"Delaying pod deletion as the phase is non-terminal"`.
	KindPodDeleteDelayed Kind = "pod-delete-delayed"
	// kindPodRemovedFromAPI, -v 3: `"Pod fully terminated and removed from etcd"`.
	kindPodRemovedFromAPI Kind = "pod-removed-from-api"
	// KindPodDeleteFailed: `"Failed to delete status for pod"`. Reason.
	KindPodDeleteFailed Kind = "pod-delete-failed"
	// KindPodStatusFailed: `"Failed to update status for pod"`. Reason.
	KindPodStatusFailed Kind = "pod-status-failed"
	// kindPodForgotten, -v 4: `"Pod has been terminated and is no longer known to the kubelet, remove all history"`.
	kindPodForgotten Kind = "pod-forgotten"
	// KindPodSyncFailed: any other `"Error syncing pod, skipping"`. Reason, Code.
	KindPodSyncFailed Kind = "pod-sync-failed"
	// KindPodRestartBlocked: `"Pod is terminating but has been requested to restart with same UID"`, `"Pod cannot start
	// yet"`.
	KindPodRestartBlocked Kind = "pod-restart-blocked"
)

// Volumes: reconciler_common.go [reconciler.go], operation_generator.go, nestedpendingoperations.go. All have Volume,
// UniqueName, PodUID (mounts also PodName) and Driver where the line has them. The failures have Reason, Code (errno,
// "exit status N" or gRPC code) and Path; Number is the seconds until the next try (durationBeforeRetry).
const (
	kindAttachStarted       Kind = "attach-started"        // `operationExecutor.AttachVolume started`
	kindAttachDone          Kind = "attach-done"           // `AttachVolume.Attach succeeded`
	KindAttachVerifyStarted Kind = "attach-verify-started" // `operationExecutor.VerifyControllerAttachedVolume started`
	kindAttachWaiting       Kind = "attach-waiting"        // `MountVolume.WaitForAttach entering`
	kindAttachWaited        Kind = "attach-waited"         // `MountVolume.WaitForAttach succeeded`
	kindDeviceMounted       Kind = "device-mounted"        // `MountVolume.MountDevice succeeded`, Path
	KindMountStarted        Kind = "mount-started"         // `operationExecutor.MountVolume started`
	KindMountDone           Kind = "mount-done"            // `MountVolume.SetUp succeeded`
	KindUnmountStarted      Kind = "unmount-started"       // `operationExecutor.UnmountVolume started`
	KindUnmountDone         Kind = "unmount-done"          // `UnmountVolume.TearDown succeeded`
	kindDeviceUnmountStart  Kind = "device-unmount-started"
	KindDeviceUnmounted     Kind = "device-unmounted" // `UnmountDevice succeeded`
	KindVolumeDetached      Kind = "volume-detached"  // `Volume detached`: the kubelet has forgotten the volume
	// KindMountFailed and those below are `Operation for "…" failed. No retries permitted until …`, by operation.
	KindMountFailed         Kind = "mount-failed"
	KindUnmountFailed       Kind = "unmount-failed"
	KindDeviceMountFailed   Kind = "device-mount-failed"
	KindDeviceUnmountFailed Kind = "device-unmount-failed"
	KindAttachFailed        Kind = "attach-failed"
	KindOperationFailed     Kind = "operation-failed"
	// KindUnmountBusy is a failed unmount, of a volume, a subpath or a device, that the kernel refused with EBUSY, told
	// from umount's words in any language.
	KindUnmountBusy Kind = "unmount-busy"
	// KindDeviceInUse: `the device mount path … is still mounted by other references`, `the device is in use when it
	// was no longer expected to be in use`.
	KindDeviceInUse Kind = "device-in-use"
	// KindCSIDriverMissing: `driver name D not found in the list of registered CSI drivers`. Driver.
	KindCSIDriverMissing Kind = "csi-driver-missing"
	// KindCSIAborted: gRPC code Aborted, `an operation with the given Volume ID … already exists`: the call before hangs
	// in the driver. Driver, Code.
	KindCSIAborted Kind = "csi-aborted"
	// KindCSIDeadline: gRPC code DeadlineExceeded of a CSI call. Driver, Code.
	KindCSIDeadline Kind = "csi-deadline"
	// KindCSIUnavailable: gRPC code Unavailable of a CSI call. Driver, Code.
	KindCSIUnavailable Kind = "csi-unavailable"
	// KindCSIFailed is any other error of a CSI driver. Driver, Code.
	KindCSIFailed Kind = "csi-failed"
	// KindCSIVolDataMissing: `unmounter failed to load volume data file […]`, `UnmountDevice failed to load volume data
	// file`. Path.
	KindCSIVolDataMissing Kind = "csi-vol-data-missing"
	// KindCSIRegistrationFailed: `RegisterPlugin error -- …`. Path is the socket.
	KindCSIRegistrationFailed Kind = "csi-registration-failed"
	// KindVolumesNotMounted: `"Unable to attach or mount volumes for pod; skipping pod"` [`Unable to mount volumes for
	// pod …`]. PodName; Volume is the list of unmounted ones, joined by ",".
	KindVolumesNotMounted Kind = "volumes-not-mounted"
)

// Disk pressure: image_gc_manager.go, eviction_manager.go, kubelet.go, and the pulls that fail afterwards.
const (
	// KindImageGC: `"Disk usage on image filesystem is over the high threshold…"`. Number is the usage in percent.
	KindImageGC Kind = "image-gc"
	// KindImageGCAll: `"Attempting to delete unused images"`: every unused image goes, whatever the threshold.
	KindImageGCAll Kind = "image-gc-all"
	// KindImageRemoved: `"Removing image to free bytes"`. Image (id), Number is its bytes.
	KindImageRemoved Kind = "image-removed"
	// KindImageGCFailed: `"Image garbage collection failed once…"`, `"… multiple times in a row"`, `failed to garbage
	// collect required amount of images`. Reason, Code ("once" for the harmless first one).
	KindImageGCFailed Kind = "image-gc-failed"
	// KindContainerGCFailed: `"Container garbage collection failed"`. Reason, Code.
	KindContainerGCFailed Kind = "container-gc-failed"
	// KindImageFSCapacity: `invalid capacity 0 on image filesystem`.
	KindImageFSCapacity Kind = "image-fs-capacity-zero"
	// KindEvictionReclaiming: `"Eviction manager: attempting to reclaim"`. Reason is the resource.
	KindEvictionReclaiming Kind = "eviction-reclaiming"
	// kindEvictionRelieved: `"Eviction manager: able to reduce resource pressure without evicting pods."`. Reason.
	kindEvictionRelieved Kind = "eviction-relieved"
	// KindEvictionMustEvict: `"Eviction manager: must evict pod(s) to reclaim"`. Reason is the resource.
	KindEvictionMustEvict Kind = "eviction-must-evict"
	// KindEvictionRanked: `"Eviction manager: pods ranked for eviction" pods=[…]`. PodName is the first, Reason the list.
	KindEvictionRanked Kind = "eviction-ranked"
	// KindEvictionEvicted: `"Eviction manager: pod is evicted successfully"`. PodName, PodUID.
	KindEvictionEvicted Kind = "eviction-evicted"
	// KindEvictionFailed: `"Eviction manager: pod failed to evict"`. PodName, Reason.
	KindEvictionFailed Kind = "eviction-failed"
	// KindEvictionCleanupTimeout: `"Eviction manager: timed out waiting for pods to be cleaned up"`. PodName, Reason.
	KindEvictionCleanupTimeout Kind = "eviction-cleanup-timeout"
	// KindEvictionCritical: `"Eviction manager: cannot evict a critical pod"`. PodName.
	KindEvictionCritical Kind = "eviction-critical-pod"
	// KindEvictionNone: `"Eviction manager: unable to evict any pods from the node"`.
	KindEvictionNone Kind = "eviction-none"
	// kindEvictionStatsFailed: `"Eviction manager: failed to get summary stats"`. Reason.
	kindEvictionStatsFailed Kind = "eviction-stats-failed"
	// KindAdmissionRefused: `"Failed to admit pod to node" nodeCondition=[…]`. PodName; Reason is the conditions.
	KindAdmissionRefused Kind = "admission-refused"
	// KindImagePullFailed: `"PullImage from image service failed" image=…`, `"Failed to pull image"`, and errors syncing
	// a pod with ErrImagePull, ImagePullBackOff or ErrImageNeverPull. Image, PodName, Reason, Code (gRPC or the word).
	KindImagePullFailed Kind = "image-pull-failed"
)

// The container runtime: remote_runtime.go [later log.go], kuberuntime_*.go, and containerd's and CRI-O's own lines.
// Reason, Code (gRPC), Container (id), PodName, PodUID.
const (
	KindSandboxCreateFailed   Kind = "sandbox-create-failed"   // `"RunPodSandbox from runtime service failed"`
	KindSandboxStopFailed     Kind = "sandbox-stop-failed"     // `"StopPodSandbox from runtime service failed"`
	KindSandboxRemoveFailed   Kind = "sandbox-remove-failed"   // `"RemovePodSandbox from runtime service failed"`
	KindContainerCreateFailed Kind = "container-create-failed" // `"CreateContainer in sandbox from runtime service failed"`
	KindContainerStartFailed  Kind = "container-start-failed"  // `"StartContainer from runtime service failed"`
	KindContainerStopFailed   Kind = "container-stop-failed"   // `"StopContainer from runtime service failed"`
	KindContainerRemoveFailed Kind = "container-remove-failed" // `"RemoveContainer from runtime service failed"`
	// KindContainerNameReserved: `failed to reserve container name`: an earlier create still runs.
	KindContainerNameReserved Kind = "container-name-reserved"
	// kindExecFailed: `"ExecSync cmd from runtime service failed"`: the command of a probe or a hook failed or took too
	// long. It says little of the runtime.
	kindExecFailed Kind = "exec-failed"
	// KindRuntimeCallFailed is any other call to the runtime that failed (List…, Status, Version, ImageFsInfo).
	// Reason begins with the call.
	KindRuntimeCallFailed Kind = "runtime-call-failed"
	// KindRuntimeDown: the socket refuses or is absent; `"Container runtime sanity check failed"`, `"Container runtime
	// not ready"`. Reason, Path is the socket.
	KindRuntimeDown Kind = "runtime-down"
	// KindShimFailed: `failed to delete shim`, `failed to kill container`, `ttrpc: closed`, `failed to create
	// containerd task` and the like. Reason.
	KindShimFailed Kind = "shim-failed"
	// KindCNIDeleteFailed: `plugin type="x" failed (delete)`, `failed to destroy network for sandbox`. Reason.
	KindCNIDeleteFailed Kind = "cni-delete-failed"
	// KindCNIAddFailed: `plugin type="x" failed (add)`, `failed to setup network for sandbox`. Reason.
	KindCNIAddFailed Kind = "cni-add-failed"
	// KindNetworkNotReady: `"Container runtime network not ready"`. Reason.
	KindNetworkNotReady Kind = "network-not-ready"
)

// Pod garbage collection of kube-controller-manager (gc_controller.go).
const (
	KindPodGCTerminated   Kind = "podgc-terminated"     // `"Garbage collecting pods"`, Number is how many
	KindPodGCDeleting     Kind = "podgc-deleting"       // `"PodGC is force deleting Pod"`, PodName
	KindPodGCOrphaned     Kind = "podgc-orphaned"       // `"Found orphaned Pod assigned to the Node, deleting"`, PodName, Server is the node
	kindPodGCOrphanedDone Kind = "podgc-orphaned-done"  // `"Forced deletion of orphaned Pod succeeded"`, PodName
	KindPodGCUnscheduled  Kind = "podgc-unscheduled"    // `"Found unscheduled terminating Pod not assigned to any Node, deleting"`, PodName
	KindPodGCOutOfService Kind = "podgc-out-of-service" // `Garbage collecting N pods that are terminating on node tainted…`, Number
)

// The kernel.
const (
	KindKernelHungTask      Kind = "kernel-hung-task"       // `INFO: task X:PID blocked for more than N seconds`; Process, Number N
	KindKernelNFSDown       Kind = "kernel-nfs-down"        // `nfs: server S not responding, still trying`; Server
	KindKernelNFSTimeout    Kind = "kernel-nfs-timeout"     // `nfs: server S not responding, timed out`; Server
	KindKernelNFSBack       Kind = "kernel-nfs-back"        // `nfs: server S OK`; Server
	KindKernelCephDown      Kind = "kernel-ceph-down"       // `libceph: mds0 … socket closed`, `ceph: mds0 hung`, `osdN down`; Server, Reason
	KindKernelCephRejected  Kind = "kernel-ceph-rejected"   // session blocklisted, rejected, reconnect denied; does not recover; Server, Reason
	KindKernelCephBack      Kind = "kernel-ceph-back"       // `ceph: mds0 came back`, `reconnect success`, `libceph: osdN up`; Server
	KindKernelCIFSDown      Kind = "kernel-cifs-down"       // `CIFS: … has not responded in N seconds`; Server, Number N
	KindKernelIOError       Kind = "kernel-io-error"        // `blk_update_request: I/O error, dev X`, `Buffer I/O error on dev X`; Device, Reason
	KindKernelIOTimeout     Kind = "kernel-io-timeout"      // `nvme nvme0: I/O N QID M timeout`, `timing out command`; Device
	KindKernelDeviceReset   Kind = "kernel-device-reset"    // `resetting controller`, `hard resetting link`; Device
	KindKernelDeviceOffline Kind = "kernel-device-offline"  // `rejecting I/O to offline device`, `remaining active paths: 0`, iSCSI recovery timed out; Device
	KindKernelFSError       Kind = "kernel-fs-error"        // `EXT4-fs error`, `JBD2: Detected IO errors`, XFS log I/O error or corruption; Device, Reason
	KindKernelFSShutdown    Kind = "kernel-fs-shutdown"     // `XFS (X): Filesystem has been shut down`, `xfs_do_force_shutdown`; Device
	KindKernelFSReadOnly    Kind = "kernel-fs-read-only"    // `Remounting filesystem read-only`; Device
	KindKernelFSMounted     Kind = "kernel-fs-mounted"      // `EXT4-fs (X): mounted filesystem`, `XFS (X): Mounting V5 Filesystem`; Device
	KindKernelOOM           Kind = "kernel-oom"             // `Out of memory: Kill(ed) process`, CONSTRAINT_NONE; Process, PodUID
	kindKernelOOMCgroup     Kind = "kernel-oom-cgroup"      // `Memory cgroup out of memory`, `oom-kill:constraint=CONSTRAINT_MEMCG`; Process, PodUID, Path is the cgroup
	kindKernelPIDs          Kind = "kernel-pids-exhausted"  // `cgroup: fork rejected by pids controller in P`; PodUID, Path
	kindKernelMemcg         Kind = "kernel-memcg-exhausted" // `SLUB: Unable to allocate memory … cache: …(N:kubepods…)`
	kindKernelLockup        Kind = "kernel-lockup"          // soft lockup, RCU stall, NMI watchdog; Process, Number seconds
	KindKernelNetdev        Kind = "kernel-netdev-held"     // `unregister_netdevice: waiting for X to become free`; Device
	KindKernelThinPool      Kind = "kernel-thin-pool-full"  // device mapper: out of data space; Device
)

// The kubelet's own life, told by itself and by systemd.
const (
	KindKubeletVersion   Kind = "kubelet-version"   // `"Kubelet version" kubeletVersion=`; Reason is the version
	KindKubeletStage     Kind = "kubelet-stage"     // a step of the start; Reason is the stage as in Life.Stage
	KindKubeletVerbosity Kind = "kubelet-verbosity" // `FLAG: --v="4"`, Number is it
	KindKubeletFatal     Kind = "kubelet-fatal"     // an F line, `"command failed"`, `"Failed to run kubelet"`; Reason
	KindKubeletPanic     Kind = "kubelet-panic"     // `panic: …`, `fatal error: …`, `Observed a panic`; Reason
	kindKubeletExited    Kind = "kubelet-exited"    // systemd: `kubelet.service: Main process exited, code=…`; Code is "9/KILL"
	kindKubeletStopping  Kind = "kubelet-stopping"  // systemd: `Stopping kubelet`, `Stopped kubelet`
	kindKubeletStarting  Kind = "kubelet-starting"  // systemd: `Started kubelet`, `Scheduled restart job`
	KindKubeletWatchdog  Kind = "kubelet-watchdog"  // systemd: `Watchdog timeout`
	kindKubeletSignal    Kind = "kubelet-signal"    // `SIGABRT: abort`, `SIGQUIT: quit`; Code is the signal
)

// The API server, certificates and the limits of the node, as the kubelet meets them. Reason.
const (
	KindAPIUnreachable    Kind = "api-unreachable"        // reflector, lease and node status errors
	KindAPIUnauthorized   Kind = "api-unauthorized"       // `Unauthorized`
	KindCertExpired       Kind = "cert-expired"           // `x509: certificate has expired or is not yet valid`, `… client certificate … is expired`
	KindDiskFull          Kind = "disk-full"              // `no space left on device` outside of cgroups and inotify; Path
	KindCgroupNoSpace     Kind = "cgroup-no-space"        // `mkdir /sys/fs/cgroup/…: no space left on device`, `cannot allocate memory`; Path
	KindInotifyLimit      Kind = "inotify-limit"          // `inotify_init: too many open files`, `inotify_add_watch …: no space left on device`
	KindProcessLimit      Kind = "process-limit"          // `resource temporarily unavailable` of fork, `too many open files`, thread limits
	KindReadOnly          Kind = "read-only"              // `read-only file system`; Path
	KindCheckpointCorrupt Kind = "checkpoint-corrupt"     // `checkpoint is corrupted`, policy differs from the state; Path
	KindDBusFailed        Kind = "dbus-failed"            // `dbus: connection closed`, `Timeout waiting for systemd to create`, transient unit timeouts
	kindXtablesLock       Kind = "xtables-lock"           // `Another app is currently holding the xtables lock`
	kindCgroupDriver      Kind = "cgroup-driver-mismatch" // `kubelet cgroup driver: … is different from docker cgroup driver`
	KindSubPathFailed     Kind = "subpath-failed"         // `failed to prepare subPath for volumeMount`; PodName, Container
	KindStatsFailed       Kind = "stats-failed"           // summary statistics fail: eviction and image GC are blind; Reason
)

// Lines that look like trouble and are none; [NoiseReason] says why.
const (
	NoiseConfigPath     Kind = "noise-config-path"            // `"Unable to read config path"`
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
