package live

import (
	"bytes"
	"path"
	"strconv"
	"sync"

	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/procnet"
)

// An openSocket is a descriptor of a socket. Most sockets have no name in a file system, and hold no mount.
type openSocket struct {
	inode uint64
	fd    int32
}

// socketInode reads the text of a link, "socket:[12345]".
func socketInode(text []byte) (uint64, bool) {
	rest, ok := bytes.CutPrefix(text, []byte("socket:["))
	if !ok {
		return 0, false
	}
	inode, err := strconv.ParseUint(string(bytes.TrimSuffix(rest, []byte{']'})), 10, 64)
	return inode, err == nil
}

// boundSockets knows the names of the sockets of each network namespace that a process with sockets is in. A socket may be
// open in another namespace, so it is asked when all have been seen.
type boundSockets struct {
	fsys *hostfs.FS

	mu    sync.Mutex
	seen  map[string]bool
	names map[uint64]string // by inode
	lists map[string][]procnet.BoundSocket
}

func newBoundSockets(fsys *hostfs.FS) *boundSockets {
	return &boundSockets{fsys: fsys, seen: map[string]bool{}, names: map[uint64]string{}, lists: map[string][]procnet.BoundSocket{}}
}

// in reads those of the namespace that a process, or thread, is in, once for each namespace.
func (b *boundSockets) in(p *subject) error {
	b.mu.Lock()
	known := b.seen[p.net]
	b.seen[p.net] = true
	b.mu.Unlock()
	if known {
		return nil
	}
	list, err := readBoundSockets(b.fsys, "/proc/"+strconv.Itoa(p.reader())+"/net/unix")
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		delete(b.seen, p.net) // another process may show it
	} else {
		b.lists[p.net] = append([]procnet.BoundSocket{}, list...) // not nil
	}
	for _, s := range list {
		b.names[s.Inode] = s.Name
	}
	return err
}

// hold makes holds of the open sockets that have a name. The name was found by whoever bound it: that was in the mount
// namespace and below the root of the process that has the socket, unless it was passed on.
func (b *boundSockets) hold(found []*holdings) (inodes []uint64) {
	known, claimed := map[string]*named{}, map[uint64]bool{}
	for _, p := range found {
		for _, s := range p.sockets {
			name, ok := b.names[s.inode]
			if !ok {
				continue
			}
			if !claimed[s.inode] {
				claimed[s.inode] = true
				inodes = append(inodes, s.inode)
			}
			if name = path.Join(p.root, name); known[name] == nil {
				known[name] = &named{path: name}
			}
			p.holds = append(p.holds, hold{at: known[name], kind: atSocket, fd: s.fd, byPath: true})
		}
	}
	return inodes
}

// readBoundSockets lists the bound sockets of a network namespace by its net/unix file. With an error the list may be
// incomplete.
func readBoundSockets(fsys *hostfs.FS, file string) ([]procnet.BoundSocket, error) {
	text, err := fsys.ReadFile(file, maxList)
	return procnet.BoundSockets(text), err
}
