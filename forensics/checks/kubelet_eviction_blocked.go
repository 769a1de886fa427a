package checks

import (
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
)

// kubeletEvictionBlocked finds an eviction manager that stands still: nobody frees disk and memory.
var kubeletEvictionBlocked = forensics.Check{
	ID:    "kubelet-eviction-blocked",
	Title: "The eviction manager stands still",
	Doc: `Every 10 seconds the eviction manager (pkg/kubelet/eviction, synchronize) measures disk and memory, frees what it
can and evicts pods. It can stand still in a file system's size (cAdvisor's statfs, up to 1.31), in a question to the
container runtime, in a lock, and after an eviction up to 1.26 in the volumes of the evicted pod (waitForPodsCleanup,
podResourcesAreReclaimed). Then nothing is evicted and the disk fills up.

It rests on a goroutine with synchronize or waitForPodsCleanup on its stack that has waited for at least a minute, or
longer than --hung-after by the kernel. Waiting for an evicted pod to stop within its grace period (killPodNow) is normal
and is not reported.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceGoroutines}},
	Run: func(p *forensics.Pass) {
		list := stall.All(p, "eviction.(*managerImpl).synchronize", "eviction.(*managerImpl).waitForPodsCleanup")
		list = slices.DeleteFunc(list, func(t stall.Goroutine) bool { return t.Wait.Kind == stall.WaitRuntime && stall.TakesLong(t.Wait.Call) })
		if len(list) == 0 {
			return
		}
		subject := forensics.Entity{Kind: forensics.KindSubsystem, ID: "eviction"}
		f := stall.Finding(p, subject, "eviction manager has not come round", list[:1], append([]stall.Site{
			{Frame: "eviction.(*managerImpl).waitForPodsCleanup", Versions: "1.10 to 1.36", What: "waits until an evicted pod is cleaned up"},
			{Frame: "stats.(*summaryProviderImpl).Get", Versions: "1.10 to 1.36", What: "measures disk and memory"},
			{Frame: "cadvisor/fs.(*RealFsInfo).GetDirFsDevice", Versions: "1.10 to 1.36", What: "looks for the device of a directory"},
			{Frame: "cadvisor/fs.(*RealFsInfo).GetFsInfoForPath", Versions: "1.10 to 1.31", What: "asks file systems for their size"},
			{Frame: "cadvisor/fs.getVfsStats", Versions: "1.10 to 1.31", What: "calls statfs"},
		}, stall.VolumeSites()...))
		f.Severity = stall.NotCritical(f.Severity) // the node goes on until its disk or memory is full
		f.Detail = findings.Sentences("Until it comes round nothing is evicted, and no image is removed to free a full disk by it.", f.Detail)
		f.Remedies = []forensics.Remedy{remedy.KeepEvidence()}
		p.Report(f)
	},
}
