package logs

import (
	"slices"
	"strings"
)

func allExamples() []example {
	return slices.Concat(orphanExamples, loopExamples, teardownExamples, volumeExamples, diskExamples, runtimeExamples,
		podGCExamples, kernelExamples, lifeExamples, limitExamples, noiseExamples)
}

// ids puts the UIDs of the tests into a line: U1 and U2 stand for them.
func ids(line string) string {
	return strings.NewReplacer("U1", uid1, "U2", uid2).Replace(line)
}

var orphanExamples = []example{
	{
		name: "1.10 to 1.17", kind: KindOrphan, number: 7,
		line: ids(`E0512 10:00:02.000001    2588 kubelet_volumes.go:154] Orphaned pod "U1" found, but volume paths are still present on disk : There were a total of 7 errors similar to this. Turn up verbosity to see them.`),
		want: Subject{PodUID: uid1, Reason: "volume paths are still present on disk"},
	},
	{
		name: "1.17 in lower case, subpaths", kind: KindOrphan, number: 1,
		line: ids(`E0512 10:00:02.000001    2588 kubelet_volumes.go:154] orphaned pod "U1" found, but volume subpaths are still present on disk : There were a total of 1 errors similar to this. Turn up verbosity to see them.`),
		want: Subject{PodUID: uid1, Reason: "volume subpaths are still present on disk"},
	},
	{
		name: "1.18 rmdir", kind: KindOrphan, number: 1,
		line: ids(`E0512 10:00:02.000001    2588 kubelet_volumes.go:225] orphaned pod "U1" found, but failed to rmdir() volume at path /var/lib/kubelet/pods/U1/volumes/kubernetes.io~nfs/data: directory not empty : There were a total of 1 errors similar to this. Turn up verbosity to see them.`),
		want: Subject{PodUID: uid1, Code: "ENOTEMPTY", Path: "/var/lib/kubelet/pods/" + uid1 + "/volumes/kubernetes.io~nfs/data"},
	},
	{
		name: "rmdir of a mount point", kind: KindOrphan, number: 2,
		line: ids(`E0512 10:00:02.000001    2588 kubelet_volumes.go:225] orphaned pod "U1" found, but failed to rmdir() subpath at path /var/lib/kubelet/pods/U1/volume-subpaths/v/c/0: device or resource busy : There were a total of 2 errors similar to this. Turn up verbosity to see them.`),
		want: Subject{PodUID: uid1, Code: "EBUSY"},
	},
	{
		name: "1.23 word order", kind: KindOrphan, number: 3,
		line: ids(`E0512 10:00:02.000001    2588 kubelet_volumes.go:245] "There were many similar errors. Turn up verbosity to see them." err="orphaned pod \"U1\" found, but error stale NFS file handle occurred during reading volume dir from disk" numErrs=3`),
		want: Subject{PodUID: uid1, Code: "ESTALE"},
	},
	{
		name: "1.19 to 1.23, the error in the middle", kind: KindOrphan, number: 5,
		line: ids(`E0512 10:00:02.000001    2588 kubelet_volumes.go:245] "There were many similar errors. Turn up verbosity to see them." err="orphaned pod \"U1\" found, but error not a directory occurred when trying to remove the volumes dir" numErrs=5`),
		want: Subject{PodUID: uid1, Code: "ENOTDIR"},
	},
	{
		name: "1.34", kind: KindOrphan, number: 3,
		line: ids(`E0512 10:00:02.000001    2588 kubelet_volumes.go:263] "There were many similar errors. Turn up verbosity to see them." err="orphaned pod \"U1\" found, but error occurred when trying to remove the volumes dir: not a directory" numErrs=3`),
		want: Subject{PodUID: uid1, Code: "ENOTDIR", Reason: "not a directory"},
	},
	{
		name: "json", kind: KindOrphan, number: 3,
		line: ids(`{"ts":1715508002000.001,"caller":"kubelet/kubelet_volumes.go:263","msg":"There were many similar errors. Turn up verbosity to see them.","err":"orphaned pod \"U1\" found, but error occurred during reading of volume-subpaths dir from disk: transport endpoint is not connected","numErrs":3}`),
		want: Subject{PodUID: uid1, Code: "ENOTCONN"},
	},
	{
		name: "1.6, one line a pod", kind: KindOrphan, number: 1,
		line: ids(`E0512 10:00:02.000001    2588 kubelet_volumes.go:114] Orphaned pod "U1" found, but volume paths are still present on disk.`),
		want: Subject{PodUID: uid1},
	},
	{
		name: "old, -v 5", kind: KindOrphanDetail,
		line: ids(`I0512 10:00:02.000001    2588 kubelet_volumes.go:156] Orphan pod: orphaned pod "U1" found, but volume paths are still present on disk`),
		want: Subject{PodUID: uid1, Reason: "volume paths"},
	},
	{
		name: "new, -v 5", kind: KindOrphanDetail,
		line: ids(`I0512 10:00:02.000001    2588 kubelet_volumes.go:265] "Orphan pod" err="orphaned pod \"U1\" found, but failed to rmdir() volume at path /p: directory not empty"`),
		want: Subject{PodUID: uid1, Code: "ENOTEMPTY", Path: "/p"},
	},
	{
		name: "old", kind: KindOrphanMounted,
		line: ids(`I0512 10:00:02.000001    2588 kubelet_volumes.go:118] Orphaned pod "U1" found, but volumes are not cleaned up`),
		want: Subject{PodUID: uid1},
	},
	{
		name: "new", kind: KindOrphanMounted,
		line: ids(`I0512 10:00:02.000001    2588 kubelet_volumes.go:202] "Orphaned pod found, but volumes are not cleaned up" podUID="U1"`),
		want: Subject{PodUID: uid1},
	},
	{
		name: "UID unquoted, 1.21 to 1.25", kind: KindOrphanMounted,
		line: ids(`I0512 10:00:02.000001    2588 kubelet_pods.go:2083] "Orphaned pod found, but volumes not yet removed.  Reducing cpu to minimum" podUID=U1`),
		want: Subject{PodUID: uid1},
	},
	{
		name: "old, cpu", kind: KindOrphanMounted,
		line: ids(`I0512 10:00:02.000001    2588 kubelet_pods.go:1800] Orphaned pod "U1" found, but volumes not yet removed.  Reducing cpu to minimum`),
		want: Subject{PodUID: uid1},
	},
	{
		name: "old", kind: kindOrphanRemoving,
		line: ids(`I0512 10:00:02.000001    2588 kubelet_volumes.go:145] Orphaned pod "U1" found, removing`), want: Subject{PodUID: uid1},
	},
	{
		name: "new", kind: kindOrphanRemoving,
		line: ids(`I0512 10:00:02.000001    2588 kubelet_volumes.go:250] "Orphaned pod found, removing" podUID="U1"`), want: Subject{PodUID: uid1},
	},
	{
		name: "old", kind: KindOrphanRemoveFailed,
		line: ids(`E0512 10:00:02.000001    2588 kubelet_volumes.go:147] Failed to remove orphaned pod "U1" dir; err: remove /var/lib/kubelet/pods/U1: device or resource busy`),
		want: Subject{PodUID: uid1, Code: "EBUSY"},
	},
	{
		name: "new", kind: KindOrphanRemoveFailed,
		line: ids(`E0512 10:00:02.000001    2588 kubelet_volumes.go:253] "Failed to remove orphaned pod dir" err="cannot delete directory /var/lib/kubelet/pods/U1/volumes: it is a mount point" podUID="U1"`),
		want: Subject{PodUID: uid1, Path: "/var/lib/kubelet/pods/" + uid1 + "/volumes"},
	},
	{
		name: "old", kind: KindOrphanVolumeRemoved,
		line: ids(`W0512 10:00:02.000001    2588 kubelet_volumes.go:139] Cleaned up orphaned volume from pod "U1" at /var/lib/kubelet/pods/U1/volumes/kubernetes.io~nfs/data`),
		want: Subject{PodUID: uid1, Path: "/var/lib/kubelet/pods/" + uid1 + "/volumes/kubernetes.io~nfs/data"},
	},
	{
		name: "new", kind: KindOrphanVolumeRemoved,
		line: ids(`I0512 10:00:02.000001    2588 kubelet_volumes.go:135] "Cleaned up orphaned volume from pod" podUID="U1" path="/p/volumes/kubernetes.io~nfs/data"`),
		want: Subject{PodUID: uid1, Path: "/p/volumes/kubernetes.io~nfs/data"},
	},
	{
		name: "new", kind: KindOrphanDirRemoved,
		line: ids(`I0512 10:03:01.000001    2588 kubelet_volumes.go:163] "Cleaned up orphaned pod volumes dir" podUID="U1" path="/var/lib/kubelet/pods/U1/volumes"`),
		want: Subject{PodUID: uid1, Path: "/var/lib/kubelet/pods/" + uid1 + "/volumes"},
	},
	{
		name: "old", kind: KindOrphanDirRemoved,
		line: ids(`W0512 10:03:01.000001    2588 kubelet_volumes.go:140] Cleaned up orphaned volumes dir from pod "U1" at /var/lib/kubelet/pods/U1/volumes`),
		want: Subject{PodUID: uid1},
	},
	{
		name: "old", kind: KindOrphanCleanupFailed,
		line: `E0512 10:03:01.000001    2588 kubelet_pods.go:1091] Failed cleaning up orphaned pod directories: open /var/lib/kubelet/pods: input/output error`,
		want: Subject{Code: "EIO", Path: "/var/lib/kubelet/pods"},
	},
	{
		name: "new", kind: KindOrphanCleanupFailed,
		line: `E0512 10:03:01.000001    2588 kubelet_pods.go:1303] "Failed cleaning up orphaned pod directories" err="open /var/lib/kubelet/pods: permission denied"`,
		want: Subject{Code: "EACCES"},
	},
	{
		name: "old", kind: KindCgroupDeleteFailed,
		line: ids(`W0512 10:03:01.000001    2588 pod_container_manager_linux.go:198] failed to delete cgroup paths for [kubepods besteffort podU1] : unable to destroy cgroup paths for cgroup [kubepods besteffort podU1] : rmdir /sys/fs/cgroup/memory/kubepods/besteffort/podU1: device or resource busy`),
		want: Subject{PodUID: uid1, Code: "EBUSY"},
	},
	{
		name: "new", kind: KindCgroupDeleteFailed,
		line: ids(`I0512 10:03:01.000001    2588 pod_container_manager_linux.go:217] "Failed to delete cgroup paths" cgroupName=["kubepods","besteffort","podU1"] err="unable to destroy cgroup paths for cgroup [kubepods besteffort podU1] : Failed to remove paths: device or resource busy"`),
		want: Subject{PodUID: uid1, Code: "EBUSY"},
	},
	{
		name: "1.35", kind: KindCgroupDeleteFailed,
		line: ids(`E0512 10:03:01.000001    2588 kubelet_pods.go:1480] "Failed to destroy orphaned pod cgroup" err="timeout" podUID="U1"`),
		want: Subject{PodUID: uid1},
	},
}

