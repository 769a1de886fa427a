// Package live reads the mount tables of a running machine, and asks its mounts whether they answer.
//
// [Read] and a [Reader] take tables from /proc/PID/mountinfo, [Namespaces] those of all mount namespaces that have processes,
// and [Uninhabited] those of the others, by listmount(2) and statmount(2) (Linux 6.12). The kernel asks no file server for
// them. [Check] does touch mounted file systems: each call may block forever, and is made under package probe. [AwaitProgress]
// only watches counters of disks (Documentation/block/stat.rst).
package live

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// errUnstable says that no two readings of a table agreed. Before Linux 5.8 a mount that comes or goes in the meantime
// can make a reading skip others, so what was read last may lack some.
var errUnstable = errors.New("no two readings of the mount table agreed")

const (
	// maxReadings is how often a table is read at most.
	maxReadings = 8
	// maxTable bounds the text of one table: 100,000 mounts, which is as many as fs.mount-max lets a namespace have.
	maxTable = 32 << 20
	// maxForeign bounds what is kept of the table of another namespace, in bytes: pods can fill theirs with mounts of paths as
	// long as they like. It has room for 10,000 mounts of a kubelet, and for more where they are copies. Copies of the host's
	// stand first in a new namespace.
	maxForeign = 3 << 20

	// The kernel writes each mount point by going up all mounts below it: the time for a stack of mounts grows with its
	// square, and 60,000 take it half a minute (prepend_path in fs/d_path.c). Anybody with a user namespace can make one.
	// So a table has a limit of time, which is shorter once the Reader has lost patience with others before it.
	tableTime      = 4 * time.Second
	slowTable      = time.Second
	readerPatience = 3 * time.Second
	hurriedTable   = 100 * time.Millisecond
)

// Read reads the mount table that a process sees; pid 0 is the calling process. Before Linux 5.8, it reads until two readings
// in a row agree; see [errUnstable].
//
// The table may be incomplete with any error: lines that could not be understood are missing, and so is what lies
// beyond 32 MiB or what the kernel had not written after some seconds (nodefs.ErrTruncated). Namespace and Root are absent where
// the kernel denies them, which is no error.
// fs.ErrNotExist and syscall.ESRCH mean that there is no such process, syscall.EINVAL that it is a zombie.
//
// Only /proc is read. The kernel asks no file server for this, but may wait for a lock of a file system that is in
// trouble: callers that must not wait call Read under package probe.
func Read(ctx context.Context, fsys *hostfs.FS, pid int) (mounts.Table, error) {
	empty := mounts.Table{PID: pid, Mounts: []mounts.Mount{}}
	proc, err := fsys.OpenDir("/proc")
	if err != nil {
		return empty, fmt.Errorf("mount table: %w", err)
	}
	defer func() { _ = proc.Close() }()
	if pid == 0 {
		if pid, err = self(proc); err != nil {
			return empty, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, tableTime)
	defer cancel()
	r := tableReader{proc: proc, limit: maxTable, parser: &mounts.Parser{}, single: holdsStill(proc)}
	return r.read(ctx, pid)
}

func self(proc *hostfs.Dir) (int, error) {
	link, err := proc.ReadLink("self")
	if err != nil {
		return 0, fmt.Errorf("mount table: %w", err)
	}
	pid, err := strconv.Atoi(link)
	if err != nil {
		return 0, fmt.Errorf("mount table: link %s: %w", path.Join(proc.Path(), "self"), err)
	}
	return pid, nil
}
