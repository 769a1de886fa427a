package logs

// Pod garbage collection of kube-controller-manager (gc_controller.go).
const (
	KindPodGCTerminated   Kind = "podgc-terminated"     // `"Garbage collecting pods"`, Number is how many
	KindPodGCDeleting     Kind = "podgc-deleting"       // `"PodGC is force deleting Pod"`, PodName
	KindPodGCOrphaned     Kind = "podgc-orphaned"       // `"Found orphaned Pod assigned to the Node, deleting"`, PodName, Server is the node
	kindPodGCOrphanedDone Kind = "podgc-orphaned-done"  // `"Forced deletion of orphaned Pod succeeded"`, PodName
	KindPodGCUnscheduled  Kind = "podgc-unscheduled"    // `"Found unscheduled terminating Pod not assigned to any Node, deleting"`, PodName
	KindPodGCOutOfService Kind = "podgc-out-of-service" // `Garbage collecting N pods that are terminating on node tainted…`, Number
)

// podGCMessages are those of the pod garbage collector of kube-controller-manager.
var podGCMessages = []message{
	{
		kind: KindPodGCTerminated, lane: LaneDeletions, words: "PodGC deletes terminated pods",
		rules: []rule{
			{start: "Garbage collecting pods", fill: podGCCount},
			{start: "garbage collecting ", has: " pods", fill: podGCCount},
		},
	},
	{
		kind: KindPodGCOutOfService, lane: LaneDeletions, words: "PodGC deletes pods of out-of-service nodes",
		rules: []rule{{start: "Garbage collecting ", has: "out-of-service", level: 4, fill: podGCCount}},
	},
	{
		kind: KindPodGCDeleting, lane: LaneDeletions, words: "PodGC force deletes the pod",
		rules: []rule{{start: "PodGC is force deleting Pod", fill: podGCName}},
	},
	{
		kind: KindPodGCOrphaned, lane: LaneDeletions, words: "PodGC found a pod of a deleted node",
		rules: []rule{
			{start: "Found orphaned Pod", level: 2, fill: podGCOrphan},
			{start: "PodGC: node no longer exists", fill: noCause}, // of the condition DisruptionTarget, which people quote alone
			{start: "message: 'PodGC: node no longer exists'", fill: noCause},
		},
	},
	{
		kind: kindPodGCOrphanedDone, lane: LaneDeletions, words: "PodGC deleted a pod of a deleted node",
		rules: []rule{
			{start: "Forced deletion of orphaned Pod", has: "succeeded", fill: podGCName},
			{start: "Forced deletion of orphaned Pod succeeded"},
		},
	},
	{
		kind: KindPodGCUnscheduled, lane: LaneDeletions, words: "PodGC deletes a terminating pod without a node",
		rules: []rule{{start: "Found unscheduled terminating Pod", level: 2, fill: podGCName}},
	},
}
