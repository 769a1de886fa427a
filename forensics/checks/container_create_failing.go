package checks

import (
	"cmp"
	"slices"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// containerCreateFailing finds containers that cannot be created or started.
var containerCreateFailing = forensics.Check{
	ID:    "container-create-failing",
	Title: "Containers cannot be created or started",
	Doc: `"CreateContainer in sandbox … failed", "StartContainer … failed", "failed to reserve container name", "error reserving ctr name", "not yet finished. Currently at stage …": an earlier creation of the
same container still runs in the runtime, most often since it waits for a disk. "Pod is terminating but has been requested to restart with
same UID": the pod waits for its own end. Three failures of a pod, the last within six minutes, are a warning. Of a few lines
that were picked from a log, one failure at their end is possible. A wrong command or a
missing file of the image looks the same: the error tells.`,
	Severity: forensics.Warning,
	Needs:    logview.Needs,
	Run: func(p *forensics.Pass) {
		logview.SawKubelet(p)
		for _, k := range []struct {
			kind      logs.Kind
			now, then string
		}{
			{"container-name-reserved", "cannot start: an earlier creation has not ended", "could not start: an earlier creation had not ended"},
			{"container-create-failed", "container cannot be created", "container could not be created"},
			{"container-start-failed", "container cannot be started", "container could not be started"},
			{"pod-restart-blocked", "cannot restart before its old containers end", "could not restart before its old containers ended"},
		} {
			spec := incident.Spec{Window: 6 * time.Minute, Kubelet: true, Subject: func(e logs.Event) forensics.Entity { return podOrContainer(p, e) }}
			for _, i := range spec.Find(p, logview.Events(p, k.kind)) {
				if k.kind == "container-name-reserved" {
					i.Minor = i.Count < 2 // the kubelet asks again after its call has timed out
				} else {
					i.Expect(p, logview.FewFailures)
				}
				name := thingTitle(p, i)
				f := i.Finding(p, name+": "+k.now, name+": "+k.then)
				if k.kind == "pod-restart-blocked" || k.kind == "container-name-reserved" {
					f = i.Finding(p, name+" "+k.now, name+" "+k.then)
				}
				if k.kind == "container-name-reserved" {
					f.Detail = findings.Sentences(f.Detail, "The name is reserved: an earlier creation of the container or sandbox has not returned. The runtime still works on it or waits for a disk.")
				}
				incident.ByRuntime(p, &f)
				if k.kind == "container-name-reserved" && !slices.ContainsFunc(i.Events, func(e logs.Event) bool { return !ofSandbox(e) }) && len(logview.Events(p, logs.KindSandboxCreateFailed)) > 0 {
					f.Because = append(f.Because, sandboxes)
				}
				for _, e := range i.Events {
					if cause, mount := e.Cause(), mountInMessage(p, e); mount.Kind != "" && (cause == "disconnected" || cause == "stale") {
						f.Because = findings.Union(f.Because, []forensics.Entity{mount})
					}
					if e.Code == "EHOSTDOWN" { // which the SMB client answers without its server
						f.Because = findings.Union(f.Because, lostSMB(p))
					}
				}
				if i.Grave() {
					f.Remedies = []forensics.Remedy{describePod(i.Events[0].PodName)}
				}
				p.ReportAlike(k.kind, func(n int) string { return findings.Plural(n, "pod") + " cannot start: " + logs.Words(k.kind) }, f)
			}
		}
	},
}

// lostSMB is the SMB server that the kernel lost; nothing where it lost several.
func lostSMB(p *forensics.Pass) []forensics.Entity {
	var lost []forensics.Entity
	for _, i := range lostServers(p) {
		if i.Events[0].Kind == logs.KindKernelCIFSDown {
			lost = append(lost, i.Subject)
		}
	}
	if len(lost) != 1 {
		return nil
	}
	return lost
}

// ofSandbox says whether the name that is reserved is that of a pod's sandbox: it has no container's in it.
func ofSandbox(e logs.Event) bool { return e.Container == "" && (e.PodName != "" || e.PodUID != "") }

// podOrContainer is what a message about a container is about: its pod, or else the container or sandbox.
func podOrContainer(p *forensics.Pass, e logs.Event) forensics.Entity {
	if pod := incident.PodOf(p, e); pod.Kind != "" {
		return pod
	}
	return incident.Thing(forensics.KindContainer, cmp.Or(e.Container, "unnamed"))
}

// thingTitle names a pod or container in a headline.
func thingTitle(p *forensics.Pass, i incident.Incident) string {
	if i.Subject.Kind == forensics.KindPod {
		return findings.PodTitle(p, i.Subject.ID)
	}
	return "Container " + i.Subject.ID[:min(12, len(i.Subject.ID))]
}
