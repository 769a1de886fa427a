package procs

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nodeforensics/nodeforensics/forensics/hostfs"
)

// maxScanners is how many processes are read at the same time. More help little: the work is in the kernel's locks.
const maxScanners = 4

// maxDescriptors is more than a process may have (fs.nr_open).
const maxDescriptors = 1 << 21

// A rawHolder is a Holder before its mount is known.
type rawHolder struct {
	Holder
	device uint64 // of a mapped file, major<<32|minor
	gone   bool   // it had been let go when its mount was looked for
}

// A scanner reads one process after another. It belongs to one goroutine.
type scanner struct {
	c           *collector
	found       holds
	paths       map[string]string // one copy of each path
	fuse        []FUSEDevice
	pins        []NamespaceHold
	members     map[uint64][]int // by mount namespace, some of its processes
	maps        []byte           // the buffer for maps; nil while a read that did not come back has it
	processes   int
	descriptors int
}

// scanAll reads all processes.
func scanAll(ctx context.Context, fsys *hostfs.FS, opt HoldersOptions, pids []int) []*scanner {
	var next atomic.Int64
	var all sync.WaitGroup
	var scanners []*scanner
	for range max(1, min(runtime.GOMAXPROCS(0), maxScanners, len(pids))) {
		c, err := newCollector(ctx, fsys, Options{Group: opt.Group, Limits: opt.Limits})
		if err != nil {
			break // /proc was there a moment ago
		}
		s := &scanner{c: c, members: map[uint64][]int{}, paths: map[string]string{}}
		scanners = append(scanners, s)
		all.Go(func() {
			defer func() { _ = c.proc.Close() }()
			for i := next.Add(1) - 1; int(i) < len(pids) && ctx.Err() == nil; i = next.Add(1) - 1 {
				s.process(pids[i])
			}
		})
	}
	all.Wait()
	return scanners
}

// A subject is the process that is being read, or one of its threads where the first one has ended.
type subject struct {
	visit
	ns uint64
}

func (s *scanner) process(pid int) {
	name := strconv.Itoa(pid)
	dir, err := s.c.proc.OpenDir(name)
	if err != nil {
		s.trouble("processes", err)
		return
	}
	defer func() { _ = dir.Close() }()
	p := subject{visit: visit{c: s.c, pid: pid, key: "maps of pid " + name, dir: dir}}
	cwd, err := dir.ReadLink("cwd")
	if err != nil {
		if cwd, err = p.living(err); err != nil {
			s.trouble("working directories", err)
			return // a zombie, or not ours to look at
		}
	}
	s.processes++
	p.ns = p.mountNS(p.alive)
	if list := s.members[p.ns]; len(list) < maxMembers {
		s.members[p.ns] = append(list, pid)
	}
	s.path(&p, HoldCwd, cwd)
	if root, err := p.link("root"); err == nil {
		s.path(&p, HoldRoot, root)
	}
	exe, err := p.link("exe")
	if err == nil {
		s.path(&p, HoldExe, exe)
	}
	s.readDescriptors(&p)
	if err == nil { // a kernel thread has no program and no memory
		s.readMaps(&p)
	}
}

func (s *scanner) trouble(what string, err error) {
	if err != nil && !isGone(err) {
		s.c.problems.add(what, err)
	}
}

func (p *subject) link(name string) (string, error) { return p.dir.ReadLink(p.alive + name) }

// living finds a thread that lives where the first has ended, as in a process that was killed while one of its threads
// waits in the kernel: that thread still holds all. It returns its working directory.
func (p *subject) living(first error) (string, error) {
	if !isGone(first) {
		return "", first
	}
	tasks, err := p.dir.OpenDir("task")
	if err != nil {
		return "", err
	}
	defer func() { _ = tasks.Close() }()
	entries, err := tasks.Entries(p.c.limits.Tasks)
	for _, e := range entries {
		if tid, ok := parseID(e.Name); ok && tid != p.pid {
			if cwd, err := p.dir.ReadLink(taskDir(tid) + "cwd"); err == nil {
				p.alive = taskDir(tid)
				return cwd, nil
			}
		}
	}
	if err == nil {
		err = first
	}
	return "", err
}

// path notes a hold of which only the path is known.
func (s *scanner) path(p *subject, kind HolderKind, text string) {
	h := Holder{PID: p.pid, Kind: kind, FD: -1, MountNS: p.ns, ByPath: true}
	h.Path, h.Deleted = s.name(text)
	s.found.add(rawHolder{Holder: h})
}

