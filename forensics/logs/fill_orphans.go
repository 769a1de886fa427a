package logs

import "strings"

// The words between an orphan's first error and the count, in the plain wording.
const orphanCount = " : There were a total of "

// orphan reads the structured summary: err="orphaned pod \"UID\" found, but …" numErrs=N. Other loops use the same
// message; only orphaned pods are meant here.
func orphan(e *entry, o *occurrence) bool {
	text := errorOf(e)
	if !strings.Contains(text, "rphaned pod ") {
		return false
	}
	o.Number = number(e.Get("numErrs"))
	return orphanError(text, o)
}

// orphanText reads the plain summary: `orphaned pod "UID" found, but … : There were a total of N errors similar to
// this…`, and the lines of kubelets before 1.10, one for each pod.
func orphanText(e *entry, o *occurrence) bool {
	text, count, ok := strings.Cut(e.Message, orphanCount)
	o.Number = 1
	if ok {
		o.Number = number(count)
	}
	return orphanError(text, o)
}

func orphanDetail(e *entry, o *occurrence) bool { return orphanError(errorOf(e), o) }

func orphanError(text string, o *occurrence) bool {
	_, rest, ok := strings.Cut(text, "rphaned pod ")
	if !ok {
		return false
	}
	id, inner, ok := strings.Cut(rest, " found, ")
	if !ok {
		return false
	}
	o.PodUID = cut(strings.Trim(id, `"\`), 64)
	o.Reason = cut(strings.TrimPrefix(inner, "but "), maxReason)
	o.Code = osCode(inner)
	o.Path = pathIn(inner)
	return o.PodUID != ""
}

// orphanOnly keeps the UID alone: the rest of the line is always the same.
func orphanOnly(e *entry, o *occurrence) bool {
	o.PodUID, o.Reason, o.Code = cut(between(e.Message, `"`, `"`), 64), "", ""
	return o.PodUID != ""
}

func orphanRemoveFailed(e *entry, o *occurrence) bool {
	o.PodUID = cut(between(e.Message, `"`, `"`), 64)
	if _, text, ok := strings.Cut(e.Message, " dir; err: "); ok { // up to 1.4
		o.Reason = cut(text, maxReason)
	}
	return osFailure(e, o)
}

// orphanRemoved reads `Cleaned up orphaned volume from pod "UID" at PATH`.
func orphanRemoved(e *entry, o *occurrence) bool {
	o.Reason, o.Code = "", ""
	if e.Fields != nil {
		return true
	}
	o.PodUID = cut(between(e.Message, `"`, `"`), 64)
	o.Path = pathIn(e.Message)
	return true
}

// osFailure prefers the errno to other codes.
func osFailure(_ *entry, o *occurrence) bool {
	if c := osCode(o.Reason); c != "" {
		o.Code = c
	}
	if o.Path == "" {
		o.Path = pathIn(o.Reason)
	}
	return true
}

// cleaningFailed reads "Failed cleaning pods: [remove /var/lib/kubelet/pods/UID/volumes/…: device or resource busy, …]", of the first pod.
func cleaningFailed(e *entry, o *occurrence) bool {
	o.Reason = cut(strings.TrimSuffix(strings.TrimPrefix(e.Message, "Failed cleaning pods: ["), "]"), maxReason)
	o.PodUID = podOfPath(o.Reason)
	return o.PodUID != "" && osFailure(e, o)
}

func cgroupFailure(e *entry, o *occurrence) bool {
	if o.PodUID == "" {
		o.PodUID = podOfPath(e.Get("cgroupName") + e.Message + errorOf(e))
	}
	return osFailure(e, o)
}

// pathIn is the first absolute path in a text, "" if there is none. Paths with blanks are cut there.
func pathIn(s string) string {
	for from := 0; ; {
		i := strings.IndexByte(s[from:], '/')
		if i < 0 {
			return ""
		}
		i += from
		if i == 0 || strings.IndexByte(" \"[(=\\:\n\t", s[i-1]) >= 0 {
			p := s[i:]
			if end := strings.IndexAny(p, " \"])\n\t,;\\"); end >= 0 {
				p = p[:end]
			}
			if p = strings.TrimRight(p, ":."); len(p) > 1 {
				return cut(p, maxName)
			}
		}
		from = i + 1
	}
}
