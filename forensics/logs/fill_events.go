package logs

import (
	"slices"
	"strings"
)

// eventOfVolume reads what happened to a volume of a pod:
//
//	MountVolume.SetUp failed for volume "v" : …
//	Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[…]: …
//	Multi-Attach error for volume "v" Volume is already …
func eventOfVolume(e *entry, o *occurrence) bool {
	text := e.Message
	if strings.HasPrefix(text, "Unable to ") {
		if _, uid := formattedPod(text); uid != "" {
			o.PodUID = uid
		}
		o.Kind = KindVolumesNotMounted
		return notMounted(e, o)
	}
	pod := o.Subject
	volumeSubject(text, &o.Subject)
	if pod.PodUID != "" || pod.PodName != "" {
		o.PodName, o.PodUID = pod.PodName, pod.PodUID
	}
	operation := operationOf(text)
	if operation == "" {
		return false
	}
	volumeError(operation, text, o)
	if operation == opAttachVolume { // a controller's own, which no driver of the node answers
		o.Kind = kindAttachFailed
	}
	if strings.HasPrefix(text, multiAttach) {
		o.Code = "Multi-Attach"
	}
	return true
}

// multiAttach begins the message about a volume that another node still has (pkg/controller/volume/attachdetach/reconciler). The
// controller says it once.
const multiAttach = "Multi-Attach error for volume"

func eventOfAttached(e *entry, o *occurrence) bool {
	pod := o.Subject
	volumeSubject(e.Message, &o.Subject)
	o.PodName, o.PodUID = pod.PodName, pod.PodUID
	o.Reason, o.Code = "", ""
	return true
}

// eventOfSandbox reads "Failed to create pod sandbox: …", up to 1.10 "Failed create pod sandbox: …".
func eventOfSandbox(e *entry, o *occurrence) bool {
	inner := cause(e, o)
	switch {
	case strings.Contains(inner, "failed (add)"), strings.Contains(inner, "setup network for sandbox"), strings.Contains(inner, "set up pod"):
		o.Kind = kindCNIAddFailed
	case strings.Contains(inner, "mkdir /sys/fs/cgroup"):
		o.Kind = kindCgroupNoSpace
	}
	return true
}

// cause takes the error behind the first colon for the reason.
func cause(e *entry, o *occurrence) string {
	_, inner, ok := strings.Cut(e.Message, ": ")
	if !ok {
		inner = e.Message
	}
	o.Reason, o.Code = bothEnds(inner, 140), code(inner)
	return inner
}

// ofImage are texts that say that an image or a specification is wrong, and nothing of the node.
var ofImage = []string{
	"executable file not found", "exec format error", "caused: exec", `exec: "`, "not found", "couldn't find key", "no command specified", "non-numeric user", "runAsNonRoot", "InvalidImageName",
}

// eventOfContainer reads why a container was not created or not started. An image or a specification that is wrong is passed over.
func eventOfContainer(e *entry, o *occurrence) bool {
	text := e.Message
	inTheWay := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
	}
	switch {
	case inTheWay("ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "pull image"):
		o.Kind = KindImagePullFailed
		pullFailure(text, o)
	case inTheWay("mkdir /sys/fs/cgroup") && inTheWay("no space left on device", "cannot allocate memory"):
		o.Kind = kindCgroupNoSpace
	case inTheWay("reserve container name", "is reserved for"):
		o.Kind = kindContainerNameReserved
	case inTheWay("subPath"):
		o.Kind, o.Volume = kindSubPathFailed, cut(between(text, `volumeMount "`, `"`), maxName)
		o.Code = osCode(text)
	case inTheWay("get apparmor_parser version: "): // containerd runs it on the node
	case inTheWay(ofImage...):
		return false
	}
	return true
}

// eventOfNeverPull reads `Container image "i" is not present with pull policy of Never`.
func eventOfNeverPull(e *entry, o *occurrence) bool {
	o.Image, o.Code = cut(between(e.Message, `Container image "`, `"`), maxName), "ErrImageNeverPull"
	return o.Image != ""
}

// eventOfKill reads `error killing pod: failed to "KillContainer" for "c" with KillContainerError: "…"`.
func eventOfKill(e *entry, o *occurrence) bool {
	inner := cause(e, o)
	if o.Container == "" && strings.Contains(inner, "KillContainer") {
		o.Container = cut(strings.Trim(word(inner, "for ", " "), `"\`), maxName)
	}
	if strings.Contains(inner, "failed (delete)") || strings.Contains(inner, "destroy network for sandbox") {
		o.Kind = KindCNIDeleteFailed
	}
	return true
}

// eventOfPressure reads "Attempting to reclaim ephemeral-storage" and the conditions of a node.
func eventOfPressure(e *entry, o *occurrence) bool {
	o.Code = ""
	if strings.Contains(e.API.Reason, "Has") {
		o.Code = "condition"
	}
	switch reason := e.API.Reason; {
	case strings.HasPrefix(e.Message, "Attempting to reclaim "):
		o.Reason = cut(strings.TrimPrefix(e.Message, "Attempting to reclaim "), maxName)
	case strings.Contains(reason, "Disk"):
		o.Reason = "ephemeral-storage"
	case strings.Contains(reason, "PID"):
		o.Reason = "pids"
	default:
		o.Reason = "memory"
	}
	return true
}

// eventOfEviction reads "The node was low on resource: memory. …", and of a pod that came under pressure "The node had condition:
// [DiskPressure]. ". Up to 1.8 the first named the condition, too.
func eventOfEviction(e *entry, o *occurrence) bool {
	o.Code = ""
	switch o.Reason = cut(strings.Trim(word(e.Message, "low on resource: ", " ")+word(e.Message, "had condition: ", " "), ". []"), maxName); o.Reason {
	case "DiskPressure":
		o.Reason = "ephemeral-storage"
	case "MemoryPressure":
		o.Reason = "memory"
	case "PIDPressure":
		o.Reason = "pids"
	}
	return true
}

// eventOfCapacity passes over what each kubelet reports once when it starts.
func eventOfCapacity(e *entry, o *occurrence) bool {
	if e.API.Count < 3 {
		o.Kind = noiseImageFSStart
	}
	return true
}

// eventOfNode reads the message of the condition, or "Node n status is now: NodeNotReady", which has no reason.
func eventOfNode(e *entry, o *occurrence) bool {
	if strings.Contains(e.Message, "status is now") {
		o.Reason = ""
	} else {
		o.Reason = skipReasons(e.Message)
	}
	if ago := word(e.Message, "last seen active ", " ;,]"); ago != "" {
		o.Number = seconds(ago)
	}
	o.Code = ""
	return true
}

// eventOfOOM reads "System OOM encountered, victim process: java, pid: 4711".
func eventOfOOM(e *entry, o *occurrence) bool {
	name, pid := word(e.Message, "victim process: ", ","), word(e.Message, "pid: ", " ,")
	if name != "" {
		o.Process = cut(name+" ("+pid+")", maxName)
	}
	o.Reason, o.Code = "", ""
	return true
}
