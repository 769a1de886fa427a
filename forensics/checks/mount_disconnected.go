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
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// mountDisconnected finds file systems that have lost their server process or network client.
var mountDisconnected = forensics.Check{
	ID:    "mount-disconnected",
	Title: "A mount has lost its server",
	Doc: `The mount answers ENOTCONN, ECONNABORTED or ESHUTDOWN. The FUSE server has died, its connection was aborted, or a
network client was evicted (CephFS then also answers EACCES, and debugfs says "blocklisted"). The mount does not recover.
Typical after a restart of a CSI driver that runs its FUSE servers in its own pod. A running FUSE server passes on the errors of
the file system below it; then the finding names that file system. The SMB client is different: it answers EHOSTDOWN while it has
no connection, and recovers when the server is back.

Where mounts were not read or not probed, messages of the kubelet and the runtime show it: "transport endpoint is not connected", "host is down", twice
for the same path, or once as the error of an operation of a volume that was quoted alone. A sentence that says it of a mount makes it possible,
if nothing else is found.`,
	Severity: forensics.Warning,
	Needs:    orLogs(fsview.Needs),
	Run: withLog("disconnected", "has lost its server", "had lost its server", fsview.ReportStatus(mounts.StatusDisconnected,
		func(s fsview.Superblock) string { return s.Label() + " has lost its server: " + s.Health.Error },
		"It answers every call with an error and does not recover.",
		func(p *forensics.Pass, m mounts.Mount) []forensics.Remedy {
			if remedy.IsSMB(m) {
				return []forensics.Remedy{remedy.Revive(m), remedy.UnmountDead(p, m)}
			}
			return []forensics.Remedy{remedy.UnmountDead(p, m)}
		})),
}

// orLogs are needs that logs meet as well.
func orLogs(needs []forensics.Need) (all []forensics.Need) {
	for _, n := range needs {
		all = append(all, append(slices.Clone(n), forensics.SourceLogs))
	}
	return all
}

// withLog runs a check of mounts where they were read and probed, and else reports the mounts of which messages say the same. A saved text may
// have the answers of some mounts only.
func withLog(cause logs.Cause, now, then string, run func(*forensics.Pass)) func(*forensics.Pass) {
	return func(p *forensics.Pass) {
		run(p)
		seen, _ := p.Evidence.Saw(forensics.SourceMounts)
		if probed, _ := p.Evidence.Saw(forensics.SourceHealth); !seen || !probed || p.Evidence.Collector.PID == 0 { // a text need not have all
			reportDeadMounts(p, cause, now, then)
		}
	}
}

