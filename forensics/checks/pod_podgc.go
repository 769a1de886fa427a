package checks

import "github.com/nodeforensics/nodeforensics/forensics"

// PodPodGC says whom the control plane deletes and has deleted, and who may have deleted a pod that is gone.
var PodPodGC = forensics.Check{
	ID:    "pod-podgc",
	Title: "The control plane deletes pods",
	Doc: `One round of the pod garbage collector of the kube-controller-manager (pkg/controller/podgc/gc_controller.go),
replayed on a dump of the API. It deletes terminated pods above --terminated-pod-gc-threshold (12,500; the evicted ones
first since 1.27, before that the oldest), pods that terminate on a node with the out-of-service taint (since 1.24),
pods of nodes that are no objects any more, and terminating pods that never had a node. It does nothing for a pod that
terminates on a node that is there and ready. It deletes the object only: on a node that still runs, the containers of an
orphaned pod go on, and may write to a volume that another node has taken over. That is a warning, the others are
information.

The threshold is that of the flag, or of a kube-controller-manager that runs here. The version is taken from the newest
kubelet: a control plane is at least as new. Before it takes a node as gone the controller waits 40 seconds and asks
again, which a dump cannot show. What it has deleted already, and by which rule, is told by its log.

Who else deletes pods of this node is told from their conditions, their owners (a Job's TTL, an Argo Workflow's podGC)
and the taints of the node; for a pod of which only traces are left, from owners in its namespace whose name its own
begins with, which is a guess.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceAPIDump, forensics.SourceLogs}},
	Run: func(p *forensics.Pass) {
		logged := podGCInLog(p)
		if p.Evidence.Cluster == nil {
			if !logged {
				p.Unjudged("no dump of the API was given, and no log of kube-controller-manager was read: on most nodes there is none")
			}
			return
		}
		replayPodGC(p)
	},
}
