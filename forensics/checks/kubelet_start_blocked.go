package checks

import (
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

var startEntity = forensics.Entity{Kind: forensics.KindSubsystem, ID: "start"}

// kubeletStartBlocked finds a kubelet that cannot finish starting.
var kubeletStartBlocked = forensics.Check{
	ID:    "kubelet-start-blocked",
	Title: "The kubelet cannot finish starting",
	Doc: `The kubelet starts on one goroutine (cmd/kubelet/app: run, RunKubelet): client certificate, cAdvisor, container manager,
runtime, then the sync loop. While the start is blocked, the kubelet listens on no port, does not contact the API server and
logs nothing, but its unit is "active".

The known case is disk statistics: cAdvisor calls statfs(2) on every mount of the file systems that it monitors. These
include NFS from kubelet 1.21 to 1.31, so that a dead NFS mount anywhere on the node blocks the start. A dead disk does so
in every version up to 1.31. From 1.32 on statfs runs in goroutines of its own (see kubelet-goroutine-leak).

The modules that start before the sync loop (initializeModules), and once the runtime is up
(initializeRuntimeDependentModules), count as start, too: until then the node is not ready.

Evidence: a goroutine with app.run, app.RunKubelet or one of these functions on its stack. It has waited for at
least a minute in a system call, for a lock, a child process or an answer. Goroutine 1 idle in app.run itself is normal. A system call
of goroutine 1 counts without an age if a signal ended the kubelet in it. Where its callers are cut off, it counts in cAdvisor's disk statistics.
Waiting for the API server to sign the kubelet's first certificate is only a warning.

Known functions:` + stall.DocOf(startSites()),
	Severity: forensics.Critical,
	Needs:    []forensics.Need{{forensics.SourceGoroutines}},
	Run: func(p *forensics.Pass) {
		list := stall.All(p, "kubelet/app.run", "kubelet/app.RunKubelet", "kubelet.(*Kubelet).initializeRuntimeDependentModules", "kubelet.(*Kubelet).initializeModules")
		if len(list) == 0 {
			list = cutStarts(p)
		}
		if len(list) == 0 {
			return
		}
		f := stall.Finding(p, startEntity, stall.Headline{
			Is: "kubelet cannot finish starting", May: "kubelet may be unable to finish starting", Part: startPart(list[0]),
		}, list[:1], startSites())
		byLostServer(p, &f, list[:1])
		if list[0].Wait.Kind == stall.WaitAPI {
			f.Severity = stall.NotCritical(f.Severity)
		}
		f.Detail = findings.Sentences("Until the start has finished, the kubelet manages no pod of this node and reports no status.", f.Detail)
		f.Remedies = []forensics.Remedy{remedy.KeepEvidence(), remedy.NoRestart()}
		p.Report(f)
	},
}

// cutStarts are main goroutines in cAdvisor's disk statistics, of which the callers are cut off. Who has cAdvisor for a module calls that there
// when it starts; cAdvisor's own program is none of those.
func cutStarts(p *forensics.Pass) []stall.Goroutine {
	return sorting.Delete(stall.All(p, diskStatistics...), func(t stall.Goroutine) bool {
		frames := t.Goroutine.Frames
		cut := strings.HasPrefix(frames[len(frames)-1].Func, "github.com/google/cadvisor/")
		return t.Goroutine.ID != 1 || !cut || !slices.ContainsFunc(frames, func(f goroutines.Frame) bool {
			return strings.Contains(f.File, "vendor/github.com/google/cadvisor/") || strings.Contains(f.File, "github.com/google/cadvisor@v")
		})
	})
}

// diskStatistics are the functions of cAdvisor that read the size of file systems.
var diskStatistics = []string{"cadvisor/fs.getVfsStats", "cadvisor/fs.(*RealFsInfo).GetGlobalFsInfo", "cadvisor/fs.(*RealFsInfo).GetFsInfoForPath"}

// startPart names the part of the start that is blocked.
func startPart(t stall.Goroutine) string {
	switch {
	case stall.HasFrame(t.Goroutine, diskStatistics...):
		return "disk statistics"
	case stall.HasFrame(t.Goroutine, "bootstrap.LoadClientCert"):
		return "client certificate"
	}
	return "start"
}

// startSites are the stages of the start that can hang, in their order (cmd/kubelet/app/server.go, read in 1.13, 1.17, 1.22, 1.26 and
// 1.34).
func startSites() []stall.Site {
	return []stall.Site{
		{Frame: "bootstrap.LoadClientCert", Versions: "1.10 to 1.36", What: "waits for its first client certificate"},
		{Frame: "kubelet.PreInitRuntimeService", Versions: "1.18 to 1.36", What: "connects to the container runtime"},
		{Frame: "kubelet/cadvisor.New", Versions: "1.10 to 1.36", What: "starts cAdvisor"},
		{Frame: "cm.NewContainerManager", Versions: "1.10 to 1.36", What: "starts the container manager"},
		{Frame: "kubelet.NewMainKubelet", Versions: "1.10 to 1.36", What: "creates the kubelet's components"},
		{Frame: "kubelet.(*Kubelet).setupDataDirs", Versions: "1.10 to 1.36", What: "creates its directories"},
		{Frame: "kubelet.(*Kubelet).initializeModules", Versions: "1.10 to 1.36", What: "starts the modules that need no runtime"},
		{Frame: "kubelet.(*Kubelet).initializeRuntimeDependentModules", Versions: "1.10 to 1.36", What: "starts the modules that need the runtime"},
		{Frame: "cadvisor/fs.(*RealFsInfo).GetGlobalFsInfo", Versions: "1.10 to 1.31", What: "reads the size of every file system"},
		{Frame: "cadvisor/fs.(*RealFsInfo).GetFsInfoForPath", Versions: "1.10 to 1.31", What: "reads the size of file systems"},
		{Frame: "cadvisor/fs.getVfsStats", Versions: "1.10 to 1.31", What: "calls statfs"},
	}
}
