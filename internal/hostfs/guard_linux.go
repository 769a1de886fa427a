package hostfs

import (
	"bytes"
	"context"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// mountID tells mounts apart. The ways to learn one are not comparable with each other.
type mountID struct {
	way byte
	id  uint64
}

// openGuarded opens a single name of a directory on a given mount, for kernels without openat2. The comparison comes
// after the fact, when the root of another mount has been found, which asks a server of NFS whether it is still valid.
func openGuarded(dir int, name string, mount mountID) (int, error) {
	fd, err := openat(dir, name, pathFlags)
	if err != nil {
		return -1, err
	}
	if mountOf(fd) != mount {
		_ = unix.Close(fd)
		return -1, nodefs.ErrCrossesMount
	}
	return fd, nil
}

// mountOf returns the identity of the mount that a descriptor is on, without touching what is mounted: from statx since
// Linux 5.8, else from /proc/self/fdinfo since 3.15, and only if both are out of reach from the device number, to which
// bind mounts look the same.
func mountOf(fd int) mountID {
	var x unix.Statx_t
	err := statx(fd, unix.STATX_MNT_ID, &x)
	if err == nil && x.Mask&unix.STATX_MNT_ID != 0 {
		return mountID{way: 's', id: x.Mnt_id}
	}
	if id, ok := mountFromFdinfo(fd); ok {
		return mountID{way: 'f', id: id}
	}
	if err == nil {
		return mountID{way: 'd', id: unix.Mkdev(x.Dev_major, x.Dev_minor)}
	}
	st, _ := fstat(fd)
	return mountID{way: 'd', id: st.Dev}
}

// mountFromFdinfo reads the line "mnt_id:\t59", see proc_pid_fdinfo(5).
func mountFromFdinfo(fd int) (uint64, bool) {
	data, err := readKernelFile("/proc/self/fdinfo/"+strconv.Itoa(fd), 4096)
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(data) {
		if value, ok := bytes.CutPrefix(line, []byte("mnt_id:")); ok {
			id, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 64)
			return id, err == nil
		}
	}
	return 0, false
}

// readKernelFile reads a file of this process's own procfs.
func readKernelFile(name string, limit int64) ([]byte, error) {
	fd, err := openat(unix.AT_FDCWD, name, readFlags)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return appendFile(context.Background(), nil, fd, limit)
}
