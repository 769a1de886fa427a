package logs

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
	// kindContainerKilling, -v 2: `"Killing container with a grace period"` [`Killing container "docker://…" with 30
	// second grace period`]. Container; Number is the grace period in seconds.
	kindContainerKilling Kind = "container-killing"
	// kindPreStopUnfinished, -v 2: `"PreStop hook not completed in grace period"`. Container, Number the grace period.
	kindPreStopUnfinished Kind = "prestop-unfinished"
	// kindContainerExited, -v 3: `"Container exited normally"`; -v 2: `"Generic (PLEG): container finished"`. Container.
	kindContainerExited Kind = "container-exited"
	// kindPodStuckSaid: a table shows the pod in Terminating, and who pastes it says that it stays so. There is no time.
	kindPodStuckSaid Kind = "pod-stuck-said"
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
	// kindPodContainersLeft, -v 3: `… but some containers are still running`, `… some containers have not been cleaned
	// up`, `… some container status has not yet been reported`. Reason is which.
	kindPodContainersLeft Kind = "pod-containers-left"
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
	// kindPodRestartBlocked: `"Pod is terminating but has been requested to restart with same UID"`, `"Pod cannot start
	// yet"`.
	kindPodRestartBlocked Kind = "pod-restart-blocked"
)

// deletionMessages are those of the deletion of a pod: the pod worker, the containers, the volumes, the cgroup, the last status, the
// removal from the API server and from the kubelet.
var deletionMessages = []message{
	{
		kind: kindPodStuckSaid, lane: LaneDeletions, words: "pod is said to be stuck in Terminating",
		rules: []rule{{event: "StuckTerminating"}}, // a row that internal/kubectl has read
	},
	{
		kind: kindPodTeardown, byReason: true,
		rules: []rule{
			{start: "Pod is marked for graceful deletion, begin teardown", level: 4, fill: because("marked for graceful deletion")},
			{start: "Pod is orphaned and must be torn down", level: 4, fill: because("orphaned")},
			{start: "Pod is in a terminal phase", has: "begin teardown", level: 4, fill: because(teardownTerminal)},
			{start: "Pod is being evicted by the kubelet, begin teardown", level: 4, fill: because(teardownEvicted)},
			{start: "Pod is being removed by the kubelet, begin teardown", level: 4, fill: because("removed")},
		},
	},
	{
		kind:  kindPodSyncCancelled,
		rules: []rule{{start: "Cancelling current pod sync", level: 3}},
	},
	{
		kind: kindPodTerminating,
		rules: []rule{
			{start: "SyncTerminatingPod enter", level: 4},
			{start: "syncTerminatingPod enter", level: 4},
			{start: "Pod terminating with grace period", level: 4, fill: gracePeriod},
		},
	},
	{
		kind: kindContainerKilling,
		rules: []rule{
			{start: "Killing container with a grace period", level: 2, fill: gracePeriod},
			{start: "Killing container \"", level: 2, fill: killing},
			{start: "Killing container {", has: " second grace period override", level: 2, fill: killingOverride},
		},
	},
	{
		kind: kindPreStopUnfinished,
		rules: []rule{
			{start: "PreStop hook not completed in grace period", level: 2, fill: gracePeriod},
			{start: "preStop hook for container", has: "did not complete in", level: 2, fill: preStop},
		},
	},
	{
		kind: kindContainerExited, summed: true,
		rules: []rule{
			{start: "Generic (PLEG): container finished", level: 2, fill: plegFinished},
			{start: "Container exited normally", level: 3},
			{start: "Container \"", has: "exited normally", level: 3, fill: exited},
		},
	},
	{
		kind: KindPodKillFailed, lane: LaneDeletions, words: "pod could not be killed",
		rules: []rule{{event: "FailedKillPod", fill: eventOfKill}, {start: "error killing pod: failed to \"Kill", fill: eventOfKill}, {event: "ExceededGracePeriod"}},
	},
	{
		kind: kindPodContainersStopped,
		rules: []rule{
			{start: "Pod termination stopped all running containers", level: 4},
			{start: "Pod terminated all containers successfully", level: 4},
		},
	},
	{
		kind: kindPodTerminatedSync, summed: true,
		rules: []rule{
			{start: "SyncTerminatedPod enter", level: 4},
			{start: "syncTerminatedPod enter", level: 4},
		},
	},
	{
		kind: KindPodVolumesWaiting, words: "pod waits for its volumes to be unmounted",
		rules: []rule{{start: "Waiting for volumes to unmount for pod", level: 3}},
	},
	{
		kind: kindPodVolumesUnmounted,
		rules: []rule{
			{start: "All volumes are unmounted for pod", level: 3},
			{start: "Pod termination unmounted volumes", level: 4},
		},
	},
	{
		kind:  kindPodVolumePathsClean,
		rules: []rule{{start: "Pod termination cleaned up volume paths", level: 3}},
	},
	{
		kind:  kindPodCgroupRemoved,
		rules: []rule{{start: "Pod termination removed cgroups", level: 4}},
	},
	{
		kind: KindPodVolumesLeft, lane: LaneDeletions, words: "volumes of a terminated pod are not cleaned up",
		rules: []rule{
			{start: "Pod is terminated, but some volumes have not been cleaned up", level: 3},
			{start: "Pod \"", has: "is terminated, but some volumes have not been cleaned up", level: 3, fill: noCause},
		},
	},
	{
		kind: kindPodContainersLeft, lane: LaneDeletions, byReason: true, words: "containers of a terminated pod are not cleaned up",
		rules: []rule{
			{start: "Pod is terminated, but some container", level: 3, fill: containersLeft},
			{start: "Pod \"", has: "is terminated, but some container", level: 3, fill: containersLeft},
		},
	},
	{
		kind: KindPodCgroupLeft, lane: LaneDeletions, words: "pod cgroup is not removed",
		rules: []rule{
			{start: "Pod is terminated, but pod cgroup sandbox has not been cleaned up", level: 3},
			{start: "Pod \"", has: "is terminated, but pod cgroup sandbox has not been cleaned up", level: 3, fill: noCause},
		},
	},
	{
		kind: KindPodSyncFailed, words: "pod sync failed",
		rules: []rule{{start: "Error syncing pod", fill: syncFailed}, {event: "FailedSync", has: "error determining status"}},
	},
	{
		kind: KindPodKillIncomplete, lane: LaneDeletions, words: "containers still run after a successful KillPod",
		rules: []rule{{has: "detected running containers after a successful KillPod"}},
	},
	{
		kind: kindPodStatusFinal, summed: true,
		rules: []rule{
			{start: "Pod is terminated and will need no more status updates", level: 4},
			{start: "Pod is complete and the worker can now stop", level: 4},
			{start: "Pod is terminated and all resources are reclaimed", level: 3},
			{start: "The pod termination is finished as SyncTerminatedPod completes its execution", level: 3},
		},
	},
	{
		kind: KindPodDeleteDelayed, words: "deletion of the pod is delayed",
		rules: []rule{{start: "Delaying pod deletion as the phase is non-terminal", level: 3}},
	},
	{
		kind: kindPodRemovedFromAPI,
		rules: []rule{
			{start: "Pod fully terminated and removed from etcd", level: 3},
			{start: "Pod \"", has: "fully terminated and removed from etcd", level: 3, fill: noCause},
		},
	},
	{
		kind: KindPodDeleteFailed, lane: LaneDeletions, words: "pod could not be deleted from the API server",
		rules: []rule{{start: "Failed to delete status for pod"}},
	},
	{
		kind: KindPodStatusFailed, lane: LaneDeletions, words: "pod status could not be updated",
		rules: []rule{{start: "Failed to update status for pod"}},
	},
	{
		kind: kindPodForgotten, summed: true,
		rules: []rule{{start: "Pod has been terminated and is no longer known to the kubelet", level: 4}},
	},
	{
		kind: kindPodRestartBlocked, lane: LaneDeletions, words: "pod cannot start while an earlier one terminates",
		rules: []rule{
			{start: "Pod is terminating but has been requested to restart with same UID"},
			{start: "Pod cannot start yet"},
		},
	},
}