var loopExamples = []example{
	{name: "old", kind: KindSyncLoopAdd, line: ids(`I0512 10:00:03.000001    2588 kubelet.go:1905] SyncLoop (ADD, "api"): "web-0_default(U1), web-1_default(U2)"`), want: Subject{PodName: "default/web-0", PodUID: uid1, Reason: "api"}},
	{name: "new", kind: KindSyncLoopAdd, line: `I0512 10:00:03.000001    2588 kubelet.go:2515] "SyncLoop ADD" source="file" pods=["default/web-0","default/web-1"]`, want: Subject{PodName: "default/web-0", Reason: "file"}},
	{name: "new", kind: KindSyncLoopUpdate, line: `I0512 10:00:03.000001    2588 kubelet.go:2518] "SyncLoop UPDATE" source="api" pods=["default/web-0"]`, want: Subject{PodName: "default/web-0"}},
	{name: "old", kind: KindSyncLoopUpdate, line: ids(`I0512 10:00:03.000001    2588 kubelet.go:1912] SyncLoop (UPDATE, "api"): "web-0_default(U1)"`), want: Subject{PodUID: uid1}},
	{name: "old", kind: kindSyncLoopRemove, line: ids(`I0512 10:00:03.000001    2588 kubelet.go:1924] SyncLoop (REMOVE, "api"): "web-0_default(U1)"`), want: Subject{PodName: "default/web-0", PodUID: uid1, Reason: "api"}},
	{name: "new", kind: kindSyncLoopRemove, line: `I0512 10:00:03.000001    2588 kubelet.go:2525] "SyncLoop REMOVE" source="api" pods=["default/web-0"]`, want: Subject{PodName: "default/web-0"}},
	{name: "old, several", kind: KindSyncLoopDelete, line: ids(`I0512 10:00:03.000001    2588 kubelet.go:1930] SyncLoop (DELETE, "api"): "web-0_default(U1), web-1_default(U2)"`), want: Subject{PodName: "default/web-0", PodUID: uid1}},
	{name: "1.21 and 1.22 with UIDs", kind: KindSyncLoopDelete, line: ids(`I0512 10:00:03.000001    2588 kubelet.go:2120] "SyncLoop DELETE" source="api" pods=[web-0_default(U1)]`), want: Subject{PodName: "default/web-0", PodUID: uid1}},
	{name: "1.23 to 1.25 unquoted", kind: KindSyncLoopDelete, line: `I0512 10:00:03.000001    2588 kubelet.go:2133] "SyncLoop DELETE" source="api" pods=[default/web-0 default/web-1]`, want: Subject{PodName: "default/web-0"}},
	{name: "new", kind: KindSyncLoopDelete, line: `I0512 10:00:02.100001    2588 kubelet.go:2531] "SyncLoop DELETE" source="api" pods=["default/web-0"]`, want: Subject{PodName: "default/web-0", Reason: "api"}},
	{name: "json", kind: KindSyncLoopDelete, line: `{"ts":1715508002100.001,"caller":"kubelet/kubelet.go:2531","msg":"SyncLoop DELETE","v":2,"source":"api","pods":[{"name":"web-0","namespace":"default"}]}`, want: Subject{PodName: "default/web-0"}},
	{name: "new", kind: KindSyncLoopReconcile, line: `I0512 10:00:02.100001    2588 kubelet.go:2528] "SyncLoop RECONCILE" source="api" pods=["default/web-0"]`},
	{name: "old", kind: kindSyncLoopRestore, line: ids(`I0512 10:00:02.100001    2588 kubelet.go:1940] SyncLoop (RESTORE, "checkpoint"): "web-0_default(U1)"`), want: Subject{PodUID: uid1}},
	{name: "old", kind: KindSyncLoopPLEG, line: ids(`I0512 10:00:03.000001    2588 kubelet.go:1957] SyncLoop (PLEG): "web-0_default(U1)", event: &pleg.PodLifecycleEvent{ID:"U1", Type:"ContainerDied", Data:"abcd"}`), want: Subject{PodName: "default/web-0", PodUID: uid1, Container: "abcd", Reason: "ContainerDied"}},
	{name: "1.21 to 1.25", kind: KindSyncLoopPLEG, line: ids(`I0512 10:00:03.000001    2588 kubelet.go:2142] "SyncLoop (PLEG): event for pod" pod="default/web-0" event=&{ID:U1 Type:ContainerStarted Data:abcd}`), want: Subject{PodName: "default/web-0", PodUID: uid1, Container: "abcd", Reason: "ContainerStarted"}},
	{name: "new", kind: KindSyncLoopPLEG, line: ids(`I0512 10:00:03.000001    2588 kubelet.go:2545] "SyncLoop (PLEG): event for pod" pod="default/web-0" event={"ID":"U1","Type":"ContainerDied","Data":"abcd"}`), want: Subject{PodName: "default/web-0", PodUID: uid1, Container: "abcd", Reason: "ContainerDied"}},
	{name: "old", kind: KindSyncLoopSync, number: 2, line: ids(`I0512 10:00:03.000001    2588 kubelet.go:1970] SyncLoop (SYNC): 2 pods; web-0_default(U1), web-1_default(U2)`)},
	{name: "new", kind: KindSyncLoopSync, number: 1, line: `I0512 10:00:03.000001    2588 kubelet.go:2560] "SyncLoop (SYNC) pods" total=1 pods=["default/web-0"]`},
	{name: "old", kind: kindSyncLoopProbe, line: ids(`I0512 10:00:03.000001    2588 kubelet.go:1988] SyncLoop (container unhealthy): "web-0_default(U1)"`), want: Subject{PodUID: uid1}},
	{name: "new", kind: kindSyncLoopProbe, line: `I0512 10:00:03.000001    2588 kubelet.go:2590] "SyncLoop (probe)" probe="readiness" status="ready" pod="default/web-0"`, want: Subject{PodName: "default/web-0"}},
	{name: "old", kind: kindSyncLoopHousekeeping, line: `I0512 10:00:10.421407    9825 kubelet.go:1996] SyncLoop (housekeeping)`},
	{name: "new", kind: kindSyncLoopHousekeeping, line: `I0512 10:00:10.421407    9825 kubelet.go:2612] "SyncLoop (housekeeping)"`},
	{name: "1.22", kind: kindSyncLoopHousekeepingEnd, line: `I0512 10:00:10.421407    9825 kubelet.go:2200] "SyncLoop (housekeeping) end"`},
	{name: "new", kind: kindSyncLoopHousekeepingEnd, number: 0.002, line: `I0512 10:00:10.421407    9825 kubelet.go:2620] "SyncLoop (housekeeping) end" duration="2ms"`},
	{name: "old", kind: kindSyncLoopNotReady, line: `I0512 10:00:10.421407    9825 kubelet.go:1992] SyncLoop (housekeeping, skipped): sources aren't ready yet.`},
	{name: "new", kind: kindSyncLoopNotReady, line: `I0512 10:00:10.421407    9825 kubelet.go:2608] "SyncLoop (housekeeping, skipped): sources aren't ready yet"`},
	{name: "old", kind: KindSyncLoopStarted, line: `I0512 10:00:10.421407    9825 kubelet.go:1820] Starting kubelet main sync loop.`},
	{name: "new", kind: KindSyncLoopStarted, line: `I0512 10:00:10.421407    9825 kubelet.go:2428] "Starting kubelet main sync loop"`},
	{name: "runtime down", kind: KindSyncLoopSkipped, line: `E0512 10:00:10.421407    9825 kubelet.go:2452] "Skipping pod synchronization" err="container runtime is down"`, want: Subject{Reason: "container runtime is down"}},
	{name: "old, 1.13", kind: KindSyncLoopSkipped, line: `I0512 10:00:10.421407    9825 kubelet.go:1800] skipping pod synchronization - [container runtime is down]`, want: Subject{Reason: "container runtime is down"}},
	{name: "old", kind: KindPLEGUnhealthy, number: 184.612, line: `E0512 10:00:06.000001    2588 kubelet.go:1852] skipping pod synchronization - [container runtime is down, PLEG is not healthy: pleg was last seen active 3m4.612s ago; threshold is 3m0s]`, want: Subject{Reason: "container runtime is down; PLEG is not healthy"}},
	{name: "new", kind: KindPLEGUnhealthy, number: 184.6, line: `E0512 10:03:00.000001    2588 kubelet.go:2452] "Skipping pod synchronization" err="[container runtime is down, PLEG is not healthy: pleg was last seen active 3m4.6s ago; threshold is 3m0s]"`},
	{name: "old", kind: KindPLEGRelistFailed, line: `E0512 10:03:00.000001    2588 generic.go:205] GenericPLEG: Unable to retrieve pods: rpc error: code = DeadlineExceeded desc = context deadline exceeded`, want: Subject{Code: "DeadlineExceeded"}},
	{name: "new", kind: KindPLEGRelistFailed, line: `E0512 10:03:00.000001    2588 generic.go:254] "GenericPLEG: Unable to retrieve pods" err="rpc error: code = Unavailable desc = connection error"`, want: Subject{Code: "Unavailable"}},
	{name: "name before namespace", kind: KindPLEGIgnored, line: `E0512 10:03:00.000001    2588 generic.go:271] PLEG: Ignoring events for pod web-0/default: rpc error: code = DeadlineExceeded desc = context deadline exceeded`, want: Subject{PodName: "default/web-0", Code: "DeadlineExceeded"}},
	{name: "new", kind: KindPLEGIgnored, line: `I0512 10:03:00.000001    2588 generic.go:320] "PLEG: Ignoring events for pod" pod="default/web-0" err="rpc error: code = Unknown desc = x"`, want: Subject{PodName: "default/web-0", Code: "Unknown"}},
	{name: "1.14 to 1.20", kind: KindEventChannelFull, line: `E0512 10:03:02.000001    2588 generic.go:252] event channel is full, discard this relist() cycle event`},
	{name: "new", kind: KindEventChannelFull, line: `E0512 10:03:02.000001    2588 generic.go:342] "Event channel is full, discard this relist() cycle event"`},
	{name: "1.22 to 1.26", kind: KindHousekeepingLong, number: 16.5, line: `E0512 10:03:00.000001    2588 kubelet.go:2210] "Housekeeping took longer than 15s" err="housekeeping took too long" seconds=16.5`},
	{name: "new", kind: KindHousekeepingLong, number: 5.012, line: `E0512 10:03:00.000001    2588 kubelet.go:2618] "Housekeeping took longer than expected" err="housekeeping took too long" expected="1s" actual="5.012s"`},
	{name: "healthz", kind: KindSyncLoopHealth, line: `I0512 10:03:00.000001    2588 healthz.go:177] healthz check syncloop failed: sync Loop took longer than expected`},
	{name: "1.32", kind: KindWatchdogWithheld, line: `E0512 10:03:00.000001    2588 watchdog_linux.go:190] "Do not notify watchdog this iteration as the kubelet is reportedly not healthy" err="checker syncloop failed: sync Loop took longer than expected"`, want: Subject{Reason: "checker syncloop failed"}},
	{name: "new", kind: KindNodeNotReady, number: 180.5, line: `I0512 10:03:00.000001    2588 setters.go:600] "Node became not ready" node="n" condition={"type":"Ready","status":"False","lastHeartbeatTime":"2024-05-12T10:03:00Z","reason":"KubeletNotReady","message":"PLEG is not healthy: pleg was last seen active 3m0.5s ago; threshold is 3m0s"}`, want: Subject{Reason: "PLEG is not healthy"}},
}

