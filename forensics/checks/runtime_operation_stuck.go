package checks

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// runtimeOperationStuck finds requests that a container runtime has accepted and that are blocked in it.
var runtimeOperationStuck = forensics.Check{
	ID:    "runtime-operation-stuck",
	Title: "An operation of the container runtime is blocked",
	Doc: `A container runtime (containerd, CRI-O, cri-dockerd, dockerd) has one goroutine for each request. Its own goroutines, read from
its memory, show which request is blocked, and where: CreateContainer looks at the host paths of the container's mounts,
StopPodSandbox removes mounts, RemoveContainer removes files. On a file system that does not respond, such a request never
ends, although the kubelet gives up after 2 minutes and asks again.

A request is blocked in three cases:

- Its own thread has waited in a file system for 15 s or more (--hung-after).
- It waits for a shim or a child process, and runc or a mount command below has waited in a file system for that long.
- It has waited for a lock or an answer for a minute or more.

Requests that may take long (PullImage, StopContainer, ExecSync, streams) count only in the first two cases.
The loop of containerd 0.2 that learns of the end of each container counts like a request.

One blocked request is a warning: one pod waits, the runtime serves the others. It is critical if a request about the whole
runtime (Version, Status, lists) has been blocked for a minute. A restart of the runtime does not help where a file system
is the cause: the next request blocks again.`,
	Severity: forensics.Critical,
	Needs:    []forensics.Need{{forensics.SourceOtherGoroutines, forensics.SourceThreads}},
	Run: func(p *forensics.Pass) {
		unreadRuntimes(p)
		list := sorting.Delete(stall.Requests(p, "runtime.", "docker.", "tasks.", "snapshots.", "task."), func(r stall.Request) bool { return !isRuntime(p, r.PID) })
		for _, server := range stall.ByServer(list) {
			p.Report(blockedOperation(p, server))
		}
	},
}

// unreadRuntimes says where a thread of a runtime waits for a file system, and its goroutines do not tell for which request. Without such
// a thread, no request is blocked in a file system.
func unreadRuntimes(p *forensics.Pass) {
	read := map[int]bool{}
	for i := range p.Evidence.Dumps {
		read[p.Evidence.Dumps[i].PID] = true
	}
	for _, w := range stall.Waiters(p, "") {
		if !read[w.Thread.PID] && w.Seconds >= stall.HungAfter(p) && isRuntime(p, w.Thread.PID) {
			p.Unjudged("a thread of %s (process %d) waits for a file system, but its goroutines were not read", w.Thread.Comm, w.Thread.PID)
		}
	}
}

// isRuntime says whether a process is a container runtime of the node. Any program can have the functions of one. A dump from a file has no
// process.
func isRuntime(p *forensics.Pass, pid int) bool {
	runtimes := forensics.Once(p, "pids of runtimes", func() map[int]bool {
		pids := map[int]bool{}
		for _, r := range forensics.RuntimeProcesses(p.Evidence.Processes) {
			pids[r.PID] = true
		}
		return pids
	})
	return pid == 0 || runtimes[pid]
}

func blockedOperation(p *forensics.Pass, list []stall.Request) forensics.Finding {
	worst := list[0]
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: serverOf(p, worst), Confidence: worst.Confidence(), ConfidenceWhy: worst.Why, Since: worst.Since(p),
	}
	f.Title = runtimeTitle(f.Subject) + stall.Unanswered(p, list)
	f.Effect = runtimeName(f.Subject) + " does not answer " + stall.Methods(list)
	for _, r := range list {
		if r.Proven && r.Seconds >= stall.StuckAfter && stall.AsksWholeRuntime(r.Method) {
			f.Severity = forensics.Critical
		}
	}
	f.Detail = blockedDetail(p, &f, list)
	f.Title += waitForRuntime(f.Pods)
	f.Remedies = []forensics.Remedy{remedy.EvidenceFirst(p), {
		Action: remedy.ActionLook, Command: []string{"crictl", "info"},
		Why:  "shows whether the container runtime still responds to other requests. A restart of it does not help: the next such request blocks again",
		Risk: "none: read-only",
	}}
	return f
}

// blockedDetail is one sentence for each request, and adds what it rests on to the finding.
func blockedDetail(p *forensics.Pass, f *forensics.Finding, list []stall.Request) string {
	var said []string
	var pods []string
	for i, r := range list {
		f.Because = findings.Union(f.Because, without(r.Causes(), f.Subject))
		pods = append(pods, r.WaitingPods(p)...)
		if i < findings.MaxQuoted {
			said = append(said, r.Says(p))
			f.Refs = append(f.Refs, r.Quotes(p)...)
		}
	}
	if more := len(list) - findings.MaxQuoted; more > 0 {
		said = append(said, fmt.Sprintf("And %s more like these.", stall.Number(more)))
	}
	f.Pods = findings.Union(f.Pods, pods)
	return strings.Join(said, " ")
}

func without(list []forensics.Entity, subject forensics.Entity) (rest []forensics.Entity) {
	for _, e := range list {
		if e != subject {
			rest = append(rest, e)
		}
	}
	return rest
}

// serverOf is the kubelet's runtime, or another one by the name of its program.
func serverOf(p *forensics.Pass, r stall.Request) forensics.Entity {
	if e := p.Model.RuntimeEntity(); r.Service != "task.Task" && (e.ID == r.Program || e.ID == "runtime" || strings.HasPrefix(r.Service, "runtime.")) {
		return e
	}
	return forensics.Entity{Kind: forensics.KindRuntime, ID: cmp.Or(r.Program, "containerd-shim")}
}

func waitForRuntime(pods []string) string {
	switch n := len(pods); n {
	case 0:
		return ""
	case 1:
		return "; 1 pod waits"
	default:
		return fmt.Sprintf("; %s pods wait", stall.Number(n))
	}
}
