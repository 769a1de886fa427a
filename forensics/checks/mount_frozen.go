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
	Doc: `A thread waits for write access to a file system that somebody has frozen (fsfreeze(8), a snapshot or backup
agent, dmsetup suspend). The disk is well: writes wait until it is thawed, and reads work unless its device is
suspended. A frozen file system that nobody writes to is not noticed: asking for that would need a write.`,
	Severity: forensics.Warning,
	Needs:    fsview.Needs,
	Run: fsview.ReportStatus(mounts.StatusFrozen,
		func(s fsview.Superblock) string { return s.Label() + " is frozen: writers wait" },
		"Somebody froze it, writes wait until it is thawed:", func(p *forensics.Pass, m mounts.Mount) []forensics.Remedy {
			return []forensics.Remedy{thaw(p, m, forensics.Remedy{
				Action: remedy.ActionResume,
				Why:    "lets the waiting writers go on",
				OnlyIf: "no backup or snapshot is being taken: ask the owner of the backup agent first",
				Risk:   "a snapshot that is being taken becomes inconsistent",
			})}
		}),
}

// thaw adds the command that thaws a file system by one of its mounts on the host.
func thaw(p *forensics.Pass, m mounts.Mount, r forensics.Remedy) forensics.Remedy {
	if host, here := p.Model.Host().ByID(m.ID); !here || host.MountPoint != m.MountPoint || forensics.InVolume(p.Model, m.MountPoint) {
		return remedy.Tell(r, r.Action, "Have it thawed by whoever froze it (fsfreeze -u): by its path "+shellword.Quote(m.MountPoint)+", the host may reach another one")
	}
	return remedy.OnPath(r, m.MountPoint, "Thaw the file system at", "fsfreeze", "-u")
}
