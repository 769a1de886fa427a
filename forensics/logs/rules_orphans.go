package logs

import "strings"

// orphanRules know the lines of kubelet_volumes.go and of the removal of pod cgroups.
func orphanRules() []rule {
	return []rule{
		{start: "There were many similar errors", kind: KindOrphan, fill: orphan},
		{start: "orphaned pod \"", has: " found, but ", kind: KindOrphan, fill: orphanText},
		{start: "Orphaned pod \"", has: " found, but volumes are not cleaned up", kind: KindOrphanMounted, level: 3, fill: orphanOnly},
		{start: "Orphaned pod \"", has: " found, but volumes not yet removed", kind: KindOrphanMounted, level: 3, fill: orphanOnly},
		{start: "Orphaned pod \"", has: " found, removing", kind: kindOrphanRemoving, level: 3, fill: orphanOnly},
		{start: "Orphaned pod \"", has: " found, but ", kind: KindOrphan, fill: orphanText},
		{start: "Orphaned pod found, but volumes are not cleaned up", kind: KindOrphanMounted, level: 3},
		{start: "Orphaned pod found, but volumes not yet removed", kind: KindOrphanMounted, level: 3},
		{start: "Orphaned pod found, removing", kind: kindOrphanRemoving, level: 3},
		{start: "Orphan pod", kind: KindOrphanDetail, level: 5, fill: orphanDetail},
		{start: "Failed to remove orphaned pod dir", kind: KindOrphanRemoveFailed, fill: osFailure},
		{start: "Failed to remove orphaned pod \"", kind: KindOrphanRemoveFailed, fill: orphanRemoveFailed},
		{start: "Cleaned up orphaned volume from pod", kind: KindOrphanVolumeRemoved, fill: orphanRemoved},
		{start: "Cleaned up orphaned pod volumes dir", kind: KindOrphanDirRemoved, fill: orphanRemoved},
		{start: "Cleaned up orphaned volumes dir from pod", kind: KindOrphanDirRemoved, fill: orphanRemoved},
		{start: "Failed cleaning up orphaned pod directories", kind: KindOrphanCleanupFailed, fill: osFailure},
		{start: "Failed to delete cgroup paths", kind: KindCgroupDeleteFailed, fill: cgroupFailure},
		{start: "failed to delete cgroup paths", kind: KindCgroupDeleteFailed, fill: cgroupFailure},
		{start: "Failed to destroy orphaned pod cgroup", kind: KindCgroupDeleteFailed, fill: cgroupFailure},
	}
}

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

func cgroupFailure(e *entry, o *occurrence) bool {
	if o.PodUID == "" {
		o.PodUID = podOfPath(e.Get("cgroupName") + e.Message)
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
