package checks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/diskview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// imageGCRemovedInUse finds images that the kubelet removed and that are missing now.
var imageGCRemovedInUse = forensics.Check{
	ID:    "image-gc-removed-in-use",
	Title: "Images were removed that are needed",
	Doc: `Under disk pressure the kubelet deletes every image that no container uses at that moment, whatever the
thresholds, and those first that were never used: images that were loaded by hand (ctr or crictl import, an agent's image
directory). On a node without a registry they do not come back, and pods fail with ErrImagePull, ImagePullBackOff or
ErrImageNeverPull later.

It rests on the kubelet's log: "Removing image to free bytes", and pulls that fail after that. The line of a removal has
an image's id, that of a pull its name, so that the two are joined with certainty only where both are the same. It is
likely where a pull was refused by policy (ErrImageNeverPull: the image must have been loaded by hand), or where no
registry answered; an image that a registry does not know, or refuses, has other reasons. A removal alone is information:
whether an image was loaded by hand does not stand in the log.

The state of the node shows which images of static pods and DaemonSets are missing, or would go next because no container
uses them and they are not pinned while the disk is near a threshold.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceLogs, forensics.SourceRuntime}},
	Run: func(p *forensics.Pass) {
		imagesAtRisk(p)
		logview.SawKubelet(p)
		removed := logview.Events(p, logs.KindImageRemoved)
		if len(removed) == 0 {
			return
		}
		missing := missingAfter(removed, logview.Events(p, logs.KindImagePullFailed))
		p.Report(imagesRemovedFinding(p, removed, missing))
	},
}

func imagesRemovedFinding(p *forensics.Pass, removed, missing []logs.Event) forensics.Finding {
	var images []string
	var freed float64
	for _, e := range removed {
		images = append(images, shortImage(e.Image))
		freed += e.Number
	}
	images = findings.Union(nil, images)
	f := forensics.Finding{
		Severity: forensics.Info, Subject: diskview.ImageGCEntity, Since: logview.First(removed), Confidence: forensics.Possible,
		Title:         fmt.Sprintf("the kubelet has removed %s to free space: %s", text.Plural(len(images), "image"), findings.Some(images)),
		ConfidenceWhy: "the log says that they were removed, not whether a registry can give them back",
		Refs:          logview.EventRefs(removed...),
	}
	f.Detail = fmt.Sprintf("From %s to %s, %.1f MB. An image that was loaded by hand (ctr or crictl import) comes back by hand only.", logview.Moment(logview.First(removed)), logview.Clock(logview.Last(removed)), freed/1e6)
	if all := logview.Events(p, logs.KindImageGCAll); len(all) > 0 {
		f.Detail += " Under disk pressure every unused image goes, those first that no container has used yet."
		f.Refs = append(f.Refs, logview.EventRefs(all[0])...)
	}
	if logview.PressureInLog(p) != nil {
		f.Because = []forensics.Entity{logview.EvictionEntity}
	}
	f.Remedies = imageRemedies()
	if len(missing) > 0 {
		missingImages(p, &f, removed, missing)
	}
	return f
}

// missingAfter are the pulls that failed after images were removed, of images that are likely to be among them.
func missingAfter(removed, pulls []logs.Event) []logs.Event {
	first := logview.First(removed)
	likely := map[string]bool{}
	had := imagesOf(removed)
	for _, e := range pulls {
		last := logview.Last([]logs.Event{e})
		after := last != nil && first != nil && !last.Before(*first)
		likely[e.Image] = likely[e.Image] || after && (e.Code == "ErrImageNeverPull" || had[e.Image] || e.Cause() == logs.CauseNoRegistry)
	}
	return slices.DeleteFunc(slices.Clone(pulls), func(e logs.Event) bool { return !likely[e.Image] })
}

// imagesOf are the images that messages name.
func imagesOf(list []logs.Event) map[string]bool {
	named := map[string]bool{}
	for _, e := range list {
		named[e.Image] = e.Image != ""
	}
	return named
}

// missingImages makes the finding one of images that are missing.
func missingImages(p *forensics.Pass, f *forensics.Finding, removed, missing []logs.Event) {
	var names, pods []string
	f.Severity, f.Confidence = forensics.Warning, forensics.Likely
	f.ConfidenceWhy = "the pulls failed after the images were removed, since no registry answers; the log does not give a removed image's name"
	had := imagesOf(removed)
	for _, e := range missing {
		names = append(names, cmp.Or(e.Image, "an image that is not named"))
		if e.PodName != "" || e.PodUID != "" {
			uid := logview.UIDOf(p, e.Subject)
			pods = append(pods, findings.PodLabel(p, e.PodName, uid))
			f.Pods = append(f.Pods, findings.UIDs(uid)...)
		}
		switch {
		case had[e.Image]:
			f.Confidence, f.ConfidenceWhy = forensics.Certain, "the same image was removed, and its pull failed after that"
		case e.Code == "ErrImageNeverPull" && f.Confidence != forensics.Certain:
			f.ConfidenceWhy = "a pod that must not pull its image (ErrImageNeverPull) had it, and images were removed before"
		}
	}
	names, pods, f.Pods = findings.Union(nil, names), findings.Union(nil, pods), findings.Union(nil, f.Pods)
	f.Title = fmt.Sprintf("images were removed to free space, and now %s cannot be pulled", findings.Some(names))
	f.Detail += fmt.Sprintf(" After that %s failed: %s.", text.Plural(int(logview.Count(missing)), "pull"), cmp.Or(missing[0].Reason, missing[0].Code))
	if len(pods) > 0 {
		f.Detail += " Pods that wait for it: " + findings.Some(pods) + "."
	}
	f.Refs = append(logview.EventRefs(missing...), f.Refs...)
}

func imageRemedies() []forensics.Remedy {
	return append([]forensics.Remedy{{
		Action: remedy.ActionFree, Instruction: "Free space first: see disk-pressure and eviction-stuck", Why: "an image that is loaded again while the pressure lasts is removed again",
		Risk: "none",
	}}, loadImage("loads the image again", "the pressure is over, and the archive of the image is at hand")...)
}

// loadImage is how an image comes back that was loaded by hand, and stays.
func loadImage(why, onlyIf string) []forensics.Remedy {
	pin := pinImage()
	pin.Why = "pins it: a kubelet from 1.23 on leaves pinned images alone (CRI-O: pinned_images)"
	return []forensics.Remedy{{
		Action: remedy.ActionRepair, Command: []string{"ctr", "-n", "k8s.io", "images", "import", "FILE.tar"}, Why: why, OnlyIf: onlyIf, Risk: "none",
	}, pin}
}

func pinImage() forensics.Remedy {
	return forensics.Remedy{
		Action: remedy.ActionConfigure, Command: []string{"ctr", "-n", "k8s.io", "images", "label", "NAME", "io.cri-containerd.pinned=pinned"},
		Why:  "the kubelet leaves pinned images alone (1.23 and later; CRI-O: pinned_images)",
		Risk: "none. The key is io.cri-containerd.pinned; other spellings do nothing",
	}
}

// shortImage cuts the digest of an image's id.
func shortImage(id string) string {
	const most = len("sha256:") + 12
	if strings.HasPrefix(id, "sha256:") && len(id) > most {
		return id[:most]
	}
	return cmp.Or(id, "an image")
}

// imagesAtRisk reports images of static pods and DaemonSets that the kubelet deletes with the next collection or eviction
// and that may not come back, and those that are missing already, as far as the state of the node shows. It belongs to
// image-gc-removed-in-use, whose other half rests on the log.
func imagesAtRisk(p *forensics.Pass) {
	risks := diskview.ImageRisks(p)
	if missing := slices.DeleteFunc(slices.Clone(risks), func(r diskview.ImageRisk) bool { return r.Missing == "" }); len(missing) > 0 {
		p.Report(missingImagesFinding(missing))
	}
	d := diskview.State(p)
	image, ok := d.Of(eviction.RoleImage)
	if !ok || !d.IsNear(image.Device) {
		return // nothing is about to be deleted
	}
	if unused := slices.DeleteFunc(risks, func(r diskview.ImageRisk) bool { return !r.Unused }); len(unused) > 0 {
		f := atRiskFinding(unused)
		f.Because, f.Refs = []forensics.Entity{diskview.Entity(image)}, []forensics.Ref{diskview.Ref(image)}
		f.Detail = "No container of these pods exists at the moment, their images are not pinned, and the file system of images is near a threshold." + diskview.Reclaim(p, image)
		p.Report(f)
	}
}

func atRiskFinding(risks []diskview.ImageRisk) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Info, Subject: diskview.ImageGCEntity,
		Confidence: forensics.Possible, ConfidenceWhy: "whether a registry can give them back was not asked",
		Remedies: []forensics.Remedy{pinImage()},
	}
	var names []string
	for _, r := range risks {
		words := r.Name
		if r.Never {
			words += " (imagePullPolicy Never)"
			f.Severity = forensics.Warning
			f.Confidence, f.ConfidenceWhy = forensics.Likely, "no container uses it, it is not pinned, and its pod must not pull it"
		}
		names = append(names, words)
		f.Pods = append(f.Pods, r.Pods...)
	}
	f.Title = fmt.Sprintf("the kubelet may delete %s of static pods and DaemonSets that it may not get back: %s",
		text.Plural(len(names), "image"), strings.Join(names[:min(len(names), 5)], ", "))
	return f
}

func missingImagesFinding(risks []diskview.ImageRisk) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: diskview.ImageGCEntity, Confidence: forensics.Possible,
		ConfidenceWhy: "the runtime does not have them and containers wait for them; whether they were there and who removed them does not show",
		Detail:        "Under disk pressure the kubelet deletes every image that no container uses. One that was loaded by hand (ctr or crictl import) comes back by hand only.",
		Remedies:      loadImage("loads the image", "the disk has room again, and the archive of the image is at hand"),
	}
	var names []string
	for _, r := range risks {
		names = append(names, r.Name+" ("+r.Missing+")")
		f.Pods = append(f.Pods, r.Pods...)
		f.Refs = append(f.Refs, forensics.Ref{Source: forensics.SourceAPIDump, Excerpt: strings.Join(r.Pods, ", ") + ": " + r.Name + ": " + r.Missing})
	}
	f.Title = fmt.Sprintf("%s of static pods and DaemonSets are not on the node: %s", text.Plural(len(names), "image"), strings.Join(names[:min(len(names), 5)], ", "))
	return f
}
