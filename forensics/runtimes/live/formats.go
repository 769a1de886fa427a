package live

import (
	"encoding/json"
	"errors"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

func readOCIConfig(dir *hostfs.Dir, name string) (c runtimes.OCIConfig, err error) {
	text, err := dir.ReadFile(name, maxJSON)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	return c, err
}

// readPID reads a file that holds a pid.
func readPID(dir *hostfs.Dir, name string) int {
	text, err := dir.ReadFile(name, 32)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid < 0 {
		return 0
	}
	return pid
}

// runcHead is enough of state.json for the fields that are wanted: runc writes them first (libcontainer BaseState).
const runcHead = 8 << 10

// readRuncState reads the first process and its start time from runc's state.json or crun's status. The rest of these
// files is not read: it holds the environment.
func readRuncState(dir *hostfs.Dir, id string) (pid int, start uint64) {
	text, err := dir.ReadFile(path.Join(id, "state.json"), runcHead)
	if err != nil && !errors.Is(err, nodefs.ErrTruncated) {
		if text, err = dir.ReadFile(path.Join(id, "status"), runcHead); err != nil && !errors.Is(err, nodefs.ErrTruncated) {
			return 0, 0
		}
	}
	return runtimes.ParseRuncState(text)
}

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
