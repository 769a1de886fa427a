package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/fsview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// mountStale finds file systems whose object is gone at the server.
var mountStale = forensics.Check{
	ID:    "mount-stale",
	Title: "A mount is stale",
	Doc: `The mount answers ESTALE: the server no longer knows the directory that was mounted, because the export was made
anew or the directory was deleted. It does not heal. The kubelet reports an error and keeps the pod; nothing hangs.`,
	Severity: forensics.Warning,
	Needs:    fsview.Needs,
	Run: fsview.ReportStatus(mounts.StatusStale,
		func(s fsview.Superblock) string { return s.Label() + " is stale: the server no longer knows it" },
		"It answers ESTALE and will not recover:", func(p *forensics.Pass, m mounts.Mount) []forensics.Remedy {
			return []forensics.Remedy{remedy.UnmountDead(p, m)}
		}),
}
