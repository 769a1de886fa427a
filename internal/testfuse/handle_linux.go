package testfuse

import (
	"errors"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// handle carries out a request and returns the body of the reply.
func (t *tree) handle(req *request) ([]byte, syscall.Errno) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if req.Opcode == opInit {
		flags := uint32(initBigWrites | initMaxPages)
		if t.locks {
			flags |= initPosixLocks | initFlockLocks
		}
		return pack(initOut{
			Major: protocolMajor, Minor: protocolMinor, Flags: flags,
			MaxReadahead: maxWrite, MaxWrite: maxWrite, MaxPages: maxWrite / 4096, TimeGranularity: 1,
			MaxBackground: 64, CongestionThreshold: 48,
		}), 0
	}
	if errno := t.askBelow(); errno != 0 {
		return nil, errno
	}
	if req.Opcode == opStatfs {
		return t.statfs(), 0
	}
	if req.Node == 0 || req.Node >= uint64(len(t.nodes)) {
		return nil, unix.ESTALE
	}
	n := t.nodes[req.Node]
	switch req.Opcode {
	case opLookup, opMknod, opMkdir, opUnlink, opRmdir, opRename, opRename2, opCreate, opOpendir, opReaddir, opReleasedir:
		return t.handleDirectory(req, n)
	default:
		return handleNode(req, n)
	}
}

// askBelow asks the file system that this one is made of, if it is made of one.
func (t *tree) askBelow() (errno syscall.Errno) {
	if t.below == "" {
		return 0
	}
	var attributes unix.Stat_t
	errors.As(unix.Stat(t.below, &attributes), &errno)
	return errno
}

// handleDirectory carries out what is asked of a directory.
func (t *tree) handleDirectory(req *request, dir *node) ([]byte, syscall.Errno) {
	if dir.entries == nil {
		return nil, unix.ENOTDIR
	}
	switch req.Opcode {
	case opLookup:
		name, _ := cstring(req.body)
		return lookup(dir, name)
	case opMknod: // bind(2) of a socket
		var in mknodIn
		name, _ := cstring(unpack(req.body, &in))
		n, errno := t.add(dir, name, in.Mode&unix.S_IFMT|in.Mode&^in.Umask&0o7777)
		if errno != 0 {
			return nil, errno
		}
		return pack(n.entryOut()), 0
	case opMkdir:
		var in mkdirIn
		name, _ := cstring(unpack(req.body, &in))
		n, errno := t.add(dir, name, unix.S_IFDIR|in.Mode&^in.Umask&0o7777)
		if errno != 0 {
			return nil, errno
		}
		return pack(n.entryOut()), 0
	case opCreate:
		var in createIn
		name, _ := cstring(unpack(req.body, &in))
		n, errno := t.add(dir, name, unix.S_IFREG|in.Mode&^in.Umask&0o7777)
		if errno != 0 {
			return nil, errno
		}
		return pack(createOut{Entry: n.entryOut()}), 0
	case opUnlink, opRmdir:
		name, _ := cstring(req.body)
		return nil, dir.remove(name)
	case opRename, opRename2:
		return nil, t.rename(req, dir)
	case opOpendir:
		dir.listings[req.Unique] = dir.list()
		return pack(openOut{Handle: req.Unique}), 0
	case opReaddir:
		var in ioIn
		unpack(req.body, &in)
		return readdir(dir.listings[in.Handle], in.Offset, int(in.Size)), 0
	default: // opReleasedir
		var handle uint64 // the first field of struct fuse_release_in
		unpack(req.body, &handle)
		delete(dir.listings, handle)
		return nil, 0
	}
}

