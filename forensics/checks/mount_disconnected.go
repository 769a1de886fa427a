package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/fsview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// mountDisconnected finds file systems whose server process or client is gone.
var mountDisconnected = forensics.Check{
	ID:    "mount-disconnected",
	Title: "A mount has lost its server",
	Doc: `The mount answers ENOTCONN, ECONNABORTED or ESHUTDOWN: the FUSE server has died or its connection was aborted,
or a network client was thrown out (CephFS then answers EACCES, too, and debugfs says "blocklisted"). It does not heal. Typical after a restart of a CSI driver whose FUSE servers run in
its own pod. A FUSE server that lives passes on what the file system below it answers; then that one is named. The SMB client is different: it answers EHOSTDOWN while it has no connection, and heals when the server is
back.`,
	Severity: forensics.Warning,
	Needs:    fsview.Needs,
	Run: fsview.ReportStatus(mounts.StatusDisconnected,
		func(s fsview.Superblock) string { return s.Label() + " has lost its server: " + s.Health.Error },
		"It answers every call with an error and will not recover:",
		func(p *forensics.Pass, m mounts.Mount) []forensics.Remedy {
			if remedy.IsSMB(m) {
				return []forensics.Remedy{remedy.Revive(m), remedy.UnmountDead(p, m)}
			}
			return []forensics.Remedy{remedy.UnmountDead(p, m)}
		}),
}
