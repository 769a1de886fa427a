package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
)

var startEntity = forensics.Entity{Kind: forensics.KindSubsystem, ID: "start"}

// KubeletStartBlocked finds a kubelet that does not get through its start.
var KubeletStartBlocked = forensics.Check{
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
apart:` + docOf(startSites()),
	Severity: forensics.Critical,
	Needs:    []forensics.Need{{forensics.SourceGoroutines}},
	Run: func(p *forensics.Pass) {
		list := allStanding(p, "kubelet/app.run", "kubelet/app.RunKubelet", "kubelet.(*Kubelet).initializeRuntimeDependentModules")
		if len(list) == 0 {
			return
		}
		f := finding(p, startEntity, "start has not finished", list[:1], startSites())
		if list[0].wait.kind == waitAPI {
			f.Severity = notCritical(f.Severity)
		}
		f.Detail = sentences("Until the start is through, the kubelet serves no pod of this node and reports nothing.", f.Detail)
		f.Remedies = []forensics.Remedy{keepEvidence(), noRestart()}
		p.Report(f)
	},
}

// startSites are the stages of the start that can hang, in their order (cmd/kubelet/app/server.go, read in 1.13, 1.17,
// 1.22, 1.26 and 1.34), and what they do there.
func startSites() []site {
	return []site{
		{"bootstrap.LoadClientCert", "1.10 to 1.36", "waits for its first client certificate"},
		{"kubelet.PreInitRuntimeService", "1.18 to 1.36", "connects to the container runtime"},
		{"kubelet/cadvisor.New", "1.10 to 1.36", "starts cAdvisor"},
		{"cm.NewContainerManager", "1.10 to 1.36", "starts the container manager"},
		{"kubelet.NewMainKubelet", "1.10 to 1.36", "puts the kubelet together"},
		{"kubelet.(*Kubelet).initializeRuntimeDependentModules", "1.10 to 1.36", "starts what needs the runtime"},
		{"cadvisor/fs.(*RealFsInfo).GetGlobalFsInfo", "1.10 to 1.31", "asks every file system for its size"},
		{"cadvisor/fs.(*RealFsInfo).GetFsInfoForPath", "1.10 to 1.31", "asks file systems for their size"},
		{"cadvisor/fs.getVfsStats", "1.10 to 1.31", "calls statfs"},
	}
}
