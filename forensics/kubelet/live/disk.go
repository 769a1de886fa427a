package live

import (
	"context"
	"errors"
	"path"
	"strconv"
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

// A disk reads files that may lie on a dead mount: each call on a goroutine of its own, for a limited time.
type disk struct {
	ctx   context.Context
	fs    *hostfs.FS
	group *probe.Group
	limit time.Duration
}

func onDisk[T any](d disk, name string, call func() (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(d.ctx, d.limit)
	defer cancel()
	value, err := probe.Do(ctx, d.group, "kubelet's file "+name, call)
	if errors.Is(err, probe.ErrBusy) {
		err = lateError{err}
	}
	return value, err
}

// A lateError is about a file that has not answered since an earlier call.
type lateError struct{ error }

func (lateError) Is(target error) bool { return target == context.DeadlineExceeded }

func (e lateError) Unwrap() error { return e.error }

func (d disk) ReadFile(name string, limit int64) ([]byte, error) {
	return onDisk(d, name, func() ([]byte, error) { return d.fs.ReadFile(name, limit) })
}

func (d disk) ReadDir(name string, limit int) ([]nodefs.Entry, error) {
	return onDisk(d, name, func() ([]nodefs.Entry, error) { return d.fs.ReadDir(name, limit) })
}

func (d disk) ReadLink(name string) (string, error) {
	return onDisk(d, name, func() (string, error) { return d.fs.ReadLink(name) })
}

func (d disk) Resolve(name string) (string, error) {
	return onDisk(d, name, func() (string, error) { return d.fs.Resolve(name) })
}
