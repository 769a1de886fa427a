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
	"github.com/nodeforensics/nodeforensics/internal/shellword"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// mountHung finds file systems that do not answer.
var mountHung = forensics.Check{
	ID:    "mount-hung",
	Title: "A file system does not answer",
	Doc: `A mount that gave no answer to statx(2) or statfs(2) for --hung-after (15 s by default), or for which a thread
provably waits that long (it has not run since, by se.exec_start of /proc/PID/task/TID/sched, or its goroutine was
stamped as waiting). Of a file server, such a thread proves it only if it asks for the attributes of the mount point itself:
one call that reads, stores or lists can take minutes while everybody else is answered, and a path below can lead across
a symbolic link to another mount. In all other cases the mount is asked, too. For a disk a waiting thread counts only
after four times as long, and only if the disk has not completed a request for --hung-after.

All mounts of one superblock are one finding. It is critical if one of them lies below the kubelet's directory or the
kubelet waits for it: housekeeping, the volume manager or the start of the kubelet can stop there, in every version
from 1.10 to 1.36. Elsewhere it is a warning. A mount that answers later than that, and one for which time ran out
before --hung-after, is never reported as hung.

What is behind it is told apart by the kernel's own tables, without asking it: requests and connections of the NFS client
(debugfs, else the counters of /proc/PID/mountstats, which cannot say what was lost), requests, sessions and blocklisting of the CephFS client (debugfs), connections of the SMB client,
whether TCP is acknowledged (host or network gone, or only its service), state and paths of the disk. They are read once,
so requests on their way are no proof by themselves. What the kernel's log says of its server or device is quoted, and says
since when; alone it proves nothing.`,
	Severity: forensics.Critical,
	Needs:    fsview.Needs,
	Run: func(p *forensics.Pass) {
		fsview.Unjudged(p)
		for _, s := range fsview.Superblocks(p, mounts.StatusHung) {
			p.Report(hungFinding(p, s))
		}
	},
}

func hungFinding(p *forensics.Pass, s fsview.Superblock) forensics.Finding {
	severity := forensics.Warning
	if len(s.Kubelet) > 0 || s.KubeletWaits(p) {
		severity = forensics.Critical
	}
	f := s.Finding(p, severity, fmt.Sprintf("%s has not answered for %s", s.Label(), text.Duration(s.Health.Seconds)))
	f.Detail = fmt.Sprintf("Whoever touches it stops in the kernel: %s.", s.Where())
	if list := stall.Waiters(p, s.Device); len(list) > 0 {
		f.Detail += fmt.Sprintf(" Seen waiting for it: %s, the longest %s (%s).",
			text.Plural(len(list), "thread"), forensics.ThreadEntity(list[0].Thread).ID, list[0].Thread.Comm)
		f.Refs = append(f.Refs, stall.ThreadRef(list[0].Thread))
	}
	f.Detail += servedHow(p, s.Device)
	text, refs := fsview.Behind(p, s.Device)
	f.Detail += text
	f.Refs = append(f.Refs, refs...)
	f.ConfidenceWhy = "no answer for longer than --hung-after, measured by a probe"
	if s.Health.Method == mounts.MethodPassive {
		f.ConfidenceWhy = s.Health.Reason
	}
	f.Remedies = hungRemedies(p, s)
	return fsview.WithKernel(p, s.Mount(), f)
}

// hungRemedies are the steps for a file system that does not answer, in the order that works: the server first, then
// what releases the callers, the lazy unmount last because it releases nobody: who holds the mount is stopped before.
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

// firstStep is where to begin with a file system that does not answer: at its server or disk, and where the server of a
// FUSE file system itself waits for another file system, at the server or disk of that one.
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
			short = "is itself blocked" // in what has the names of files, for which the finding is the place
		}
		r = remedy.Tell(r, remedy.ActionLook, fmt.Sprintf("Look at %s, which serves %s (%s): it %s", remedy.ProcessWord(p, s.PID), shellword.Quote(m.Source), shellword.Quote(m.FSType), short))
	default:
		r = remedy.Tell(r, remedy.ActionLook, fmt.Sprintf("Look at %s, which has the connection of %s (%s) open: it is neither stopped nor blocked in a file system, so most "+
			"likely it waits for its own server, which the kernel does not show, or it does not read requests at all", remedy.ProcessWord(p, s.PID), shellword.Quote(m.Source), shellword.Quote(m.FSType)))
	}
	if s.Guess {
		r.OnlyIf = strings.TrimSuffix("it is the server, which is a guess: "+s.Why+"; "+r.OnlyIf, "; ")
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
