package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/orphans"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
)

// podOrphanedVolData finds orphaned pod directories with a leftover vol_data.json of a CSI volume.
var podOrphanedVolData = forensics.Check{
	ID:    "pod-orphaned-vol-data",
	Title: "Orphaned pod directory with a leftover vol_data.json",
	Doc: `As pod-orphaned, with a CSI volume that is not mounted. Its directory has a leftover vol_data.json, with an empty
"mount" directory or none. The driver unmounted the volume, and the kubelet was stopped, or failed, before it removed the
file. No kubelet (tested from 1.17 to 1.36) removes it. Every housekeeping fails, up to 1.17 with "volume paths are still
present on disk", later with "not a directory". The only effects are log messages, and that they hide other errors of this
kind: the kubelet logs only the first. If the volume contains anything else, it is reported as pod-orphaned, because that
may be data. Where only the log was read, "not a directory" of the volumes directory makes it likely: a file is there.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourcePodDirs, forensics.SourceLogs}, {forensics.SourceKubeletPods, forensics.SourceRuntime, forensics.SourceLogs, forensics.SourcePodDirs}},
	Run: func(p *forensics.Pass) {
		complaints := orphans.InLog(p)
		found := complaints.Findings()
		for _, o := range orphans.All(p) {
			if len(o.Points()) == 0 && o.Has(kubelet.CSIVolDataLeft) {
				found.Add(o, volDataFinding(p, o))
			}
			complaints.Done(o.UID)
		}
		found.Report(p)
		complaints.ReportFiles(p)
	},
}

// volDataFinding is about CSI volumes with nothing but vol_data.json left.
func volDataFinding(p *forensics.Pass, o orphans.Orphan) forensics.Finding {
	f := orphans.NewFinding(p, o)
	if data := o.WithData(); len(data) > 0 {
		f.Title += "; another volume has data: " + orphans.Size(data[0])
	}
	f.Remedies = o.Steps(p, orphans.LookFirst(o.PodDir), orphans.PlanFirst())
	return f
}
