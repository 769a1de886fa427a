package checks

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// MountHung finds file systems that do not answer.
var MountHung = forensics.Check{
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
	Needs:    needsHealth,
	Run: func(p *forensics.Pass) {
		unjudged(p)
		for _, s := range superblocks(p, mounts.StatusHung) {
			p.Report(hungFinding(p, s))
		}
	},
}

func hungFinding(p *forensics.Pass, s superblock) forensics.Finding {
	severity := forensics.Warning
	if len(s.kubelet) > 0 || s.kubeletWaits(p) {
		severity = forensics.Critical
	}
	f := s.finding(p, severity, fmt.Sprintf("%s has not answered for %s", s.label(), text.Duration(s.health.Seconds)))
	f.Detail = fmt.Sprintf("Whoever touches it stops in the kernel: %s.", s.where())
	if list := waiters(p, s.device); len(list) > 0 {
		f.Detail += fmt.Sprintf(" Seen waiting for it: %s, the longest %s (%s).",
			text.Plural(len(list), "thread"), forensics.ThreadEntity(list[0].thread).ID, list[0].thread.Comm)
		f.Refs = append(f.Refs, threadRef(list[0].thread))
	}
	f.Detail += servedHow(p, s.device)
	text, refs := behind(p, s.device)
	f.Detail += text
	f.Refs = append(f.Refs, refs...)
	f.ConfidenceWhy = "no answer for longer than --hung-after, measured by a probe"
	if s.health.Method == "passive" {
		f.ConfidenceWhy = s.health.Reason
	}
	f.Remedies = hungRemedies(p, s)
	return withKernel(p, s.mount(), f)
}
