package hostfs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// Statfs asks the file system that a path is on for its size and what is free. It asks the server of a network file
// system.
func (f *FS) Statfs(path string) (nodefs.FSStat, error) {
	fd, _, err := f.lookup("statfs", path, true)
	if err != nil {
		return nodefs.FSStat{}, err
	}
	defer unix.Close(fd)
	var st unix.Statfs_t
	statfs := func() (int, error) { return 0, unix.Fstatfs(fd, &st) }
	_, err = again(statfs)
	if errors.Is(err, unix.EBADF) { // an O_PATH descriptor before Linux 3.12
		var list int
		if list, err = openat(fd, ".", listFlags); err == nil {
			_, err = again(func() (int, error) { return 0, unix.Fstatfs(list, &st) })
			_ = unix.Close(list)
		}
	}
	if err != nil {
		return nodefs.FSStat{}, pathError("statfs", path, err)
	}
	own, err := fstat(fd)
	if err != nil {
		return nodefs.FSStat{}, pathError("statfs", path, err)
	}
	unit := uint64(st.Frsize)
	if unit == 0 {
		unit = uint64(st.Bsize)
	}
	return nodefs.FSStat{
		CapacityBytes: st.Blocks * unit, FreeBytes: st.Bfree * unit, AvailableBytes: st.Bavail * unit,
		Inodes: st.Files, InodesFree: st.Ffree, Dev: own.Dev,
	}, nil
}

// Scan describes each entry of the directory, in the order of the file system, until visit returns false. It is for
// counting what large trees take: one statx(2) an entry, and no memory for the list.
//
// A mount point is left out where the mount table knows it, or else where the kernel says so. Nothing
// is asked of a server (AT_STATX_DONT_SYNC), no symbolic link followed, no automount triggered. An entry that is removed
// meanwhile is left out. Of file systems where the directory itself cannot be read, the error tells.
func (d *Dir) Scan(visit func(name string, info nodefs.Info) bool) error {
	dir, err := d.fd.use()
	if err != nil {
		return d.error("readdir", ".", err)
	}
	defer d.fd.done()
	fd, err := openat(dir, ".", listFlags)
	if err != nil {
		return d.error("readdir", ".", err)
	}
	defer unix.Close(fd)
	own, err := fstat(fd)
	if err != nil {
		return d.error("readdir", ".", err)
	}
	points := d.table.current()
	for buf := make([]byte, 32<<10); ; {
		n, err := again(func() (int, error) { return unix.Getdents(fd, buf) })
		if err != nil || n == 0 {
			return d.error("readdir", ".", err)
		}
		for rest := buf[:n]; len(rest) > direntName; {
			size := int(binary.NativeEndian.Uint16(rest[direntLen:]))
			if size <= direntName || size > len(rest) {
				break
			}
			raw, _, _ := bytes.Cut(rest[direntName:size], []byte{0})
			rest = rest[size:]
			name := string(raw)
			if name == "." || name == ".." || name == "" || points.has(d.seen+name) {
				continue
			}
			info, mounted, err := statAt(fd, name, own.Dev)
			if err == nil && !mounted && !visit(name, info) {
				return nil
			}
		}
	}
}

// statAt describes one name of a directory without asking a server, and says whether something is mounted there: by
// the kernel's word since Linux 5.8, else by a device other than the directory's, which the subvolumes of btrfs have, too.
func statAt(dir int, name string, own uint64) (info nodefs.Info, mounted bool, err error) {
	var x unix.Statx_t
	const flags = unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT | unix.AT_STATX_DONT_SYNC
	_, err = again(func() (int, error) { return 0, unix.Statx(dir, name, flags, unix.STATX_BASIC_STATS, &x) })
	if missing(err) {
		var st unix.Stat_t
		_, err = again(func() (int, error) {
			return 0, unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT)
		})
		return infoOf(&st), st.Dev != own, err
	}
	info = nodefs.Info{
		Mode: fileMode(uint32(x.Mode)), Size: int64(x.Size), Blocks: int64(x.Blocks),
		ModTime: time.Unix(x.Mtime.Sec, int64(x.Mtime.Nsec)).UTC(), ChangeTime: time.Unix(x.Ctime.Sec, int64(x.Ctime.Nsec)).UTC(),
		Dev: unix.Mkdev(x.Dev_major, x.Dev_minor), Ino: x.Ino, Nlink: uint64(x.Nlink), UID: x.Uid, GID: x.Gid,
	}
	mounted = info.Dev != own
	if x.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0 {
		mounted = x.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
	}
	return info, mounted, err
}
