package hostfs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// The layout of struct linux_dirent64, see getdents64(2).
const (
	direntLen  = 16
	direntType = 18
	direntName = 19
)

// Entries lists the directory, sorted by name, without "." and "..". If there are more than limit entries, it returns
// limit of them, those that the file system names first, and [nodefs.ErrTruncated]. With any other error it returns what it
// had read.
//
// Where the file system does not say the types (xfs without ftype, some FUSE servers), entries are asked for theirs as by
// [Dir.Lstat]; a mount point's stays unknown.
func (d *Dir) Entries(limit int) ([]nodefs.Entry, error) {
	entries, err := d.readEntries(limit)
	d.askForTypes(entries)
	sorting.Stable(entries, func(a, b nodefs.Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries, d.error("readdir", ".", err)
}

// askForTypes completes entries that came without a type.
func (d *Dir) askForTypes(entries []nodefs.Entry) {
	for i := range entries {
		e := &entries[i]
		if e.TypeKnown {
			continue
		}
		if info, err := d.Lstat(e.Name); err == nil {
			e.Type, e.TypeKnown = info.Mode.Type(), true
		}
	}
}

func (d *Dir) readEntries(limit int) ([]nodefs.Entry, error) {
	entries := []nodefs.Entry{}
	dir, err := d.fd.use()
	if err != nil {
		return entries, err
	}
	defer d.fd.done()
	fd, err := openat(dir, ".", listFlags) // of its own, since the position is the descriptor's
	if err != nil {
		return entries, err
	}
	defer unix.Close(fd)
	buf := make([]byte, 32<<10)
	for {
		n, err := again(func() (int, error) { return unix.Getdents(fd, buf) })
		if err != nil || n == 0 {
			return entries, err
		}
		if entries, err = appendEntries(entries, buf[:n]); err != nil {
			return entries, err
		}
		if len(entries) > max(limit, 0) {
			return entries[:max(limit, 0)], nodefs.ErrTruncated
		}
	}
}

// appendEntries reads what one getdents64 returned.
func appendEntries(entries []nodefs.Entry, buf []byte) ([]nodefs.Entry, error) {
	for len(buf) > 0 {
		if len(buf) <= direntName {
			return entries, fmt.Errorf("directory entry of %d bytes", len(buf))
		}
		size := int(binary.NativeEndian.Uint16(buf[direntLen:]))
		if size <= direntName || size > len(buf) {
			return entries, fmt.Errorf("directory entry of length %d in %d bytes", size, len(buf))
		}
		name, _, _ := bytes.Cut(buf[direntName:size], []byte{0})
		if s := string(name); s != "." && s != ".." && s != "" && !strings.Contains(s, "/") {
			entries = append(entries, newEntry(s, buf[direntType]))
		}
		buf = buf[size:]
	}
	return entries, nil
}

// newEntry translates d_type, which is the top four bits of st_mode (DTTOIF in dirent.h).
func newEntry(name string, dtype byte) nodefs.Entry {
	e := nodefs.Entry{Name: name, Type: typeBits(uint32(dtype) << 12)}
	e.TypeKnown = dtype != unix.DT_UNKNOWN && e.Type != fs.ModeIrregular
	if !e.TypeKnown {
		e.Type = 0
	}
	return e
}
