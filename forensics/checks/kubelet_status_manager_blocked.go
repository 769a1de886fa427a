package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
)

// kubeletStatusManagerBlocked finds a kubelet that reports no pod's status any more.
var kubeletStatusManagerBlocked = forensics.Check{
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
		list := stall.All(p, "kubelet/status.(*manager).syncBatch", "kubelet/status.(*manager).syncPod")
		if len(list) == 0 {
			return
		}
		subject := forensics.Entity{Kind: forensics.KindSubsystem, ID: "status-manager"}
		f := stall.Finding(p, subject, "status manager has reported no pod's status", list[:1], append([]stall.Site{
			{Frame: "status.(*manager).canBeDeleted", Versions: "1.10 to 1.26", What: "asks whether a pod may be deleted from the API"},
		}, stall.VolumeSites()...))
		f.Detail = findings.Sentences("Containers run, but what the API shows of every pod of this node stands still, and deleted pods stay Terminating.", f.Detail)
		f.Remedies = []forensics.Remedy{remedy.KeepEvidence(), remedy.NoRestart()}
		p.Report(f)
	},
}
