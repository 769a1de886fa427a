package hostfs

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Owner tells which user namespace owns a namespace: NS_GET_USERNS of ioctl_nsfs(2), since Linux 4.9. rel is a link that /proc
// has for it ("4711/ns/mnt", "4711/fd/3"), d is /proc. Both numbers are inodes, as readlink(2) of such links shows them; that
// of the namespace says whether the link still led to the one that was meant.
//
// The error is ENOTTY before Linux 4.9, EPERM where the owner is neither the user namespace of the caller nor below it.
//
// The namespace is kept open for microseconds. If its last other user ends in this time, the caller ends the namespace and its mounts,
// and may have to wait for their servers. So call it under package probe.
func (d *Dir) Owner(rel string) (namespace, owner uint64, err error) {
	namespace, owner, err = d.owner(rel)
	return namespace, owner, d.error("ioctl", rel, err)
}

func (d *Dir) owner(rel string) (namespace, owner uint64, err error) {
	if d.fsType() != unix.PROC_SUPER_MAGIC || !isLocal(rel) {
		return 0, 0, errors.ErrUnsupported // elsewhere, a link leads wherever somebody wants
	}
	dir, err := d.fd.use()
	if err != nil {
		return 0, 0, err
	}
	defer d.fd.done()
	fd, err := openat(dir, rel, unix.O_PATH|unix.O_CLOEXEC) // it may be another thing by now: to open that may block
	if err != nil {
		return 0, 0, err
	}
	defer unix.Close(fd)
	if magic, err := fsType(fd); err != nil || magic != unix.NSFS_MAGIC {
		return 0, 0, errors.Join(err, errors.ErrUnsupported)
	}
	if fd, err = reopen(fd, readFlags); err != nil {
		return 0, 0, err
	}
	defer unix.Close(fd)
	return OwnerOf(fd)
}

// OwnerOf is [Dir.Owner] of an open namespace.
func OwnerOf(fd int) (namespace, owner uint64, err error) {
	st, err := fstat(fd)
	if err != nil {
		return 0, 0, err
	}
	user, err := again(func() (int, error) { return unix.IoctlRetInt(fd, unix.NS_GET_USERNS) })
	if err != nil {
		return st.Ino, 0, err
	}
	defer unix.Close(user)
	of, err := fstat(user)
	return st.Ino, of.Ino, err
}
