package checks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// imagesAtRisk reports images of static pods and DaemonSets that the kubelet deletes with the next collection or eviction
// and that may not come back, and those that are missing already, as far as the state of the node shows. It belongs to
// image-gc-removed-in-use, whose other half rests on the log.
func imagesAtRisk(p *forensics.Pass) {
	risks := p.Model.ImageRisks()
	if missing := slices.DeleteFunc(slices.Clone(risks), func(r forensics.ImageRisk) bool { return r.Missing == "" }); len(missing) > 0 {
		p.Report(missingImagesFinding(missing))
	}
	d := diskState(p)
	image, ok := d.Of(eviction.RoleImage)
	if !ok || !d.IsNear(image.Device) {
		return // nothing is about to be deleted
	}
	if unused := slices.DeleteFunc(risks, func(r forensics.ImageRisk) bool { return !r.Unused }); len(unused) > 0 {
		f := atRiskFinding(unused)
		f.Because, f.Refs = []forensics.Entity{diskEntity(image)}, []forensics.Ref{diskRef(image)}
		f.Detail = "No container of these pods exists at the moment, their images are not pinned, and the file system of images is near a threshold." + next(p, image)
		p.Report(f)
	}
}

func atRiskFinding(risks []forensics.ImageRisk) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Info, Subject: imageGCEntity,
		Confidence: forensics.Possible, ConfidenceWhy: "whether a registry can give them back was not asked",
		Remedies: []forensics.Remedy{{
			Command: "ctr -n k8s.io images label NAME io.cri-containerd.pinned=pinned",
			Why:     "the kubelet leaves pinned images alone (1.23 and later; CRI-O: pinned_images)",
			Risk:    "none. The key is io.cri-containerd.pinned; other spellings do nothing",
		}},
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

func missingImagesFinding(risks []forensics.ImageRisk) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: imageGCEntity, Confidence: forensics.Possible,
		ConfidenceWhy: "the runtime does not have them and containers wait for them; whether they were there and who removed them does not show",
		Detail:        "Under disk pressure the kubelet deletes every image that no container uses. One that was loaded by hand (ctr or crictl import) comes back by hand only.",
		Remedies: []forensics.Remedy{{
			Command:      "ctr -n k8s.io images import FILE.tar && ctr -n k8s.io images label NAME io.cri-containerd.pinned=pinned",
			Why:          "loads the image and pins it: a kubelet from 1.23 on leaves pinned images alone (CRI-O: pinned_images)",
			Precondition: "the disk has room again, and the archive of the image is at hand",
			Risk:         "none. The key is io.cri-containerd.pinned; other spellings do nothing",
		}},
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

// imageGCTooLittle reports that image garbage collection cannot free what it wants to: what fills the disk is no image. It
// belongs to image-gc-failing, whose other half rests on the log. The kubelet counts as the runtime tells it the sizes.
func imageGCTooLittle(p *forensics.Pass) {
	d := diskState(p)
	image, ok := d.Of(eviction.RoleImage)
	if !ok {
		return
	}
	wanted := int64(d.ImageGC.AmountToFree(image))
	if wanted == 0 {
		return
	}
	unused, pinned, known := p.Model.UnusedImages()
	sum, unknown := forensics.ImageSizes(unused)
	if !known || unknown > 0 {
		p.Unjudged("the sizes of unused images are not known")
		return
	}
	if sum >= wanted {
		return
	}
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: imageGCEntity,
		Because: []forensics.Entity{diskEntity(image)}, Refs: []forensics.Ref{diskRef(image)}, Confidence: forensics.Likely,
		ConfidenceWhy: "the kubelet's own sum, with the sizes that the runtime has on disk",
		Title: fmt.Sprintf("garbage collection of images cannot free enough: it wants %s, and unused images have %s",
			text.Bytes(wanted), text.Bytes(sum)),
		Detail: fmt.Sprintf("imagefs is at %d %%, from %d %% on the kubelet frees down to %d %%. %s are unused, %d more are pinned. What fills the disk is something else. %s",
			image.UsagePercent(), d.ImageGC.HighPercent, d.ImageGC.LowPercent, text.Plural(len(unused), "image"), len(pinned), fillers(p, image)),
		Remedies: diskRemedies(p, image),
	}
	p.Report(f)
}
