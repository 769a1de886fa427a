package checks

import (
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/disks"
)

// imagesAtRisk reports images of static pods and DaemonSets that the kubelet deletes with the next collection or eviction
// and that may not come back, as far as the state of the node shows. It belongs to image-gc-removed-in-use, whose other
// half rests on the log.
func imagesAtRisk(p *forensics.Pass) {
	d := diskState(p)
	image, ok := d.Of(disks.RoleImage)
	if !ok || !d.IsNear(image.Device) {
		return // nothing is about to be deleted
	}
	var names []string
	f := forensics.Finding{
		Severity: forensics.Info, Subject: forensics.Entity{Kind: forensics.KindSubsystem, ID: "image-gc"},
		Confidence: forensics.Possible, ConfidenceWhy: "whether a registry can give them back was not asked",
		Because: []forensics.Entity{diskEntity(image)}, Refs: []forensics.Ref{diskRef(image)},
		Remedies: []forensics.Remedy{{
			Command: "ctr -n k8s.io images label NAME io.cri-containerd.pinned=pinned",
			Why:     "the kubelet leaves pinned images alone (1.23 and later; CRI-O: pinned_images)",
			Risk:    "none. The key is io.cri-containerd.pinned; other spellings do nothing",
		}},
	}
	for _, r := range p.Model.ImageRisks() {
		if !r.Unused {
			continue
		}
		words := r.Name
		if r.Never {
			words += " (imagePullPolicy Never)"
			f.Severity = forensics.Warning
			f.Confidence, f.ConfidenceWhy = forensics.Likely, "no container uses it, it is not pinned, and its pod must not pull it"
		}
		names = append(names, words)
		f.Pods = append(f.Pods, r.Pods...)
	}
	if len(names) == 0 {
		return
	}
	f.Title = fmt.Sprintf("the kubelet may delete %s of static pods and DaemonSets that it may not get back: %s",
		forensics.Plural(len(names), "image"), strings.Join(names[:min(len(names), 5)], ", "))
	f.Detail = "No container of these pods exists at the moment, their images are not pinned, and the file system of images is near a threshold." + next(p, image)
	p.Report(f)
}

// imageGCTooLittle reports that image garbage collection cannot free what it wants to: what fills the disk is no image. It
// belongs to image-gc-failing, whose other half rests on the log. The kubelet counts as the runtime tells it the sizes.
func imageGCTooLittle(p *forensics.Pass) {
	d := diskState(p)
	image, ok := d.Of(disks.RoleImage)
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
		Severity: forensics.Warning, Subject: forensics.Entity{Kind: forensics.KindSubsystem, ID: "image-gc"},
		Because: []forensics.Entity{diskEntity(image)}, Refs: []forensics.Ref{diskRef(image)}, Confidence: forensics.Likely,
		ConfidenceWhy: "the kubelet's own sum, with the sizes that the runtime has on disk",
		Title: fmt.Sprintf("garbage collection of images cannot free enough: it wants %s, and unused images have %s",
			forensics.Bytes(wanted), forensics.Bytes(sum)),
		Detail: fmt.Sprintf("imagefs is at %d %%, from %d %% on the kubelet frees down to %d %%. %s are unused, %d more are pinned. What fills the disk is something else. %s",
			image.UsagePercent(), d.ImageGC.HighPercent, d.ImageGC.LowPercent, forensics.Plural(len(unused), "image"), len(pinned), fillers(p, image)),
		Remedies: diskRemedies(p, image),
	}
	p.Report(f)
}
