package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/fsview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// mountStale finds file systems whose root the server no longer has.
var mountStale = forensics.Check{
	ID:    "mount-stale",
	Title: "A mount is stale",
	Doc: `The mount answers ESTALE. The server no longer knows the mounted directory, because the export was recreated or the
directory was deleted. The mount does not recover. The kubelet reports an error and keeps the pod; nothing hangs.
Where mounts were not read, messages show it: "stale NFS file handle", twice for the same path. "mount-dead" are those of no other kind.`,
	Severity: forensics.Warning,
	Needs:    orLogs(fsview.Needs),
	Run: withLog("stale", "is stale", "was stale", fsview.ReportStatus(mounts.StatusStale,
		func(s fsview.Superblock) string {
			return s.Label() + " is stale: the server no longer knows the mounted directory"
		},
		"It answers ESTALE and does not recover.", func(p *forensics.Pass, m mounts.Mount) []forensics.Remedy {
			return []forensics.Remedy{remedy.UnmountDead(p, m)}
		})),
}
