package live

import (
	"strconv"
	"strings"
	"time"
)

// nanoseconds is a time as the runtimes write it into JSON numbers; nil for 0.
func nanoseconds(n int64) *time.Time {
	if n <= 0 {
		return nil
	}
	t := time.Unix(0, n).UTC()
	return &t
}

// timeText is a time as RFC 3339; nil where it is none, or Go's zero time.
func timeText(text string) *time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.Year() <= 1 {
		return nil
	}
	t = t.UTC()
	return &t
}

// kubeName takes apart "k8s_<container>_<pod>_<namespace>_<uid>_<attempt>", as dockershim and CRI-O name containers;
// the sandbox is the container POD. Only the last part of a container's name can hold no underscore, so it is split from
// the end.
func kubeName(name string) (container, pod, namespace, uid string, attempt int, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(name, "/"), "k8s_")
	parts := strings.Split(rest, "_")
	if n := len(parts); ok && n >= 5 {
		attempt, err := strconv.Atoi(parts[n-1])
		if err != nil {
			attempt = -1
		}
		return strings.Join(parts[:n-4], "_"), parts[n-4], parts[n-3], parts[n-2], attempt, true
	}
	return "", "", "", "", -1, false
}

// isID says whether a name is a container's id: 64 hexadecimal digits.
func isID(name string) bool { return len(name) == 64 && containerID.MatchString(name) }
