package live

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// examine asks the file system that is mounted on a path. It names the call that failed, and tells enter which call
// begins. It may block forever in any of them.
func examine(name string, mountID int, enter func(call string)) (failed string, err error) {
	enter(callOpen)
	var fd int
	if err := retry(func() (err error) {
		fd, err = unix.Open(name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		return err
	}); err != nil {
		return callOpen, err
	}
	defer func() { _ = unix.Close(fd) }() // a descriptor of this kind is not flushed
	if id, ok := mountIDOf(fd); ok && id != mountID {
		return callOpen, fmt.Errorf("%w: %d", errChanged, id)
	}
	enter(callStatx)
	if err := retry(func() error { return attributes(fd) }); err != nil {
		return callStatx, err
	}
	enter(callStatfs)
	err = retry(func() error { return statistics(fd) })
	if err == nil || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) {
		return "", nil // a file system without statistics has answered
	}
	return callStatfs, err
}

// attributes has the server asked for the attributes of an O_PATH descriptor.
func attributes(fd int) error {
	var stx unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_NO_AUTOMOUNT|unix.AT_STATX_FORCE_SYNC,
		unix.STATX_BASIC_STATS, &stx)
	// Before Linux 4.11 there is no statx, and some sandboxes refuse what they do not know.
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		var st unix.Stat_t
		err = unix.Fstatat(fd, "", &st, unix.AT_EMPTY_PATH|unix.AT_NO_AUTOMOUNT)
	}
	return err
}

// statistics has the server asked for the statistics of the file system.
func statistics(fd int) error {
	var st unix.Statfs_t
	err := unix.Fstatfs(fd, &st)
	// Before Linux 3.12 such a descriptor will not do. Its link leads to the same place without a look-up.
	if errors.Is(err, unix.EBADF) {
		err = unix.Statfs("/proc/self/fd/"+strconv.Itoa(fd), &st)
	}
	return err
}

// retry repeats a call that a signal has interrupted: a FUSE server may answer so when it is asked to.
func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// mountIDOf returns the id of the mount that a descriptor is on (proc_pid_fdinfo(5), Linux 3.15). It asks no server.
func mountIDOf(fd int) (int, bool) {
	info, err := unix.Open("/proc/self/fdinfo/"+strconv.Itoa(fd), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, false
	}
	defer func() { _ = unix.Close(info) }()
	buf := make([]byte, 512)
	n, err := unix.Read(info, buf)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(buf[:n])) {
		if text, ok := strings.CutPrefix(line, "mnt_id:"); ok {
			id, err := strconv.Atoi(strings.TrimSpace(text))
			return id, err == nil
		}
	}
	return 0, false
}

// errnoName is the name of the system call's error in err ("ESTALE"), "" if there is none.
func errnoName(err error) string {
	var errno unix.Errno
	if !errors.As(err, &errno) {
		return ""
	}
	if name := unix.ErrnoName(errno); name != "" {
		return name
	}
	return "errno " + strconv.Itoa(int(errno))
}
