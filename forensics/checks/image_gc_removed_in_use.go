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
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// imageGCRemovedInUse finds images that the kubelet removed and that pods need.
var imageGCRemovedInUse = forensics.Check{
	ID:    "image-gc-removed-in-use",
	Title: "The kubelet removed images that pods need",
	Doc: `Under disk pressure the kubelet deletes every image that no container uses at that moment, regardless of the
thresholds. It deletes images first that were never used: those that were loaded manually (ctr or crictl import, an
agent's image directory). On a node without a registry these images are lost. Pods then fail with ErrImagePull,
ImagePullBackOff or ErrImageNeverPull.

The evidence is the kubelet's log: "Removing image to free bytes", and pulls that fail afterwards. The message of a removal
has an image ID, the message of a pull has a name. The match is certain only where both are the same. It is likely if
policy forbids the pull (ErrImageNeverPull: the image was loaded manually), if no registry answered, or if it is the
sandbox image (pause), which every pod needs, and an image as small as that was removed. Another image that a
registry does not know, or refuses, has another cause. The runtime names the sandbox image where it
deletes that for the kubelet. A removal alone is information: the log does not say whether an image was loaded manually.

The state of the node shows which images of static pods and DaemonSets are missing. It also shows which ones the kubelet
would delete next: no container uses them, they are not pinned, and the disk is near a threshold.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceLogs, forensics.SourceRuntime}},
	Run: func(p *forensics.Pass) {
		imagesAtRisk(p)
		logview.SawKubelet(p)
		removed := removedFor(p)
		if len(removed) == 0 {
			return
		}
		missing := missingAfter(removed, logview.Events(p, logs.KindImagePullFailed))
		if len(missing) == 0 {
			missing = noSandboxImage(removed, logview.Events(p, logs.KindSandboxCreateFailed, "sandbox-create-echo", logs.KindPodSyncFailed))
		}
		p.Report(imagesRemovedFinding(p, removed, missing))
	},
}

// removedFor are the removals of which the runtime has not said that they failed.
func removedFor(p *forensics.Pass) []logs.Event {
	kept := logview.Events(p, "image-remove-failed")
	return sorting.Delete(slices.Clone(logview.Events(p, logs.KindImageRemoved)), func(e logs.Event) bool {
		return slices.ContainsFunc(kept, func(k logs.Event) bool {
			return k.Image == e.Image && (k.Last == nil || e.Last == nil || !k.Last.Before(*e.Last))
		})
	})
}

func imagesRemovedFinding(p *forensics.Pass, removed, missing []logs.Event) forensics.Finding {
	images := removedImages(removed)
	var freed float64
	for _, e := range removed {
		freed += e.Number
	}
	f := forensics.Finding{
		Severity: forensics.Info, Subject: diskview.ImageGCEntity, Since: logview.First(removed), Confidence: forensics.Possible,
		Title:         removedTitle(p, images),
		ConfidenceWhy: "the log shows the removal; it does not say whether a registry has the images",
		Refs:          logview.EventRefs(removed...),
	}
	size := ""
	if freed > 0 {
		size = " (" + text.Bytes(int64(freed)) + ")"
	}
	f.Detail = fmt.Sprintf("%s removed %s%s %s: %s. %s", findings.Capital(p.Model.KubeletName()), findings.Plural(len(images), "image"), size,
		logview.Span(logview.First(removed), logview.Last(removed)), findings.Some(images), manualImages)
	if all := logview.Events(p, logs.KindImageGCAll); len(all) > 0 {
		f.Detail += " Under disk pressure the kubelet deletes every unused image. It deletes images first that no container ever used."
		f.Refs = append(f.Refs, logview.EventRefs(all[0])...)
	}
	if logview.PressureInLog(p) != nil {
		f.Because = []forensics.Entity{logview.EvictionEntity}
	}
	f.Remedies = imageRemedies()
	f.Lone = len(logview.Events(p, "image-missed")) > 0
	if deleted := sandboxImageDeleted(p, smallImages(removed)); deleted.Image != "" {
		f.Severity, f.ConfidenceWhy = forensics.Warning, "the runtime deleted it right after the kubelet's removal; by its name and size it is the sandbox image, and a pod can have one like it"
		f.Title = "The kubelet may have removed the sandbox image, which every new pod needs: " + shortImage(deleted.Image)
		f.Refs = append(logview.EventRefs(deleted), f.Refs...)
	}
	if len(missing) > 0 {
		missingImages(p, &f, removed, missing)
	}
	return f
}

// manualImages is what matters of images that no registry has.
const manualImages = "An image that was loaded manually (ctr or crictl import) must be loaded again by an operator."

// removedImages are the images that were removed, each once.
func removedImages(removed []logs.Event) []string {
	var images []string
	for _, e := range removed {
		images = append(images, shortImage(e.Image))
	}
	return findings.Union(nil, images)
}

// removedTitle names a threshold that is set below the default as the reason for removals, where no eviction was.
func removedTitle(p *forensics.Pass, images []string) string {
	if low := diskview.LowImageGC(p); low != "" && logview.PressureInLog(p) == nil && len(logview.Events(p, logs.KindImageGCAll)) == 0 {
		return low + ": unused images are removed"
	}
	return fmt.Sprintf("%s removed by the kubelet to free space: %s", findings.Plural(len(images), "image"), findings.Some(images))
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
	return sorting.Delete(slices.Clone(pulls), func(e logs.Event) bool { return !likely[e.Image] })
}

// noSandboxImage are the sandboxes that failed for want of their image after an image was removed that is as small as theirs. Every pod
// needs it, so the node had it before. An error without a time stands in what somebody writes of the present.
func noSandboxImage(removed, failed []logs.Event) []logs.Event {
	first := logview.First(smallImages(removed))
	return sorting.Delete(slices.Clone(failed), func(e logs.Event) bool {
		return e.Cause() != "sandbox-image" || first == nil || e.First != nil && e.First.Before(*first)
	})
}

// smallImages are those that are as small as that of sandboxes.
func smallImages(removed []logs.Event) []logs.Event {
	const small = 1 << 20 // pause has 0.3 to 0.8 MB
	return sorting.Delete(slices.Clone(removed), func(e logs.Event) bool { return e.Number <= 0 || e.Number >= small })
}

// sandboxImageDeleted is the message of a runtime that it has deleted the image of sandboxes for the kubelet.
func sandboxImageDeleted(p *forensics.Pass, removed []logs.Event) logs.Event {
	const most = 10 // seconds that a deletion takes
	for _, e := range logview.Events(p, "sandbox-image-deleted") {
		if slices.ContainsFunc(removed, func(r logs.Event) bool {
			return r.First != nil && e.Last != nil && !e.Last.Before(*r.First) && logview.Between(logview.Last([]logs.Event{r}), e.Last) <= most
		}) {
			return e
		}
	}
	return logs.Event{}
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
	f.ConfidenceWhy = "the pulls failed after the images were removed, because no registry answered; the log does not name removed images"
	had := imagesOf(removed)
	for _, e := range missing {
		name := "an unnamed image"
		if e.Cause() == "sandbox-image" {
			name = "the sandbox image"
			f.ConfidenceWhy = "one of the removed images is as small as a sandbox image, and pods failed for want of that afterwards"
		}
		names = append(names, cmp.Or(e.Image, name))
		if e.PodName != "" || e.PodUID != "" {
			uid := logview.UIDOf(p, e.Subject)
			pods = append(pods, findings.PodLabel(p, e.PodName, uid))
			f.Pods = append(f.Pods, findings.UIDs(uid)...)
		}
		switch {
		case had[e.Image]:
			f.Confidence, f.ConfidenceWhy = forensics.Certain, "the same image was removed, and its pull failed after that"
		case e.Code == "ErrImageNeverPull" && f.Confidence != forensics.Certain:
			f.ConfidenceWhy = "a pod that must not pull its image (ErrImageNeverPull) had it, and images were removed before that error"
		}
	}
	names, pods, f.Pods = findings.Union(nil, names), findings.Union(nil, pods), findings.Union(nil, f.Pods)
	f.Title = fmt.Sprintf("%s removed by the kubelet to free space: %s cannot be pulled", findings.Plural(len(removedImages(removed)), "image"), findings.Some(names))
	f.Effect = "pods wait for removed images"
	f.Detail += fmt.Sprintf(" Afterwards %s failed: %s.", text.Plural(int(logview.Count(missing)), "pull"), cmp.Or(missing[0].Reason, missing[0].Code))
	if len(pods) > 0 {
		f.Detail += " Affected pods: " + findings.Some(pods) + "."
	}
	f.Refs = append(logview.EventRefs(missing...), f.Refs...)
}

func imageRemedies() []forensics.Remedy {
	return append([]forensics.Remedy{{
		Action: remedy.ActionFree, Instruction: "Free space first: see disk-pressure and eviction-stuck", Why: "as long as the pressure lasts, the kubelet removes a loaded image again",
		Risk: "none",
	}}, loadImage("loads the image again", "the pressure is over, and you have the archive of the image")...)
}

// loadImage is how to load an image again and keep it.
func loadImage(why, onlyIf string) []forensics.Remedy {
	pin := pinImage()
	pin.Why = "pins it: since 1.23 the kubelet does not delete pinned images (CRI-O: pinned_images)"
	return []forensics.Remedy{{
		Action: remedy.ActionRepair, Command: []string{"ctr", "-n", "k8s.io", "images", "import", "FILE.tar"}, Why: why, OnlyIf: onlyIf, Risk: "none",
	}, pin}
}

func pinImage() forensics.Remedy {
	return forensics.Remedy{
		Action: remedy.ActionConfigure, Command: []string{"ctr", "-n", "k8s.io", "images", "label", "NAME", "io.cri-containerd.pinned=pinned"},
		Why:  "the kubelet does not delete pinned images (1.23 and later; CRI-O: pinned_images)",
		Risk: "none. The key is io.cri-containerd.pinned; other spellings have no effect",
	}
}

// shortImage cuts the digest of an image's id.
func shortImage(id string) string {
	const most = len("sha256:") + 12
	if strings.HasPrefix(id, "sha256:") && len(id) > most {
		return id[:most]
	}
	return cmp.Or(id, "an unnamed image")
}

// imagesAtRisk reports images of static pods and DaemonSets that the kubelet may delete with the next collection or eviction and that
// a registry may not have. It also reports those that are missing already. It belongs to image-gc-removed-in-use; the other half of
// that check reads the log.
func imagesAtRisk(p *forensics.Pass) {
	risks := diskview.ImageRisks(p)
	if missing := sorting.Delete(slices.Clone(risks), func(r diskview.ImageRisk) bool { return r.Missing == "" }); len(missing) > 0 {
		p.Report(missingImagesFinding(missing))
	}
	d := diskview.State(p)
	image, ok := d.Of(eviction.RoleImage)
	if !ok || !d.IsNear(image.Device) {
		return // nothing is about to be deleted
	}
	if unused := sorting.Delete(risks, func(r diskview.ImageRisk) bool { return !r.Unused }); len(unused) > 0 {
		f := atRiskFinding(unused)
		f.Because, f.Refs = []forensics.Entity{diskview.Entity(image)}, []forensics.Ref{diskview.Ref(image)}
		f.Detail = "No container uses these images, and they are not pinned. The image file system is near a threshold. A registry may not have these images." + diskview.Reclaim(p, image)
		p.Report(f)
	}
}

func atRiskFinding(risks []diskview.ImageRisk) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Info, Subject: diskview.ImageGCEntity,
		Confidence: forensics.Possible, ConfidenceWhy: "no registry was queried for them",
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
	f.Title = fmt.Sprintf("The kubelet may delete %s of static pods and DaemonSets: %s", findings.Plural(len(names), "image"), strings.Join(names[:min(len(names), 5)], ", "))
	return f
}

func missingImagesFinding(risks []diskview.ImageRisk) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: diskview.ImageGCEntity, Confidence: forensics.Possible,
		ConfidenceWhy: "the runtime does not have them and containers wait for them. Whether the node had them, and what removed them, is not known",
		Detail:        "Under disk pressure the kubelet deletes every unused image. " + manualImages,
		Effect:        "pods wait for missing images",
		Remedies:      loadImage("loads the image", "the disk has free space again, and you have the archive of the image"),
	}
	var names []string
	for _, r := range risks {
		names = append(names, r.Name+" ("+r.Missing+")")
		f.Pods = append(f.Pods, r.Pods...)
		f.Refs = append(f.Refs, forensics.Ref{Source: forensics.SourceAPIDump, Excerpt: strings.Join(r.Pods, ", ") + ": " + r.Name + ": " + r.Missing})
	}
	f.Title = fmt.Sprintf("%s of static pods and DaemonSets missing on the node: %s", findings.Plural(len(names), "image"), strings.Join(names[:min(len(names), 5)], ", "))
	return f
}
