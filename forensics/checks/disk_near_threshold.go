package checks

import (
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/diskview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
)

// diskNearThreshold finds file systems that are near an eviction threshold, and thresholds that do not protect the node.
var diskNearThreshold = forensics.Check{
	ID:    "disk-near-threshold",
	Title: "A disk is near an eviction threshold, or an eviction setting is wrong",
	Doc: `Less than 5 % of the capacity is left above an eviction threshold (information), or less than 2 % (warning). It is a warning, too, if
the disk has the images and eviction comes before image garbage collection, so that nothing frees space until then. See
disk-pressure for the source of thresholds and figures.

The check also reports wrong eviction settings:

- One evictionHard threshold disables the defaults of the others.
- A percentage never triggers (0% and 100% are ignored).
- The kubelet does not start with a value.
- A soft threshold has no grace period.
- A hard threshold is met with 40 % of the disk in use, or less.
- Image garbage collection starts only after eviction, or never.

It is a warning if the kubelet would not start, if no threshold watches nodefs, or if one is met with hardly anything in use; otherwise it is information. Settings
that a distribution compiles into its program are known for k3s and rke2 only.`,
	Severity: forensics.Warning,
	Needs:    diskview.Needs,
	Run: func(p *forensics.Pass) {
		d := diskview.State(p)
		for _, f := range d.FileSystems {
			if _, full := f.Full(); f.Error != "" || full || len(diskview.Met(d, f)) > 0 || diskview.ReadOnly(f) {
				continue // is disk-pressure
			}
			if list := d.Reaches(f.Device); len(list) > 0 && list[0].Left() < eviction.Near {
				p.Report(nearFinding(p, f, list[0]))
			}
		}
		for _, problem := range d.Problems {
			p.Report(settingsFinding(p, problem))
		}
		diskview.Doubt(p)
	},
}

// nearWarning is what may be left above a threshold for a warning, in percent of the capacity.
const nearWarning = 2

func nearFinding(p *forensics.Pass, f eviction.FileSystem, r eviction.Reach) forensics.Finding {
	d := diskview.State(p)
	found := forensics.Finding{
		Severity: forensics.Info, Subject: diskview.Entity(f), Refs: []forensics.Ref{diskview.Ref(f)},
		Title:    fmt.Sprintf("%s has %.1f %% left above the %s eviction threshold %s", diskview.Label(d, f), r.Left(), r.Threshold.Kind, r.Threshold),
		Detail:   diskview.ReachText(r) + ". " + diskview.Fillers(p, f) + diskview.Reclaim(p, f),
		Remedies: diskview.Remedies(p, f),
	}
	found.Confidence, found.ConfidenceWhy = diskview.Figures(f)
	found.ConfidenceWhy += "; the thresholds are those of the kubelet's configuration"
	if r.Left() < nearWarning || evictsFirst(d, f, r) {
		found.Severity = forensics.Warning
	}
	if d.Assumed != "" {
		found.Confidence, found.ConfidenceWhy = forensics.Possible, "the kubelet's thresholds may differ: "+d.Assumed
	}
	if gc := d.ImageGC; gc.Disabled == "" {
		if image, ok := d.Of(eviction.RoleImage); ok && image.Device == f.Device {
			found.Detail += fmt.Sprintf(" Image garbage collection starts at %d %% disk usage and frees space down to %d %%. Disk usage is %d %%.", gc.HighPercent, gc.LowPercent, image.UsagePercent())
		}
	}
	return found
}

// evictsFirst says whether a hard threshold of the disk with the images is met before image garbage collection frees any space: nothing stops
// a disk that fills.
func evictsFirst(d *eviction.Index, f eviction.FileSystem, r eviction.Reach) bool {
	gc, t := d.ImageGC, r.Threshold
	image, ok := d.Of(eviction.RoleImage)
	return ok && image.Device == f.Device && t.Hard() && t.Percent > 0 && !t.Inodes() && gc.Disabled == "" && float64(gc.HighPercent) > 100-t.Percent
}

func settingsFinding(p *forensics.Pass, problem eviction.Problem) forensics.Finding {
	title, more, _ := strings.Cut(problem.Text, ". ") // the first sentence is the headline
	found := forensics.Finding{
		Severity: forensics.Info, Subject: forensics.Entity{Kind: forensics.KindSubsystem, ID: "eviction"}, Confidence: forensics.Certain,
		Title:         findings.Capital(strings.TrimSuffix(title, ".")),
		Detail:        findings.Sentences(more, "The setting comes from the kubelet's flags or its configuration file; the defaults are those of its version."),
		ConfidenceWhy: "read from the kubelet's flags and configuration",
		Remedies: []forensics.Remedy{{
			Action: remedy.ActionConfigure, Instruction: "Correct evictionHard, evictionSoft or imageGCHighThresholdPercent in the kubelet's configuration, then restart the kubelet",
			Why:  "the kubelet reads the thresholds when it starts",
			Risk: "with a higher threshold the kubelet may evict pods at once. Containers keep running during the restart",
		}},
	}
	if assumed := diskview.State(p).Assumed; assumed != "" {
		found.Confidence, found.ConfidenceWhy = forensics.Possible, "not all kubelet settings are known: "+assumed
	}
	if problem.Signal != "" {
		found.Subject = diskview.ThresholdEntity(problem.Signal)
	}
	if problem.Serious {
		found.Severity = forensics.Warning
	}
	if k := p.Evidence.Kubelet; k != nil && k.ConfigPath != "" {
		found.Refs = []forensics.Ref{{Source: forensics.SourceKubelet + ":" + k.ConfigPath, Excerpt: problem.Text}}
	}
	return found
}
