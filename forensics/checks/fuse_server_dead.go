package checks

import (
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/fsview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// fuseServerDead finds FUSE file systems whose server process cannot answer.
var fuseServerDead = forensics.Check{
	ID:    "fuse-server-dead",
	Title: "The process behind a FUSE mount is gone, stopped or blocked",
	Doc: `A FUSE file system is served by a process that has /dev/fuse open. From Linux 6.16 on the kernel says which connection
that is (fuse_connection in /proc/PID/fdinfo), and so which mount; before, it is guessed from the command line, and the
finding says so. Reported are a server that is stopped (SIGSTOP, a debugger), has ended, is frozen by its cgroup or has
itself waited in a file system for longer than --hung-after, and a mount that no process serves at all. A server that
sleeps is normal, also when its own server, which the kernel does not see, does not answer. A file system that was unmounted
lazily while callers waited is in no mount table; its server is found by its connection (Linux 6.16).

A mount that has answered a probe is served, whatever one process looks like that has its connection open: another may
serve it, a debugger stops it for moments, its descriptor may be on its way between processes. Then only a server that is
itself blocked is reported.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceHolders}, {forensics.SourceProcesses}},
	Run: func(p *forensics.Pass) {
		for _, s := range p.Model.Uses().AllServers() {
			answers := p.Model.Answered(s.Device)
			if s.PID == 0 {
				if !answers {
					p.Report(fsview.OfTheHost(p, unservedFinding(p, s), s))
				}
				continue
			}
			if trouble, ok := p.Model.Uses().ServerTrouble(s.PID); ok && (trouble.Waits != nil || !answers) {
				f := fsview.ServerFinding(p, s, map[bool]string{false: "which serves %s, ", true: "which probably serves %s, "}[s.Guess]+strings.ReplaceAll(trouble.String(), "%", "%%"))
				others := otherServers(p, s)
				if len(others) > 0 {
					f.Confidence = forensics.Possible
					f.ConfidenceWhy += ", which is open in " + findings.Some(others) + ", too"
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

// abortDetached ends the waits for a file system that nobody can unmount any more.
func abortDetached(s forensics.FUSEServer) forensics.Remedy {
	r := remedy.AbortFUSE(mounts.Mount{Device: s.Device})
	r.OnlyIf = fmt.Sprintf("the server cannot be revived; fusectl is mounted on /sys/fs/fuse/connections; process %d still serves this connection "+
		"(grep fuse_connection /proc/%d/fdinfo/*)", s.PID, s.PID)
	return r
}

// otherServers names the processes without trouble that have the connection of a server open, too. The kernel does not
// tell which of them reads from it.
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
		Title: "no process serves " + name, Confidence: forensics.Likely, ConfidenceWhy: s.Why,
		Detail: "Its server has ended; every call is answered with ENOTCONN and the mount does not heal. Typical after a restart of a CSI driver whose servers run in its own pod.",
		Pods:   p.Model.PodsOf(s.Device),
		Refs:   []forensics.Ref{{Source: forensics.SourceHolders + ":" + s.Device, Excerpt: s.Why}},
	}
	if h, _ := p.Model.Health(s.Device); h.Status == mounts.StatusHung {
		return onItsWay(f, m, name)
	}
	if m.MountPoint != "" {
		f.Remedies = []forensics.Remedy{remedy.UnmountDead(p, m)}
	}
	return f
}

// onItsWay is for a mount that nobody serves and whose callers wait. The kernel ends a connection with its last
// descriptor, and then answers at once (fuse_dev_release in fs/fuse/dev.c): there is one that /proc does not show.
func onItsWay(f forensics.Finding, m mounts.Mount, name string) forensics.Finding {
	f.Title = "no process serves " + name + ", and its connection is still open"
	f.Detail = "Calls would fail at once with ENOTCONN if it were closed, and they wait. So its descriptor is in no process: most likely " +
		"it was handed over (a CSI driver that mounts and passes it on to a pod) and is in the queue of a unix socket."
	f.Remedies = []forensics.Remedy{{
		Action: remedy.ActionLook, Command: remedy.UnreceivedDescriptors(),
		Why:    "names the processes that have not received descriptors yet: one of them is to serve the mount",
		OnlyIf: "Linux 5.8", Risk: "none",
	}, remedy.AbortFUSE(m)}
	return f
}
