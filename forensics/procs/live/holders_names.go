package live

import (
	"errors"
	"strings"
	"syscall"
)

// A named is the text of a link, and what it means: many processes have the same files open.
type named struct {
	path     string
	deleted  bool
	internal bool // on a mount of the kernel's own
	device   bool // one of the devices that nearly every process has open
	plain    bool // in the namespace of this program, the path leaves no doubt of the mount
	// asSpelled says that the kernel has added nothing to the path, and leftOut as which kinds it was left out.
	asSpelled bool
	leftOut   [len(holdKinds)]bool

	// The mount that the path is on in the namespace of this program, by the table in which it was looked up.
	by    *plainPaths
	id    int32
	super string
}

// isTooLong says that a path has more than the 4,095 bytes that the kernel tells in a link.
func isTooLong(err error) bool { return errors.Is(err, syscall.ENAMETOOLONG) }

// tooLong replaces such a path of a descriptor or mapped file. Its mount is still listed.
const tooLong = "/(a path of more than 4,095 bytes)"

// name understands the text of a link, once for each text.
func (s *scanner) name(text []byte) *named {
	if known, ok := s.paths[string(text)]; ok {
		return known
	}
	key := string(text)
	at := &named{internal: internal(key), device: isDevice(key)}
	at.path, at.deleted = splitDeleted(key)
	at.asSpelled = len(at.path) == len(key)
	at.plain = at.asSpelled && !isFUSEDevice(key) && s.own.leaveNoDoubt(at)
	s.paths[key] = at
	return at
}

const deletedSuffix = " (deleted)"

const (
	unreachablePrefix = "(unreachable)"
)

// isFUSEDevice says that a path is that of the device of FUSE servers, perhaps below the root of a chroot.
func isFUSEDevice(path string) bool { return strings.HasSuffix(path, "/dev/fuse") }

// splitDeleted takes off what d_path(9) adds. A file whose name ends so is taken for deleted.
func splitDeleted(text string) (path string, deleted bool) {
	text = strings.TrimPrefix(text, unreachablePrefix)
	return strings.CutSuffix(text, deletedSuffix)
}

// internal says that a file is on a mount of the kernel's own that nobody can unmount: shared memory and the like.
func internal(text string) bool {
	switch {
	case strings.HasPrefix(text, "/dmabuf:"):
		return true
	case !strings.HasSuffix(text, deletedSuffix):
		return false
	case strings.HasPrefix(text, "/memfd:"), strings.HasPrefix(text, "/SYSV"), strings.HasPrefix(text, "/[aio]"),
		strings.HasPrefix(text, "/anon_hugepage"), strings.HasPrefix(text, "/drm mm object"), strings.HasPrefix(text, "/i915"),
		strings.HasPrefix(text, "/dev/zero"), strings.HasPrefix(text, "/kvm-"), text == "/secretmem"+deletedSuffix:
		return true
	}
	return false
}

// device says that a descriptor is one of the devices that nearly every process has open. Their mount is that of their
// path, which saves asking; and some drivers have much to say in fdinfo.
func isDevice(text string) bool {
	name, ok := strings.CutPrefix(text, "/dev/")
	if !ok {
		return false
	}
	switch name {
	case "null", "zero", "full", "random", "urandom", "tty", "console", "ptmx", "kmsg":
		return true
	}
	return strings.HasPrefix(name, "pts/")
}
