package hostfs

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// A Dir is an open directory. Everything that is reached through it lies beneath it, on the same mount, and no symbolic
// link is followed on the way. Methods may be called at the same time.
//
// A relative path has one or more components, none of them "..". "." is the directory itself.
type Dir struct {
	path  string
	fd    *handle
	table *mountTable
	seen  string   // the path by which the mount table knows this directory, ending in a slash
	mount *mountID // nil with openat2

	once sync.Once
	fast bool
}

// Path returns the canonical path within the root of the [FS], as it was when the directory was opened.
func (d *Dir) Path() string { return d.path }

// Weak says that the kernel has no openat2 (Linux before 5.6), or that it is forbidden. Mount points are then known from
// the mount table, and from mount ids that are compared after each component: a mount that is made in the moment between
// is not crossed either, but it is touched.
func (d *Dir) Weak() bool { return d.mount != nil }

// Close closes the directory. What was opened through it stays open.
func (d *Dir) Close() error { return pathError("close", d.path, d.fd.close()) }

// OpenDir opens a directory beneath this one.
func (d *Dir) OpenDir(rel string) (*Dir, error) {
	if d.mount == nil && d.isFast(rel) {
		return d.openFast(rel)
	}
	fd, err := d.openPath(rel)
	if err == nil {
		if err = wantType(fd, unix.S_IFDIR); err == nil {
			return &Dir{
				path: path.Join(d.path, rel), fd: newHandle(fd),
				table: d.table, seen: withSlash(path.Join(d.seen, rel)), mount: d.mount,
			}, nil
		}
		_ = unix.Close(fd)
	}
	return nil, d.error("open", rel, err)
}

// openFast opens a directory of a file system of the kernel's own, where O_DIRECTORY triggers nothing. What it says of
// itself holds for what is beneath, which is the same mount.
func (d *Dir) openFast(rel string) (*Dir, error) {
	parent, err := d.fd.use()
	if err != nil {
		return nil, d.error("open", rel, err)
	}
	fd, err := openBeneath(parent, rel, pathFlags|unix.O_DIRECTORY)
	d.fd.done()
	if err != nil {
		if errors.Is(err, unix.ENOTDIR) { // which is also said of a link
			if _, linkErr := d.readLink(rel); linkErr == nil {
				err = nodefs.ErrSymlink
			}
		}
		return nil, d.error("open", rel, refused(err))
	}
	below := &Dir{path: path.Join(d.path, rel), fd: newHandle(fd), table: d.table, seen: withSlash(path.Join(d.seen, rel))}
	if !strings.Contains(rel, "sys") {
		below.once.Do(func() { below.fast = true })
	}
	return below, nil
}

// ReadFile reads a regular file up to limit bytes. If there is more, it returns limit bytes and [nodefs.ErrTruncated].
func (d *Dir) ReadFile(rel string, limit int64) ([]byte, error) { return d.Append(nil, rel, limit) }

// Append is [Dir.ReadFile] into the free part of buf and beyond. It returns buf with what was read behind it, also with an
// error.
func (d *Dir) Append(buf []byte, rel string, limit int64) ([]byte, error) {
	return d.AppendUntil(context.Background(), buf, rel, limit)
}

// AppendUntil is [Dir.Append] for files that the kernel takes long to write, as the mount table of a process whose mounts are
// stacked by the ten thousand: between two reads it looks whether the context has ended, and then returns what it has, with
// [nodefs.ErrTruncated].
func (d *Dir) AppendUntil(ctx context.Context, buf []byte, rel string, limit int64) ([]byte, error) {
	fd, err := d.openFile(rel)
	if err != nil {
		return buf, d.error("open", rel, err)
	}
	buf, err = appendFile(ctx, buf, fd, limit)
	_ = unix.Close(fd)
	return buf, d.error("read", rel, err)
}

// OpenFile opens a regular file; anything else is [nodefs.ErrNotRegular] and stays unopened.
func (d *Dir) OpenFile(rel string) (*File, error) {
	fd, err := d.openFile(rel)
	if err != nil {
		return nil, d.error("open", rel, err)
	}
	return newFile(fd, path.Join(d.path, rel))
}

// Head is one read into the free part of buf, for files that the kernel writes in one piece, as /proc/PID/fdinfo/N. It
// returns buf with what was read behind it.
func (d *Dir) Head(buf []byte, rel string) ([]byte, error) {
	fd, err := d.openFile(rel)
	if err != nil {
		return buf, d.error("open", rel, err)
	}
	n, err := again(func() (int, error) { return unix.Read(fd, buf[len(buf):cap(buf)]) })
	_ = unix.Close(fd)
	return buf[:len(buf)+max(n, 0)], d.error("read", rel, err)
}

// ReadLink returns the text of a symbolic link. For the links of /proc/PID that is not always a path.
func (d *Dir) ReadLink(rel string) (string, error) {
	target, err := d.readLink(rel)
	return target, d.error("readlink", rel, err)
}

// Lstat describes what rel names. That is never what is mounted there: at a mount point it returns [nodefs.ErrCrossesMount].
func (d *Dir) Lstat(rel string) (nodefs.Info, error) {
	fd, err := d.openNode(rel)
	if err != nil {
		return nodefs.Info{}, d.error("lstat", rel, err)
	}
	defer unix.Close(fd)
	st, err := fstat(fd)
	if err != nil {
		return nodefs.Info{}, d.error("lstat", rel, err)
	}
	return infoOf(&st), nil
}

// openNode is openPath, in one call where that is safe.
func (d *Dir) openNode(rel string) (int, error) {
	if d.mount != nil || !d.isFast(rel) {
		return d.openPath(rel)
	}
	dir, err := d.fd.use()
	if err != nil {
		return -1, err
	}
	defer d.fd.done()
	fd, err := openBeneath(dir, rel, pathFlags)
	return fd, refused(err)
}

