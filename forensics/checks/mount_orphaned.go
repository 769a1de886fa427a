package checks

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/orphans"
)

// mountOrphaned finds mounts below the directories of pods that are gone.
var mountOrphaned = forensics.Check{
	ID:    "mount-orphaned",
	Title: "A mount belongs to a pod that is gone",
	Doc: `A mount below <kubelet root>/pods/<uid> of a pod that is orphaned (see pod-orphaned for the proof that this
needs). Nobody will unmount it: the kubelet only unmounts volumes that it remembers, and after a restart it forgets those
that it cannot reconstruct. Information; what follows from it is pod-orphaned-mounted.`,
	Severity: forensics.Info,
	Needs:    append(append([]forensics.Need{}, orphans.Needs...), forensics.Need{forensics.SourceMounts}),
	Run: func(p *forensics.Pass) {
		for _, d := range orphans.All(p) {
			for _, m := range p.Model.PodMounts(d.UID) {
				p.ReportAlike(nil, func(n int) string {
					return fmt.Sprintf("%d mounts belong to pods that are gone", n)
				}, forensics.Finding{
					Severity: forensics.Info, Subject: forensics.MountEntity(m.ID), Confidence: forensics.Certain,
					Title:         fmt.Sprintf("mount %d at %s belongs to pod %s, which is gone", m.ID, m.MountPoint, p.Model.Pod(d.UID)),
					Detail:        fmt.Sprintf("%s from %s.", m.FSType, m.Source),
					ConfidenceWhy: orphans.Why(p, d.UID), Pods: []string{d.UID},
				})
			}
		}
	},
}
