package kubelet

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// ProcessFS opens the files as a process sees them: below its root directory, in its mount namespace. The caller
// closes it. It needs the rights of ptrace(2) for that process. It may block, where that directory is on a dead mount.
//
// The result is not [hostfs.FS.Live]: use fsys itself for /proc and /sys.
func ProcessFS(fsys *hostfs.FS, pid int) (*hostfs.FS, error) {
	return hostfs.Open(path.Join(fsys.Root(), procPath(pid, "root")))
}

func procPath(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// errEnded says that a process has ended, and that its pid may be another's now.
var errEnded = errors.New("the process has ended")

// sameProcess checks that a pid is still that of the process that was started then, in clock ticks since boot (field 22
// of stat, proc_pid_stat(5)). What was read below /proc/PID before is that process's. 0 ticks are not known.
func sameProcess(fsys *hostfs.FS, pid int, ticks uint64) error {
	if ticks == 0 {
		return nil
	}
	text, err := fsys.ReadFile(procPath(pid, "stat"), 64<<10)
	if err != nil {
		return err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const start = 22 - 3 // the first field behind the name is the third
	if len(fields) <= start || fields[start] != strconv.FormatUint(ticks, 10) {
		return errEnded
	}
	return nil
}

// A disk reads files that may lie on a dead mount: each call on a goroutine of its own, for a limited time.
type disk struct {
	fs    *hostfs.FS
	group *probe.Group
	limit time.Duration
}

func onDisk[T any](ctx context.Context, d disk, name string, call func() (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	return probe.Do(ctx, d.group, "kubelet's file "+name, call)
}

func (d disk) readFile(ctx context.Context, name string, limit int64) ([]byte, error) {
	return onDisk(ctx, d, name, func() ([]byte, error) { return d.fs.ReadFile(name, limit) })
}

func (d disk) readDir(ctx context.Context, name string, limit int) ([]nodefs.Entry, error) {
	return onDisk(ctx, d, name, func() ([]nodefs.Entry, error) { return d.fs.ReadDir(name, limit) })
}

func (d disk) readLink(ctx context.Context, name string) (string, error) {
	return onDisk(ctx, d, name, func() (string, error) { return d.fs.ReadLink(name) })
}

func (d disk) resolve(ctx context.Context, name string) (string, error) {
	return onDisk(ctx, d, name, func() (string, error) { return d.fs.Resolve(name) })
}

// sourceOf says what became of reading a file.
func sourceOf(name string, err error) Source {
	s := Source{Path: name, Status: "malformed"}
	switch {
	case err == nil:
		s.Status = "read"
		return s
	case errors.Is(err, fs.ErrNotExist):
		s.Status = "absent"
	case errors.Is(err, fs.ErrPermission):
		s.Status = "denied"
	case errors.Is(err, nodefs.ErrTruncated):
		s.Status = "truncated"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), errors.Is(err, probe.ErrBusy):
		s.Status = "timeout"
	}
	s.Detail = err.Error()
	return s
}
