package runtimes

import (
	"bytes"
	"encoding/json"
	"errors"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// An ociConfig is what matters of a bundle's config.json (OCI runtime specification). The environment and the
// arguments are not decoded: they hold secrets.
type ociConfig struct {
	Annotations map[string]string `json:"annotations"`
	Mounts      []struct {
		Source string `json:"source"`
	} `json:"mounts"`
	Linux struct {
		CgroupsPath string `json:"cgroupsPath"`
	} `json:"linux"`
}

func readOCIConfig(dir *hostfs.Dir, name string) (c ociConfig, err error) {
	text, err := dir.ReadFile(name, maxJSON)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	return c, err
}

var podBelow = regexp.MustCompile(`/pods/([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32})/`)

// podUID concludes the UID where no annotation tells it (containerd before 1.5.8): from a directory of the pod that is
// mounted, the directory of its logs ("<namespace>_<name>_<uid>"), or the cgroup.
func (c ociConfig) podUID(logDir string) string {
	for _, m := range c.Mounts {
		if found := podBelow.FindStringSubmatch(m.Source); found != nil {
			return found[1]
		}
	}
	if parts := strings.Split(path.Base(logDir), "_"); len(parts) == 3 {
		return parts[2]
	}
	for part := range strings.SplitSeq(c.Linux.CgroupsPath, "/") {
		slice, _, _ := strings.Cut(part, ":")
		if found := podUID.FindStringSubmatch(slice); found != nil {
			return strings.ReplaceAll(found[1], "_", "-")
		}
	}
	return ""
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

// readRuncState reads the first process and its start time from runc's state.json ("init_process_pid",
// "init_process_start") or crun's status ("pid", "process-start-time"). The rest of these files is not read: it
// holds the environment.
func readRuncState(dir *hostfs.Dir, id string) (pid int, start uint64) {
	text, err := dir.ReadFile(path.Join(id, "state.json"), runcHead)
	if err != nil && !errors.Is(err, nodefs.ErrTruncated) {
		if text, err = dir.ReadFile(path.Join(id, "status"), runcHead); err != nil && !errors.Is(err, nodefs.ErrTruncated) {
			return 0, 0
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if _, err := decoder.Token(); err != nil {
		return 0, 0
	}
	for decoder.More() && (pid == 0 || start == 0) {
		key, err := decoder.Token()
		if err != nil {
			return pid, start
		}
		var value json.RawMessage
		if decoder.Decode(&value) != nil {
			return pid, start
		}
		switch key {
		case "init_process_pid", "pid":
			pid, _ = strconv.Atoi(string(value))
		case "init_process_start", "process-start-time":
			start, _ = strconv.ParseUint(string(value), 10, 64)
		}
	}
	return pid, start
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

// staticSource says whether a pod's kubernetes.io/config.source (kubelet pkg/kubelet/types) is a manifest and not the API.
func staticSource(source string) bool { return source != "" && source != "api" }

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
