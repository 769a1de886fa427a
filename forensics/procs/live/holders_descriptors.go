package live

import (
	"bytes"
	"strconv"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/procfd"
)

// maxDescriptors is more than a process may have (fs.nr_open).
const maxDescriptors = 1 << 21

func (s *scanner) readDescriptors(p *subject) {
	var infos *hostfs.Dir
	defer func() {
		if infos != nil {
			_ = infos.Close()
		}
	}()
	err := s.links.Each(p.dir, p.alive+"fd", maxDescriptors, func(name, text []byte, err error) {
		if isTooLong(err) {
			text, err = []byte(tooLong), nil
		}
		if err != nil {
			s.trouble("descriptors", err)
			return
		}
		s.descriptors++
		if len(text) == 0 || text[0] != '/' && !bytes.HasPrefix(text, []byte(unreachablePrefix)) {
			s.special(p, name, text)
			return
		}
		at := s.name(text)
		if at.internal {
			return
		}
		h := hold{at: at, kind: atFD, fd: int32(number(name)), byPath: true}
		if p.shared[int(h.fd)] == at || s.leavesOut(p.ns, at, atFD, "") {
			return // the process has it, too, or nobody wants it
		}
		if at.device || at.plain && p.ns == s.own.namespace {
			s.holds = append(s.holds, h)
			return
		}
		if infos == nil {
			if infos, err = p.dir.OpenDir(p.alive + "fdinfo"); err != nil {
				s.trouble("mount ids of descriptors", err)
			}
		}
		s.confirmed(p, infos, string(name), h)
	})
	s.trouble("descriptors", err)
}

// number is a descriptor's name as a number.
func number(name []byte) int {
	n := 0
	for _, digit := range name {
		n = n*10 + int(digit-'0')
	}
	return n
}

// special notes descriptors that are no files: of those, a mount namespace holds mounts, a socket may, and marks watch them.
func (s *scanner) special(p *subject, name, text []byte) {
	if inode, ok := socketInode(text); ok {
		if fd := number(name); p.shared == nil || p.shared[fd] != s.name(text) {
			s.sockets = append(s.sockets, openSocket{inode, int32(fd)})
		}
		return
	}
	switch string(text) {
	case "anon_inode:inotify", "inotify": // before and since Linux 2.6.37
		s.readMarks(p, name, "inotify")
		return
	case "anon_inode:[fanotify]":
		s.readMarks(p, name, "fanotify")
		return
	case "anon_inode:[io_uring]":
		s.readRing(p, name)
		return
	}
	if !bytes.HasPrefix(text, []byte("mnt:")) {
		return
	}
	if ns := parseNS(string(text), "mnt"); ns != 0 {
		s.pins = append(s.pins, holders.NamespaceHold{PID: p.pid, TID: p.tid, FD: number(name), Namespace: ns})
	}
}

// confirmed notes a descriptor with the mount id that the kernel tells. infos is nil where it tells none.
func (s *scanner) confirmed(p *subject, infos *hostfs.Dir, name string, h hold) {
	if infos != nil {
		info, err := s.c.head(infos, name)
		switch {
		case err != nil && isGone(err):
			return // closed meanwhile
		case err != nil:
			s.trouble("mount ids of descriptors", err)
		}
		if id := procfd.Number(info, "mnt_id:"); id != 0 {
			h.mount, h.byPath = int32(id), false
			h.kernels = procfd.MaybeKernelMount(h.at.path, info)
		}
		if isFUSEDevice(h.at.path) {
			s.fuse = append(s.fuse, holders.FUSEDevice{
				PID: p.pid, FD: int(h.fd), Connection: uint32(procfd.Number(info, "fuse_connection:")), MountNS: p.ns,
			})
		}
	}
	s.holds = append(s.holds, h)
}

// again reads the mount id and link of a descriptor once more.
func (c *collector) again(p *holdings, h *hold) (mountID int32, same bool) {
	dir, fd := strconv.Itoa(p.pid)+"/"+p.task, strconv.Itoa(int(h.fd))
	info, err := c.head(c.proc, dir+"fdinfo/"+fd)
	mountID = int32(procfd.Number(info, "mnt_id:"))
	if err != nil {
		return 0, false
	}
	text, err := c.proc.ReadLink(dir + "fd/" + fd)
	path, deleted := splitDeleted(text)
	return mountID, err == nil && path == h.at.path && deleted == h.at.deleted
}
