package hostfs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// A LinkReader reads directories that are full of symbolic links, such as /proc/PID/fd, without making a string of each.
// The zero value is ready. It is for one goroutine.
type LinkReader struct{ entries, target []byte }

// Each calls f with every link of the directory rel below d and its text, in the order of the directory. Both are valid
// until f returns. err says why a link could not be read; the text is nil then. It follows none.
//
// In procfs that takes one system call for a link, and elsewhere what [Dir.Entries] and [Dir.ReadLink] take. Descriptors
// are read by number up to the first that is missing, and only the others are listed, which saves the kernel work.
func (r *LinkReader) Each(d *Dir, rel string, limit int, f func(name, text []byte, err error)) error {
	if !d.isFast(rel) {
		return r.eachSlowly(d, rel, limit, f)
	}
	fd, err := d.openList(rel)
	if err != nil {
		return d.error("readdir", rel, err)
	}
	defer unix.Close(fd)
	if r.entries == nil {
		r.entries, r.target = make([]byte, 32<<10), make([]byte, 8<<10) // no text is longer than a page
	}
	if limit, err = r.numbered(fd, limit, f); err != nil {
		return d.error("readdir", rel, err)
	}
	for {
		n, err := unix.Getdents(fd, r.entries)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil || n == 0:
			return d.error("readdir", rel, err)
		}
		if limit, err = r.links(fd, r.entries[:n], limit, f); err != nil {
			return d.error("readdir", rel, err)
		}
	}
}

// openList opens a directory below this one for reading.
func (d *Dir) openList(rel string) (int, error) {
	if d.mount != nil {
		dir, err := d.openPath(rel)
		if err != nil {
			return -1, err
		}
		defer unix.Close(dir)
		return reopen(dir, listFlags)
	}
	parent, err := d.fd.use()
	if err != nil {
		return -1, err
	}
	defer d.fd.done()
	fd, err := openBeneath(parent, rel, listFlags)
	return fd, refused(err)
}

// numbered reads the links "0", "1", "2" and so on up to the first that is missing, and moves to what comes after that. The
// position in a directory of descriptors is 2 more than the next number, in every Linux since 2.6 (proc_readfd_common in
// fs/proc/fd.c).
func (r *LinkReader) numbered(fd, limit int, f func(name, text []byte, err error)) (int, error) {
	var buf [24]byte
	for next := int64(0); ; next++ {
		name := append(strconv.AppendInt(buf[:0], next, 10), 0)
		n, err := r.readlink(fd, name)
		if err != nil {
			if next > 0 {
				_, err = unix.Seek(fd, next+2, io.SeekStart)
				return limit, err
			}
			return limit, nil
		}
		if limit--; limit < 0 {
			return 0, nodefs.ErrTruncated
		}
		f(name[:len(name)-1], r.target[:n], nil)
	}
}

// links reads the links of what one getdents64 returned.
func (r *LinkReader) links(fd int, entries []byte, limit int, f func(name, text []byte, err error)) (int, error) {
	for len(entries) > direntName {
		size := int(binary.NativeEndian.Uint16(entries[direntLen:]))
		if size <= direntName || size > len(entries) {
			break
		}
		name := entries[direntName:size]
		entries = entries[size:]
		end := bytes.IndexByte(name, 0)
		if end <= 0 || name[0] == '.' {
			continue
		}
		if limit--; limit < 0 {
			return 0, nodefs.ErrTruncated
		}
		n, err := r.readlink(fd, name)
		if err != nil {
			f(name[:end], nil, err)
			continue
		}
		f(name[:end], r.target[:n], nil)
	}
	return limit, nil
}

// readlink is readlinkat(2) with a name that ends in a zero byte as it came from the kernel.
//
// It does not tell Go's scheduler that a system call begins, which took a fourteenth of the time of
// a scan for holders with 128,000 links. That is for calls that do not wait for anybody, as those of the kernel's own file systems: proc_pid_readlink in
// fs/proc/base.c takes no lock under which others wait for a device or a server, and so can only lack memory, as every
// instruction of this program can.
func (r *LinkReader) readlink(fd int, name []byte) (int, error) {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_READLINKAT, uintptr(fd), uintptr(unsafe.Pointer(&name[0])),
			uintptr(unsafe.Pointer(&r.target[0])), uintptr(len(r.target)), 0, 0)
		switch errno {
		case 0:
			return int(n), nil
		case unix.EINTR:
			continue
		}
		return 0, errno
	}
}

func (r *LinkReader) eachSlowly(d *Dir, rel string, limit int, f func(name, text []byte, err error)) error {
	dir, err := d.OpenDir(rel)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	entries, err := dir.Entries(limit)
	for _, e := range entries {
		text, err := dir.ReadLink(e.Name)
		if err != nil {
			f([]byte(e.Name), nil, err)
			continue
		}
		f([]byte(e.Name), []byte(text), nil)
	}
	return err
}
