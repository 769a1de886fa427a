package logs

// The sync loop (kubelet.go), PLEG (generic.go) and what watches them.
const (
	// `"SyncLoop ADD" source="api" pods=[…]` [`SyncLoop (ADD, "api"): "name_ns(uid)"`] and its like, -v 2. PodName,
	// PodUID (of the first pod; the folder reads all), Reason is the source.
	kindSyncLoopAdd       Kind = "syncloop-add"
	kindSyncLoopUpdate    Kind = "syncloop-update"
	kindSyncLoopDelete    Kind = "syncloop-delete"
	kindSyncLoopRemove    Kind = "syncloop-remove"
	kindSyncLoopReconcile Kind = "syncloop-reconcile"
	// kindSyncLoopRestore is the restore from a checkpoint of old kubelets.
	kindSyncLoopRestore Kind = "syncloop-restore"
	// kindSyncLoopPLEG, -v 2: `"SyncLoop (PLEG): event for pod"`. PodName, PodUID, Container (its id), Reason is the
	// event ("ContainerDied").
	kindSyncLoopPLEG Kind = "syncloop-pleg"
	// kindSyncLoopSync, -v 4: `"SyncLoop (SYNC) pods"`. Number is their count.
	kindSyncLoopSync Kind = "syncloop-sync"
	// kindSyncLoopProbe: `"SyncLoop (probe)"` [`SyncLoop (container unhealthy)`], -v 1. PodName, Reason.
	kindSyncLoopProbe Kind = "syncloop-probe"
	// kindSyncLoopHousekeeping, -v 4, is the start; kindSyncLoopHousekeepingEnd the end (1.22 on), Number its seconds
	// (1.27 on).
	kindSyncLoopHousekeeping    Kind = "syncloop-housekeeping"
	kindSyncLoopHousekeepingEnd Kind = "syncloop-housekeeping-end"
	// kindSyncLoopNotReady, -v 4: `"SyncLoop (housekeeping, skipped): sources aren't ready yet"`.
	kindSyncLoopNotReady Kind = "syncloop-not-ready"
	// kindSyncLoopStarted: `Starting kubelet main sync loop`.
	kindSyncLoopStarted Kind = "syncloop-started"
	// KindSyncLoopSkipped: `"Skipping pod synchronization" err="[…]"` for other reasons than an unhealthy PLEG. Reason
	// is the causes joined by "; ", without durations.
	KindSyncLoopSkipped Kind = "syncloop-skipped"
	// KindPLEGUnhealthy is the same line when PLEG was last seen active too long ago, and any other that says so.
	// Reason is all causes; Number is how many seconds ago it was active.
	KindPLEGUnhealthy Kind = "pleg-unhealthy"
	// KindPLEGRelistFailed: `"GenericPLEG: Unable to retrieve pods" err=…`. Reason, Code (gRPC).
	KindPLEGRelistFailed Kind = "pleg-relist-failed"
	// kindPLEGIgnored: `PLEG: Ignoring events for pod name/namespace: …`. PodName, Reason, Code.
	kindPLEGIgnored Kind = "pleg-ignored"
	// KindEventChannelFull: `"Event channel is full, discard this relist() cycle event"`: the sync loop does not read PLEG's channel.
	KindEventChannelFull Kind = "event-channel-full"
	// kindHousekeepingLong: `"Housekeeping took longer than expected"` [`… than 15s`], said after it returned. Number is
	// its seconds.
	kindHousekeepingLong Kind = "housekeeping-long"
	// KindSyncLoopHealth: `sync Loop took longer than expected` by healthz, only when someone asks, or by the watchdog (1.32 on).
	KindSyncLoopHealth Kind = "syncloop-health"
	// kindWatchdogWithheld: `"Do not notify watchdog this iteration…"`. Reason.
	kindWatchdogWithheld Kind = "watchdog-withheld"
	// kindNodeNotReady: `"Node became not ready"`. Reason is the condition's message without durations.
	kindNodeNotReady Kind = "node-not-ready"
	// kindNodeNotFound: `"Error getting node" err="node N not found"`: the kubelet knows no Node object of its own: it is not registered, or
	// could not yet read it.
	kindNodeNotFound Kind = "node-not-found"
	// kindNodeReady, -v 2: `"Recording event message for node" event="NodeReady"` [`Recording NodeReady event message for node`].
	kindNodeReady Kind = "node-ready"
)

