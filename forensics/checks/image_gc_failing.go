package checks

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/diskview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// imageGCPeriod is how often the kubelet collects images (pkg/kubelet/kubelet.go, ImageGCPeriod).
const imageGCPeriod = 5 * time.Minute

// imageGCFailing finds a garbage collection of images that frees too little, or cannot look.
var imageGCFailing = forensics.Check{
	ID:    "image-gc-failing",
	Title: "Garbage collection of images fails",
	Doc: `Every 5 minutes the kubelet collects images where the image file system is over a threshold (85 % by default). Its
log says "Image garbage collection failed multiple times in a row" where it found too little to free: then the disk is
not full of unused images, and what fills it is something else (logs, emptyDirs, other users of the file system, deleted
files that are still open). Or it could not measure: "invalid capacity 0 on image filesystem", or an error of the
runtime. A single failure while the kubelet starts is normal and is not reported; nor is what was over well before the
log ends.

Where the log does not tell, the figures may: an image file system over the high threshold whose unused images are
smaller than what would have to go.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceLogs, forensics.SourceDisks}},
	Run: func(p *forensics.Pass) {
		logview.SawKubelet(p)
		var list []logs.Event
		for _, e := range logview.Events(p, logs.KindImageGCFailed, logs.KindContainerGCFailed, logs.KindImageFSCapacity) {
			last := logview.Last([]logs.Event{e})
			if logview.AfterStart(p, last) && (e.Code != "once" || e.Count > 1) && logview.Within(last, logview.KubeletEnd(p), 2*imageGCPeriod) {
				list = append(list, e)
			}
		}
		if len(list) > 0 {
			p.Report(imageGCFailingFinding(p, list))
			return
		}
		imageGCTooLittle(p)
	},
}

func imageGCFailingFinding(p *forensics.Pass, list []logs.Event) forensics.Finding {
	e := list[0]
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: diskview.ImageGCEntity, Confidence: forensics.Certain, Since: logview.First(list), Refs: logview.EventRefs(list...),
		Title:         fmt.Sprintf("%s: garbage collection of images fails since %s: %s", p.Model.KubeletName(), logview.Moment(logview.First(list)), cmp.Or(e.Reason, logs.Words(e.Kind))),
		ConfidenceWhy: "the kubelet says so in its log",
	}
	blind := !slices.ContainsFunc(list, func(e logs.Event) bool { return e.Cause() == logs.CauseNothingToFree })
	switch silence := logview.Runtime(p); {
	case blind && silence != nil && silence.Current:
		f.Because = []forensics.Entity{p.Model.RuntimeEntity()}
		f.Detail = "It cannot ask the container runtime."
	case blind:
		f.Detail = "It cannot measure the file system or list the images, so that the disk fills unseen."
	default:
		f.Detail = "The images that nobody uses are not what fills the disk: look for logs, emptyDir volumes, deleted files that are still open, and other users of that file system."
	}
	f.Detail = findings.Sentences(f.Detail, logview.AsOf(p))
	f.Remedies = []forensics.Remedy{{
		Action: remedy.ActionLook, Command: []string{"crictl", "imagefsinfo"}, Why: "says what images take, to be compared with what else lies on that file system", Risk: "none: it reads",
	}, remedy.CountUsage()}
	return f
}

// imageGCTooLittle reports that image garbage collection cannot free what it wants to: what fills the disk is no image. It
// belongs to image-gc-failing, whose other half rests on the log. The kubelet counts as the runtime tells it the sizes.
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
		ConfidenceWhy: "the kubelet's own sum, with the sizes that the runtime has on disk",
		Title: fmt.Sprintf("garbage collection of images cannot free enough: it wants %s, and unused images have %s",
			text.Bytes(wanted), text.Bytes(sum)),
		Detail: fmt.Sprintf("imagefs is at %d %%, from %d %% on the kubelet frees down to %d %%. %s are unused, %d more are pinned. What fills the disk is something else. %s",
			image.UsagePercent(), d.ImageGC.HighPercent, d.ImageGC.LowPercent, text.Plural(len(unused), "image"), len(pinned), diskview.Fillers(p, image)),
		Remedies: diskview.Remedies(p, image),
	}
	if d.Assumed != "" {
		f.Confidence, f.ConfidenceWhy = forensics.Possible, "the kubelet may have other thresholds: "+d.Assumed
	}
	p.Report(f)
}
