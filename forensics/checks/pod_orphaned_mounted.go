package checks

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/orphans"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/shellword"
)

// podOrphanedMounted finds orphaned pod directories with volumes that are still mounted.
var podOrphanedMounted = forensics.Check{
	ID:    "pod-orphaned-mounted",
	Title: "Orphaned pod directory with mounted volumes",
	Doc: `As pod-orphaned, with mounts at or below the pod directory. The kubelet keeps such a directory and logs that only
at verbosity 3 and above (kubelet_volumes.go, cleanupOrphanedPodDirs), so the dangerous case is silent. The kubelet checks
the mounts in every housekeeping. If one of them does not respond, the whole kubelet hangs on it. The kubelet does not
check for mounted subPaths: it repeatedly fails to remove them (since 1.18 with "device or resource busy"). With the log alone, that message
is the evidence of the mount.`,
	Severity: forensics.Warning,
	Needs: []forensics.Need{
		{forensics.SourcePodDirs, forensics.SourceLogs},
		{forensics.SourceKubeletPods, forensics.SourceRuntime, forensics.SourceLogs, forensics.SourcePodDirs},
		{forensics.SourceMounts, forensics.SourceLogs},
	},
	Run: func(p *forensics.Pass) {
		complaints := orphans.InLog(p)
		for _, o := range orphans.All(p) {
			if len(o.Points()) > 0 {
				p.Report(complaints.Join(orphanMountedFinding(p, o, p.Model.PodMounts(o.UID))))
			}
			complaints.Done(o.UID)
		}
		complaints.ReportMounted(p)
	},
}

func orphanMountedFinding(p *forensics.Pass, o orphans.Orphan, list []mounts.Mount) forensics.Finding {
	f := orphans.NewFinding(p, o)
	f.Title = orphans.NamedHeadline(p, o) + " still has " + findings.Plural(max(len(list), len(o.Points())), "mount")
	if data := o.WithData(); len(data) > 0 {
		f.Title += ", and data on the node's own disk: " + orphans.Size(data[0])
	}
	f.Effect = "orphaned pod directory remains"
	for i := len(list) - 1; i >= 0; i-- { // the last mounted is unmounted first
		m := list[i]
		f.Because = append(f.Because, forensics.MountEntity(m.ID))
		f.Refs = append(f.Refs, forensics.Ref{
			Source:  fmt.Sprintf("%s:%d", forensics.SourceMounts, m.ID),
			Excerpt: fmt.Sprintf("%d %s %s - %s %s", m.ID, m.Device, m.MountPoint, m.FSType, m.Source),
		})
		if h, ok := p.Model.Health(m.Device); ok && h.Status == mounts.StatusHung {
			continue // the steps for a hung mount come with mount-hung
		}
		f.Remedies = append(f.Remedies, remedy.Unmount(p, m, forensics.Remedy{
			Why:    "the pod no longer exists, and nothing else unmounts the volume. The next housekeeping then removes the directory",
			OnlyIf: "the pod still does not exist (kubectl get pods -A -o yaml | grep " + shellword.Quote(o.UID) + " finds nothing), and no process uses the mount",
			Risk:   "a plain unmount fails while the mount is in use, which is safe. Find the process that uses it; do not force the unmount",
		}, "-c"))
	}
	f.Remedies = o.Steps(p, append(f.Remedies, orphans.PlanFirst())...)
	return f
}