// handleNode carries out what is asked of a file or of any node.
func handleNode(req *request, n *node) ([]byte, syscall.Errno) {
	switch req.Opcode {
	case opGetattr:
		return pack(attrOut{Attr: n.attr()}), 0
	case opSetattr:
		return n.setattr(req.body)
	case opReadlink:
		return slices.Clone(n.data), 0
	case opOpen:
		var in openIn
		var out openOut
		if unpack(req.body, &in); in.Flags&unix.O_DIRECT != 0 {
			out.Flags = openDirectIO
		}
		return pack(out), 0
	case opRead:
		var in ioIn
		unpack(req.body, &in)
		return slices.Clone(n.readAt(in.Offset, in.Size)), 0
	case opWrite:
		var in ioIn
		data := unpack(req.body, &in)
		return pack(writeOut{Size: uint32(len(data))}), n.writeAt(in.Offset, data)
	case opSetlk, opSetlkw:
		var in lockIn
		unpack(req.body, &in)
		return nil, n.setLock(in.Owner, in.Type != unix.F_UNLCK)
	case opRelease:
		var in releaseIn
		if unpack(req.body, &in); in.ReleaseFlags&releaseFlockUnlock != 0 {
			_ = n.setLock(in.LockOwner, false)
		}
		return nil, 0
	case opFsync, opFsyncdir, opFlush, opAccess, opDestroy:
		return nil, 0
	default:
		return nil, unix.ENOSYS // the kernel does not ask again, and falls back where it can
	}
}

// setLock locks a file or lets go of it. EAGAIN says that somebody else has it.
func (n *node) setLock(owner uint64, lock bool) syscall.Errno {
	switch others := n.locked && n.lockedBy != owner; {
	case others && lock:
		return unix.EAGAIN
	case !others:
		n.locked, n.lockedBy = lock, owner
	}
	return 0
}

func lookup(dir *node, name string) ([]byte, syscall.Errno) {
	n := dir.entries[name]
	if n == nil {
		return nil, unix.ENOENT
	}
	return pack(n.entryOut()), 0
}

func (n *node) entryOut() entryOut { return entryOut{Node: n.id, Attr: n.attr()} }

func (n *node) setattr(body []byte) ([]byte, syscall.Errno) {
	var in setattrIn
	unpack(body, &in)
	if in.Valid&setattrMode != 0 {
		n.mode = n.mode&unix.S_IFMT | in.Mode&0o7777
	}
	if in.Valid&setattrSize != 0 && n.entries == nil {
		if errno := n.resize(in.Size); errno != 0 {
			return nil, errno
		}
	}
	return pack(attrOut{Attr: n.attr()}), 0
}

// rename carries out RENAME, and RENAME2 without its flags for exchange and whiteout.
func (t *tree) rename(req *request, from *node) syscall.Errno {
	var in rename2In
	var rest []byte
	if req.Opcode == opRename2 {
		rest = unpack(req.body, &in)
	} else {
		var old renameIn
		rest = unpack(req.body, &old)
		in.NewDir = old.NewDir
	}
	oldName, rest := cstring(rest)
	newName, _ := cstring(rest)
	if in.NewDir >= uint64(len(t.nodes)) || t.nodes[in.NewDir] == nil || t.nodes[in.NewDir].entries == nil {
		return unix.ENOTDIR
	}
	if in.Flags&^unix.RENAME_NOREPLACE != 0 {
		return unix.EINVAL
	}
	to, moved := t.nodes[in.NewDir], from.entries[oldName]
	if moved == nil {
		return unix.ENOENT
	}
	if replaced := to.entries[newName]; replaced != nil {
		if in.Flags&unix.RENAME_NOREPLACE != 0 {
			return unix.EEXIST
		}
		if errno := to.remove(newName); errno != 0 {
			return errno
		}
	}
	delete(from.entries, oldName)
	to.entries[newName] = moved
	return 0
}

// readdir returns the entries from offset on that fit into size bytes.
func readdir(list []entry, offset uint64, size int) []byte {
	var buf []byte
	for i := min(offset, uint64(len(list))); i < uint64(len(list)); i++ {
		e := list[i]
		next := appendDirent(buf, e.node.id, i+1, e.node.mode&unix.S_IFMT>>12, e.name)
		if len(next) > size {
			break
		}
		buf = next
	}
	return buf
}

func (t *tree) statfs() []byte {
	const blockSize = 4096
	return pack(statfsOut{
		Blocks: t.sizeBytes / blockSize, Free: t.freeBytes / blockSize, Available: t.freeBytes / blockSize,
		Files: 1 << 20, FilesFree: 1<<20 - uint64(len(t.nodes)),
		BlockSize: blockSize, FragSize: blockSize, NameLen: 255,
	})
}
