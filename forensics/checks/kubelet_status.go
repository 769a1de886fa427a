package checks

import "github.com/nodeforensics/nodeforensics/forensics"

// KubeletStatusManagerBlocked finds a kubelet that reports no pod's status any more.
var KubeletStatusManagerBlocked = forensics.Check{
	ID:    "kubelet-status-manager-blocked",
	Title: "The kubelet reports no pod's status any more",
	Doc: `One goroutine of the kubelet sends the status of all pods to the API server and deletes the pods that are gone
(pkg/kubelet/status, syncBatch and syncPod). Up to 1.26 it asks before a deletion whether the pod's volumes are gone
(canBeDeleted, PodResourcesAreReclaimed, podVolumesExist): on a dead mount that never returns, and no pod of the node
changes its status in the API any more: containers run and look Pending, deleted pods stay Terminating. From 1.27 on the
pod's own worker asks (see kubelet-pod-worker-blocked). It can also wait for a lock or for the API server; the latter
ends by itself, and is a warning below 5 minutes.

It rests on a goroutine with syncBatch or syncPod of the status manager on its stack that has waited for at least a
minute, or longer than --hung-after by the kernel.`,
	Severity: forensics.Critical,
	Needs:    []forensics.Need{{forensics.SourceGoroutines}},
	Run: func(p *forensics.Pass) {
		list := allStanding(p, "kubelet/status.(*manager).syncBatch", "kubelet/status.(*manager).syncPod")
		if len(list) == 0 {
			return
		}
		subject := forensics.Entity{Kind: forensics.KindSubsystem, ID: "status-manager"}
		f := finding(p, subject, "status manager has reported no pod's status", list[:1], append([]site{
			{"status.(*manager).canBeDeleted", "1.10 to 1.26", "asks whether a pod may be deleted from the API"},
		}, volumeSites()...))
		f.Detail = sentences("Containers run, but what the API shows of every pod of this node stands still, and deleted pods stay Terminating.", f.Detail)
		f.Remedies = []forensics.Remedy{keepEvidence(), noRestart()}
		p.Report(f)
	},
}
