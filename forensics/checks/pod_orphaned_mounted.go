package checks

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/orphans"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/shellword"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// podOrphanedMounted finds pods that are gone and whose volumes are still mounted.
var podOrphanedMounted = forensics.Check{
	ID:    "pod-orphaned-mounted",
	Title: "A pod is gone, its volumes are still mounted",
	Doc: `As pod-orphaned, with mounts at or below the pod's directory. The kubelet keeps such a directory and says so only
at verbosity 3 and above (kubelet_volumes.go, cleanupOrphanedPodDirs): the dangerous case is the silent one. It looks at
the mounts on every housekeeping; if one of them does not answer, the whole kubelet stops there. Mounted subpaths it does
not look for: those it fails to remove (from 1.18 on with "device or resource busy"), again and again.`,
	Severity: forensics.Warning,
	Needs:    append(append([]forensics.Need{}, orphans.Needs...), forensics.Need{forensics.SourceMounts}),
	Run: func(p *forensics.Pass) {
		for _, o := range orphans.All(p) {
			if len(o.Points()) > 0 {
				p.Report(orphans.InLog(p).Join(orphanMountedFinding(p, o, p.Model.PodMounts(o.UID))))
			}
		}
	},
}

func orphanMountedFinding(p *forensics.Pass, o orphans.Orphan, list []mounts.Mount) forensics.Finding {
	f := orphans.NewFinding(p, o)
	f.Title = fmt.Sprintf("pod %s is gone, %s of it still there", p.Model.Pod(o.UID), text.Plural(max(len(list), len(o.Points())), "mount"))
	if data := o.WithData(); len(data) > 0 {
		f.Title += ", and DATA on the node's own disk: " + orphans.InsideText(data[0])
	}
	for i := len(list) - 1; i >= 0; i-- { // the last mounted goes first
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
			Why:    "the pod is gone and nothing else unmounts it; then the next housekeeping removes the directory",
			OnlyIf: "the pod is still gone (kubectl get pods -A -o yaml | grep " + shellword.Quote(o.UID) + " finds nothing), and no process uses the mount",
			Risk:   "a plain unmount fails while the mount is in use, which is the safe answer: find the user instead of forcing it",
		}, "-c"))
	}
	f.Remedies = append(f.Remedies, orphans.PlanFirst())
	return f
}
