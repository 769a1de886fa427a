// Package procstat tells a process from a later one with the same pid.
package procstat

import (
	"bytes"
	"errors"
	"path"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// ErrEnded says that a process has ended, and that its pid may be another's now.
var ErrEnded = errors.New("the process has ended")

// Same checks that a pid is still that of the process that was started then, in clock ticks since boot (field 22 of stat,
// proc_pid_stat(5)). What was read below /proc/PID before is that process's. 0 ticks are not known: then nothing is checked.
func Same(fsys nodefs.FS, pid int, ticks uint64) error {
	if ticks == 0 {
		return nil
	}
	text, err := fsys.ReadFile(path.Join("/proc", strconv.Itoa(pid), "stat"), 64<<10)
	if err != nil {
		return err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const start = 22 - 3 // the first field behind the name is the third
	if len(fields) <= start || fields[start] != strconv.FormatUint(ticks, 10) {
		return ErrEnded
	}
	return nil
}
