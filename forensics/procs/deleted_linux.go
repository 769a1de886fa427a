package procs

import "golang.org/x/sys/unix"

// statDeleted asks an open file that has no name, without asking a server (AT_STATX_DONT_SYNC). A file that has a name
// gives nothing: the descriptor is another one by now.
func statDeleted(link string) (DeletedFile, error) {
	var x unix.Statx_t
	const mask = unix.STATX_BASIC_STATS
	if err := unix.Statx(unix.AT_FDCWD, link, unix.AT_STATX_DONT_SYNC|unix.AT_NO_AUTOMOUNT, mask, &x); err != nil {
		return DeletedFile{}, err
	}
	if x.Nlink != 0 || x.Mode&unix.S_IFMT != unix.S_IFREG {
		return DeletedFile{}, nil
	}
	f := DeletedFile{Inode: x.Ino, AllocatedBytes: int64(x.Blocks) * 512, SizeBytes: int64(x.Size)}
	// The link's own permissions are how the file was opened (proc_pid_fd(5)); procfs itself answers.
	if err := unix.Statx(unix.AT_FDCWD, link, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, unix.STATX_MODE, &x); err == nil {
		f.Written = x.Mode&0o200 != 0
	}
	return f, nil
}