// reportDeadMounts reports mounts that answer the kubelet and the runtime with an error that does not end by itself, by their messages.
func reportDeadMounts(p *forensics.Pass, cause logs.Cause, now, then string) {
	list := sorting.Delete(slices.Clone(logview.Story(p).Events), func(e logs.Event) bool {
		return e.Kind.Lane() == logs.LaneKernel || e.Cause() != cause
	})
	seen, _ := p.Evidence.Saw(forensics.SourceHealth)
	spec := incident.Spec{Window: 5 * time.Minute, Subject: func(e logs.Event) forensics.Entity {
		mount := mountInMessage(p, e)
		if seen && mount.Kind == forensics.KindMount {
			return forensics.Entity{} // which has an answer
		}
		return mount
	}}
	for _, i := range spec.Find(p, list) {
		i.Said = true
		e := i.Events[len(i.Events)-1]
		where := e.Path
		if i.Subject.Kind == forensics.KindPath {
			where = i.Subject.ID
		}
		if !slices.ContainsFunc(i.Events, func(e logs.Event) bool { return e.Number >= 1 || ofOperation(e) }) { // the second wait of the kubelet
			if i.Minor = i.Count < 2; isVolumeMount(where) {
				i.ExpectAgain(p, 2, time.Minute)
			}
		}
		name := "Mount " + where
		if where == "" {
			name = "Volume " + logview.VolumeLabel(e.Subject)
		}
		f := i.Finding(p, name+" "+now, name+" "+then)
		f.Lone = f.Lone && isVolumeMount(where) // a program can have had any other file open since before it was removed
		f.Effect = "access to " + lower(name) + " fails"
		if cause == "disconnected" && p.Evidence.Collector.PID == 0 { // on a node, a pod chooses the names of its processes
			f.Because = killedServers(p, i)
		}
		look := incident.Look("shows whether the path is a mount, and of which file system. It reads no mount", "grep", "-F", "-e", cmp.Or(e.Path, e.Volume, i.Subject.ID), "/proc/self/mountinfo")
		if e.Code == "EHOSTDOWN" {
			f.Detail = findings.Sentences(f.Detail, "The mount table was not collected. The SMB client connects again when its server is back.")
			if i.Grave() {
				f.Remedies = []forensics.Remedy{look}
			}
			p.Report(f)
			continue
		}
		f.Detail = findings.Sentences(f.Detail, "The mount table was not collected. A dead mount does not recover by itself: it must be unmounted, and mounted again.")
		if i.Grave() {
			f.Remedies = []forensics.Remedy{
				look,
				{
					Action: remedy.ActionDetach, Instruction: "On the node, unmount it with umount -l, then delete the pods that use it, so that it is mounted again",
					Why: "the kubelet can then finish the pod or mount the volume", OnlyIf: "the path is a mount, and the pods that use it can be restarted",
					Risk: "unwritten data is already lost; mounts below it are detached, too",
				},
			}
		}
		p.ReportAlike("dead mounts "+string(cause), func(n int) string { return findings.Plural(n, "mount") + " " + plainly[cause] }, f)
	}
}

// isVolumeMount says whether a path is where the kubelet mounts a volume, and nothing below it.
func isVolumeMount(path string) bool {
	if _, in, ok := strings.Cut(path, "/volumes/kubernetes.io~"); ok {
		return strings.Count(strings.TrimSuffix(in, "/mount"), "/") == 1
	}
	return strings.Contains(path, "/plugins/kubernetes.io/") && strings.HasSuffix(path, "/globalmount")
}

// killedServers are the kills for memory that hit programs which serve FUSE file systems, before a mount lost its server.
func killedServers(p *forensics.Pass, lost incident.Incident) (because []forensics.Entity) {
	for _, i := range ooms(p) {
		before := lost.First == nil || i.First == nil || i.First.Before(*lost.First)
		if before && slices.ContainsFunc(i.Events, func(e logs.Event) bool {
			name, _, ok := strings.Cut(e.Process, " (")
			return ok && fsfamily.ServesFUSE(name)
		}) {
			because = append(because, i.Subject)
		}
	}
	return because
}

// ofOperation says whether a message is the error of an operation of a volume that somebody has quoted without the rest of its line.
func ofOperation(e logs.Event) bool { return e.First == nil && (e.UniqueName != "" || e.Volume != "") }

// plainly says of several mounts what their titles say of one.
var plainly = map[logs.Cause]string{"disconnected": "have lost their servers", "stale": "are stale"}

// statted is the path of a mount in what the runtime answers: "stat /var/lib/kubelet/pods/…: transport endpoint is not connected".
var statted = pattern.New(`stat (/[^\s"\\:]+): (?:transport endpoint|stale)`)

// mountInMessage is the mount that a message calls dead: the volume, or the path.
func mountInMessage(p *forensics.Pass, e logs.Event) forensics.Entity {
	if uid, _ := forensics.PodOf(e.Path); e.Path != "" && uid == "" {
		return incident.Thing(forensics.KindPath, e.Path)
	}
	if e.Path == "" && e.UniqueName == "" && e.Volume == "" {
		if path := statted.FindStringSubmatch(e.Reason); path != nil {
			if list := p.Model.Host().At(path[1]); len(list) > 0 {
				return forensics.MountEntity(list[len(list)-1].ID)
			}
			return incident.Thing(forensics.KindPath, path[1])
		}
		return forensics.Entity{}
	}
	return logview.VolumeEntity(p, e.Subject)
}
