package live

import (
	"encoding/json"
	"errors"
	"path"
	"strconv"
	"strings"

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
