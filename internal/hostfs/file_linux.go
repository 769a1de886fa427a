package hostfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// A File is a regular file that is open for reading.
type File struct {
	fd   *handle
	path string
	info nodefs.Info
}

// newFile takes over the descriptor.
func newFile(fd int, path string) (*File, error) {
	st, err := fstat(fd)
	if err != nil {
		_ = unix.Close(fd)
		return nil, pathError("open", path, err)
	}
	return &File{fd: newHandle(fd), path: path, info: infoOf(&st)}, nil
}

// Size is the size in bytes when the file was opened.
func (f *File) Size() int64 { return f.info.Size }

// ModTime is the time of the last modification when the file was opened.
func (f *File) ModTime() time.Time { return f.info.ModTime }

// Read implements [io.Reader].
func (f *File) Read(p []byte) (int, error) {
	return f.read(p, func(fd int) (int, error) { return unix.Read(fd, p) })
}

// ReadAt implements [io.ReaderAt].
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	for total := 0; ; {
		rest := p[total:]
		n, err := f.read(rest, func(fd int) (int, error) { return unix.Pread(fd, rest, off+int64(total)) })
		if total += n; err != nil || total == len(p) {
			return total, err
		}
	}
}

func (f *File) read(p []byte, call func(fd int) (int, error)) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	fd, err := f.fd.use()
	if err != nil {
		return 0, pathError("read", f.path, err)
	}
	defer f.fd.done()
	n, err := again(func() (int, error) { return call(fd) })
	switch {
	case err != nil:
		return 0, pathError("read", f.path, err)
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// Close implements [io.Closer]. On FUSE and NFS it asks the server, and so may block.
func (f *File) Close() error { return pathError("close", f.path, f.fd.close()) }

// Dup returns another descriptor of the file, to be handed to a child.
func (f *File) Dup() (*os.File, error) {
	fd, err := f.fd.use()
	if err != nil {
		return nil, pathError("dup", f.path, err)
	}
	defer f.fd.done()
	if fd, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3); err != nil {
		return nil, pathError("dup", f.path, err)
	}
	_ = unix.SetNonblock(fd, false) // or else os.File asks whether it can be polled
	return os.NewFile(uintptr(fd), f.path), nil
}

// openRegular opens for reading what an O_PATH descriptor refers to, if that is a regular file.
func openRegular(fd int) (int, error) {
	if err := wantType(fd, unix.S_IFREG); err != nil {
		return -1, err
	}
	return reopen(fd, readFlags)
}

// wantType returns an error if what the descriptor refers to is of another type.
func wantType(fd int, want uint32) error {
	switch have, err := fileType(fd); {
	case err != nil:
		return err
	case have == want:
		return nil
	case have == unix.S_IFLNK:
		return nodefs.ErrSymlink
	case want == unix.S_IFDIR:
		return unix.ENOTDIR
	}
	return nodefs.ErrNotRegular
}

// appendFile reads until the end or until limit bytes were read, whatever size the file claims to have: files of procfs
// claim none, and a log may grow meanwhile. One byte more than limit is asked for, to know whether there is more.
func appendFile(ctx context.Context, buf []byte, fd int, limit int64) ([]byte, error) {
	start := len(buf)
	most := int(min(max(limit, 0), math.MaxInt-int64(start)-1)) + start
	for {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, max(512, len(buf)-start))
		}
		free := buf[len(buf):min(cap(buf), most+1)]
		n, err := again(func() (int, error) { return unix.Read(fd, free) })
		if err != nil {
			if errors.Is(err, unix.EISDIR) {
				err = nodefs.ErrNotRegular
			}
			return buf, err
		}
		if buf = buf[:len(buf)+n]; len(buf) > most {
			return buf[:most], nodefs.ErrTruncated
		}
		if n == 0 {
			return buf, nil
		}
		if ctx.Err() != nil {
			return buf, fmt.Errorf("%w: it takes too long", nodefs.ErrTruncated)
		}
	}
}

func infoOf(st *unix.Stat_t) nodefs.Info {
	return nodefs.Info{
		Mode:       fileMode(st.Mode),
		Size:       st.Size,
		Blocks:     st.Blocks,
		ModTime:    time.Unix(st.Mtim.Unix()).UTC(),
		ChangeTime: time.Unix(st.Ctim.Unix()).UTC(),
		Dev:        st.Dev,
		Ino:        st.Ino,
		Nlink:      uint64(st.Nlink), //nolint:unconvert // uint32 on arm64
		UID:        st.Uid,
		GID:        st.Gid,
	}
}

// fileMode translates st_mode as package os does.
func fileMode(mode uint32) fs.FileMode {
	m := fs.FileMode(mode&0o777) | typeBits(mode&unix.S_IFMT)
	if mode&unix.S_ISUID != 0 {
		m |= fs.ModeSetuid
	}
	if mode&unix.S_ISGID != 0 {
		m |= fs.ModeSetgid
	}
	if mode&unix.S_ISVTX != 0 {
		m |= fs.ModeSticky
	}
	return m
}

func typeBits(format uint32) fs.FileMode {
	switch format {
	case unix.S_IFREG:
		return 0
	case unix.S_IFDIR:
		return fs.ModeDir
	case unix.S_IFLNK:
		return fs.ModeSymlink
	case unix.S_IFIFO:
		return fs.ModeNamedPipe
	case unix.S_IFSOCK:
		return fs.ModeSocket
	case unix.S_IFBLK:
		return fs.ModeDevice
	case unix.S_IFCHR:
		return fs.ModeDevice | fs.ModeCharDevice
	}
	return fs.ModeIrregular
}
