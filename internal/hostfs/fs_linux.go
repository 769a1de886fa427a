package hostfs

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// FS is read-only access to the files of one host. Paths are the host's own: absolute, or taken from the root. Methods
// may be called at the same time.
type FS struct {
	root  string
	dir   *handle
	weak  bool
	table *mountTable
	seen  string // the path by which the mount table knows the root, ending in a slash
}

// Open returns access to the files below root: "/" for this live machine, or the directory where the disk of another
// one is mounted. It touches nothing but root itself.
func Open(root string) (*FS, error) { return open(root, false) }

// open is Open; forceWeak is for tests of what happens without openat2.
func open(root string, forceWeak bool) (*FS, error) {
	if root == "" {
		return nil, &fs.PathError{Op: "open", Path: root, Err: fs.ErrInvalid}
	}
	root = path.Clean(root)
	fd, err := again(func() (int, error) { return unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: root, Err: err}
	}
	seen, err := readlink(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd))
	if err != nil { // no procfs, hence no mount table either
		seen = root
	}
	return &FS{
		root: root, dir: newHandle(fd), weak: forceWeak || !canOpenBeneath(fd),
		table: &mountTable{}, seen: withSlash(seen),
	}, nil
}

// Root returns the directory that was given to [Open], cleaned.
func (f *FS) Root() string { return f.root }

// Live says that the root is "/", so that /proc and /sys describe this machine.
func (f *FS) Live() bool { return f.root == "/" }

// Close ends the access. What was opened through it stays open.
func (f *FS) Close() error {
	f.table.close()
	return pathError("close", f.root, f.dir.close())
}

// Resolve returns the canonical path of something that exists: absolute within the root, with symbolic links followed as
// the host would follow them.
func (f *FS) Resolve(path string) (string, error) {
	fd, canonical, err := f.lookup("resolve", path, true)
	if err != nil {
		return "", err
	}
	_ = unix.Close(fd)
	return canonical, nil
}

// ReadFile reads a regular file up to limit bytes. If there is more, it returns limit bytes and [nodefs.ErrTruncated].
func (f *FS) ReadFile(path string, limit int64) ([]byte, error) {
	fd, err := f.openFile(path)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	data, err := appendFile(context.Background(), nil, fd, limit)
	return data, pathError("read", path, err)
}

// ReadDir lists a directory, sorted by name. If there are more than limit entries, it returns limit of them, those that
// the file system names first, and [nodefs.ErrTruncated].
func (f *FS) ReadDir(path string, limit int) ([]nodefs.Entry, error) {
	dir, err := f.OpenDir(path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Entries(limit)
}

// ReadLink returns the text of a symbolic link.
func (f *FS) ReadLink(path string) (string, error) {
	fd, _, err := f.lookup("readlink", path, false)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	target, err := readlink(fd, "")
	return target, pathError("readlink", path, notLink(err))
}

// Lstat describes a path without following it if it is a symbolic link. At a mount point it asks what is mounted there.
func (f *FS) Lstat(path string) (nodefs.Info, error) {
	fd, _, err := f.lookup("lstat", path, false)
	if err != nil {
		return nodefs.Info{}, err
	}
	defer unix.Close(fd)
	st, err := fstat(fd)
	if err != nil {
		return nodefs.Info{}, pathError("lstat", path, err)
	}
	return infoOf(&st), nil
}

// OpenFile opens a regular file; anything else is [nodefs.ErrNotRegular] and stays unopened.
func (f *FS) OpenFile(path string) (*File, error) {
	fd, err := f.openFile(path)
	if err != nil {
		return nil, err
	}
	return newFile(fd, path)
}

// OpenDir opens a directory, following symbolic links as [FS.Resolve] does. That it is a directory is found out without
// asking the server of a network file system.
func (f *FS) OpenDir(dir string) (*Dir, error) {
	fd, canonical, err := f.lookup("open", dir, true)
	if err != nil {
		return nil, err
	}
	if err = wantType(fd, unix.S_IFDIR); err != nil {
		_ = unix.Close(fd)
		return nil, pathError("open", dir, err)
	}
	d := &Dir{path: canonical, fd: newHandle(fd), table: f.table, seen: withSlash(path.Join(f.seen, canonical))}
	if f.weak {
		mount := mountOf(fd)
		d.mount = &mount
	}
	return d, nil
}

func (f *FS) openFile(path string) (int, error) {
	fd, _, err := f.lookup("open", path, true)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fd)
	file, err := openRegular(fd)
	return file, pathError("open", path, err)
}

func (f *FS) lookup(op, path string, follow bool) (int, string, error) {
	root, err := f.dir.use()
	if err != nil {
		return -1, "", pathError(op, path, err)
	}
	defer f.dir.done()
	w := walk{root: root, at: root, seen: f.seen, points: f.table.current()}
	fd, canonical, err := w.lookup(path, follow)
	return fd, canonical, pathError(op, path, err)
}

// pathError returns nil for nil.
func pathError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// notLink gives the answer to a readlink of something else the error number that readlink(2) documents.
func notLink(err error) error {
	if errors.Is(err, unix.ENOENT) {
		return unix.EINVAL
	}
	return err
}
