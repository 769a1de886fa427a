package checks

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/orphans"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// podOrphanedVolData finds pods that are gone and of whose CSI volumes only vol_data.json is left.
var podOrphanedVolData = forensics.Check{
	ID:    "pod-orphaned-vol-data",
	Title: "A pod is gone, vol_data.json of its CSI volume is not",
	Doc: `As pod-orphaned, with a CSI volume that is not mounted and in whose directory vol_data.json is left, with an empty
directory "mount" or none: the driver's unmount went well, and the kubelet was stopped, or failed, before it removed the
file. No kubelet (seen from 1.17 to 1.36) removes it: every housekeeping fails, up to 1.17 with "volume paths are still
present on disk", later with "not a directory". Nothing else suffers but the log, and other errors of this kind that it
hides: only the first is printed. If anything else lies in the volume it is pod-orphaned, since that may be data.`,
	Severity: forensics.Warning,
	Needs:    orphans.Needs,
	Run: func(p *forensics.Pass) {
		found := orphans.InLog(p).Findings()
		for _, o := range orphans.All(p) {
			if len(o.Points()) == 0 && o.Has(kubelet.CSIVolDataLeft) {
				found.Add(o, volDataFinding(p, o))
			}
		}
		found.Report(p, func(n int, _ orphans.Orphan) string {
			return fmt.Sprintf("%d pods are gone, vol_data.json of their CSI volumes is left and keeps their directories", n)
		})
	},
}

// volDataFinding is about CSI volumes of which only vol_data.json is left.
func volDataFinding(p *forensics.Pass, o orphans.Orphan) forensics.Finding {
	f := orphans.NewFinding(p, o)
	n := 0
	for _, l := range o.Left {
		if l.Class == kubelet.CSIVolDataLeft {
			n++
		}
	}
	f.Title = fmt.Sprintf("pod %s is gone, vol_data.json of %s is left and keeps its directory", p.Model.Pod(o.UID), text.Plural(n, "CSI volume"))
	if data := o.WithData(); len(data) > 0 {
		f.Title += "; another volume holds DATA: " + orphans.InsideText(data[0])
	}
	f.Remedies = []forensics.Remedy{orphans.LookFirst(o.PodDir), orphans.PlanFirst()}
	return f
}