var teardownExamples = []example{
	{name: "graceful", kind: kindPodTeardown, line: ids(`I0512 10:00:02.200001    2588 pod_workers.go:870] "Pod is marked for graceful deletion, begin teardown" pod="default/web-0" podUID="U1" updateType="update"`), want: Subject{PodName: "default/web-0", PodUID: uid1, Reason: "graceful"}},
	{name: "orphaned", kind: kindPodTeardown, line: ids(`I0512 10:00:02.200001    2588 pod_workers.go:880] "Pod is orphaned and must be torn down" podUID="U1" updateType="kill"`), want: Subject{PodUID: uid1, Reason: "orphaned"}},
	{name: "terminal", kind: kindPodTeardown, line: ids(`I0512 10:00:02.200001    2588 pod_workers.go:880] "Pod is in a terminal phase (success/failed), begin teardown" pod="default/web-0" podUID="U1"`), want: Subject{Reason: "terminal phase"}},
	{name: "evicted", kind: kindPodTeardown, line: ids(`I0512 10:00:02.200001    2588 pod_workers.go:880] "Pod is being evicted by the kubelet, begin teardown" pod="default/web-0" podUID="U1"`), want: Subject{Reason: "evicted"}},
	{name: "removed", kind: kindPodTeardown, line: ids(`I0512 10:00:02.200001    2588 pod_workers.go:887] "Pod is being removed by the kubelet, begin teardown" pod="default/web-0" podUID="U1"`), want: Subject{Reason: "removed"}},
	{name: "new", kind: kindPodSyncCancelled, line: ids(`I0512 10:00:02.200001    2588 pod_workers.go:993] "Cancelling current pod sync" pod="default/web-0" podUID="U1" workType="terminating"`), want: Subject{PodUID: uid1}},
	{name: "1.22 to 1.26", kind: kindPodTerminating, line: ids(`I0512 10:00:02.200001    2588 kubelet.go:1790] "syncTerminatingPod enter" pod="default/web-0" podUID=U1`), want: Subject{PodUID: uid1}},
	{name: "new", kind: kindPodTerminating, line: ids(`I0512 10:00:02.200001    2588 kubelet.go:2129] "SyncTerminatingPod enter" pod="default/web-0" podUID="U1"`), want: Subject{PodUID: uid1}},
	{name: "grace", kind: kindPodTerminating, number: 5, line: ids(`I0512 10:00:02.200001    2588 kubelet.go:2139] "Pod terminating with grace period" pod="default/web-0" podUID="U1" gracePeriod=5`)},
	{name: "1.10 to 1.18", kind: KindContainerKilling, number: 30, line: `I0512 10:00:02.200001    2588 kuberuntime_container.go:559] Killing container "docker://abcd" with 30 second grace period`, want: Subject{Container: "abcd"}},
	{name: "1.10 to 1.18, override", kind: KindContainerKilling, number: 2, line: `I0512 10:00:02.200001    2588 kuberuntime_container.go:547] Killing container {"docker" "abcd"}, but using 2 second grace period override`, want: Subject{Container: "abcd"}},
	{name: "1.19", kind: KindContainerKilling, number: 30, line: `I0512 10:00:02.200001    2588 kuberuntime_container.go:635] Killing container "docker://abcd" with a 30 second grace period`, want: Subject{Container: "abcd"}},
	{name: "1.21", kind: KindContainerKilling, number: 30, line: ids(`I0512 10:00:02.200001    2588 kuberuntime_container.go:714] "Killing container with a grace period override" pod="default/web-0" podUID=U1 containerName="app" containerID="docker://abcd" gracePeriod=30`), want: Subject{PodUID: uid1, Container: "abcd"}},
	{name: "new", kind: KindContainerKilling, number: 30, line: ids(`I0512 10:00:02.200001    2588 kuberuntime_container.go:866] "Killing container with a grace period" pod="default/web-0" podUID="U1" containerName="app" containerID="containerd://abcd" gracePeriod=30`), want: Subject{PodName: "default/web-0", PodUID: uid1, Container: "abcd"}},
	{name: "old", kind: kindPreStopUnfinished, number: 30, line: `I0512 10:00:02.200001    2588 kuberuntime_container.go:500] preStop hook for container "app" did not complete in 30 seconds`, want: Subject{Container: "app"}},
	{name: "new", kind: kindPreStopUnfinished, number: 30, line: ids(`I0512 10:00:02.200001    2588 kuberuntime_container.go:640] "PreStop hook not completed in grace period" pod="default/web-0" podUID="U1" containerName="app" containerID="containerd://abcd" gracePeriod=30`), want: Subject{PodUID: uid1, Container: "abcd"}},
	{name: "new", kind: kindContainerExited, line: ids(`I0512 10:00:02.200001    2588 kuberuntime_container.go:880] "Container exited normally" pod="default/web-0" podUID="U1" containerName="app" containerID="abcd"`), want: Subject{PodUID: uid1}},
	{name: "old", kind: kindContainerExited, line: `I0512 10:00:02.200001    2588 kuberuntime_container.go:570] Container "docker://abcd" exited normally`, want: Subject{Container: "abcd"}},
	{name: "PLEG", kind: kindContainerExited, number: 137, line: ids(`I0512 10:00:02.200001    2588 generic.go:356] "Generic (PLEG): container finished" podID="U1" containerID="abcd" exitCode=137`), want: Subject{PodUID: uid1, Container: "abcd"}},
	{name: "old", kind: KindPodKillFailed, line: ids(`E0512 10:00:05.000001    2588 pod_workers.go:191] Error syncing pod U1 ("web-0_default(U1)"), skipping: error killing pod: failed to "KillContainer" for "app" with KillContainerError: "rpc error: code = DeadlineExceeded desc = context deadline exceeded"`), want: Subject{PodName: "default/web-0", PodUID: uid1, Container: "app", Code: "DeadlineExceeded"}},
	{name: "new", kind: KindPodKillFailed, line: ids(`E0512 10:00:05.000001    2588 pod_workers.go:1324] "Error syncing pod, skipping" err="[failed to \"KillContainer\" for \"app\" with KillContainerError: \"rpc error: code = DeadlineExceeded desc = an error occurs during waiting for container to be killed\"]" pod="default/web-0" podUID="U1"`), want: Subject{PodName: "default/web-0", PodUID: uid1, Code: "DeadlineExceeded"}},
	{name: "sandbox", kind: KindPodKillFailed, line: ids(`E0512 10:00:05.000001    2588 pod_workers.go:1324] "Error syncing pod, skipping" err="failed to \"KillPodSandbox\" for \"U1\" with KillPodSandboxError: \"rpc error: code = Unknown desc = x\"" pod="default/web-0" podUID="U1"`), want: Subject{Code: "Unknown"}},
	{name: "new", kind: KindPodKillIncomplete, line: ids(`E0512 10:00:05.000001    2588 kubelet.go:2180] "Post-termination" err="detected running containers after a successful KillPod, CRI violation: [app]" pod="default/web-0" podUID="U1"`), want: Subject{PodUID: uid1}},
	{name: "as an error syncing", kind: KindPodKillIncomplete, line: ids(`E0512 10:00:05.000001    2588 pod_workers.go:1324] "Error syncing pod, skipping" err="detected running containers after a successful KillPod, CRI violation: [app]" pod="default/web-0" podUID="U1"`)},
	{name: "kubelet", kind: kindPodContainersStopped, line: ids(`I0512 10:00:05.000001    2588 kubelet.go:2214] "Pod termination stopped all running containers" pod="default/web-0" podUID="U1"`), want: Subject{PodUID: uid1}},
	{name: "worker", kind: kindPodContainersStopped, line: ids(`I0512 10:00:05.000001    2588 pod_workers.go:1425] "Pod terminated all containers successfully" podUID="U1"`), want: Subject{PodUID: uid1}},
	{name: "new", kind: kindPodTerminatedSync, line: ids(`I0512 10:00:05.000001    2588 kubelet.go:2275] "SyncTerminatedPod enter" pod="default/web-0" podUID="U1"`)},
	{name: "old", kind: kindPodTerminatedSync, line: ids(`I0512 10:00:05.000001    2588 kubelet.go:1900] "syncTerminatedPod enter" pod="default/web-0" podUID=U1`)},
	{name: "begins", kind: KindPodVolumesWaiting, line: `I0512 10:00:05.000001    2588 volume_manager.go:492] "Waiting for volumes to unmount for pod" pod="default/web-0"`, want: Subject{PodName: "default/web-0"}},
	{name: "timed out", kind: KindPodVolumesWaiting, line: ids(`E0512 10:02:45.000001    2588 pod_workers.go:1324] "Error syncing pod, skipping" err="mounted volumes=[data logs]: context deadline exceeded" pod="default/web-0" podUID="U1"`), want: Subject{PodUID: uid1, Volume: "data,logs"}},
	{name: "volume manager", kind: kindPodVolumesUnmounted, line: `I0512 10:00:05.000001    2588 volume_manager.go:520] "All volumes are unmounted for pod" pod="default/web-0"`},
	{name: "kubelet", kind: kindPodVolumesUnmounted, line: ids(`I0512 10:00:05.000001    2588 kubelet.go:2289] "Pod termination unmounted volumes" pod="default/web-0" podUID="U1"`)},
	{name: "new", kind: kindPodVolumePathsClean, line: ids(`I0512 10:00:05.000001    2588 kubelet.go:2305] "Pod termination cleaned up volume paths" pod="default/web-0" podUID="U1"`)},
	{name: "new", kind: KindPodVolumesLeft, line: ids(`I0512 10:00:05.000001    2588 kubelet.go:2296] "Pod is terminated, but some volumes have not been cleaned up" pod="default/web-0" podUID="U1"`), want: Subject{PodUID: uid1}},
	{name: "old", kind: KindPodVolumesLeft, line: ids(`I0512 10:00:05.000001    2588 kubelet_pods.go:905] Pod "web-0_default(U1)" is terminated, but some volumes have not been cleaned up`), want: Subject{PodName: "default/web-0", PodUID: uid1}},
	{name: "old running", kind: KindPodContainersLeft, line: ids(`I0512 10:00:05.000001    2588 kubelet_pods.go:886] Pod "web-0_default(U1)" is terminated, but some containers are still running`), want: Subject{PodUID: uid1, Reason: "still running"}},
	{name: "old dead", kind: KindPodContainersLeft, line: ids(`I0512 10:00:05.000001    2588 kubelet_pods.go:900] Pod "web-0_default(U1)" is terminated, but some containers have not been cleaned up: {ID:abcd}`), want: Subject{PodUID: uid1, Reason: "not cleaned up"}},
	{name: "new status", kind: KindPodContainersLeft, line: ids(`I0512 10:00:05.000001    2588 kubelet_pods.go:1000] "Pod is terminated, but some container status has not yet been reported" pod="default/web-0" podUID="U1" running=1`), want: Subject{Reason: "status not yet reported"}},
	{name: "old", kind: KindPodCgroupLeft, line: ids(`I0512 10:00:05.000001    2588 kubelet_pods.go:911] Pod "web-0_default(U1)" is terminated, but pod cgroup sandbox has not been cleaned up`), want: Subject{PodUID: uid1}},
	{name: "new", kind: KindPodCgroupLeft, line: ids(`I0512 10:00:05.000001    2588 kubelet_pods.go:1010] "Pod is terminated, but pod cgroup sandbox has not been cleaned up" pod="default/web-0" podUID="U1"`)},
	{name: "error", kind: KindPodCgroupLeft, line: ids(`E0512 10:00:05.000001    2588 pod_workers.go:1324] "Error syncing pod, skipping" err="unable to destroy cgroup paths for cgroup [kubepods podU1] : Timed out while waiting for systemd to remove kubepods-podU1.slice: device or resource busy" pod="default/web-0" podUID="U1"`), want: Subject{Code: "EBUSY"}},
	{name: "new", kind: kindPodCgroupRemoved, line: ids(`I0512 10:00:05.000001    2588 kubelet.go:2330] "Pod termination removed cgroups" pod="default/web-0" podUID="U1"`)},
	{name: "status", kind: kindPodStatusFinal, line: ids(`I0512 10:00:05.000001    2588 kubelet.go:2340] "Pod is terminated and will need no more status updates" pod="default/web-0" podUID="U1"`)},
	{name: "worker", kind: kindPodStatusFinal, line: ids(`I0512 10:00:05.000001    2588 pod_workers.go:1470] "Pod is complete and the worker can now stop" podUID="U1"`), want: Subject{PodUID: uid1}},
	{name: "22 to 26", kind: kindPodStatusFinal, line: ids(`I0512 10:00:05.000001    2588 kubelet_pods.go:1020] "Pod is terminated and all resources are reclaimed" pod="default/web-0" podUID=U1`)},
	{name: "27", kind: kindPodStatusFinal, line: ids(`I0512 10:00:05.000001    2588 status_manager.go:900] "The pod termination is finished as SyncTerminatedPod completes its execution" phase="Succeeded" pod="default/web-0" podUID="U1"`)},
	{name: "27", kind: KindPodDeleteDelayed, line: ids(`I0512 10:00:05.000001    2588 status_manager.go:890] "Delaying pod deletion as the phase is non-terminal" phase="Running" pod="default/web-0" podUID="U1"`)},
	{name: "old", kind: kindPodRemovedFromAPI, line: ids(`I0512 10:00:05.000001    2588 status_manager.go:589] Pod "web-0_default(U1)" fully terminated and removed from etcd`), want: Subject{PodUID: uid1}},
	{name: "new", kind: kindPodRemovedFromAPI, line: `I0512 10:00:05.000001    2588 status_manager.go:1076] "Pod fully terminated and removed from etcd" pod="default/web-0"`, want: Subject{PodName: "default/web-0"}},
	{name: "old", kind: KindPodDeleteFailed, line: ids(`W0512 10:00:05.000001    2588 status_manager.go:580] Failed to delete status for pod "web-0_default(U1)": etcdserver: request timed out`), want: Subject{PodUID: uid1, Reason: "etcdserver"}},
	{name: "new", kind: KindPodDeleteFailed, line: `I0512 10:00:05.000001    2588 status_manager.go:1070] "Failed to delete status for pod" pod="default/web-0" err="Operation cannot be fulfilled"`, want: Subject{PodName: "default/web-0", Reason: "Operation cannot"}},
	{name: "new", kind: KindPodStatusFailed, line: `I0512 10:00:05.000001    2588 status_manager.go:1040] "Failed to update status for pod" pod="default/web-0" err="failed to patch status: timeout"`, want: Subject{Reason: "failed to patch"}},
	{name: "new", kind: kindPodForgotten, line: ids(`I0512 10:00:05.000001    2588 pod_workers.go:1580] "Pod has been terminated and is no longer known to the kubelet, remove all history" podUID="U1"`), want: Subject{PodUID: uid1}},
	{name: "other", kind: KindPodSyncFailed, line: ids(`E0512 10:00:05.000001    2588 pod_workers.go:1324] "Error syncing pod, skipping" err="failed to \"StartContainer\" for \"app\" with CrashLoopBackOff: \"back-off 5m0s restarting failed container=app\"" pod="default/web-0" podUID="U1"`), want: Subject{PodUID: uid1, Reason: "CrashLoopBackOff"}},
	{name: "same UID", kind: KindPodRestartBlocked, line: ids(`I0512 10:00:05.000001    2588 pod_workers.go:770] "Pod is terminating but has been requested to restart with same UID, will be reconciled later" pod="default/web-0" podUID="U1"`)},
	{name: "static", kind: KindPodRestartBlocked, line: ids(`I0512 10:00:05.000001    2588 pod_workers.go:1080] "Pod cannot start yet" pod="default/web-0" podUID="U1"`)},
}
