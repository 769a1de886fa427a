package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
)

// kubeletStatusManagerBlocked finds a kubelet that does not report the status of pods.
var kubeletStatusManagerBlocked = forensics.Check{
	ID:    "kubelet-status-manager-blocked",
	Title: "The kubelet does not report the status of pods",
	Doc: `One goroutine of the kubelet sends the status of all pods to the API server and deletes terminated pods from it
(pkg/kubelet/status, syncBatch and syncPod). Up to 1.26 it checks before a deletion whether the pod's volumes are unmounted
(canBeDeleted, PodResourcesAreReclaimed, podVolumesExist). On a dead mount that call never returns. Then no pod of the node
changes its status in the API: containers run and look Pending, deleted pods stay Terminating. From 1.27 on the pod's own
worker does that check (see kubelet-pod-worker-blocked).

The status manager can also wait for a lock or for the API server. A wait for the API server ends by itself, and is a
warning below 5 minutes.

Evidence: a goroutine with syncBatch or syncPod of the status manager on its stack that has waited for at least a minute, or
longer than --hung-after by the kernel.`,
	Severity: forensics.Critical,
	Needs:    []forensics.Need{{forensics.SourceGoroutines}},
	Run: func(p *forensics.Pass) {
		list := stall.All(p, "kubelet/status.(*manager).syncBatch", "kubelet/status.(*manager).syncPod")
		if len(list) == 0 {
			return
		}
		subject := forensics.Entity{Kind: forensics.KindSubsystem, ID: "status-manager"}
		f := stall.Finding(p, subject, stall.Headline{
			Is: "kubelet does not report pod status", May: "kubelet may not report pod status", Part: "status manager",
			Effect: "kubelet does not report pod status",
		}, list[:1], append([]stall.Site{
			{Frame: "status.(*manager).canBeDeleted", Versions: "1.10 to 1.26", What: "checks whether a pod may be deleted from the API"},
		}, stall.VolumeSites()...))
		f.Detail = findings.Sentences("Containers run, but the API shows a stale status for every pod of this node, and deleted pods stay Terminating.", f.Detail)
		f.Remedies = []forensics.Remedy{remedy.KeepEvidence(), remedy.NoRestart()}
		p.Report(f)
	},
}
