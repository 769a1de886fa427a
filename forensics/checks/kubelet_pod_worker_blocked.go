package checks

import (
	"fmt"
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// kubeletPodWorkerBlocked finds workers of single pods that stand still.
var kubeletPodWorkerBlocked = forensics.Check{
	ID:    "kubelet-pod-worker-blocked",
	Title: "The workers of some pods stand still",
	Doc: `Every pod has a goroutine that starts, syncs and stops it (managePodLoop up to 1.26, podWorkerLoop from 1.27
on). Where it stands still, that pod alone does: from 1.27 on a terminated pod's worker asks whether its volumes are gone
(SyncTerminatedPod, podVolumesExist), so that a dead mount keeps one pod Terminating. It can also wait for the runtime, a
lock, a device plugin, systemd, or the PLEG, without whose fresh look it does nothing.

It rests on those frames and on a wait of at least a minute, or longer than --hung-after by the kernel. What takes long
by its nature is left out: pulling an image, stopping a container within its grace period, a command in a container.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceGoroutines}},
	Run: func(p *forensics.Pass) {
		list := stall.All(p, "kubelet.(*podWorkers).managePodLoop", "kubelet.(*podWorkers).podWorkerLoop")
		list = slices.DeleteFunc(list, func(t stall.Goroutine) bool { return t.Wait.Kind == stall.WaitRuntime && stall.TakesLong(t.Wait.Call) })
		if len(list) == 0 {
			return
		}
		what := "pod worker has done nothing"
		if stall.Count(list) > 1 {
			what = fmt.Sprintf("%s have done nothing", text.Plural(stall.Count(list), "pod worker"))
		}
		subject := forensics.Entity{Kind: forensics.KindSubsystem, ID: "pod-worker"}
		f := stall.Finding(p, subject, what, list, append([]stall.Site{
			{Frame: "kubelet.(*Kubelet).SyncTerminatedPod", Versions: "1.27 to 1.36", What: "waits until a terminated pod's volumes are gone"},
			{Frame: "kubelet.(*Kubelet).syncTerminatedPod", Versions: "1.22 to 1.26", What: "cleans up after a terminated pod"},
		}, stall.VolumeSites()...))
		f.Severity = stall.NotCritical(f.Severity) // it stops one pod each
		f.Detail = findings.Sentences("Only the pods of these workers stand still: they do not start, change or go away.", f.Detail)
		f.Remedies = []forensics.Remedy{remedy.KeepEvidence()}
		p.Report(f)
	},
}
