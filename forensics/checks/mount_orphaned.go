package checks

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/orphans"
	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
)

// mountOrphaned finds mounts below the directories of orphaned pods.
var mountOrphaned = forensics.Check{
	ID:    "mount-orphaned",
	Title: "A mount belongs to an orphaned pod",
	Doc: `A mount is below <kubelet root>/pods/<uid> of an orphaned pod (see pod-orphaned for the proof that this needs).
Nothing will unmount it: the kubelet unmounts only volumes that it remembers, and after a restart it forgets those that it
cannot reconstruct. Information; pod-orphaned-mounted reports the consequences.`,
	Severity: forensics.Info,
	Needs:    append(append([]forensics.Need{}, orphans.Needs...), forensics.Need{forensics.SourceMounts}),
	Run: func(p *forensics.Pass) {
		for _, d := range orphans.All(p) {
			for _, m := range p.Model.PodMounts(d.UID) {
				p.ReportAlike(nil, func(n int) string {
					return fmt.Sprintf("%d mounts belong to %s pods", n, d.Adjective())
				}, forensics.Finding{
					Severity: forensics.Info, Subject: forensics.MountEntity(m.ID), Confidence: d.Sure,
					Title:         fmt.Sprintf("%s is still mounted for %s %s", fsfamily.Label(m.FSType, m.Source), d.Adjective(), podInTitle(p, d.UID)),
					Detail:        fmt.Sprintf("Mount %d at %s (%s) of pod %s.", m.ID, m.MountPoint, m.FSType, p.Model.Pod(d.UID)),
					ConfidenceWhy: orphans.Why(p, d.UID), Pods: []string{d.UID}, Refs: orphans.SilentLogs(p, d),
				})
			}
		}
	},
}
