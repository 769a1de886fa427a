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
	"github.com/nodeforensics/nodeforensics/internal/hearsay"
	"github.com/nodeforensics/nodeforensics/internal/shellword"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// mountHung finds file systems that do not respond.
var mountHung = forensics.Check{
	ID:    "mount-hung",
	Title: "A file system does not respond",
	Doc: `The mount did not answer statx(2) or statfs(2) for --hung-after (15 s by default), or a thread provably waits for it
that long. Proof is that the thread has not run since (se.exec_start of /proc/PID/task/TID/sched), or that its goroutine is
stamped as waiting.

For a file system with a server (network, FUSE), a waiting thread is proof only if it asks for the attributes of the mount
point itself. One call that reads, stores or lists can take minutes while other calls are answered. A path below the mount
point can lead across a symbolic link to another mount. In all other cases the mount is probed as well. For a disk, a waiting
thread counts only after four times --hung-after, and only if the disk has completed no request for --hung-after.

All mounts of one superblock are one finding. It is critical if one of them is below the kubelet's directory or if the
kubelet waits for it. In every version from 1.10 to 1.36, housekeeping, the volume manager or the start of the kubelet can
block there. Elsewhere it is a warning. A mount that answers after --hung-after is not reported as hung. Neither is one if the
examination ended before --hung-after.

The kernel's own tables show what has failed behind the mount; reading them sends nothing to the server:
- requests and connections of the NFS client (debugfs; otherwise the counters of /proc/PID/mountstats, which do not show
  what was lost)
- requests, sessions and blocklisting of the CephFS client (debugfs)
- connections of the SMB client
- whether the host acknowledges TCP data (if not, the host or the network is down; if it does, only the service is)
- state and paths of the disk

They are read once, so requests in flight alone prove nothing. Messages of the kernel log about the server or device are
quoted and show since when; alone they prove nothing.

In a saved text, a call of strace(1) that has no end is enough, and a command that timeout(1) ended after --hung-after. A sentence that
says of df, ls or the like that it does not return makes it possible, if nothing else is found.`,
	Severity: forensics.Critical,
	Needs:    fsview.Needs,
	Run: func(p *forensics.Pass) {
		fsview.Unjudged(p)
		for _, status := range []mounts.Status{mounts.StatusHung, mounts.StatusUnanswered} {
			for _, s := range fsview.Superblocks(p, status) {
				if status == mounts.StatusHung || s.Health.Seconds == 0 {
					p.Report(hungFinding(p, s))
				}
			}
		}
	},
}

func hungFinding(p *forensics.Pass, s fsview.Superblock) forensics.Finding {
	severity := forensics.Warning
	if len(s.Kubelet) > 0 || s.KubeletWaits(p) {
		severity = forensics.Critical
	}
	age := text.Duration(s.Health.Seconds)
	if s.Health.Method != mounts.MethodPassive { // so long it was probed
		age = "at least " + age
	}
	f := s.Finding(p, severity, fmt.Sprintf("%s has not responded for %s", s.Label(), age))
	f.Detail = fmt.Sprintf("Any access to it blocks in the kernel. Mounted at %s.", s.Where())
	if list := stall.Waiters(p, s.Device); len(list) > 0 {
		f.Detail += fmt.Sprintf(" Waiting for it: %s; the longest wait is that of %s (%s).",
			text.Plural(len(list), "thread"), forensics.ThreadEntity(list[0].Thread).ID, list[0].Thread.Comm)
		f.Refs = append(f.Refs, stall.ThreadRef(list[0].Thread))
	}
	f.Detail += servedHow(p, s.Device)
	text, refs := fsview.Behind(p, s.Device)
	f.Detail += text
	f.Refs = append(f.Refs, refs...)
	f.ConfidenceWhy = "a probe got no answer for longer than --hung-after"
	if s.Health.Method == mounts.MethodPassive {
		f.ConfidenceWhy = s.Health.Reason
	}
	if s.Health.Seconds == 0 {
		f.Title, f.Confidence = s.Label()+" does not respond: "+s.Health.Call+" has not returned", forensics.Likely
		f.ConfidenceWhy = "strace printed the call without its end, and not for how long; whether it has ended since is not known"
		if s.Health.Method == hearsay.Method {
			return hearsayFinding(p, s, f)
		}
	}
	f.Remedies = hungRemedies(p, s)
	return fsview.WithKernel(p, s.Mount(), f)
}

// hearsayFinding is about a file system of which only a sentence says that a command on it does not return.
func hearsayFinding(p *forensics.Pass, s fsview.Superblock, f forensics.Finding) forensics.Finding {
	f.Severity, f.Lone, f.Confidence, f.ConfidenceWhy = forensics.Info, true, forensics.Possible, hearsay.Says
	f.Title = s.Label() + " may not respond: " + s.Health.Call + " has not returned"
	if s.Mount().MountPoint == hearsay.Unnamed {
		f.Title, f.Detail = "A file system may not respond: "+s.Health.Call+" has not returned", "Which one it is, the text does not say. Any access to it blocks in the kernel."
	}
	f.Remedies = []forensics.Remedy{remedy.EvidenceFirst(p)}
	return f
}

