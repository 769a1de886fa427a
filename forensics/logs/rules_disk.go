package logs

import "strings"

// diskRules know image and container garbage collection, evictions, admission, and pulls that fail.
func diskRules() []rule {
	return []rule{
		{start: "Disk usage on image filesystem is over the high threshold", kind: KindImageGC, fill: imageGC},
		{start: "[imageGCManager]: Disk usage on image filesystem is at ", kind: KindImageGC, fill: imageGC},
		{start: "Attempting to delete unused images", kind: KindImageGCAll},
		{start: "attempting to delete unused images", kind: KindImageGCAll},
		{start: "Removing image to free bytes", kind: KindImageRemoved, fill: imageRemoved},
		{start: "[imageGCManager]: Removing image \"", kind: KindImageRemoved, fill: imageRemoved},
		{start: "Image garbage collection failed once", kind: KindImageGCFailed, fill: imageGCFailed},
		{start: "Image garbage collection failed", kind: KindImageGCFailed, fill: imageGCFailed},
		{start: "failed to garbage collect required amount of images", kind: KindImageGCFailed, fill: imageGCFailed},
		{start: "Failed to garbage collect required amount of images", kind: KindImageGCFailed, fill: imageGCFailed},
		{start: "Container garbage collection failed", kind: KindContainerGCFailed},
		{start: "invalid capacity 0 on image filesystem", kind: KindImageFSCapacity},
		{start: "Failed to admit pod", has: "node has conditions: ", kind: KindAdmissionRefused, fill: admission},
		{start: "Failed to admit pod to node", kind: KindAdmissionRefused, fill: admission},
		{start: "Failed to pull image", kind: KindImagePullFailed, fill: imagePull},
		{start: "PullImage \"", has: "from image service failed", kind: KindImagePullFailed, fill: imagePull},
		{start: "PullImage from image service failed", kind: KindImagePullFailed, fill: imagePull},
		{start: "Eviction manager: ", kind: KindEvictionNone, fill: eviction},
		{start: "eviction manager: ", kind: KindEvictionNone, fill: eviction},
	}
}

// imageGC reads usage=91 and "is at 91%".
func imageGC(e *entry, o *occurrence) bool {
	o.Reason, o.Code = "", ""
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

// imageGCFailed tells the first failure, which only says that statistics are not yet there, from the others.
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

// evictions are the eviction manager's messages behind its name, old spelling and new, in the order of testing.
var evictions = []struct {
	text string
	kind Kind
}{
	{"attempting to reclaim", KindEvictionReclaiming},
	{"able to reduce", kindEvictionRelieved},
	{"must evict pod(s) to reclaim", KindEvictionMustEvict},
	{"pods ranked for eviction", KindEvictionRanked},
	{"timed out waiting for pod", KindEvictionCleanupTimeout},
	{"cannot evict a critical", KindEvictionCritical},
	{"unable to evict any pods", KindEvictionNone},
	{"failed to get summary stats", kindEvictionStatsFailed},
	{"failed to get get summary stats", kindEvictionStatsFailed},
	{"pod is evicted successfully", KindEvictionEvicted},
	{"pod failed to evict", KindEvictionFailed},
}

func eviction(e *entry, o *occurrence) bool {
	_, text, _ := strings.Cut(e.Message, "viction manager: ")
	o.Kind = evictionKind(text)
	o.Code = ""
	switch o.Kind {
	case "":
		return false
	case KindEvictionReclaiming, KindEvictionMustEvict:
		if o.Reason = e.Get("resourceName"); o.Reason == "" {
			_, o.Reason, _ = cutLast(text, ' ')
		}
		o.Reason = cut(o.Reason, maxReason)
	case kindEvictionRelieved:
		o.Reason = cut(word(text, "able to reduce ", " "), maxReason)
	case KindEvictionRanked:
		if o.Reason = e.Get("pods"); o.Reason == "" {
			_, o.Reason, _ = strings.Cut(text, ": ")
		}
		o.Reason = cut(o.Reason, maxReason)
	case KindEvictionFailed:
		if o.Reason == "" {
			_, o.Reason, _ = strings.Cut(text, "failed to evict ")
			o.Reason = cut(o.Reason, maxReason)
		}
	case KindEvictionCritical, KindEvictionEvicted, KindEvictionNone:
		o.Reason = ""
	}
	return true
}

// evictionKind is "" for the eviction manager's running commentary.
func evictionKind(text string) Kind {
	for _, ev := range evictions {
		if strings.HasPrefix(text, ev.text) {
			return ev.kind
		}
	}
	switch {
	case !strings.HasPrefix(text, "pod "):
		return ""
	case strings.Contains(text, " is evicted successfully"):
		return KindEvictionEvicted
	case strings.Contains(text, " failed to evict"):
		return KindEvictionFailed
	}
	return ""
}
