package checks

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/diskview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/headline"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// imageGCPeriod is how often the kubelet collects images (pkg/kubelet/kubelet.go, ImageGCPeriod).
const imageGCPeriod = 5 * time.Minute

// imageGCFailing finds image garbage collection that fails or cannot free enough.
var imageGCFailing = forensics.Check{
	ID:    "image-gc-failing",
	Title: "Image garbage collection fails",
	Doc: `Every 5 minutes the kubelet checks the image file system. If it is over a threshold (85 % by default), the kubelet
removes unused images. Its log says "Image garbage collection failed multiple times in a row" if it could not free
enough. Then the disk is full of other data: logs, emptyDir volumes, other users of the file system, deleted files that
are still open. Or the kubelet could not measure: "invalid capacity 0 on image filesystem", or an error of the runtime.
Or the runtime refuses to remove images: two or more since the kubelet wanted to remove some.
A single failure while the kubelet starts is normal and is not reported. A failure that ended well before the log ends is
not reported either; where nothing but events was pasted, one of the last hour counts.

If the log does not show a failure, the figures may: the image file system is over the high threshold, and the unused
images are smaller than the space to be freed.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceLogs, forensics.SourceDisks}},
	Run: func(p *forensics.Pass) {
		logview.SawKubelet(p)
		var list []logs.Event
		silence := logview.Runtime(p)
		back := (silence == nil || !silence.Current) && logview.OnlyEvents(p) // the runtime
		window := 2 * imageGCPeriod
		if logview.OnlyEvents(p) && logview.Written(p) {
			window = time.Hour // for which the API server keeps events: of older ones than the others, people show what failed
		}
		for _, e := range logview.Events(p, logs.KindImageGCFailed, logs.KindContainerGCFailed, "image-fs-capacity-zero") {
			last := logview.Last([]logs.Event{e})
			if e.Cause() == logs.CauseRuntimeDown && back {
				continue
			}
			if e.Cause() == logs.CauseNothingToFree && relieved(p, last) || e.Kind == "image-fs-capacity-zero" && e.Count == 1 && last == nil { // quoted, of a start
				continue
			}
			if logview.AfterStart(p, last) && (e.Code != "once" || e.Count > 1) && logview.Within(last, logview.KubeletEnd(p), window) {
				list = append(list, e)
			}
		}
		if len(list) > 0 {
			p.Report(imageGCFailingFinding(p, list))
			return
		}
		if f, ok := keptImages(p); ok {
			p.Report(f)
			return
		}
		imageGCTooLittle(p)
	},
}

// keptImages is the finding for images that the runtime does not remove for the kubelet.
func keptImages(p *forensics.Pass) (forensics.Finding, bool) {
	kept := sorting.Delete(slices.Clone(logview.Events(p, "image-remove-failed")), func(e logs.Event) bool {
		return !logview.Within(e.Last, logview.KubeletEnd(p), 2*imageGCPeriod)
	})
	images := removedImages(kept)
	if len(images) < 2 {
		return forensics.Finding{}, false
	}
	reason := kept[0].Reason
	if at := strings.LastIndex(reason, ": "); at >= 0 {
		reason = reason[at+2:]
	}
	return forensics.Finding{
		Severity: forensics.Warning, Subject: diskview.ImageGCEntity, Confidence: forensics.Certain, ConfidenceWhy: "the kubelet's log says so",
		Since: logview.First(kept), Refs: logview.EventRefs(kept...),
		Title:  headline.Fit(fmt.Sprintf("Image garbage collection fails: the runtime does not remove %s: %s", findings.Plural(len(images), "image"), reason)),
		Effect: "image garbage collection fails",
		Detail: findings.Sentences("The kubelet wanted to free space. It takes an image for unused if no container of a pod uses it: "+findings.Some(images)+".", logview.AsOf(p)),
		Remedies: []forensics.Remedy{{
			Action: remedy.ActionLook, Command: []string{"crictl", "images"}, Why: "shows the images; containers that the kubelet did not start can use them, too", Risk: "none: read-only",
		}},
	}, true
}

// relieved says whether the node reported after a time that its disk had no pressure.
func relieved(p *forensics.Pass, t *time.Time) bool {
	return slices.ContainsFunc(logview.Events(p, "eviction-relieved"), func(e logs.Event) bool {
		return e.Code == "condition" && e.Reason == "ephemeral-storage" && t != nil && e.Last != nil && e.Last.After(*t)
	})
}

func imageGCFailingFinding(p *forensics.Pass, list []logs.Event) forensics.Finding {
	e := list[0]
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: diskview.ImageGCEntity, Confidence: forensics.Certain, Since: logview.First(list), Refs: logview.EventRefs(list...),
		Title:         imageGCTitle(logview.First(list), e),
		ConfidenceWhy: "the kubelet's log says so",
	}
	blind := !slices.ContainsFunc(list, func(e logs.Event) bool { return e.Cause() == logs.CauseNothingToFree })
	switch silence := logview.Runtime(p); {
	case blind && silence != nil && silence.Current:
		f.Because, f.Effect = []forensics.Entity{p.Model.RuntimeEntity()}, "image garbage collection fails"
		f.Detail = "The kubelet cannot query the container runtime."
	case blind:
		f.Detail = "The kubelet cannot measure the file system or list the images. The disk can fill up unnoticed."
	default:
		f.Detail = "The disk is not full of unused images. Look for logs, emptyDir volumes, deleted files that are still open, and other users of that file system."
	}
	if high := lowThreshold(p); high != "" {
		f.Title = fmt.Sprintf("Image garbage collection starts at %s %% disk usage (imageGCHighThresholdPercent: %s) and fails", high, high)
		f.Detail = findings.Sentences("The threshold is below the usage of a usual node: the kubelet removes every unused image, and cannot come below it.", f.Detail)
		f.Remedies = []forensics.Remedy{{
			Action: remedy.ActionConfigure, Instruction: "Raise imageGCHighThresholdPercent and imageGCLowThresholdPercent in the kubelet's configuration or flags, then restart the kubelet",
			Why: "the kubelet reads the thresholds when it starts", Risk: "containers keep running during the restart",
		}}
	}
	f.Detail = findings.Sentences("The kubelet's log says: "+cmp.Or(e.Reason, logs.Words(e.Kind))+".", f.Detail, logview.AsOf(p))
	f.Remedies = append(f.Remedies, forensics.Remedy{
		Action: remedy.ActionLook, Command: []string{"crictl", "imagefsinfo"}, Why: "shows the space used by images, to compare with the other data on that file system", Risk: "none: read-only",
	}, remedy.CountUsage())
	return f
}

// lowThreshold is the high threshold of image garbage collection, in percent, where the log shows one that is set absurdly low.
func lowThreshold(p *forensics.Pass) string {
	const absurd = 50 // the default is 85
	for _, e := range logview.Events(p, "image-gc") {
		if n, err := strconv.Atoi(e.Reason); err == nil && n > 0 && n < absurd {
			return e.Reason
		}
	}
	return ""
}

// imageGCTitle is the headline. Of an error that is too long for it, the innermost one is the reason; the detail quotes all of it.
func imageGCTitle(since *time.Time, e logs.Event) string {
	title, reason := "Image garbage collection has failed since "+logview.Moment(since)+": ", imageGCReason(e)
	if at := strings.LastIndex(reason, ": "); at >= 0 && len(title+reason) > headline.Most {
		reason = reason[at+2:]
	}
	return title + reason
}

// imageGCReason is the first error in the log, in few words where it is a known one.
func imageGCReason(e logs.Event) string {
	if e.Cause() == logs.CauseNothingToFree {
		return "unused images are too small to free enough space"
	}
	return cmp.Or(e.Reason, logs.Words(e.Kind))
}

// imageGCTooLittle reports that image garbage collection cannot free enough: the disk is full of other data. It belongs to
// image-gc-failing; the other half of that check reads the log. The kubelet uses the sizes that the runtime reports.
func imageGCTooLittle(p *forensics.Pass) {
	d := diskview.State(p)
	if inLog, _ := p.Evidence.Saw(forensics.SourceLogs); !inLog {
		diskview.Doubt(p)
	}
	image, ok := d.Of(eviction.RoleImage)
	if !ok {
		return
	}
	wanted := int64(d.ImageGC.AmountToFree(image))
	if wanted == 0 {
		return
	}
	unused, pinned, known := diskview.UnusedImages(p)
	sum, unknown := diskview.ImageSizes(unused)
	if !known || unknown > 0 {
		p.Unjudged("the sizes of unused images are not known")
		return
	}
	if sum >= wanted {
		return
	}
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: diskview.ImageGCEntity,
		Because: []forensics.Entity{diskview.Entity(image)}, Refs: []forensics.Ref{diskview.Ref(image)}, Confidence: forensics.Likely,
		ConfidenceWhy: "computed as the kubelet does, with the image sizes that the runtime has on disk",
		Title: fmt.Sprintf("Image garbage collection cannot free %s: unused images use %s, imagefs %d %% full",
			text.Bytes(wanted), text.Bytes(sum), image.UsagePercent()),
		Detail: fmt.Sprintf("Image garbage collection starts at %d %% disk usage (imageGCHighThresholdPercent: %d) and frees space down to %d %%. imagefs is at %d %%. "+
			"%s unused, %s pinned. The disk is full of other data. %s", d.ImageGC.HighPercent, d.ImageGC.HighPercent, d.ImageGC.LowPercent, image.UsagePercent(),
			findings.Are(len(unused), "image"), findings.Are(len(pinned), "more"), diskview.Fillers(p, image)),
		Remedies: diskview.Remedies(p, image),
	}
	if low := diskview.LowImageGC(p); low != "" {
		f.Title = fmt.Sprintf("%s: it cannot free %s", low, text.Bytes(wanted))
	}
	if d.Assumed != "" {
		f.Confidence, f.ConfidenceWhy = forensics.Possible, "the kubelet's thresholds may differ: "+d.Assumed
	}
	p.Report(f)
}
