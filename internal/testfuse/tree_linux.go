package testfuse

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// tree is the file system's content. Nodes live as long as the server: what is unlinked while it is open stays
// readable without any counting.
type tree struct {
	sizeBytes, freeBytes uint64
	locks                bool   // programs may lock files
	below                string // is asked first, if set

	mu    sync.Mutex
	nodes []*node // by node id; 0 is no node
}

type node struct {
	id       uint64
	mode     uint32 // type and permissions
	unlinked bool
	data     []byte             // of a file; what a symbolic link says
	entries  map[string]*node   // of a directory, else nil
	listings map[uint64][]entry // of a directory: what an open handle lists
	locked   bool               // by lockedBy
	lockedBy uint64
}

// entry is one line of a directory listing.
type entry struct {
	name string
	node *node
}

func newTree(opt Options) *tree {
	t := &tree{sizeBytes: opt.SizeBytes, freeBytes: opt.FreeBytes, locks: opt.Locks, below: opt.Below, nodes: make([]*node, 1)}
	root := t.newNode(unix.S_IFDIR | 0o755) // the first node gets the number 1, as the protocol wants the root's to be
	for _, path := range slices.Sorted(maps.Keys(opt.Files)) {
		t.put(root, path, unix.S_IFREG|0o644, opt.Files[path])
	}
	for _, path := range slices.Sorted(maps.Keys(opt.Links)) {
		t.put(root, path, unix.S_IFLNK|0o777, opt.Links[path])
	}
	return t
}

// put makes what a path leads to, and the directories above it.
func (t *tree) put(dir *node, path string, mode uint32, data string) {
	names := strings.Split(strings.TrimPrefix(path, "/"), "/")
	last := len(names) - 1
	for _, name := range names[:last] {
		if name != "" {
			dir = t.subdirectory(dir, name)
		}
	}
	if name := names[last]; name != "" {
		n := t.newNode(mode)
		n.data = []byte(data)
		dir.entries[name] = n
	}
}

func (t *tree) newNode(mode uint32) *node {
	n := &node{id: uint64(len(t.nodes)), mode: mode}
	if mode&unix.S_IFMT == unix.S_IFDIR {
		n.entries, n.listings = make(map[string]*node), make(map[uint64][]entry)
	}
	t.nodes = append(t.nodes, n)
	return n
}

func (t *tree) subdirectory(dir *node, name string) *node {
	if sub, ok := dir.entries[name]; ok && sub.entries != nil {
		return sub
	}
	sub := t.newNode(unix.S_IFDIR | 0o755)
	dir.entries[name] = sub
	return sub
}

// add makes a file or directory; the kernel has looked for the name before, but may have been too late.
func (t *tree) add(dir *node, name string, mode uint32) (*node, syscall.Errno) {
	if dir.entries == nil {
		return nil, unix.ENOTDIR
	}
	if dir.entries[name] != nil {
		return nil, unix.EEXIST
	}
	n := t.newNode(mode)
	dir.entries[name] = n
	return n, 0
}

func (n *node) attr() attr {
	a := attr{Ino: n.id, Size: uint64(len(n.data)), Mode: n.mode, Nlink: 1, BlockSize: 4096}
	a.Blocks = (a.Size + 511) / 512
	switch {
	case n.unlinked:
		a.Nlink = 0
	case n.entries != nil:
		a.Nlink = 2
	}
	return a
}

// list returns the directory in a fixed order, so that an offset means the same in each part of a listing.
func (n *node) list() []entry {
	list := []entry{{".", n}, {"..", n}}
	for _, name := range slices.Sorted(maps.Keys(n.entries)) {
		list = append(list, entry{name, n.entries[name]})
	}
	return list
}

func (n *node) remove(name string) syscall.Errno {
	child := n.entries[name]
	switch {
	case child == nil:
		return unix.ENOENT
	case len(child.entries) > 0:
		return unix.ENOTEMPTY
	}
	child.unlinked = true
	delete(n.entries, name)
	return 0
}

// maxFile bounds what a test can write by mistake.
const maxFile = 256 << 20

func (n *node) resize(size uint64) syscall.Errno {
	if size > maxFile {
		return unix.EFBIG
	}
	if grow := int(size) - len(n.data); grow > 0 {
		n.data = append(n.data, make([]byte, grow)...)
	}
	n.data = n.data[:size]
	return 0
}

func (n *node) readAt(offset uint64, size uint32) []byte {
	start := min(offset, uint64(len(n.data)))
	end := min(start+uint64(size), uint64(len(n.data)))
	return n.data[start:end]
}

func (n *node) writeAt(offset uint64, data []byte) syscall.Errno {
	if end := offset + uint64(len(data)); end > uint64(len(n.data)) {
		if errno := n.resize(end); errno != 0 {
			return errno
		}
	}
	copy(n.data[offset:], data)
	return 0
}
