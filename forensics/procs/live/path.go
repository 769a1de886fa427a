package live

import (
	"bytes"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/procfd"
)

// Values of Thread.PathFrom.
const (
	fromArgument   = "argument"
	fromDescriptor = procs.PathFromDescriptor
)

const (
	maxPath = 4096 // PATH_MAX: no system call takes a longer one
	// pageSize is the smallest page of the architectures. A read that ends where a page ends touches no page that the
	// system call did not have to touch.
	pageSize = 4096
	atCWD    = -100 // AT_FDCWD
)

// A target is something that a system call was asked about.
type target struct {
	path    string // absolute, as the process sees it
	from    string
	mountID int // the mount of a descriptor, 0 if unknown
	// below is the mount of the descriptor that the path begins at, 0 if unknown or if it begins at none.
	below int
}

// A targetReader finds the targets of one system call of one thread.
type targetReader struct {
	dir  *hostfs.Dir // of the process
	task string      // "task/TID/"
	mem  io.ReaderAt // the process's memory; nil where it cannot be opened
	args []uint64
	root string // the process's root directory as this process sees it
}

// targets returns what a call with arguments of some kinds (Kinds of procs.Syscall) was asked about, the likeliest first.
func (r *targetReader) targets(kinds string) []target {
	var list, last []target
	dir := -1 // the argument that the next path is relative to
	for i := range min(len(kinds), len(r.args)) {
		switch kinds[i] {
		case 'd':
			dir = i
		case 'f':
			list = append(list, r.descriptor(int32(r.args[i]))...)
		case 'p':
			list = append(list, r.named(i, dir)...)
			dir = -1
		case 'q':
			if name, ok := readString(r.mem, r.args[i]); ok && strings.HasPrefix(name, "/") {
				last = append(last, target{path: tidy(name), from: fromArgument})
			}
		}
	}
	return append(list, last...)
}

// named is the target that argument i points to the name of, relative to the descriptor that argument dir is.
func (r *targetReader) named(i, dir int) []target {
	at := int32(atCWD)
	if dir >= 0 {
		at = int32(r.args[dir]) // an int: the upper half of the register means nothing
	}
	var name string
	if r.args[i] != 0 { // NULL is the same as "" since Linux 6.11
		var ok bool
		if name, ok = readString(r.mem, r.args[i]); !ok {
			return nil
		}
	}
	if strings.HasPrefix(name, "/") {
		return []target{{path: tidy(name), from: fromArgument}}
	}
	if name == "" && dir < 0 {
		return nil
	}
	base := r.descriptor(at)
	if name == "" || len(base) == 0 { // AT_EMPTY_PATH
		return base
	}
	parent := strings.TrimSuffix(base[0].path, " (deleted)")
	return []target{{path: tidy(parent + "/" + name), from: fromArgument, below: base[0].mountID}}
}

// descriptor is the target that a descriptor refers to, if that has a path: a socket or a pipe has none.
func (r *targetReader) descriptor(fd int32) []target {
	link := "cwd"
	if fd != atCWD {
		if fd < 0 {
			return nil
		}
		link = "fd/" + strconv.Itoa(int(fd))
	}
	text, err := r.dir.ReadLink(r.task + link)
	if err != nil || !strings.HasPrefix(text, "/") {
		return nil
	}
	t := target{path: withinRoot(r.root, text), from: fromDescriptor}
	if fd != atCWD {
		t.mountID = r.mountID(fd)
	}
	return []target{t}
}

// mountID is the mount of a descriptor by fdinfo (Linux 3.15), 0 if unknown.
func (r *targetReader) mountID(fd int32) int {
	text, err := r.dir.ReadFile(r.task+"fdinfo/"+strconv.Itoa(int(fd)), limitSmall)
	if err != nil {
		return 0
	}
	return int(procfd.Number(text, "mnt_id:"))
}

// readString reads the string that a pointer of another process points to, page by page.
func readString(mem io.ReaderAt, pointer uint64) (string, bool) {
	if mem == nil || pointer == 0 || pointer > 1<<63-1-maxPath {
		return "", false
	}
	var buf [maxPath]byte
	for n := 0; n < maxPath; {
		at := pointer + uint64(n)
		part := buf[n:min(maxPath, n+int(pageSize-at%pageSize))]
		if read, err := mem.ReadAt(part, int64(at)); read < len(part) || err != nil && read == 0 {
			return "", false
		}
		if end := bytes.IndexByte(part, 0); end >= 0 {
			return string(buf[:n+end]), true
		}
		n += len(part)
	}
	return "", false
}

// withinRoot turns the text of a link in /proc, which is relative to the reader's root directory, into the path that
// the process itself would use. For a process in another mount namespace both are relative to the root of that one. A
// path outside of the process's root stays as it is: the process has no name for it.
func withinRoot(root, name string) string {
	if root == "" || root == "/" {
		return name
	}
	rest, ok := strings.CutPrefix(name, root)
	switch {
	case ok && rest == "":
		return "/"
	case ok && rest[0] == '/':
		return rest
	}
	return name
}

// tidy removes empty and "." components. ".." stays: what it leads to depends on symbolic links.
func tidy(name string) string {
	if strings.Contains(name, "..") {
		for part := range strings.SplitSeq(name, "/") {
			if part == ".." {
				return name
			}
		}
	}
	return path.Clean(name)
}
