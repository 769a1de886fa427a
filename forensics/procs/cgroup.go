package procs

import (
	"bytes"
	"strings"
)

// The lengths of the names that the kubelet and the runtimes put into cgroup paths.
const (
	uuidLength        = 36 // 8-4-4-4-12 hexadecimal digits
	staticUIDLength   = 32 // static pods: the MD5 sum of their manifest, without dashes
	containerIDLength = 64
)

// PodFromCgroup finds the pod UID and the container id in a cgroup path. It needs nothing but the path, so it works
// for every cgroup driver, version and root: "/kubepods/burstable/pod<uid>/<id>" (cgroupfs),
// "/kubepods.slice/…/kubepods-burstable-pod<uid with underscores>.slice/cri-containerd-<id>.scope" (systemd),
// "/system.slice/containerd.service/kubepods-…-pod<uid>.slice:cri-containerd:<id>" (runtime and kubelet disagree about
// the driver). The returned UID has dashes. Where pods are nested, the outermost one is the pod of this node.
//
// The container id is the first one behind the pod, or the innermost one if there is no pod; either may be empty.
func PodFromCgroup(path string) (podUID, containerID string) {
	start, end := findPodUID(path)
	if end == 0 {
		return "", lastContainerID(path)
	}
	podUID = strings.ReplaceAll(path[start:end], "_", "-")
	for rest := path[end:]; rest != ""; {
		part, next, _ := strings.Cut(rest, "/")
		if id := containerIDIn(part); id != "" {
			return podUID, id
		}
		rest = next
	}
	return podUID, ""
}

// findPodUID returns where the first pod UID stands in path; end is 0 if there is none.
func findPodUID(path string) (start, end int) {
	const mark = "pod"
	for from := 0; ; {
		at := strings.Index(path[from:], mark)
		if at < 0 {
			return 0, 0
		}
		at += from
		from = at + len(mark)
		if at > 0 && path[at-1] != '/' && path[at-1] != '-' {
			continue // the "pod" of "kubepods"
		}
		if n := podUIDLength(path[from:]); n > 0 {
			return from, from + n
		}
	}
}

// podUIDLength returns the length of the UID that text begins with, 0 if there is none.
func podUIDLength(text string) int {
	switch {
	case isUUID(text) && ends(text[uuidLength:]):
		return uuidLength
	case countHex(text) == staticUIDLength && ends(text[staticUIDLength:]):
		return staticUIDLength
	}
	return 0
}

func ends(rest string) bool { return rest == "" || strings.ContainsRune("/.: ", rune(rest[0])) }

// isUUID says whether text begins with a UUID, with dashes or, as systemd needs it, underscores.
func isUUID(text string) bool {
	if len(text) < uuidLength {
		return false
	}
	for i := range uuidLength {
		switch i {
		case 8, 13, 18, 23:
			if text[i] != '-' && text[i] != '_' {
				return false
			}
		default:
			if !isHex(text[i]) {
				return false
			}
		}
	}
	return true
}

func lastContainerID(path string) string {
	for path != "" {
		at := strings.LastIndexByte(path, '/')
		if id := containerIDIn(path[at+1:]); id != "" {
			return id
		}
		path = path[:max(at, 0)]
	}
	return ""
}

// containerIDIn finds a container id in one component of a cgroup path ("<id>", "crio-<id>.scope", "…:<id>"): exactly
// 64 hexadecimal digits.
func containerIDIn(part string) string {
	for i := 0; i < len(part); {
		n := countHex(part[i:])
		if n == containerIDLength {
			return part[i : i+n]
		}
		i += n + 1
	}
	return ""
}

// countHex returns how many lower-case hexadecimal digits text begins with.
func countHex(text string) int {
	for i := range len(text) {
		if !isHex(text[i]) {
			return i
		}
	}
	return len(text)
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' }

// ParseCgroup picks the path of a process out of /proc/PID/cgroup (cgroups(7)): lines "id:controllers:path", one for
// each v1 hierarchy and, with id 0, one for the unified hierarchy. The first path that names a pod is taken, else the
// unified one, else the first. Paths may hold colons.
func ParseCgroup(text []byte) (path, podUID, containerID string) {
	var first, unified []byte
	for line := range bytes.Lines(text) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		id, rest, _ := bytes.Cut(line, []byte(":"))
		_, value, ok := bytes.Cut(rest, []byte(":"))
		if !ok {
			continue
		}
		if first == nil {
			first = value
		}
		if string(id) == "0" {
			unified = value
		}
		if !bytes.Contains(value, []byte("pod")) {
			continue // spares the allocation
		}
		path = string(value)
		if podUID, containerID = PodFromCgroup(path); podUID != "" {
			return path, podUID, containerID
		}
	}
	if unified != nil {
		first = unified
	}
	path = string(first)
	_, containerID = PodFromCgroup(path)
	return path, "", containerID
}