// name is splitDeleted with one copy of each path: many processes have the same files open.
func (s *scanner) name(text string) (path string, deleted bool) {
	path, deleted = splitDeleted(text)
	if known, ok := s.paths[path]; ok {
		return known, deleted
	}
	s.paths[path] = path
	return path, deleted
}

// holds is a list that grows without being copied.
type holds [][]rawHolder

const holdsChunk = 1024

func (l *holds) add(h rawHolder) {
	if n := len(*l); n == 0 || len((*l)[n-1]) == holdsChunk {
		*l = append(*l, make([]rawHolder, 0, holdsChunk))
	}
	last := &(*l)[len(*l)-1]
	*last = append(*last, h)
}

// each calls f with every hold.
func (l holds) each(f func(*rawHolder)) {
	for _, chunk := range l {
		for i := range chunk {
			f(&chunk[i])
		}
	}
}

const (
	deletedSuffix     = " (deleted)"
	unreachablePrefix = "(unreachable)"
)

// splitDeleted takes off what d_path(9) adds. A file whose name ends so is taken for deleted.
func splitDeleted(text string) (path string, deleted bool) {
	text = strings.TrimPrefix(text, unreachablePrefix)
	return strings.CutSuffix(text, deletedSuffix)
}

func (s *scanner) readDescriptors(p *subject) {
	dir, err := p.dir.OpenDir(p.alive + "fd")
	if err != nil {
		s.trouble("descriptors", err)
		return
	}
	defer func() { _ = dir.Close() }()
	entries, err := dir.Entries(maxDescriptors)
	s.trouble("descriptors", err)
	var infos *hostfs.Dir
	defer func() {
		if infos != nil {
			_ = infos.Close()
		}
	}()
	for _, e := range entries {
		text, err := dir.ReadLink(e.Name)
		if err != nil {
			s.trouble("descriptors", err)
			continue
		}
		s.descriptors++
		if text == "" || text[0] != '/' && !strings.HasPrefix(text, unreachablePrefix) {
			s.special(p, e.Name, text)
			continue
		}
		if internal(text) {
			continue
		}
		if infos == nil {
			if infos, err = p.dir.OpenDir(p.alive + "fdinfo"); err != nil {
				s.trouble("mount ids of descriptors", err)
			}
		}
		s.descriptor(p, infos, e.Name, text)
	}
}

// special notes descriptors that are no files: of those, a mount namespace holds mounts.
func (s *scanner) special(p *subject, name, text string) {
	if ns := parseNS(text); ns != 0 {
		fd, _ := strconv.Atoi(name)
		s.pins = append(s.pins, NamespaceHold{PID: p.pid, FD: fd, Namespace: ns})
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
		strings.HasPrefix(text, "/dev/zero"), strings.HasPrefix(text, "/kvm-"):
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

func (s *scanner) descriptor(p *subject, infos *hostfs.Dir, name, text string) {
	h := Holder{PID: p.pid, Kind: HoldFD, MountNS: p.ns, ByPath: true}
	h.FD, _ = strconv.Atoi(name)
	h.Path, h.Deleted = s.name(text)
	if infos != nil && !isDevice(text) {
		info, err := s.c.read(infos, name)
		switch {
		case err != nil && isGone(err):
			return // closed meanwhile
		case err != nil:
			s.trouble("mount ids of descriptors", err)
		}
		if id := infoNumber(info, "mnt_id:"); id != 0 {
			h.MountID, h.ByPath = int(id), false
		}
		if text == "/dev/fuse" {
			s.fuse = append(s.fuse, FUSEDevice{
				PID: p.pid, FD: h.FD, Connection: uint32(infoNumber(info, "fuse_connection:")), MountNS: p.ns,
			})
		}
	}
	s.found.add(rawHolder{Holder: h})
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

// again reads the link and mount id of a descriptor once more.
func (c *collector) again(h *rawHolder) (mountID int, same bool) {
	text, err := c.proc.ReadLink(fmt.Sprintf("%d/fd/%d", h.PID, h.FD))
	if path, deleted := splitDeleted(text); err != nil || path != h.Path || deleted != h.Deleted {
		return 0, false
	}
	info, err := c.read(c.proc, fmt.Sprintf("%d/fdinfo/%d", h.PID, h.FD))
	return int(infoNumber(info, "mnt_id:")), err == nil
}
