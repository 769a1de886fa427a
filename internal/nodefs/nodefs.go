// Package nodefs is what the subjects read a node's files through, without knowing how: package hostfs implements it for a
// live machine and for the disk of a dead one, and a test may do so with a map.
package nodefs

import (
	"errors"
	"io/fs"
	"time"
)

// An FS reads files by the paths that the node itself would use. Nothing but regular files and directories is opened, and
// nothing leads out of the node's root.
type FS interface {
	// ReadFile returns at most limit bytes, with [ErrTruncated] where there are more.
	ReadFile(path string, limit int64) ([]byte, error)
	// ReadDir returns at most limit entries, with [ErrTruncated] where there are more.
	ReadDir(path string, limit int) ([]Entry, error)
	ReadLink(path string) (string, error)
	// Resolve follows all links and returns the path without them.
	Resolve(path string) (string, error)
	// Lstat does not follow a link in the last place.
	Lstat(path string) (Info, error)
}

// The reasons for which the reader, rather than the kernel, refuses or cuts something.
var (
	// ErrTruncated says that there was more than the limit. What was read up to it is returned as well.
	ErrTruncated = errors.New("truncated at the limit")
	// ErrNotRegular says that something is neither a regular file nor, where one is wanted, a directory: it was not opened.
	ErrNotRegular = errors.New("not a regular file")
	// ErrCrossesMount says that a walk met a mount point, or a path an automount point with nothing mounted on it.
	// Whatever is or would be mounted there was not touched.
	ErrCrossesMount = errors.New("crosses a mount point")
	// ErrSymlink says that a symbolic link was met where none is followed: in a walk, or one of those links of
	// procfs that are no text but a jump to another file (/proc/PID/root).
	ErrSymlink = errors.New("is a symbolic link")
	// ErrTooManyLinks says that more than 40 symbolic links were followed, as the kernel itself would say with ELOOP.
	ErrTooManyLinks = errors.New("too many symbolic links")
)

// An Entry is one name in a directory, as getdents(2) reports it.
type Entry struct {
	// Name is a single component and may be any bytes but a slash and NUL.
	Name string
	// Type has the type bits only; 0 is a regular file, if TypeKnown. A mount point shows the type of what it covers.
	Type fs.FileMode
	// TypeKnown is false where the file system does not say (DT_UNKNOWN) and asking was not possible or not safe.
	TypeKnown bool
}

// IsDir reports whether the entry is known to be a directory.
func (e Entry) IsDir() bool { return e.TypeKnown && e.Type.IsDir() }

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
