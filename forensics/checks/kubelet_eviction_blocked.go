package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// kubeletEvictionBlocked finds a blocked eviction manager: disk and memory are not reclaimed.
var kubeletEvictionBlocked = forensics.Check{
	ID:    "kubelet-eviction-blocked",
	Title: "The eviction manager is blocked",
	Doc: `Every 10 seconds the eviction manager (pkg/kubelet/eviction, synchronize) measures disk and memory, reclaims resources and
evicts pods. It can block in:

- the size of a file system (cAdvisor's statfs, up to 1.31)
- a call to the container runtime
- a lock
- the volumes of an evicted pod (waitForPodsCleanup, podResourcesAreReclaimed, up to 1.26)

While it is blocked, nothing is evicted and the disk fills up.

Evidence: a goroutine with synchronize or waitForPodsCleanup on its stack that has waited for at least a minute, or longer
than --hung-after by the kernel. Waiting for an evicted pod to stop within its grace period (killPodNow) is normal and not
reported.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceGoroutines}},
	Run: func(p *forensics.Pass) {
		list := stall.All(p, "eviction.(*managerImpl).synchronize", "eviction.(*managerImpl).waitForPodsCleanup")
		list = sorting.Delete(list, stall.Goroutine.MayTakeLong)
		if len(list) == 0 {
			return
		}
		subject := forensics.Entity{Kind: forensics.KindSubsystem, ID: "eviction"}
		f := stall.Finding(p, subject, stall.Headline{
			Is: "kubelet cannot evict pods", May: "kubelet may be unable to evict pods", Part: "eviction manager",
			Effect: "kubelet cannot evict pods",
		}, list[:1], append([]stall.Site{
			{Frame: "eviction.(*managerImpl).waitForPodsCleanup", Versions: "1.10 to 1.36", What: "waits until an evicted pod is cleaned up"},
			{Frame: "stats.(*summaryProviderImpl).Get", Versions: "1.10 to 1.36", What: "measures disk and memory"},
			{Frame: "cadvisor/fs.(*RealFsInfo).GetDirFsDevice", Versions: "1.10 to 1.36", What: "finds the device of a directory"},
			{Frame: "cadvisor/fs.(*RealFsInfo).GetFsInfoForPath", Versions: "1.10 to 1.31", What: "reads the size of file systems"},
			{Frame: "cadvisor/fs.getVfsStats", Versions: "1.10 to 1.31", What: "calls statfs"},
		}, stall.VolumeSites()...))
		f.Severity = stall.NotCritical(f.Severity) // the node works until its disk or memory is full
		f.Detail = findings.Sentences("While the eviction manager is blocked, it evicts no pod and removes no image from a full disk.", f.Detail)
		f.Remedies = []forensics.Remedy{remedy.KeepEvidence()}
		p.Report(f)
	},
}