// loopMessages are those of the sync loop itself, and those of PLEG, healthz and the watchdog about it.
var loopMessages = []message{
	{
		kind: kindSyncLoopNotReady, summed: true,
		rules: []rule{{start: "SyncLoop (housekeeping, skipped)", level: 4}},
	},
	{
		kind: kindSyncLoopHousekeepingEnd, severity: SeverityRoutine, summed: true,
		rules: []rule{{start: "SyncLoop (housekeeping) end", level: 4, fill: housekeepingEnd}},
	},
	{
		kind: kindSyncLoopHousekeeping, severity: SeverityRoutine, summed: true,
		rules: []rule{{start: "SyncLoop (housekeeping)", level: 4}},
	},
	{
		kind: kindSyncLoopSync, severity: SeverityRoutine, summed: true,
		rules: []rule{{start: "SyncLoop (SYNC)", level: 4, fill: syncLoopSync}},
	},
	{
		kind: kindSyncLoopPLEG, severity: SeverityRoutine, summed: true,
		rules: []rule{{start: "SyncLoop (PLEG)", level: 2, fill: syncLoopPLEG}},
	},
	{
		kind: kindSyncLoopProbe, summed: true,
		rules: []rule{
			{start: "SyncLoop (probe)", level: 1, fill: noCause},
			{start: "SyncLoop (container unhealthy)", level: 1, fill: noCause},
		},
	},
	{
		kind: kindSyncLoopStarted, severity: SeverityRoutine, summed: true,
		rules: []rule{{start: "Starting kubelet main sync loop"}},
	},
	{
		kind: KindSyncLoopSkipped, lane: LaneSyncLoop, byReason: true, words: "the sync loop skips all pods",
		rules: []rule{
			{start: "Skipping pod synchronization", fill: syncLoopSkipped},
			{start: "skipping pod synchronization", fill: syncLoopSkipped},
		},
	},
	{
		kind: KindPLEGUnhealthy, lane: LaneSyncLoop, byReason: true, words: "the sync loop skips all pods, because the PLEG is not healthy",
		rules: []rule{
			{start: "PLEG is not healthy: pleg was last seen active", fill: plegReason},
			{start: "container runtime is down", has: "PLEG is not healthy: pleg was last seen active", find: "pleg was last seen active", fill: plegReason},
			{start: "[container runtime is down", has: "PLEG is not healthy: pleg was last seen active", find: "pleg was last seen active", fill: plegReason},
		},
	},
	{
		kind: kindHousekeepingLong, lane: LaneSyncLoop, words: "housekeeping took too long",
		rules: []rule{{start: "Housekeeping took longer than", fill: housekeepingLong}},
	},
	{
		kind: KindEventChannelFull, lane: LaneSyncLoop, words: "the PLEG event channel is full: the sync loop does not read it",
		rules: []rule{
			{start: "Event channel is full"},
			{start: "event channel is full"},
		},
	},
	{
		kind: KindPLEGRelistFailed, lane: LaneRuntime, words: "the PLEG cannot list the containers",
		rules: []rule{{start: "GenericPLEG: Unable to retrieve pods"}},
	},
	{
		kind: kindPLEGIgnored, lane: LaneRuntime, words: "PLEG ignores events of a pod",
		rules: []rule{{start: "PLEG: Ignoring events for pod", fill: plegIgnored}},
	},
	{
		kind: KindSyncLoopHealth, lane: LaneSyncLoop, words: "the health check of the sync loop fails",
		rules: []rule{
			{start: "Do not notify watchdog this iteration", err: "sync Loop took longer than expected", fill: noCause},
			{has: "sync Loop took longer than expected", fill: noCause},
			{start: "[-]syncloop failed", fill: noCause}, // of /healthz?verbose
		},
	},
	{
		kind: kindWatchdogWithheld, lane: LaneSyncLoop, words: "kubelet did not notify the systemd watchdog",
		rules: []rule{{start: "Do not notify watchdog this iteration"}},
	},
	{
		kind: kindNodeNotReady, lane: LaneSyncLoop, byReason: true, words: "node became NotReady",
		rules: []rule{
			{start: "Node became not ready", fill: nodeNotReady},
			{start: "Recording status change NodeNotReady event message for node ", fill: recordedNode}, // kube-controller-manager
			{start: "Node ", has: " is unresponsive as of ", fill: unresponsiveNode},                    // node_lifecycle_controller.go, up to 1.19
			{event: "NodeNotReady", fill: eventOfNode},
			{start: "Kubelet is unhealthy: ", fill: wholeMessage}, // Docker's UCP about its node
			{start: "Node not becoming ready in time after startup", fill: noCause},
		},
	},
	{
		kind: kindNodeNotFound, lane: LaneSyncLoop, words: "the kubelet has no Node object: not registered, or the API server is unreachable",
		rules: []rule{
			{start: "Error getting node", err: "not found"},
			{start: "No need to create a mirror pod, since failed to get node info from the cluster"},
			{start: "Unable to register mirror pod because node is not registered yet"},
		},
	},
	{
		kind: kindNodeReady, severity: SeverityRoutine,
		rules: []rule{
			{start: "Recording event message for node", level: 2, fill: nodeReady},
			{start: "Recording NodeReady event message for node", level: 2, fill: noCause},
			{start: "Fast updating node status as it just became ready", fill: noCause}, // 1.24 on
			{start: "Event occurred", find: " status is now: NodeReady", fill: nodeReady},
			{event: "NodeReady"},
		},
	},
	{
		kind: kindSyncLoopAdd, severity: SeverityRoutine, summed: true,
		rules: []rule{
			{start: "SyncLoop ADD", level: 2, fill: syncLoopPods},
			{start: "SyncLoop (ADD", level: 2, fill: syncLoopPods},
		},
	},
	{
		kind: kindSyncLoopUpdate, severity: SeverityRoutine, summed: true,
		rules: []rule{
			{start: "SyncLoop UPDATE", level: 2, fill: syncLoopPods},
			{start: "SyncLoop (UPDATE", level: 2, fill: syncLoopPods},
		},
	},
	{
		kind: kindSyncLoopDelete, byReason: true,
		rules: []rule{
			{start: "SyncLoop DELETE", level: 2, fill: syncLoopPods},
			{start: "SyncLoop (DELETE", level: 2, fill: syncLoopPods},
		},
	},
	{
		kind: kindSyncLoopRemove, byReason: true,
		rules: []rule{
			{start: "SyncLoop REMOVE", level: 2, fill: syncLoopPods},
			{start: "SyncLoop (REMOVE", level: 2, fill: syncLoopPods},
		},
	},
	{
		kind: kindSyncLoopReconcile, severity: SeverityRoutine, summed: true,
		rules: []rule{
			{start: "SyncLoop RECONCILE", level: 2, fill: syncLoopPods},
			{start: "SyncLoop (RECONCILE", level: 2, fill: syncLoopPods},
		},
	},
	{
		kind: kindSyncLoopRestore, summed: true,
		rules: []rule{
			{start: "SyncLoop RESTORE", level: 2, fill: syncLoopPods},
			{start: "SyncLoop (RESTORE", level: 2, fill: syncLoopPods},
		},
	},
}
