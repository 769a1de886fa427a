package checks

import (
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/deletion"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// containerStopFailing finds containers and sandboxes that cannot be stopped or removed.
var containerStopFailing = forensics.Check{
	ID:    "container-stop-failing",
	Title: "Containers or sandboxes cannot be stopped or removed",
	Doc: `"StopContainer … failed", "StopPodSandbox … failed", "RemoveContainer … failed", "failed to destroy network for sandbox", errors of
the shim: the kubelet tries again. Most often a process does not end since it waits in the kernel, or a mount of the container is in use.
Three failures that continue at the end of the log are a warning; of a container that
was killed and has not ended ("did not receive an exit event", "to be killed: wait container", DeadlineExceeded), one. Pods that are stuck in Terminating are left to pod-terminating-stuck.`,
	Severity: forensics.Warning,
	Needs:    logview.Needs,
	Run: func(p *forensics.Pass) {
		logview.SawKubelet(p)
		stuck := map[string]bool{}
		for _, s := range deletion.InLog(p) {
			stuck[s.Subject.ID] = true
		}
		spec := incident.Spec{Subject: func(e logs.Event) forensics.Entity {
			subject := podOrContainer(p, e)
			if stuck[subject.ID] || len(stuck) > 0 && subject.Kind == forensics.KindContainer { // of one of them, most likely
				return forensics.Entity{}
			}
			return subject
		}}
		found := spec.Find(p, logview.Events(p, logs.KindContainerStopFailed, "container-remove-failed", logs.KindSandboxStopFailed, "sandbox-remove-failed",
			logs.KindCNIDeleteFailed, logs.KindShimFailed, logs.KindPodKillFailed, logs.KindPodKillIncomplete, "pod-containers-left"))
		var all int64 // one cause stops all: people quote a line or two of each
		for _, i := range found {
			if i.Current {
				all += i.Count
			}
		}
		for _, i := range found {
			i.Minor = all < logview.FewFailures && !slices.ContainsFunc(i.Events, func(e logs.Event) bool { return e.Cause() == "not-killed" })
			name := thingTitle(p, i)
			f := i.Finding(p, name+" cannot be stopped or removed", name+" could not be stopped or removed")
			incident.ByRuntime(p, &f)
			if i.Grave() {
				client := "crictl"
				if i.Events[0].Origin == "dockerd" {
					client = "docker"
				}
				look := incident.Look("shows which process is blocked in the kernel (state D), and where: no signal ends it", "ps", "-eo", "pid,state,wchan:32,args")
				look.Risk = "none: read-only. ps reads command lines and can itself hang on a blocked process"
				f.Remedies = []forensics.Remedy{incident.Look("shows the state of the containers", client, "ps", "-a"), look}
			}
			kind := i.Events[0].Kind
			p.ReportAlike(kind, func(n int) string {
				return findings.Plural(n, string(i.Subject.Kind)) + " cannot be stopped or removed: " + logs.Words(kind)
			}, f)
		}
	},
}
