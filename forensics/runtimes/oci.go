package runtimes

import (
	"bytes"
	"encoding/json"
	"path"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/poduid"
)

// An OCIConfig is what matters of a bundle's config.json (OCI runtime specification). The environment and the
// arguments are not decoded: they hold secrets.
type OCIConfig struct {
	Annotations map[string]string `json:"annotations"`
	Mounts      []struct {
		Source string `json:"source"`
	} `json:"mounts"`
	Linux struct {
		CgroupsPath string `json:"cgroupsPath"`
	} `json:"linux"`
}

var podBelow = pattern.New(`/pods/(` + poduid.Pattern + `)/`)

// PodUID concludes the UID where no annotation tells it (containerd before 1.5.8): from a directory of the pod that is
// mounted, the directory of its logs ("<namespace>_<name>_<uid>"), or the cgroup.
func (c OCIConfig) PodUID(logDir string) string {
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
		if uid := PodOfCgroup(slice); uid != "" {
			return uid
		}
	}
	return ""
}

// ParseRuncState reads the first process and its start time, in clock ticks since boot, from runc's state.json
// ("init_process_pid", "init_process_start") or crun's status ("pid", "process-start-time"), of which the text may be the
// beginning; 0 is unknown. It stops once it has both: what follows holds the environment.
func ParseRuncState(text []byte) (pid int, start uint64) {
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

// IsStatic says whether the annotation kubernetes.io/config.source of a pod (kubelet pkg/kubelet/types) names a manifest and
// not the API.
func IsStatic(source string) bool { return source != "" && source != "api" }
