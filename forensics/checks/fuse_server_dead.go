package checks

import (
	"cmp"
	"fmt"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/fsview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
)

// fuseServerDead finds FUSE file systems with a server process that cannot answer.
var fuseServerDead = forensics.Check{
	ID:    "fuse-server-dead",
	Title: "The server process of a FUSE mount has ended, is stopped or is blocked",
	Doc: `A process that has /dev/fuse open serves a FUSE file system. Since Linux 6.16 the kernel shows the connection
(fuse_connection in /proc/PID/fdinfo), and so the mount. Before, the server is guessed from its command line, and the finding says
so. The check reports a server that is stopped (SIGSTOP, a debugger), has ended, is frozen by its cgroup, or has itself waited in a
file system for longer than --hung-after. It also reports a mount without any server process.

A sleeping server is normal, even if its own server, which the kernel does not see, does not respond. A file system that was
unmounted lazily while callers waited is in no mount table; its server is found by its connection (Linux 6.16).

A mount that has answered a probe has a server, whatever the state of one process with its connection: another process may serve it,
a debugger may stop it briefly, or its descriptor may be in transit between processes. Then only a server that is itself
blocked is reported.

Where only a log was read, it is a driver's or a sidecar's message that its server was ended by a signal.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceHolders, forensics.SourceLogs}, {forensics.SourceProcesses, forensics.SourceLogs}},
	Run: func(p *forensics.Pass) {
		reportEndedServers(p)
		for _, s := range p.Model.Uses().AllServers() {
			answers := p.Model.Answered(s.Device)
			if s.PID == 0 {
				if !answers {
					p.Report(fsview.OfTheHost(p, unservedFinding(p, s), s))
				}
				continue
			}
			if trouble, ok := p.Model.Uses().ServerTrouble(s.PID); ok && (trouble.Waits != nil || !answers) {
				f := deadFinding(p, s, trouble)
				others := otherServers(p, s)
				if len(others) > 0 {
					f.Confidence = forensics.Possible
					f.ConfidenceWhy += "; it is also open in " + findings.Some(others)
				}
				if trouble.Waits != nil {
					f.Because = []forensics.Entity{forensics.ThreadEntity(*trouble.Waits)}
					f.Refs = append(f.Refs, stall.ThreadRef(*trouble.Waits))
				}
				if trouble.Stopped() {
					f.Remedies = []forensics.Remedy{remedy.Continue(p, s.PID)}
				}
				if s.Detached {
					f.Remedies = append(f.Remedies, abortDetached(s))
				}
				p.Report(fsview.OfTheHost(p, f, s))
			}
		}
	},
}

// reportEndedServers reports servers of which only the log of a driver says that a signal has ended them.
func reportEndedServers(p *forensics.Pass) {
	if p.Evidence.Collector.PID != 0 { // then its mounts were seen
		return
	}
	spec := incident.Spec{Window: 30 * time.Minute, Subject: func(e logs.Event) forensics.Entity {
		return incident.Thing(forensics.KindPath, cmp.Or(e.Path, e.Process))
	}}
	for _, i := range spec.Find(p, logview.Events(p, "fuse-server-ended")) {
		e := i.Events[len(i.Events)-1]
		of := ""
		if e.Path != "" {
			of = " of " + e.Path
		}
		f := i.Finding(p, "FUSE server "+e.Process+of+" has ended", "FUSE server "+e.Process+of+" ended")
		f.Effect = "access to the volume fails"
		f.Detail = findings.Sentences(f.Detail, "Without its server, a mount answers each call with ENOTCONN. It must be unmounted, and mounted again.")
		f.Because = killedServers(p, i)
		if i.Grave() {
			f.Remedies = []forensics.Remedy{incident.Look("shows whether the kernel killed it for its memory, or who else did", "dmesg", "-T")}
		}
		p.Report(f)
	}
}

// deadFinding is about a server that cannot answer.
func deadFinding(p *forensics.Pass, s forensics.FUSEServer, trouble forensics.ServerTrouble) forensics.Finding {
	short := trouble.String()
	if trouble.Waits != nil {
		short = "is itself blocked"
		if list := p.Model.MountsOf(trouble.Waits.Device); len(list) > 0 {
			short += " on " + fsfamily.Label(list[0].FSType, list[0].Source)
		}
	}
	role := map[bool]string{false: "FUSE server ", true: "Probable FUSE server "}[s.Guess]
	f := fsview.ServerFinding(p, s, fmt.Sprintf("%s%s of %s %s", role, findings.ProcessTitle(p, s.PID), fsview.FuseTitle(p, s.Device), short))
	if trouble.Waits != nil {
		f.Effect = "FUSE server " + findings.ProcessTitle(p, s.PID) + " is blocked"
	}
	_, name := fsview.FuseName(p, s.Device)
	f.Detail = fmt.Sprintf("%s %s. It %s %s. ", findings.Capital(findings.ProcessName(p, s.PID)), trouble,
		map[bool]string{false: "serves", true: "probably serves"}[s.Guess], name) + f.Detail
	return f
}

// abortDetached ends the waits for a file system that can no longer be unmounted.
func abortDetached(s forensics.FUSEServer) forensics.Remedy {
	r := remedy.AbortFUSE(mounts.Mount{Device: s.Device})
	r.OnlyIf = fmt.Sprintf("the server cannot be recovered; fusectl is mounted on /sys/fs/fuse/connections; process %d still serves this connection "+
		"(grep fuse_connection /proc/%d/fdinfo/*)", s.PID, s.PID)
	return r
}

// otherServers names the processes without trouble that also have the connection of a server open. The kernel does not
// show which of them reads from it.
func otherServers(p *forensics.Pass, s forensics.FUSEServer) []string {
	var names []string
	for _, other := range p.Model.Uses().Servers(s.Device) {
		if _, bad := p.Model.Uses().ServerTrouble(other.PID); other.PID != 0 && other.PID != s.PID && !bad {
			names = append(names, findings.ProcessName(p, other.PID))
		}
	}
	return names
}

func unservedFinding(p *forensics.Pass, s forensics.FUSEServer) forensics.Finding {
	m, name := fsview.FuseName(p, s.Device)
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: forensics.Entity{Kind: forensics.KindSuperblock, ID: s.Device},
		Title: "No process serves " + fsview.FuseTitle(p, s.Device), Confidence: forensics.Likely, ConfidenceWhy: s.Why,
		Detail: "The server of " + name + " has ended. Every call fails with ENOTCONN, and the mount does not recover. " +
			"Typical after a restart of a CSI driver that runs its FUSE servers in its own pod.",
		Pods: p.Model.PodsOf(s.Device),
		Refs: []forensics.Ref{{Source: forensics.SourceHolders + ":" + s.Device, Excerpt: s.Why}},
	}
	if h, _ := p.Model.Health(s.Device); h.Status == mounts.StatusHung {
		return inTransit(f, m, name)
	}
	if m.MountPoint != "" {
		f.Remedies = []forensics.Remedy{remedy.UnmountDead(p, m)}
	}
	return f
}

// inTransit is for a mount that no process serves, with callers that wait. The kernel ends a connection with its last
// descriptor, and then answers at once (fuse_dev_release in fs/fuse/dev.c). So a descriptor exists that /proc does not show.
func inTransit(f forensics.Finding, m mounts.Mount, name string) forensics.Finding {
	f.Title += ", but its connection is still open"
	f.Detail = "Calls to " + name + " wait. If its connection were closed, they would fail at once with ENOTCONN. So no process has its descriptor. " +
		"Most likely the descriptor is in the queue of a unix socket: a CSI driver mounts and then passes it on to a pod."
	f.Remedies = []forensics.Remedy{{
		Action: remedy.ActionLook, Command: remedy.UnreceivedDescriptors(),
		Why:    "lists the processes that have not yet received descriptors: one of them is expected to serve the mount",
		OnlyIf: "Linux 5.8 or later", Risk: "none",
	}, remedy.AbortFUSE(m)}
	return f
}
