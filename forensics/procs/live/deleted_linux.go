package live

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
)

// statDeleted asks an open file that has no name. A file that has a name gives nothing: the descriptor is another one by now.
func statDeleted(link string) (holders.DeletedFile, error) {
	st, err := statLink(link, 0)
	if err != nil {
		return holders.DeletedFile{}, err
	}
	if st.Nlink != 0 || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return holders.DeletedFile{}, nil
	}
	f := holders.DeletedFile{Inode: st.Ino, AllocatedBytes: int64(st.Blocks) * 512, SizeBytes: int64(st.Size)}
	// The link's own permissions are how the file was opened (proc_pid_fd(5)); procfs itself answers.
	if st, err = statLink(link, unix.AT_SYMLINK_NOFOLLOW); err == nil {
		f.Written = st.Mode&0o200 != 0
	}
	return f, nil
}

// statLink asks a descriptor in procfs, or with AT_SYMLINK_NOFOLLOW its link. No server is asked (AT_STATX_DONT_SYNC); before
// Linux 4.11, which has no statx, one would be, if the descriptor had become another one meanwhile.
func statLink(link string, flags int) (unix.Statx_t, error) {
	var x unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, link, flags|unix.AT_STATX_DONT_SYNC|unix.AT_NO_AUTOMOUNT, unix.STATX_BASIC_STATS, &x)
	if !errors.Is(err, unix.ENOSYS) {
		return x, err
	}
	var st unix.Stat_t
	err = unix.Fstatat(unix.AT_FDCWD, link, &st, flags|unix.AT_NO_AUTOMOUNT)
	return unix.Statx_t{Nlink: uint32(st.Nlink), Mode: uint16(st.Mode), Ino: st.Ino, Blocks: uint64(st.Blocks), Size: uint64(st.Size)}, err
}
