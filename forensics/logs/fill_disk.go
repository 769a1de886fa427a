package logs

import (
	"cmp"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// imageGC reads usage=91 and "is at 91%", and the threshold: highThreshold=85, "the high threshold (85%)".
func imageGC(e *entry, o *occurrence) bool {
	o.Reason, o.Code = cut(e.Get("highThreshold"), maxName), ""
	if o.Reason == "" {
		o.Reason = cut(word(e.Message, "high threshold (", "%)"), maxName)
	}
	if o.Number = number(e.Get("usage")); o.Number == 0 {
		_, usage, _ := strings.Cut(e.Message, "is at ")
		o.Number = number(usage)
	}
	return true
}

// imageRemoved reads imageID= size= and `Removing image "ID" to free N bytes`.
func imageRemoved(e *entry, o *occurrence) bool {
	o.Reason, o.Code = "", ""
	if o.Number = number(e.Get("size")); o.Image == "" {
		o.Image = cut(between(e.Message, `Removing image "`, `"`), maxName)
		o.Number = number(word(e.Message, "to free ", " "))
	}
	return o.Image != ""
}

// imageKept reads why the runtime does not remove an image. Without an answer it is a call that failed.
func imageKept(e *entry, o *occurrence) bool {
	text := errorOf(e)
	if text == e.Message {
		_, text, _ = strings.Cut(e.Message, "service failed: ")
	}
	o.Image, o.Reason, o.Code = cut(cmp.Or(e.Get("image"), between(e.Message, `RemoveImage "`, `"`)), maxName), cut(text, maxReason), grpcCode(text)
	return o.Image != "" && (o.Code == "Unknown" || o.Code == "Internal") && !strings.Contains(text, "connect")
}

// sandboxImage reads `ImageDelete event &ImageDelete{Name:registry.k8s.io/pause:3.5,XXX_unrecognized:[],}` of the image that every sandbox needs.
func sandboxImage(e *entry, o *occurrence) bool {
	_, name, _ := strings.Cut(e.Message, "ame:")
	name = strings.TrimLeft(name, `\" `)
	if end := strings.IndexAny(name, `,"\ }`); end >= 0 {
		name = name[:end]
	}
	base, _, _ := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ":")
	o.Image, o.Reason, o.Code = cut(name, maxName), "", ""
	return strings.Contains(base, "pause") || base == "pod-infrastructure"
}

// ofText takes what no program has written.
func ofText(e *entry, o *occurrence) bool {
	o.Subject = Subject{}
	before, _, _ := strings.Cut(e.Message, "ImagePullBack")
	return e.Bare && e.Source == "" && !missesNone.MatchString(lastSentence(before))
}

// missesNone is a word of a sentence that says that no image is missing.
var missesNone = pattern.New(`(?i)\b(?:no|never|without) (?:\w+ ){0,2}$`)

// eventOfImageGC passes over what each kubelet says that has just started, before it has measured anything.
func eventOfImageGC(e *entry, _ *occurrence) bool {
	return e.Message != "unable to find data for container /"
}

// imageGCFailed distinguishes the first failure, which only means that statistics are not yet available, from the others.
func imageGCFailed(e *entry, o *occurrence) bool {
	if o.Reason == "" {
		o.Reason = cut(e.Message, maxReason)
	}
	if !strings.HasPrefix(e.Message, "Image garbage collection failed once") {
		return true
	}
	o.Code = "once"
	if strings.Contains(o.Reason, "invalid capacity 0") {
		o.Kind = noiseImageFSStart
	}
	return true
}

// admission reads nodeCondition=["DiskPressure"] and `node has conditions: [DiskPressure]`.
func admission(e *entry, o *occurrence) bool {
	conditions := e.Get("nodeCondition")
	if conditions == "" {
		_, conditions, _ = strings.Cut(e.Message, "node has conditions: ")
	}
	o.Reason, o.Code = cut(strings.NewReplacer("[", "", "]", "", `"`, "").Replace(conditions), maxReason), ""
	return true
}

func imagePull(e *entry, o *occurrence) bool {
	image := o.Image
	pullFailure(e.Message+" "+o.Reason, o)
	if image == "" && o.Image == "" {
		image = cut(between(e.Message, `"`, `"`), maxName)
	}
	if image != "" {
		o.Image = image
	}
	return true
}

// evictionResource is resourceName="…", or the last word.
func evictionResource(e *entry, o *occurrence) bool {
	if o.Reason = e.Get("resourceName"); o.Reason == "" {
		_, o.Reason, _ = cutLast(e.Message, ' ')
	}
	o.Reason = cut(o.Reason, maxReason)
	return noCode(e, o)
}

func evictionRelieved(e *entry, o *occurrence) bool {
	if o.Reason = cut(e.Get("resourceName"), maxReason); o.Reason == "" { // before 1.21 it is part of the message
		o.Reason = cut(word(e.Message, "able to reduce ", " "), maxReason)
	}
	return noCode(e, o)
}

// evictionRanked reads pods=[…] and `pods ranked for eviction: a, b`.
func evictionRanked(e *entry, o *occurrence) bool {
	if o.Reason = e.Get("pods"); o.Reason == "" {
		_, list, _ := strings.Cut(e.Message, "ranked for eviction")
		_, o.Reason, _ = strings.Cut(list, ": ")
	}
	o.Reason = cut(o.Reason, maxReason)
	return noCode(e, o)
}

func evictionFailed(e *entry, o *occurrence) bool {
	if o.Reason == "" {
		_, o.Reason, _ = strings.Cut(e.Message, "failed to evict ")
		o.Reason = cut(o.Reason, maxReason)
	}
	return noCode(e, o)
}

// noStats leaves out the dump of the answer: `missing image stats: &ImageFsInfoResponse{…}`.
func noStats(e *entry, o *occurrence) bool {
	o.Reason, _, _ = strings.Cut(o.Reason, ": &")
	return noCode(e, o)
}

// statsMissing is the same text without what is before it.
func statsMissing(e *entry, o *occurrence) bool {
	o.Reason = e.Message
	return noStats(e, o)
}

func noCode(_ *entry, o *occurrence) bool {
	o.Code = ""
	return true
}
