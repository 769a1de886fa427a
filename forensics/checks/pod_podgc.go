package checks

import "github.com/nodeforensics/nodeforensics/forensics"

// PodPodGC tells which pods the pod garbage collector of the control plane deleted, by which rule.
var PodPodGC = forensics.Check{
	ID:    "pod-podgc",
	Title: "PodGC has deleted pods",
	Doc: `The log of kube-controller-manager says which pods its garbage collector deleted by force, and by which rule
(pkg/controller/podgc): those on nodes that the API server does not know (after 40 s from 1.17 on), those that terminate
on a node with the taint out-of-service (from 1.24 on), those that terminate and were never scheduled, and finished ones
beyond --terminated-pod-gc-threshold (12500 by default). It deletes the object only: on a node that still runs, the
containers of an orphaned pod go on, and may write to a volume that another node has taken over. That is a warning, the
others are information. PodGC never helps a pod that terminates on a node that is Ready.`,
	Severity: forensics.Warning,
	Needs:    needsLogs,
	Run:      podGCInLog,
}
