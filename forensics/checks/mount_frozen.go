package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/fsview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/shellword"
)

// mountFrozen finds file systems that were frozen on purpose.
var mountFrozen = forensics.Check{
	ID:    "mount-frozen",
	Title: "A file system is frozen",
	Doc: `A thread waits for write access to a frozen file system (fsfreeze(8), a snapshot or backup agent, dmsetup suspend).
The disk is healthy. Writes wait until the file system is thawed; reads work unless its device is suspended. A frozen file
system without writers is not detected: the test would need a write.`,
	Severity: forensics.Warning,
	Needs:    fsview.Needs,
	Run: fsview.ReportStatus(mounts.StatusFrozen,
		func(s fsview.Superblock) string { return s.Label() + " is frozen: writes wait" },
		"It was frozen on purpose. Writes wait until it is thawed.", func(p *forensics.Pass, m mounts.Mount) []forensics.Remedy {
			return []forensics.Remedy{thaw(p, m, forensics.Remedy{
				Action: remedy.ActionResume,
				Why:    "the waiting writers continue",
				OnlyIf: "no backup or snapshot is in progress: ask the owner of the backup agent first",
				Risk:   "a snapshot in progress becomes inconsistent",
			})}
		}),
}

// thaw adds the command that thaws a file system by one of its mounts on the host.
func thaw(p *forensics.Pass, m mounts.Mount, r forensics.Remedy) forensics.Remedy {
	if host, here := p.Model.Host().ByID(m.ID); !here || host.MountPoint != m.MountPoint || forensics.InVolume(p.Model, m.MountPoint) {
		return remedy.Tell(r, r.Action, "Ask the owner of the program that froze it to thaw it (fsfreeze -u): on the host, the path "+shellword.Quote(m.MountPoint)+
			" may lead to another file system")
	}
	return remedy.OnPath(r, m.MountPoint, "Thaw the file system at", "fsfreeze", "-u")
}
