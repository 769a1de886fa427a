package kubelet

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strconv"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/hostfs"
	"github.com/nodeforensics/nodeforensics/forensics/probe"
)

// ProcessFS opens the files as a process sees them: below its root directory, in its mount namespace. The caller
// closes it. It needs the rights of ptrace(2) for that process. It may block, where that directory is on a dead mount.
//
// The result is not [hostfs.FS.Live]: use fsys itself for /proc and /sys.
func ProcessFS(fsys *hostfs.FS, pid int) (*hostfs.FS, error) {
	return hostfs.Open(path.Join(fsys.Root(), procPath(pid, "root")))
}

func procPath(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

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

func (d disk) readDir(ctx context.Context, name string, limit int) ([]hostfs.Entry, error) {
	return onDisk(ctx, d, name, func() ([]hostfs.Entry, error) { return d.fs.ReadDir(name, limit) })
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
	case errors.Is(err, hostfs.ErrTruncated):
		s.Status = "truncated"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), errors.Is(err, probe.ErrBusy):
		s.Status = "timeout"
	}
	s.Detail = err.Error()
	return s
}
