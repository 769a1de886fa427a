package checks

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/fsview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
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
		alone := len(p.Evidence.Dumps) == 0 // nothing else tells of it
		for _, k := range []struct {
			kind      logs.Kind
			now, then string
		}{
			{"container-name-reserved", "cannot start: an earlier creation has not ended", "could not start: an earlier creation had not ended"},
			{"container-create-failed", "container cannot be created", "container could not be created"},
			{"container-start-failed", "container cannot be started", "container could not be started"},
			{"pod-restart-blocked", "cannot restart before its old containers end", "could not restart before its old containers ended"},
		} {
			spec := incident.Spec{Window: 6 * time.Minute, Kubelet: true, Subject: func(e logs.Event) forensics.Entity {
				if ofUnnamedSandbox(e) {
					return forensics.Entity{} // sandbox-create-failing
				}
				return podOrContainer(p, e)
			}}
			for _, i := range spec.Find(p, logview.Events(p, k.kind)) {
				if k.kind == "container-name-reserved" {
					if i.Minor = i.Count < 2 && !failedBefore(p, i); i.Minor && alone && stillCreating(i) { // the kubelet asks again after its call has timed out
						i.ExpectAgain(p, 2, crioWaits)
					}
				} else if i.Expect(p, logview.FewFailures); i.Minor && alone && slices.ContainsFunc(i.Events, timedOut) {
					i.ExpectAgain(p, logview.FewFailures, aCall)
				}
				alone = alone && !i.Grave()
				name := thingTitle(p, i)
				f := i.Finding(p, name+": "+k.now, name+": "+k.then)
				if i.Subject.ID == unnamed && strings.HasPrefix(k.now, "container ") {
					f = i.Finding(p, "A "+k.now, "A "+k.then)
				} else if k.kind == "pod-restart-blocked" || k.kind == "container-name-reserved" {
					f = i.Finding(p, name+" "+k.now, name+" "+k.then)
				}
				if k.kind == "container-name-reserved" {
					f.Lone = f.Lone && !stillCreating(i) && !slices.ContainsFunc(i.Events, func(e logs.Event) bool { return strings.Contains(e.Reason, "not yet finished") })
					f.Detail = findings.Sentences(f.Detail, "The name is reserved: an earlier creation of the container or sandbox has not returned. The runtime still works on it or waits for a disk.")
				}
				incident.ByRuntime(p, &f)
				byReadOnly(p, &f, i.Reason())
				if k.kind == "container-name-reserved" && !slices.ContainsFunc(i.Events, func(e logs.Event) bool { return !ofSandbox(e) }) && len(logview.Events(p, logs.KindSandboxCreateFailed)) > 0 {
					f.Because = append(f.Because, sandboxes)
				}
				f.Because = findings.Union(f.Because, deadVolumes(p, i.Events))
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

// failedBefore says whether the creation of the same container had failed long before its name was still reserved.
func failedBefore(p *forensics.Pass, i incident.Incident) bool {
	const long = 360
	return slices.ContainsFunc(logview.Events(p, "container-create-failed"), func(e logs.Event) bool {
		return podOrContainer(p, e) == i.Subject && e.First != nil && logview.Between(e.First, i.Last) > long
	})
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

// existingVolume is the volume in "mkdir /var/lib/kubelet/pods/…/volumes/PLUGIN/NAME/mount: file exists": a directory that is there, of which
// stat(2) has just said otherwise, is most often a dead mount.
var existingVolume = pattern.New(`mkdir /\S*/volumes/[^/\s]+/([^/\s:]+)\S*: file exists`)

// deadVolumes are the volumes that the runtime cannot see, and of which other messages say that they are dead.
func deadVolumes(p *forensics.Pass, events []logs.Event) (dead []forensics.Entity) {
	for _, e := range events {
		if m := existingVolume.FindStringSubmatch(e.Reason); m != nil {
			dead = findings.Union(dead, deadMounts(p, m[1]))
		}
		dead = findings.Union(dead, fsview.ExistsInstead(p, e.Reason))
	}
	return dead
}

// deadMounts are the mounts of a volume that messages call dead.
func deadMounts(p *forensics.Pass, volume string) (dead []forensics.Entity) {
	for _, e := range logview.Story(p).Events {
		if cause := e.Cause(); (cause == "disconnected" || cause == "stale") && volume != "" && e.Volume == volume && e.Kind.Lane() != logs.LaneKernel {
			if mount := mountInMessage(p, e); mount.Kind != "" {
				dead = findings.Union(dead, []forensics.Entity{mount})
			}
		}
	}
	for _, status := range []mounts.Status{mounts.StatusDisconnected, mounts.StatusStale} {
		for _, s := range fsview.Superblocks(p, status) {
			if volume != "" && slices.ContainsFunc(s.Mounts, func(m mounts.Mount) bool { return strings.Contains(m.MountPoint+"/", "/"+volume+"/") }) {
				dead = findings.Union(dead, []forensics.Entity{s.Entity()})
			}
		}
	}
	return dead
}

// ofSandbox says whether the name that is reserved is that of a pod's sandbox: it has no container's in it.
func ofSandbox(e logs.Event) bool { return e.Container == "" && (e.PodName != "" || e.PodUID != "") }

// ofUnnamedSandbox says that of a message in which neither pod nor container have a name that can be read.
func ofUnnamedSandbox(e logs.Event) bool {
	return e.Container == "" && (e.PodName == "" && e.PodUID == "" && strings.Contains(e.Reason, "reserve sandbox name") || strings.HasPrefix(e.Reason, "error reserving pod name "))
}

// crioWaits is how long CRI-O waits for an earlier creation of a container before it answers, and aCall how long the kubelet waits for an answer.
const (
	crioWaits = 6 * time.Minute
	aCall     = 2 * time.Minute
)

// stillCreating says whether CRI-O says of a container, not of a sandbox, that it is created still.
func stillCreating(i incident.Incident) bool {
	return !slices.ContainsFunc(i.Events, func(e logs.Event) bool { return ofSandbox(e) || !strings.Contains(e.Reason, "not yet finished") })
}

// timedOut says whether a call of the kubelet got no answer in time: the next one fails as late, whatever else is logged meanwhile.
func timedOut(e logs.Event) bool { return e.Code == "DeadlineExceeded" }

// podOrContainer is what a message about a container is about: its pod, or else the container or sandbox.
func podOrContainer(p *forensics.Pass, e logs.Event) forensics.Entity {
	if pod := incident.PodOf(p, e); pod.Kind != "" {
		return pod
	}
	return incident.Thing(forensics.KindContainer, cmp.Or(e.Container, unnamed))
}

// unnamed is a container of which a message does not say which.
const unnamed = "unnamed"

// thingTitle names a pod or container in a headline.
func thingTitle(p *forensics.Pass, i incident.Incident) string {
	if i.Subject.Kind == forensics.KindPod {
		return findings.PodTitle(p, i.Subject.ID)
	}
	if i.Subject.ID == unnamed {
		return "A container"
	}
	return "Container " + i.Subject.ID[:min(12, len(i.Subject.ID))]
}
