package live

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// maxScanners is how many processes are read at the same time. More help little: the work is in the kernel's locks.
const maxScanners = 4

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
	denied      []int            // processes that may not be read
	maps        *mappings        // nil while a read that did not return has it
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
		sorting.Stable(s.holds, holdOrder)
	}
	s.found = append(s.found, &holdings{
		pid: p.pid, tid: p.tid, task: p.alive, ns: p.ns, root: p.root, holds: slices.Clone(s.holds), sockets: slices.Clone(s.sockets),
	})
	s.holds, s.sockets = s.holds[:0], s.sockets[:0]
}

func (s *scanner) trouble(what string, err error) {
	if isTooLong(err) {
		what = "paths that the kernel does not show"
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

// maxMembers is how many processes of a namespace are remembered as readers of its table: the first may end meanwhile.
const maxMembers = 64
