package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/fsview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// mountDisconnected finds file systems that have lost their server process or network client.
var mountDisconnected = forensics.Check{
	ID:    "mount-disconnected",
	Title: "A mount has lost its server",
	Doc: `The mount answers ENOTCONN, ECONNABORTED or ESHUTDOWN. The FUSE server has died, its connection was aborted, or a
network client was evicted (CephFS then also answers EACCES, and debugfs says "blocklisted"). The mount does not recover.
Typical after a restart of a CSI driver that runs its FUSE servers in its own pod. A running FUSE server passes on the errors of
the file system below it; then the finding names that file system. The SMB client is different: it answers EHOSTDOWN while it has
no connection, and recovers when the server is back.`,
	Severity: forensics.Warning,
	Needs:    fsview.Needs,
	Run: fsview.ReportStatus(mounts.StatusDisconnected,
		func(s fsview.Superblock) string { return s.Label() + " has lost its server: " + s.Health.Error },
		"It answers every call with an error and does not recover.",
		func(p *forensics.Pass, m mounts.Mount) []forensics.Remedy {
			if remedy.IsSMB(m) {
				return []forensics.Remedy{remedy.Revive(m), remedy.UnmountDead(p, m)}
			}
			return []forensics.Remedy{remedy.UnmountDead(p, m)}
		}),
}
