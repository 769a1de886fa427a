package logs

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of what is kept of a text, in bytes.
const (
	maxReason = 300
	// maxSubject bounds a name or path in bytes; a path has 4,096 at most (PATH_MAX).
	maxSubject = 4096
	maxName    = 512
)

// fillShared sets what many messages have in common: the pod, the container and the cause.
func fillShared(e *entry, o *occurrence, r *rule) {
	for _, f := range e.Fields {
		fillField(&o.Subject, f)
	}
	if o.PodName == "" && o.PodUID == "" {
		o.PodName, o.PodUID = formattedPod(e.Message[min(len(r.start), len(e.Message)):])
	}
	reason := e.Get("err")
	if reason == "" {
		reason = e.Get("error")
	}
	if reason == "" && e.Severity != 'I' && e.Fields == nil && r.start != "" {
		_, reason, _ = strings.Cut(e.Message[min(len(r.start), len(e.Message)):], ": ")
	}
	if reason == "" {
		return
	}
	if o.PodUID == "" {
		o.PodUID = podOfPath(reason)
	}
	o.Reason, o.Code = cut(reason, maxReason), code(reason)
}

// bothEnds shortens the message of an event in the middle: what was done stands at its beginning, and the innermost error at its end.
// So much is left of its beginning.
func bothEnds(s string, head int) string {
	tail := len(s) - (maxReason - head - len(" … "))
	if len(s) <= maxReason {
		return s
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return cut(s, head) + " … " + s[tail:]
}

func fillField(s *Subject, f field) {
	switch f.Key {
	case "pod":
		s.PodName, s.PodUID = podField(f.Value, s.PodUID)
	case "pods":
		s.PodName, s.PodUID = podField(firstOfList(f.Value), s.PodUID)
	case "podUID", "podUIDs", "UID":
		if isUID(f.Value) {
			s.PodUID = f.Value
		}
	case "containerName":
		if s.Container == "" {
			s.Container = cut(f.Value, maxName)
		}
	case "containerID", "containerId", "podSandboxID", "podSandboxId":
		if s.Container == "" {
			s.Container = cut(containerID(f.Value), maxName)
		}
	case "image", "imageID":
		s.Image = cut(f.Value, maxName)
	case "path":
		s.Path = cut(f.Value, maxName)
	}
}

// errorOf is the text of the error in a line: the err field, or the message.
func errorOf(e *entry) string {
	for _, f := range e.Fields {
		if f.Key == "err" || f.Key == "error" {
			return f.Value
		}
	}
	return e.Message
}

// podField reads a pod as kubelets have written it: "ns/name", "name_ns(uid)", or a JSON object of both.
func podField(v, uid string) (name, podUID string) {
	if strings.HasPrefix(v, "{") {
		namespace, name := between(v, `"namespace":"`, `"`), between(v, `"name":"`, `"`)
		if name == "" {
			return "", uid
		}
		return cut(namespace+"/"+name, maxName), uid
	}
	if n, u := formattedPod(v); n != "" {
		return n, u
	}
	if strings.Contains(v, "/") {
		return cut(strings.Trim(v, `"`), maxName), uid
	}
	return "", uid
}

// firstOfList is the first member of a list as klog prints it: ["a","b"], [a b], [{…},{…}].
func firstOfList(v string) string {
	v = strings.TrimPrefix(v, "[")
	if strings.HasPrefix(v, "{") {
		object, _, _ := strings.Cut(v, "}")
		return object + "}"
	}
	end := strings.IndexAny(v, ", ]")
	if end >= 0 {
		v = v[:end]
	}
	return strings.Trim(v, `"`)
}

// listOfPods are the pods of a list, as names with or without UIDs, n at most.
func listOfPods(v string, n int) []Subject {
	var pods []Subject
	for v = strings.TrimSpace(strings.Trim(v, "[]")); v != "" && len(pods) < n; {
		item, rest := firstOfList(v), ""
		if i := strings.Index(v, item); i >= 0 {
			rest = v[i+len(item):]
		}
		var s Subject
		if s.PodName, s.PodUID = podField(item, ""); s.PodName != "" {
			pods = append(pods, s)
		}
		v = strings.TrimLeft(rest, `", ]`)
	}
	return pods
}

// formattedPod finds `name_namespace(uid)` in a text and gives "namespace/name" and the UID.
func formattedPod(s string) (name, uid string) {
	for from := 0; ; {
		open := strings.IndexByte(s[from:], '(')
		if open < 0 {
			return "", ""
		}
		open += from
		from = open + 1
		end := strings.IndexByte(s[from:], ')')
		if end < 0 {
			return "", ""
		}
		id := strings.TrimSuffix(s[from:from+end], `\`)
		if !isUID(id) {
			continue
		}
		start := strings.LastIndexAny(s[:open], "\"', [\\")
		pod, namespace, ok := cutLast(s[start+1:open], '_')
		if ok && pod != "" {
			return cut(namespace+"/"+pod, maxName), id
		}
		return "", id
	}
}

func cutLast(s string, sep byte) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// isUID says whether s looks like the UID of a pod: of the API server (36 characters), or the hash of a static pod.
func isUID(s string) bool {
	if len(s) != 36 && len(s) != 32 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
		case (c == '-' || c == '_') && len(s) == 36 && (i == 8 || i == 13 || i == 18 || i == 23):
		default:
			return false
		}
	}
	return true
}

// podOfPath is the UID in "/pods/<uid>/", or of a cgroup's "pod<uid>"; "" if there is none.
func podOfPath(s string) string {
	if i := strings.Index(s, "/pods/"); i >= 0 {
		if uid := leadingUID(s[i+len("/pods/"):]); uid != "" {
			return uid
		}
	}
	for from := 0; ; {
		i := strings.Index(s[from:], "pod")
		if i < 0 {
			return ""
		}
		from += i + len("pod")
		if uid := leadingUID(s[from:]); uid != "" {
			return strings.ReplaceAll(uid, "_", "-")
		}
	}
}

func leadingUID(s string) string {
	for _, n := range []int{36, 32} {
		if len(s) >= n && isUID(s[:n]) {
			return s[:n]
		}
	}
	return ""
}

// containerID drops the runtime's name from "containerd://ID".
func containerID(s string) string {
	if _, id, ok := strings.Cut(s, "://"); ok {
		return id
	}
	return s
}

// between is what stands between two texts, "" if either is missing.
//
//go:noinline
func between(s, before, after string) string {
	_, rest, ok := strings.Cut(s, before)
	if !ok {
		return ""
	}
	value, _, ok := strings.Cut(rest, after)
	if !ok {
		return ""
	}
	return value
}

// word is what follows a text up to a character that ends it.
//
//go:noinline
func word(s, before, ends string) string {
	_, rest, ok := strings.Cut(s, before)
	if !ok {
		return ""
	}
	if i := strings.IndexAny(rest, ends); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// cut makes a text valid UTF-8 on one line, of n bytes at most.
func cut(s string, n int) string {
	s = valid(strings.TrimSpace(s), n)
	if strings.ContainsAny(s, "\n\r\t\x00") {
		s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' }), " ")
	}
	return s
}

// valid makes a text valid UTF-8 of n bytes at most. What stands for bad bytes takes more of them.
func valid(s string, n int) string {
	if len(s) > n {
		s = s[:n]
		for len(s) > 0 && !utf8.RuneStart(s[len(s)-1]) {
			s = s[:len(s)-1]
		}
		if r, size := utf8.DecodeLastRuneInString(s); r == utf8.RuneError && size == 1 {
			s = s[:len(s)-1]
		}
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	for len(s) > n {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s
}

// seconds reads a Go duration ("2m2s"); 0 where it is none.
func seconds(s string) float64 {
	d, err := time.ParseDuration(strings.Trim(s, `"`))
	if err != nil {
		return 0
	}
	return d.Seconds()
}

// number reads the digits, and a fraction, that a text begins with.
func number(s string) float64 {
	end := 0
	for end < len(s) && end < 18 && (s[end] >= '0' && s[end] <= '9' || s[end] == '.' && end > 0) {
		end++
	}
	f, err := strconv.ParseFloat(strings.TrimSuffix(s[:end], "."), 64)
	if err != nil {
		return 0
	}
	return f
}
