//go:build !linux

package hostfs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// FS is read-only access to the files of one host. It exists on Linux only.
type FS struct{}

// Dir is an open directory. It exists on Linux only.
type Dir struct{}

// LinkReader reads directories of links. It exists on Linux only.
type LinkReader struct{}

// Each is not supported.
func (*LinkReader) Each(_ *Dir, rel string, _ int, _ func(name, text []byte, err error)) error {
	return unsupported("readdir", rel)
}

// File is an open regular file. It exists on Linux only.
type File struct{}

// Open returns an error that wraps [errors.ErrUnsupported].
func Open(root string) (*FS, error) {
	return nil, unsupported("open", root)
}

func unsupported(op, path string) error {
	return &fs.PathError{Op: op, Path: path, Err: errors.ErrUnsupported}
}

// Root returns "".
func (*FS) Root() string { return "" }

// Live returns false.
func (*FS) Live() bool { return false }

// Close does nothing.
func (*FS) Close() error { return nil }

// Resolve is not supported.
func (*FS) Resolve(path string) (string, error) { return "", unsupported("resolve", path) }

// ReadFile is not supported.
func (*FS) ReadFile(path string, _ int64) ([]byte, error) { return nil, unsupported("open", path) }

// ReadDir is not supported.
func (*FS) ReadDir(path string, _ int) ([]nodefs.Entry, error) { return nil, unsupported("open", path) }

// ReadLink is not supported.
func (*FS) ReadLink(path string) (string, error) { return "", unsupported("readlink", path) }

// Lstat is not supported.
func (*FS) Lstat(path string) (nodefs.Info, error) { return nodefs.Info{}, unsupported("lstat", path) }

// Statfs is not supported.
func (*FS) Statfs(path string) (nodefs.FSStat, error) {
	return nodefs.FSStat{}, unsupported("statfs", path)
}

// OpenFile is not supported.
func (*FS) OpenFile(path string) (*File, error) { return nil, unsupported("open", path) }

// OpenDir is not supported.
func (*FS) OpenDir(path string) (*Dir, error) { return nil, unsupported("open", path) }

// Path returns "".
func (*Dir) Path() string { return "" }

// Weak returns false.
func (*Dir) Weak() bool { return false }

// Entries is not supported.
func (*Dir) Entries(int) ([]nodefs.Entry, error) { return nil, unsupported("readdir", "") }

// Scan is not supported.
func (*Dir) Scan(func(string, nodefs.Info) bool) error { return unsupported("readdir", "") }

// OpenDir is not supported.
func (*Dir) OpenDir(rel string) (*Dir, error) { return nil, unsupported("open", rel) }

// ReadFile is not supported.
func (*Dir) ReadFile(rel string, _ int64) ([]byte, error) { return nil, unsupported("open", rel) }

// Append is not supported.
func (*Dir) Append(buf []byte, rel string, _ int64) ([]byte, error) {
	return buf, unsupported("open", rel)
}

// AppendUntil is not supported.
func (*Dir) AppendUntil(_ context.Context, buf []byte, rel string, _ int64) ([]byte, error) {
	return buf, unsupported("open", rel)
}

// OpenFile is not supported.
func (*Dir) OpenFile(rel string) (*File, error) { return nil, unsupported("open", rel) }

// Head is not supported.
func (*Dir) Head(buf []byte, rel string) ([]byte, error) { return buf, unsupported("open", rel) }

// ReadLink is not supported.
func (*Dir) ReadLink(rel string) (string, error) { return "", unsupported("readlink", rel) }

// Owner is not supported.
func (*Dir) Owner(rel string) (namespace, owner uint64, err error) {
	return 0, 0, unsupported("ioctl", rel)
}

// Info is not supported.
func (*Dir) Info() (nodefs.Info, error) { return nodefs.Info{}, unsupported("stat", ".") }

// Lstat is not supported.
func (*Dir) Lstat(rel string) (nodefs.Info, error) { return nodefs.Info{}, unsupported("lstat", rel) }

// Close does nothing.
func (*Dir) Close() error { return nil }

// Read is not supported.
func (*File) Read([]byte) (int, error) { return 0, unsupported("read", "") }

// ReadAt is not supported.
func (*File) ReadAt([]byte, int64) (int, error) { return 0, unsupported("read", "") }

// Dup is not supported.
func (*File) Dup() (*os.File, error) { return nil, unsupported("dup", "") }

// Size returns 0.
func (*File) Size() int64 { return 0 }

// ModTime returns the zero time.
func (*File) ModTime() time.Time { return time.Time{} }

// Close does nothing.
func (*File) Close() error { return nil }

// KernelLog is the kernel's ring of messages. It exists on Linux only.
type KernelLog struct{}

// OpenKernelLog is not supported.
func (*FS) OpenKernelLog() (*KernelLog, error) { return nil, unsupported("open", "/dev/kmsg") }

// Read is not supported.
func (*KernelLog) Read([]byte) (int, error) { return 0, unsupported("read", "/dev/kmsg") }

// Close does nothing.
func (*KernelLog) Close() error { return nil }
