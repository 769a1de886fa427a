// Package hostfs reads files of a host, which may be this live machine or the mounted disk of a dead one, without
// trusting what it finds there.
//
// The directories that matter to an examination of a kubelet are written by containers: they hold symbolic links that
// lead out of the examined root, FIFOs that block whoever opens them, files without end, and mount points of servers
// that no longer answer. So every access is rooted and bounded, and opens nothing but regular files and directories. The
// one exception is named by its caller and reachable on the live machine only: [FS.OpenKernelLog].
//
//   - [FS] looks paths up as the host itself would: symbolic links are followed, absolute ones restart at the root, and
//     nothing leads out of the root. It crosses mount points, since the caller named the path and so decides, but it
//     triggers no automount.
//   - [Dir] reaches only what lies beneath a directory, on the same mount, and follows no symbolic link at all. It is
//     what to walk hostile directories with: at a mount point it answers [ErrCrossesMount] without asking the server
//     behind it.
//
// Nothing here has a deadline. Where the file system itself may be dead, calls belong into package probe. A call that was
// given up keeps what it works on alive, so a handle may be closed while a call on it is stuck.
//
// Descriptors are raw and never registered with Go's poller, since epoll asks FUSE servers about them. Errors are of
// type [*fs.PathError] and wrap a sentinel of this package or the kernel's error number, so that [errors.Is] finds
// [fs.ErrNotExist] and [fs.ErrPermission]. Reading works on Linux only; elsewhere [Open] says so.
package hostfs

import (
	"errors"
	"io/fs"
	"time"
)

// The reasons for which this package, rather than the kernel, refuses or cuts something.
var (
	// ErrTruncated says that there was more than the limit. What was read up to it is returned as well.
	ErrTruncated = errors.New("truncated at the limit")
	// ErrNotRegular says that something is neither a regular file nor, where one is wanted, a directory: it was not opened.
	ErrNotRegular = errors.New("not a regular file")
	// ErrCrossesMount says that a [Dir] met a mount point, or an [FS] an automount point with nothing mounted on it.
	// Whatever is or would be mounted there was not touched.
	ErrCrossesMount = errors.New("crosses a mount point")
	// ErrSymlink says that a symbolic link was met where none is followed: below a [Dir], or one of those links of
	// procfs that are no text but a jump to another file (/proc/PID/root).
	ErrSymlink = errors.New("is a symbolic link")
	// ErrTooManyLinks says that more than 40 symbolic links were followed, as the kernel itself would say with ELOOP.
	ErrTooManyLinks = errors.New("too many symbolic links")
)

// maxLinks is how many symbolic links a look-up follows, the kernel's own limit (path_resolution(7)).
const maxLinks = 40

// An Entry is one name in a directory, as getdents(2) reports it.
type Entry struct {
	// Name is a single component and may be any bytes but a slash and NUL.
	Name string
	// Type has the type bits only; 0 is a regular file, if TypeKnown. A mount point shows the type of what it covers.
	Type fs.FileMode
	// TypeKnown is false where the file system does not say (DT_UNKNOWN) and asking was not possible or not safe.
	TypeKnown bool
}

// Info is what lstat(2) says.
type Info struct {
	Mode fs.FileMode
	// Size is in bytes; 0 for most files of procfs and sysfs, whatever they hold.
	Size int64
	// Blocks is what is allocated, in units of 512 bytes.
	Blocks              int64
	ModTime, ChangeTime time.Time
	Dev, Ino            uint64
	Nlink               uint64
	UID, GID            uint32
}

// FSStat is what statfs(2) says of a file system.
type FSStat struct {
	// CapacityBytes is the size of the file system as df(1) shows it, FreeBytes what no file takes, AvailableBytes what of
	// that anybody but root may take.
	CapacityBytes, FreeBytes, AvailableBytes uint64
	// Inodes and InodesFree are 0 on file systems that make inodes as they need them (btrfs).
	Inodes, InodesFree uint64
	// Dev is the st_dev of the directory that was asked.
	Dev uint64
}
