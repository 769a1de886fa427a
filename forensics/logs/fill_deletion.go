package logs

import (
	"slices"
	"strings"
)

// Causes of a teardown after which the object of the pod stays.
const (
	teardownTerminal = "terminal phase"
	teardownEvicted  = "evicted"
)

func because(reason string) func(*entry, *occurrence) bool {
	return func(_ *entry, o *occurrence) bool {
		o.Reason, o.Code = reason, ""
		return true
	}
}

func gracePeriod(e *entry, o *occurrence) bool {
	o.Number = number(e.Get("gracePeriod"))
	if id := e.Get("containerID"); id != "" {
		o.Container = cut(containerID(id), maxName)
	}
	return true
}

// killing reads `Killing container "docker://ID" with [a ]30 second grace period`, which names no pod.
func killing(e *entry, o *occurrence) bool {
	id, rest, ok := strings.Cut(e.Message[len(`Killing container "`):], `" with `)
	if !ok {
		return false
	}
	o.Container, o.Reason, o.Code = cut(containerID(id), maxName), "", ""
	o.Number = number(strings.TrimPrefix(rest, "a "))
	return true
}

// killingOverride reads `Killing container {"docker" "ID"}, but using 0 second grace period override`.
func killingOverride(e *entry, o *occurrence) bool {
	o.Container, o.Reason, o.Code = cut(between(e.Message, `" "`, `"`), maxName), "", ""
	o.Number = number(word(e.Message, "using ", " "))
	return true
}

// preStop reads `preStop hook for container "c" did not complete in N seconds`.
func preStop(e *entry, o *occurrence) bool {
	o.Container = cut(between(e.Message, `"`, `"`), maxName)
	o.Number = number(word(e.Message, "did not complete in ", " "))
	return true
}

func exited(e *entry, o *occurrence) bool {
	o.Container = cut(containerID(between(e.Message, `"`, `"`)), maxName)
	return o.Container != ""
}

// containersLeft says which: "still running", "not cleaned up", "status not yet reported".
func containersLeft(e *entry, o *occurrence) bool {
	o.Code = ""
	switch {
	case strings.Contains(e.Message, "still running"):
		o.Reason = "still running"
	case strings.Contains(e.Message, "have not been cleaned up"):
		o.Reason = "not cleaned up"
	case strings.Contains(e.Message, "status has not yet been reported"):
		o.Reason = "status not yet reported"
	default:
		return false
	}
	return true
}

// syncFailed sorts `Error syncing pod UID ("name_ns(uid)"), skipping: …` and its structured form by what failed.
func syncFailed(e *entry, o *occurrence) bool {
	text := e.Get("err")
	if text == "" {
		_, text, _ = strings.Cut(e.Message, "skipping: ")
	}
	o.Reason, o.Code = cut(text, maxReason), code(text)
	if o.PodUID == "" {
		o.PodUID = leadingUID(strings.TrimPrefix(e.Message, "Error syncing pod "))
	}
	switch {
	case strings.Contains(text, "ErrImagePull"), strings.Contains(text, "ImagePullBackOff"), strings.Contains(text, "ErrImageNeverPull"):
		o.Kind = KindImagePullFailed
		pullFailure(text, o)
	case strings.Contains(text, "KillContainer"), strings.Contains(text, "KillPodSandbox"):
		o.Kind = KindPodKillFailed
		o.Container = cut(strings.Trim(word(text, "for ", " "), `"\`), maxName)
		if strings.Contains(text, "failed (delete)") || strings.Contains(text, "destroy network for sandbox") {
			o.Kind = KindCNIDeleteFailed
		}
	case strings.Contains(text, "after a successful KillPod"):
		o.Kind = KindPodKillIncomplete
	case strings.HasPrefix(text, "mounted volumes=["):
		o.Kind, o.Volume = KindPodVolumesWaiting, volumeList(text, "mounted volumes=[")
	case strings.Contains(text, "unmounted volumes=["):
		o.Kind, o.Volume = KindVolumesNotMounted, volumeList(text, "unmounted volumes=[")
	case strings.Contains(text, "destroy cgroup"), strings.Contains(text, "cgroup paths"):
		o.Kind = KindPodCgroupLeft
		_ = osFailure(e, o)
	case strings.Contains(text, "failed to prepare subPath"):
		o.Kind = kindSubPathFailed
		o.Container = cut(strings.Trim(word(text, "of container ", ",: "), `"\`), maxName)
	case strings.Contains(text, "failed (add)"), strings.Contains(text, "setup network for sandbox"):
		o.Kind = kindCNIAddFailed
	case strings.Contains(text, "network is not ready"), strings.Contains(text, "network plugin is not ready"):
		o.Kind = kindNetworkNotReady
	case strings.Contains(text, "reserve container name"), strings.Contains(text, "is reserved for"):
		o.Kind = kindContainerNameReserved
	case strings.Contains(text, "with RunContainerError: ") && strings.Contains(text, "OCI runtime create failed"):
		if !slices.ContainsFunc(ofImage, func(w string) bool { return strings.Contains(text, w) }) {
			o.Kind = kindContainerStartFailed
		}
	}
	return true
}

// volumeList is the members of "[a b c]" after a text, joined by ",".
func volumeList(text, before string) string {
	return cut(strings.Join(strings.Fields(between(text, before, "]")), ","), maxName)
}

// pullFailure finds the image that could not be pulled, in any of the ways that messages quote it.
func pullFailure(text string, o *occurrence) {
	for _, w := range []string{"ErrImageNeverPull", "ImagePullBackOff", "ErrImagePull"} {
		if strings.Contains(text, w) {
			o.Code = w
			break
		}
	}
	for _, before := range []string{"pulling image ", "Failed to pull image ", "failed to pull image ", "pull and unpack image ", "Container image "} {
		_, rest, ok := strings.Cut(text, before)
		if !ok {
			continue
		}
		rest = strings.TrimLeft(rest, `\"`)
		if end := strings.IndexAny(rest, `\" ,`); end >= 0 {
			rest = rest[:end]
		}
		if o.Image = cut(strings.TrimSuffix(rest, ":"), maxName); o.Image != "" {
			return
		}
	}
}