// Info describes the directory itself, which costs one call.
func (d *Dir) Info() (nodefs.Info, error) {
	dir, err := d.fd.use()
	if err != nil {
		return nodefs.Info{}, d.error("stat", ".", err)
	}
	defer d.fd.done()
	st, err := fstat(dir)
	if err != nil {
		return nodefs.Info{}, d.error("stat", ".", err)
	}
	return infoOf(&st), nil
}

// readLink does it in one call where a single component of procfs is asked for, which is the case of /proc/PID/fd/N, and
// goes to the directory first for more: a link on the way would be followed. Elsewhere the link itself is opened first, and
// whatever cannot be read then counts as no link.
func (d *Dir) readLink(rel string) (string, error) {
	if !d.isFast(rel) {
		fd, err := d.openPath(rel)
		if err != nil {
			return "", err
		}
		defer unix.Close(fd)
		target, err := readlink(fd, "")
		return target, notLink(err)
	}
	at := strings.LastIndexByte(rel, '/')
	if at < 0 {
		dir, err := d.fd.use()
		if err != nil {
			return "", err
		}
		defer d.fd.done()
		return readlink(dir, rel)
	}
	dir, err := d.openNode(rel[:at])
	if err != nil {
		return "", err
	}
	defer unix.Close(dir)
	return readlink(dir, rel[at+1:])
}

// openFile opens a regular file for reading.
func (d *Dir) openFile(rel string) (int, error) {
	if d.mount == nil && d.isFast(rel) {
		dir, err := d.fd.use()
		if err != nil {
			return -1, err
		}
		defer d.fd.done()
		fd, err := openBeneath(dir, rel, readFlags)
		return fd, refused(err)
	}
	fd, err := d.openPath(rel)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fd)
	return openRegular(fd)
}

// openPath returns a new O_PATH descriptor of what rel names, which may be a symbolic link. It goes there one component
// at a time even with openat2: before Linux 6.18, an automount point that is an inner component of one call is triggered
// before the kernel notices that the mount is another. Those of the mount table are not come near to, but one may be new.
func (d *Dir) openPath(rel string) (int, error) {
	if !isLocal(rel) {
		return -1, fs.ErrInvalid
	}
	dir, err := d.fd.use()
	if err != nil {
		return -1, err
	}
	defer d.fd.done()
	points := d.table.current()
	if points.triggerOn(d.seen, rel) {
		return -1, nodefs.ErrCrossesMount
	}
	at := -1
	for done := 0; done < len(rel); {
		name, _, _ := strings.Cut(rel[done:], "/")
		from := at
		if at < 0 {
			from = dir
		}
		next, err := d.step(points, from, rel[:done], name)
		done += len(name) + 1
		if at >= 0 {
			err = whyNotDir(at, err)
			_ = unix.Close(at)
		}
		if err != nil {
			return -1, refused(err)
		}
		at = next
	}
	return at, nil
}

// step opens one component below the directory from; before is how it was reached.
func (d *Dir) step(points *mountPoints, from int, before, name string) (int, error) {
	switch {
	case name == "":
		name = "."
	case d.mount == nil || name == ".":
	case points.has(path.Clean(d.seen + before + name)):
		return -1, nodefs.ErrCrossesMount
	}
	if d.mount != nil {
		return openGuarded(from, name, *d.mount)
	}
	return openBeneath(from, name, pathFlags)
}

func withSlash(dir string) string {
	if strings.HasSuffix(dir, "/") {
		return dir
	}
	return dir + "/"
}

// isFast says that rel may be opened with one call: the file system is one of the kernel's own, with neither FIFOs nor
// devices, and there is no automount point on the way, as systemd makes one at /proc/sys/fs/binfmt_misc.
func (d *Dir) isFast(rel string) bool {
	// Asked when it matters first and not in OpenDir, since a FUSE server is asked, too.
	d.once.Do(func() {
		switch d.fsType() {
		case unix.PROC_SUPER_MAGIC:
			d.fast = !strings.Contains(d.path, "/sys")
		case unix.SYSFS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC:
			d.fast = true
		}
	})
	return d.fast && !strings.HasPrefix(rel, "sys") && isLocal(rel)
}

// fsType returns the magic number of the file system, 0 where that is unknown.
func (d *Dir) fsType() int64 {
	dir, err := d.fd.use()
	if err != nil {
		return 0
	}
	defer d.fd.done()
	magic, err := fsType(dir)
	if err != nil {
		return 0
	}
	return magic
}

func (d *Dir) error(op, rel string, err error) error {
	if err == nil {
		return nil
	}
	return pathError(op, path.Join(d.path, rel), err)
}

// isLocal says whether rel is a relative path that is not empty and has no "..".
func isLocal(rel string) bool {
	if rel == "" || rel[0] == '/' {
		return false
	}
	for {
		name, rest, more := strings.Cut(rel, "/")
		if name == ".." {
			return false
		}
		if !more {
			return true
		}
		rel = rest
	}
}

// refused turns the kernel's answers to what the rules of a Dir forbid into this package's.
func refused(err error) error {
	switch {
	case errors.Is(err, unix.EXDEV):
		return nodefs.ErrCrossesMount
	case errors.Is(err, unix.ELOOP):
		return nodefs.ErrSymlink
	}
	return err
}

// whyNotDir tells a link from other things that are no directories.
func whyNotDir(at int, err error) error {
	if errors.Is(err, unix.ENOTDIR) && errors.Is(wantType(at, unix.S_IFDIR), nodefs.ErrSymlink) {
		return nodefs.ErrSymlink
	}
	return err
}
