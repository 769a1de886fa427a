package logs

import "strings"

// limitRules know the troubles that stand in any message: the API server, certificates, and the limits of the node.
// They come after all others, so that a volume that finds no space is a failed mount first.
func limitRules() []rule {
	return []rule{
		{has: "certificate has expired or is not yet valid", kind: KindCertExpired, fill: trouble},
		{has: "bootstrap client certificate", err: "expired", kind: KindCertExpired, fill: trouble},
		{has: "Failed to watch *", kind: KindAPIUnreachable, fill: apiTrouble},
		{has: "ailed to list *", kind: KindAPIUnreachable, fill: apiTrouble},
		{start: "Error updating node status", kind: KindAPIUnreachable, fill: apiTrouble},
		{start: "Unable to update node status", kind: KindAPIUnreachable, fill: apiTrouble},
		{start: "Failed to update lease", kind: KindAPIUnreachable, fill: apiTrouble},
		{start: "failed to update lease", kind: KindAPIUnreachable, fill: apiTrouble},
		{start: "Failed to ensure lease exists", kind: KindAPIUnreachable, fill: apiTrouble},
		{start: "failed to ensure node lease exists", kind: KindAPIUnreachable, fill: apiTrouble},
		{start: "Unable to register node with API server", kind: KindAPIUnreachable, fill: apiTrouble},
		{has: "checkpoint is corrupted", kind: KindCheckpointCorrupt, fill: trouble},
		{has: "differs from state checkpoint policy", kind: KindCheckpointCorrupt, fill: trouble},
		{start: "Continue after failing to read checkpoint file", kind: KindCheckpointCorrupt, fill: trouble},
		{has: "inotify_init", err: "too many open files", kind: KindInotifyLimit, fill: trouble},
		{has: "fsnotify watcher", err: "too many open files", kind: KindInotifyLimit, fill: trouble},
		{has: "inotify_add_watch", err: "no space left on device", kind: KindInotifyLimit, fill: trouble},
		{has: "mkdir /sys/fs/cgroup", err: "no space left on device", kind: KindCgroupNoSpace, fill: trouble},
		{has: "mkdir /sys/fs/cgroup", err: "cannot allocate memory", kind: KindCgroupNoSpace, fill: trouble},
		{has: "no space left on device", kind: KindDiskFull, fill: trouble},
		{has: "too many open files", kind: KindProcessLimit, fill: trouble},
		{has: "fork/exec", err: "resource temporarily unavailable", kind: KindProcessLimit, fill: trouble},
		{has: "pthread_create failed", kind: KindProcessLimit, fill: trouble},
		{has: "failed to create new OS thread", kind: KindProcessLimit, fill: trouble},
		{has: "program exceeds 10000-thread limit", kind: KindProcessLimit, fill: trouble},
		{has: "ead-only file system", kind: KindReadOnly, fill: trouble},
		{has: "dbus: connection closed", kind: KindDBusFailed, fill: trouble},
		{has: "Timeout waiting for systemd to", kind: KindDBusFailed, fill: trouble},
		{has: "Failed to start transient scope unit", kind: KindDBusFailed, fill: trouble},
		{has: "holding the xtables lock", kind: kindXtablesLock, fill: trouble},
		{has: "is different from docker cgroup driver", kind: kindCgroupDriver, fill: trouble},
		{has: "failed to prepare subPath for volumeMount", kind: KindSubPathFailed, fill: subPath},
		{start: "Partial failure issuing cadvisor", kind: KindStatsFailed, fill: trouble},
		{has: "failed to get summary stats", kind: KindStatsFailed, fill: trouble},
		{has: "failed to get rootFs info", kind: KindStatsFailed, fill: trouble},
		{has: "failed to get imageFs info", kind: KindStatsFailed, fill: trouble},
	}
}

// trouble takes the message as the cause, with the path in it. Information and echoes as events are no trouble.
func trouble(e *entry, o *occurrence) bool {
	if e.Severity == 'I' || strings.HasPrefix(e.Message, "Event") {
		return false
	}
	text := errorOf(e)
	o.Reason, o.Code = cut(text, maxReason), osCode(text)
	if o.Path == "" {
		o.Path = pathIn(text)
	}
	return true
}

// apiTrouble tells whether the API server cannot be reached, refuses, or has a certificate that is no longer valid.
func apiTrouble(e *entry, o *occurrence) bool {
	if !trouble(e, o) {
		return false
	}
	o.Path = ""
	switch text := errorOf(e); {
	case strings.Contains(text, "nauthorized"), strings.Contains(text, "is forbidden"):
		o.Kind = KindAPIUnauthorized
	case strings.Contains(text, "the object has been modified"):
		return false
	}
	return true
}

func subPath(e *entry, o *occurrence) bool {
	o.Container = cut(strings.Trim(word(errorOf(e), "of container ", ",: "), `"\`), maxName)
	return trouble(e, o)
}
