package checks

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/diskview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
)

// diskNearThreshold finds file systems that are about to pass a threshold, and thresholds that protect less than they seem to.
var diskNearThreshold = forensics.Check{
	ID:    "disk-near-threshold",
	Title: "A disk is near a threshold of eviction, or the thresholds are set badly",
	Doc: `Less than 5 % of the capacity lie between what is available and a threshold of eviction (information), or less
than 2 % (warning). See disk-pressure for how thresholds and figures are found.

It also names what is wrong with the settings themselves: one evictionHard threshold that switches off the defaults of
the others, percentages that never trigger (0% and 100% are ignored), values that the kubelet does not start with, soft
thresholds without a grace period, image garbage collection that begins only after eviction, or never. A warning where
the kubelet would not start or nothing guards nodefs, else information. What a distribution sets within its own program
is known of k3s and rke2 only.`,
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
		Severity: forensics.Info, Subject: diskview.Entity(f), Confidence: forensics.Certain, Refs: []forensics.Ref{diskview.Ref(f)},
		Title:         fmt.Sprintf("%s is %.1f %% of its size away from the %s eviction threshold %s", diskview.Label(d, f), r.Left(), r.Threshold.Kind, r.Threshold),
		Detail:        diskview.ReachText(r) + ". " + diskview.Fillers(p, f) + diskview.Reclaim(p, f),
		ConfidenceWhy: "the figures of statfs against the kubelet's configuration",
		Remedies:      diskview.Remedies(p, f),
	}
	if r.Left() < nearWarning {
		found.Severity = forensics.Warning
	}
	if d.Assumed != "" {
		found.Confidence, found.ConfidenceWhy = forensics.Possible, "the kubelet may have other thresholds: "+d.Assumed
	}
	if gc := d.ImageGC; gc.Disabled == "" {
		if image, ok := d.Of(eviction.RoleImage); ok && image.Device == f.Device {
			found.Detail += fmt.Sprintf(" Image garbage collection begins at %d %% usage and frees down to %d %%; it is at %d %%.", gc.HighPercent, gc.LowPercent, image.UsagePercent())
		}
	}
	return found
}

func settingsFinding(p *forensics.Pass, problem eviction.Problem) forensics.Finding {
	found := forensics.Finding{
		Severity: forensics.Info, Subject: forensics.Entity{Kind: forensics.KindSubsystem, ID: "eviction"}, Confidence: forensics.Certain,
		Title:         "settings of eviction: " + problem.Text,
		Detail:        "The kubelet has this from its flags or its configuration file; the defaults are those of its version.",
		ConfidenceWhy: "the kubelet's flags and configuration",
		Remedies: []forensics.Remedy{{
			Action: remedy.ActionConfigure, Instruction: "Correct evictionHard, evictionSoft or imageGCHighThresholdPercent in the kubelet's configuration, then restart the kubelet",
			Why:  "the thresholds are read when the kubelet starts",
			Risk: "with a higher threshold the kubelet may begin to evict at once; containers go on running over the restart",
		}},
	}
	if assumed := diskview.State(p).Assumed; assumed != "" {
		found.Confidence, found.ConfidenceWhy = forensics.Possible, "not all of the kubelet's settings are known: "+assumed
	}
	if problem.Serious {
		found.Severity = forensics.Warning
	}
	if k := p.Evidence.Kubelet; k != nil && k.ConfigPath != "" {
		found.Refs = []forensics.Ref{{Source: forensics.SourceKubelet + ":" + k.ConfigPath, Excerpt: problem.Text}}
	}
	return found
}
