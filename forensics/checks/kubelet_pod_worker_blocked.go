package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// kubeletPodWorkerBlocked finds blocked workers of single pods.
var kubeletPodWorkerBlocked = forensics.Check{
	ID:    "kubelet-pod-worker-blocked",
	Title: "Pod workers are blocked",
	Doc: `Every pod has a worker, a goroutine that starts, syncs and stops it (managePodLoop up to 1.26, podWorkerLoop from 1.27 on). A
blocked worker blocks its pod only. From 1.27 on the worker of a terminated pod checks whether the volumes are unmounted
(SyncTerminatedPod, podVolumesExist): a dead mount keeps one pod Terminating. A worker can also wait for the runtime, a
lock, a device plugin, systemd, or PLEG. Without a newer status from PLEG it does nothing.

Evidence: those frames and a wait of at least a minute, or longer than --hung-after by the kernel. Calls that normally take
long are left out: pulling an image for up to an hour, stopping a container within its grace period, a command in a container.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceGoroutines}},
	Run: func(p *forensics.Pass) {
		list := stall.All(p, "kubelet.(*podWorkers).managePodLoop", "kubelet.(*podWorkers).podWorkerLoop")
		list = sorting.Delete(list, stall.Goroutine.MayTakeLong)
		if len(list) == 0 {
			return
		}
		n, part := stall.Count(list), "pod worker"
		if n > 1 {
			part = stall.Number(n) + " pod workers"
		}
		subject := forensics.Entity{Kind: forensics.KindSubsystem, ID: "pod-worker"}
		f := stall.Finding(p, subject, stall.Headline{
			Is: "kubelet cannot sync " + text.Plural(n, "pod"), May: "kubelet may be unable to sync " + text.Plural(n, "pod"), Part: part,
		}, list, append([]stall.Site{
			{Frame: "kubelet.(*Kubelet).SyncTerminatedPod", Versions: "1.27 to 1.36", What: "waits until a terminated pod's volumes are unmounted"},
			{Frame: "kubelet.(*Kubelet).syncTerminatedPod", Versions: "1.22 to 1.26", What: "cleans up after a terminated pod"},
		}, stall.VolumeSites()...))
		byLostServer(p, &f, list)
		f.Severity = stall.NotCritical(f.Severity) // each blocks one pod
		f.Detail = findings.Sentences("Only the pods of these workers are affected: they do not start, change or stop.", f.Detail)
		f.Remedies = []forensics.Remedy{remedy.KeepEvidence()}
		p.Report(f)
	},
}
