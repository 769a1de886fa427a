package procs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// maxScanners is how many processes are read at the same time. More help little: the work is in the kernel's locks.
const maxScanners = 4

// maxDescriptors is more than a process may have (fs.nr_open).
const maxDescriptors = 1 << 21

// holdings are what one process holds, or a thread of it for itself.
type holdings struct {
	pid, tid int
	task     string // the directory of the thread that they were read from, "" for that of the process
	ns       uint64
	root     string
	holds    []hold
	sockets  []openSocket
	first    int // place of the first one in the list of all
}

// A hold is a [holders.Holder] without what the holdings of a process have in common. There may be a million of them.
type hold struct {
	at        *named
	device    string
	mount, fd int32
	kind      uint8 // of holdKinds
	byPath    bool
	detached  bool
	kernels   bool // perhaps on a mount of the kernel's own, which is in no table: see maybeKernels
	gone      bool // it had been let go when its mount was looked for
}

// holdKinds is in the order in which the holders of a process are listed.
var holdKinds = [...]holders.Kind{holders.HoldRoot, holders.HoldCwd, holders.HoldExe, holders.HoldFD, holders.HoldMap, holders.HoldRing, holders.HoldSocket}

const (
	atRoot = uint8(iota)
	atCwd
	atExe
	atFD
	atMap
	atRing
	atSocket
)

// holder is one of the holdings by itself.
func (p *holdings) holder(h *hold) holders.Holder {
	return holders.Holder{
		PID: p.pid, TID: p.tid, Kind: holdKinds[h.kind], FD: int(h.fd), Path: h.at.path, Deleted: h.at.deleted,
		MountID: int(h.mount), Device: h.device, ByPath: h.byPath, Detached: h.detached, MountNS: p.ns,
	}
}

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

	// The mount that the path lies on in the namespace of this program, by the table in which it was looked up.
	by    *plainPaths
	id    int32
	super string
}

// A scanner reads one process after another. It belongs to the goroutine that owns its lane.
type scanner struct {
	c           *collector
	lane        *probe.Lane
	next        func() (pid int, ok bool)
	finished    func()
	own         *plainPaths
	bound       *boundSockets
	found       []*holdings
	holds       []hold            // of the process that is being read
	sockets     []openSocket      // of that process
	paths       map[string]*named // by text
	devices     map[uint64]string // as mountinfo spells them
	leftOut     map[string]bool   // superblocks of mapped files that were left out
	links       hostfs.LinkReader
	fuse        []holders.FUSEDevice
	pins        []holders.NamespaceHold
	marks       []holders.Mark
	queued      []holders.Queued
	members     map[uint64][]int // by mount namespace, some of its processes
	denied      []int            // processes that may not be looked at
	maps        *mappings        // nil while a read that did not come back has it
	mapNames    int              // what the names take that only maps have
	processes   int
	descriptors int
}

// scanAll reads all processes.
func scanAll(ctx context.Context, fsys *hostfs.FS, opt HoldersOptions, pids []int, own *plainPaths, bound *boundSockets) []*scanner {
	var next atomic.Int64
	var all sync.WaitGroup
	var scanners []*scanner
	for range max(1, min(runtime.GOMAXPROCS(0), maxScanners, len(pids))) {
		c, err := newCollector(ctx, fsys, Options{Group: opt.Group, Limits: opt.Limits})
		if err != nil {
			break // /proc was there a moment ago
		}
		s := &scanner{c: c, own: own, bound: bound, members: map[uint64][]int{}, paths: map[string]*named{}, devices: map[uint64]string{}, leftOut: map[string]bool{}}
		s.next = func() (int, bool) {
			i := int(next.Add(1)) - 1
			if i >= len(pids) || ctx.Err() != nil {
				return 0, false
			}
			return pids[i], true
		}
		s.finished = all.Done
		scanners = append(scanners, s)
		all.Add(1)
		go func() {
			s.lane = probe.NewLane(opt.Group)
			s.run()
		}()
	}
	all.Wait()
	return scanners
}

// run reads processes until none is left. A goroutine that is lost in one returns from here, and another one has taken over.
func (s *scanner) run() {
	for pid, ok := s.next(); ok; pid, ok = s.next() {
		if !s.process(pid) {
			return
		}
	}
	_ = s.c.proc.Close()
	s.lane.Close()
	s.finished()
}

// done keeps what a process holds. Its descriptors are in order in procfs, but not in a copy of it.
func (s *scanner) done(p *subject) {
	if len(s.holds)+len(s.sockets) == 0 {
		return
	}
	if len(s.sockets) > 0 && p.net != "" {
		s.trouble("bound sockets", s.bound.in(p))
	}
	if !slices.IsSortedFunc(s.holds, holdOrder) {
		slices.SortStableFunc(s.holds, holdOrder)
	}
	s.found = append(s.found, &holdings{
		pid: p.pid, tid: p.tid, task: p.alive, ns: p.ns, root: p.root, holds: slices.Clone(s.holds), sockets: slices.Clone(s.sockets),
	})
	s.holds, s.sockets = s.holds[:0], s.sockets[:0]
}