// hungRemedies are the steps for a file system that does not answer, in the order that works: the server first, then
// what releases the callers. The lazy unmount is last because it releases no caller: the users of the mount are stopped before.
func hungRemedies(p *forensics.Pass, s fsview.Superblock) []forensics.Remedy {
	m := s.Mount()
	steps := []forensics.Remedy{firstStep(p, s)}
	switch m.Class {
	case mounts.ClassFUSE:
		steps = append(steps, remedy.AbortFUSE(m), remedy.LazyUnmount(p, m))
	case mounts.ClassNetwork:
		steps = append(steps, remedy.ForceUnmount(p, m), remedy.LazyUnmount(p, m))
	}
	return steps
}

// firstStep is the first thing to do about a file system that does not respond: check its server or disk. If the server of a
// FUSE file system itself waits for another file system, check the server or disk of that one.
func firstStep(p *forensics.Pass, s fsview.Superblock) forensics.Remedy {
	m := s.Mount()
	device := innermost(p, s.Device)
	if device != s.Device {
		m = p.Model.MountsOf(device)[0]
	}
	if m.Class == mounts.ClassFUSE {
		if server, ok := worstServer(p, device); ok {
			return stepAtServer(p, server, m)
		}
	}
	b, _ := p.Model.Backing(device)
	return remedy.ReviveFrom(b, m)
}

// worstServer is the process that serves a file system, and of several that have its connection open one with trouble.
func worstServer(p *forensics.Pass, device string) (forensics.FUSEServer, bool) {
	var worst forensics.FUSEServer
	for _, s := range p.Model.Uses().Servers(device) {
		if _, bad := p.Model.Uses().ServerTrouble(s.PID); s.PID != 0 && (worst.PID == 0 || bad) {
			worst = s
		}
	}
	return worst, worst.PID != 0
}

// innermost follows the servers of FUSE file systems that wait for another file system to the one that is behind all: of
// an encrypted or merged file system, one of those that it is made of.
func innermost(p *forensics.Pass, device string) string {
	for seen := map[string]bool{}; !seen[device]; {
		seen[device] = true
		for _, s := range p.Model.Uses().Servers(device) {
			trouble, _ := p.Model.Uses().ServerTrouble(s.PID)
			if s.Guess || trouble.Waits == nil || seen[trouble.Waits.Device] || len(p.Model.MountsOf(trouble.Waits.Device)) == 0 {
				continue
			}
			device = trouble.Waits.Device
			break
		}
	}
	return device
}

// stepAtServer is what to do about the process that serves a FUSE file system.
func stepAtServer(p *forensics.Pass, s forensics.FUSEServer, m mounts.Mount) forensics.Remedy {
	trouble, bad := p.Model.Uses().ServerTrouble(s.PID)
	r := remedy.Revive(m)
	switch {
	case trouble.Stopped():
		r = remedy.Continue(p, s.PID)
	case bad:
		short := trouble.String()
		if trouble.Waits != nil {
			short = "is itself blocked" // the name of the file is in the finding
		}
		r = remedy.Tell(r, remedy.ActionLook, fmt.Sprintf("Check %s: it serves %s (%s) and %s", remedy.ProcessWord(p, s.PID), shellword.Quote(m.Source), shellword.Quote(m.FSType), short))
	default:
		r = remedy.Tell(r, remedy.ActionLook, fmt.Sprintf("Check %s: it has the connection of %s (%s) open and is neither stopped nor blocked in a file system",
			remedy.ProcessWord(p, s.PID), shellword.Quote(m.Source), shellword.Quote(m.FSType)))
		r.Why = "most likely it waits for its own server, which the kernel does not show, or it does not read requests at all. " + findings.Capital(r.Why)
	}
	if s.Guess {
		r.OnlyIf = strings.TrimSuffix("this process is the server, which is a guess: "+s.Why+"; "+r.OnlyIf, "; ")
	}
	return r
}

// servedHow says who has the connection of a FUSE file system open that does not answer, and what is wrong with that process.
// The kernel does not tell whether it reads from it.
func servedHow(p *forensics.Pass, device string) string {
	var list []string
	for _, s := range p.Model.Uses().Servers(device) {
		if s.PID == 0 {
			continue
		}
		verb := "has its connection open"
		if s.Guess {
			verb = "probably serves it"
		}
		how := "is neither stopped nor blocked in a file system"
		if trouble, bad := p.Model.Uses().ServerTrouble(s.PID); bad {
			how = trouble.String()
		}
		list = append(list, fmt.Sprintf("%s %s, and %s", findings.ProcessName(p, s.PID), verb, how))
	}
	if len(list) == 0 {
		return ""
	}
	return " P" + strings.TrimPrefix(findings.Some(list), "p") + "."
}
