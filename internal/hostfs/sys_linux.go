package hostfs

import (
	"errors"
	"strconv"

	"golang.org/x/sys/unix"
)

// beneath are the rules of a [Dir] as openat2(2) knows them, since Linux 5.6.
const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

// The flags with which things are opened.
//
// pathFlags gives a descriptor that refers to the thing itself, whatever it is, without opening it. O_DIRECTORY is left
// out on purpose: with it the kernel triggers an automount at the last component, see follow_automount in fs/namei.c.
// readFlags has O_NONBLOCK for files that make a reader wait, and for leases; regular files ignore it otherwise.
const (
	pathFlags = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
	readFlags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY
	listFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
)

// patience is how often a call is repeated that the kernel asks to repeat. Both reasons are rare: a signal, and for
// EAGAIN a rename or mount anywhere on the machine during an openat2 with RESOLVE_BENEATH.
const patience = 100

// again repeats a call that was interrupted.
func again(call func() (int, error)) (int, error) {
	for range patience {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
	return -1, unix.EINTR
}

func openat(dir int, name string, flags int) (int, error) {
	return again(func() (int, error) { return unix.Openat(dir, name, flags, 0) })
}

// openBeneath opens a path of one or more components by the rules of a [Dir].
func openBeneath(dir int, rel string, flags int) (int, error) {
	how := unix.OpenHow{Flags: uint64(flags), Resolve: beneath}
	err := error(unix.EAGAIN)
	for range patience {
		var fd int
		if fd, err = unix.Openat2(dir, rel, &how); err == nil {
			return fd, nil
		}
		if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			return -1, err
		}
	}
	return -1, err
}

// canOpenBeneath says whether openat2 works: Linux before 5.6 says ENOSYS, older seccomp profiles say EPERM.
func canOpenBeneath(dir int) bool {
	fd, err := openBeneath(dir, ".", pathFlags)
	if err != nil {
		return false
	}
	_ = unix.Close(fd)
	return true
}

// reopen opens for reading what an O_PATH descriptor refers to. Going through procfs means that it cannot have been
// exchanged for a FIFO meanwhile; that link is the one magic link that is ever followed.
func reopen(fd int, flags int) (int, error) {
	return again(func() (int, error) {
		return unix.Open("/proc/self/fd/"+strconv.Itoa(fd), flags&^unix.O_NOFOLLOW, 0)
	})
}

// readlink returns the text of a symbolic link. With an empty name it is that of dir itself, an O_PATH descriptor, and
// the error for anything but a link is ENOENT; with a name it is EINVAL.
func readlink(dir int, name string) (string, error) {
	var short [256]byte // nearly all of them
	buf := short[:]
	for {
		n, err := again(func() (int, error) { return unix.Readlinkat(dir, name, buf) })
		if err != nil {
			return "", err
		}
		if n < len(buf) {
			return string(buf[:n]), nil
		}
		buf = make([]byte, 16*len(buf))
	}
}

// fileType returns the S_IFMT bits of what a descriptor refers to. They never change, so no server is asked for them.
func fileType(fd int) (uint32, error) {
	var x unix.Statx_t
	err := statx(fd, unix.STATX_TYPE, &x)
	if err == nil && x.Mask&unix.STATX_TYPE != 0 {
		return uint32(x.Mode) & unix.S_IFMT, nil
	}
	if err != nil && !missing(err) {
		return 0, err
	}
	// Before Linux 4.11 the type cannot be asked for alone. A directory can be opened as one, which asks no FUSE server.
	if dir, err := reopen(fd, pathFlags|unix.O_DIRECTORY); err == nil {
		_ = unix.Close(dir)
		return unix.S_IFDIR, nil
	}
	st, err := fstat(fd)
	return st.Mode & unix.S_IFMT, err
}

// statx asks for what is known without asking a server (AT_STATX_DONT_SYNC).
func statx(fd int, mask int, x *unix.Statx_t) error {
	_, err := again(func() (int, error) {
		return 0, unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, mask, x)
	})
	return err
}

// missing says that the kernel, or a seccomp profile, has no such call.
func missing(err error) bool {
	return errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM)
}

func fstat(fd int) (unix.Stat_t, error) {
	var st unix.Stat_t
	_, err := again(func() (int, error) { return 0, unix.Fstat(fd, &st) })
	return st, err
}

// fsType returns the magic number of the file system of a directory. It asks the server of a FUSE file system.
func fsType(dir int) (int64, error) {
	var st unix.Statfs_t
	statfs := func() (int, error) { return 0, unix.Fstatfs(dir, &st) }
	_, err := again(statfs)
	if errors.Is(err, unix.EBADF) { // an O_PATH descriptor before Linux 3.12
		if dir, err = openat(dir, ".", listFlags); err != nil {
			return 0, err
		}
		defer unix.Close(dir)
		_, err = again(statfs)
	}
	return int64(st.Type), err //nolint:unconvert // int32 on arm, uint32 on s390x
}