func holdOrder(a, b hold) int {
	if a.kind != b.kind || a.kind != atMap {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.fd, b.fd))
	}
	return cmp.Or(strings.Compare(a.at.path, b.at.path), strings.Compare(a.device, b.device))
}

func (s *scanner) trouble(what string, err error) {
	if isTooLong(err) {
		what = "paths that the kernel does not tell"
	}
	if err != nil && !isGone(err) {
		s.c.problems.add(what, err)
	}
}

// path notes a hold of a process in some mount namespace, of which only the path is known.
func (s *scanner) path(ns uint64, kind uint8, text string) {
	if text == "" {
		return // not known either
	}
	at := s.name([]byte(text))
	if at.internal || s.leavesOut(ns, at, kind, "") {
		return // a program in memory (memfd_create(2)), as runc's, or what nobody wants
	}
	s.holds = append(s.holds, hold{at: at, kind: kind, fd: -1, byPath: true})
}

// leavesOut says whether a hold of a process in some mount namespace is left out, and remembers that.
func (s *scanner) leavesOut(ns uint64, at *named, kind uint8, device string) bool {
	if ns != s.own.namespace || !s.own.leavesOut(at, kind, device) {
		return false
	}
	at.leftOut[kind] = true
	if kind == atMap {
		s.leftOut[device] = true
	}
	return true
}

// misses says whether something was left out that is not by another mount table.
func (s *scanner) misses(now *plainPaths) bool {
	for device := range s.leftOut {
		if !now.unwantedDevice[device] {
			return true
		}
	}
	for _, at := range s.paths {
		for kind, left := range at.leftOut {
			if left && kind != int(atMap) && !now.leavesOut(at, uint8(kind), "") || left && !now.leavesOut(at, atExe, "") {
				return true
			}
		}
	}
	return false
}

// isTooLong says that a path has more than the 4,095 bytes that the kernel tells in a link.
func isTooLong(err error) bool { return errors.Is(err, syscall.ENAMETOOLONG) }

// tooLong stands for such a path of a descriptor or mapped file, of which the mount is told all the same.
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

const (
	deletedSuffix     = " (deleted)"
	unreachablePrefix = "(unreachable)"
)

// isFUSEDevice says that a path is that of the device of FUSE servers, perhaps below the root of a chroot.
func isFUSEDevice(path string) bool { return strings.HasSuffix(path, "/dev/fuse") }

// splitDeleted takes off what d_path(9) adds. A file whose name ends so is taken for deleted.
func splitDeleted(text string) (path string, deleted bool) {
	text = strings.TrimPrefix(text, unreachablePrefix)
	return strings.CutSuffix(text, deletedSuffix)
}

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

// internal says that a file lies on a mount of the kernel's own that nobody can unmount: shared memory and the like.
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
		if id := infoNumber(info, "mnt_id:"); id != 0 {
			h.mount, h.byPath = int32(id), false
			h.kernels = maybeKernels(h.at.path, info)
		}
		if isFUSEDevice(h.at.path) {
			s.fuse = append(s.fuse, holders.FUSEDevice{
				PID: p.pid, FD: int(h.fd), Connection: uint32(infoNumber(info, "fuse_connection:")), MountNS: p.ns,
			})
		}
	}
	s.holds = append(s.holds, h)
}

// infoNumber returns the number behind a key in /proc/PID/fdinfo/N, 0 if there is none.
func infoNumber(text []byte, key string) uint64 {
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		if value, ok := bytes.CutPrefix(line, []byte(key)); ok {
			n, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 31)
			if err != nil {
				return 0
			}
			return n
		}
		text = rest
	}
	return 0
}

// maxMembers is how many processes of a namespace are remembered as readers of its table: the first may end meanwhile.
const maxMembers = 64

// again reads the mount id and link of a descriptor once more.
func (c *collector) again(p *holdings, h *hold) (mountID int32, same bool) {
	dir, fd := strconv.Itoa(p.pid)+"/"+p.task, strconv.Itoa(int(h.fd))
	info, err := c.head(c.proc, dir+"fdinfo/"+fd)
	mountID = int32(infoNumber(info, "mnt_id:"))
	if err != nil {
		return 0, false
	}
	text, err := c.proc.ReadLink(dir + "fd/" + fd)
	path, deleted := splitDeleted(text)
	return mountID, err == nil && path == h.at.path && deleted == h.at.deleted
}

// head reads what the kernel gives in one piece, into the buffer that all reads share.
func (c *collector) head(dir *hostfs.Dir, name string) ([]byte, error) {
	return dir.Head(c.buf[:0], name)
}
