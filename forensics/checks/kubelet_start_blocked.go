package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
)

var startEntity = forensics.Entity{Kind: forensics.KindSubsystem, ID: "start"}

// kubeletStartBlocked finds a kubelet that does not get through its start.
var kubeletStartBlocked = forensics.Check{
	ID:    "kubelet-start-blocked",
	Title: "The kubelet's start does not finish",
	Doc: `The kubelet starts on one goroutine (cmd/kubelet/app: run, RunKubelet): client certificate, cAdvisor, container
manager, runtime, then the sync loop. Where that stands still the kubelet listens on no port, talks to no API server and
says nothing, while its unit is "active". The known case: cAdvisor asks statfs(2) of every mount of the file systems it
follows, NFS among them from kubelet 1.21 to 1.31, so that a dead NFS mount anywhere on the node stops the start; up to
1.20, and for local file systems in every version up to 1.31, a dead disk does. From 1.32 on it asks in goroutines of
their own (see kubelet-goroutine-leak). What the kubelet starts once the runtime is up (initializeRuntimeDependentModules)
counts as start, too: until it is through, the node is not ready.

It rests on a goroutine with app.run, app.RunKubelet or initializeRuntimeDependentModules on its stack that has waited for
at least a minute in a system call, for a lock, a child or an answer; that goroutine 1 rests in app.run itself is
normal. Waiting for the API server to sign the kubelet's first certificate is only a warning. Places that are told
apart:` + stall.DocOf(startSites()),
	Severity: forensics.Critical,
	Needs:    []forensics.Need{{forensics.SourceGoroutines}},
	Run: func(p *forensics.Pass) {
		list := stall.All(p, "kubelet/app.run", "kubelet/app.RunKubelet", "kubelet.(*Kubelet).initializeRuntimeDependentModules")
		if len(list) == 0 {
			return
		}
		f := stall.Finding(p, startEntity, "start has not finished", list[:1], startSites())
		if list[0].Wait.Kind == stall.WaitAPI {
			f.Severity = stall.NotCritical(f.Severity)
		}
		f.Detail = findings.Sentences("Until the start is through, the kubelet serves no pod of this node and reports nothing.", f.Detail)
		f.Remedies = []forensics.Remedy{remedy.KeepEvidence(), remedy.NoRestart()}
		p.Report(f)
	},
}

// startSites are the stages of the start that can hang, in their order (cmd/kubelet/app/server.go, read in 1.13, 1.17,
// 1.22, 1.26 and 1.34), and what they do there.
func startSites() []stall.Site {
	return []stall.Site{
		{Frame: "bootstrap.LoadClientCert", Versions: "1.10 to 1.36", What: "waits for its first client certificate"},
		{Frame: "kubelet.PreInitRuntimeService", Versions: "1.18 to 1.36", What: "connects to the container runtime"},
		{Frame: "kubelet/cadvisor.New", Versions: "1.10 to 1.36", What: "starts cAdvisor"},
		{Frame: "cm.NewContainerManager", Versions: "1.10 to 1.36", What: "starts the container manager"},
		{Frame: "kubelet.NewMainKubelet", Versions: "1.10 to 1.36", What: "puts the kubelet together"},
		{Frame: "kubelet.(*Kubelet).initializeRuntimeDependentModules", Versions: "1.10 to 1.36", What: "starts what needs the runtime"},
		{Frame: "cadvisor/fs.(*RealFsInfo).GetGlobalFsInfo", Versions: "1.10 to 1.31", What: "asks every file system for its size"},
		{Frame: "cadvisor/fs.(*RealFsInfo).GetFsInfoForPath", Versions: "1.10 to 1.31", What: "asks file systems for their size"},
		{Frame: "cadvisor/fs.getVfsStats", Versions: "1.10 to 1.31", What: "calls statfs"},
	}
}
