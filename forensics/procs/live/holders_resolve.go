package live

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	mountslive "github.com/nodeforensics/nodeforensics/forensics/mounts/live"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// A resolver finds the mounts of open files. It reads the table of one namespace after the other and keeps none of
// them: on a node with many containers they are larger than everything else together.
//
// It does so after the processes have been read: a mount that was held then and is in no table now has been unmounted
// lazily.
type resolver struct {
	ctx    context.Context
	fsys   *hostfs.FS
	group  *probe.Group
	c      *collector
	found  []*holdings // by pid
	tell   func(mounts.Table)
	keep   func(*holders.Holder) bool
	own    uint64      // the namespace of which plain paths were not asked for their mount id
	before *plainPaths // as it was when the processes were read
	denied []int       // processes whose namespace is not known

	room []holders.Holder // for the result

	calling sync.Mutex // while keep or tell runs

	mu       sync.Mutex // for the rest, while tables are read
	problems *problems
	deviceOf map[int32]string // by mount id, which is unique in the machine; of those that are held, "" until it is found
	known    map[string]bool  // devices of all mounts
	under    map[int32]bool   // mounts below the root of a table, which it does not show: that of an initramfs
	tables   map[uint64]bool  // namespaces whose table was read, and is whole
	unread   bool             // the table of a namespace is missing: a mount may be in that
}

// resolve finds the mount of each hold. members are processes of each namespace.
func (r *resolver) resolve(members map[uint64][]int) {
	r.deviceOf, r.known, r.tables, r.under = map[int32]string{}, map[string]bool{}, map[uint64]bool{}, map[int32]bool{}
	byNS := map[uint64][]*holdings{}
	for _, p := range r.found {
		byNS[p.ns] = append(byNS[p.ns], p)
		for i := range p.holds {
			if id := p.holds[i].mount; id != 0 {
				r.deviceOf[id] = ""
			}
		}
	}
	queue := make(chan uint64)
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), maxScanners, len(members)) {
		all.Go(func() {
			r.reading(func(reader *mountslive.Reader) {
				for ns := range queue {
					if ns == r.own {
						r.ownNamespace(reader, members[ns], byNS[ns])
					} else {
						r.namespace(reader, ns, members[ns], byNS[ns])
					}
				}
			})
			for range queue { // there was no reader
				r.missing()
			}
		})
	}
	for _, ns := range slices.Sorted(maps.Keys(members)) {
		queue <- ns
	}
	close(queue)
	all.Wait()
	r.uninhabited(members)
	r.ofDenied()
	for _, p := range r.found {
		for i := range p.holds {
			switch h := &p.holds[i]; {
			case h.gone:
			case h.kind == atMap && h.mount == 0:
				h.detached = r.allRead(p.ns) && !r.known[h.device]
			case h.kind == atFD && !h.byPath:
				r.byMountID(p, h)
			}
		}
	}
}

// reading calls f with a reader of its own.
func (r *resolver) reading(f func(*mountslive.Reader)) {
	reader, err := mountslive.NewReader(r.fsys)
	if err != nil {
		r.mu.Lock()
		r.problems.add("mount tables", err)
		r.mu.Unlock()
		r.missing()
		return
	}
	defer reader.Close()
	f(reader)
}

// ofDenied learns what mounts the processes see that may not be read: any process may read their mount tables. Without
// those, a mount that is in no other table is not known to be in none.
func (r *resolver) ofDenied() {
	for i, pid := range r.denied {
		table, err := mountslive.Read(r.ctx, r.fsys, pid)
		if isGone(err) {
			continue
		}
		if i == maxMembers || err != nil {
			r.missing()
			return
		}
		r.note(&table)
	}
}

func (r *resolver) missing() {
	r.mu.Lock()
	r.unread = true
	r.mu.Unlock()
}

// table reads the table of a namespace.
func (r *resolver) table(reader *mountslive.Reader, ns uint64, pids []int) (mounts.Table, bool) {
	table, ok, errs := reader.Namespace(r.ctx, ns, pids)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, err := range errs {
		r.problems.add("mount tables", err)
		r.unread = r.unread || errors.Is(err, nodefs.ErrTruncated)
	}
	if !ok {
		r.unread = r.unread || r.ctx.Err() != nil || len(errs) > 0 // otherwise it has ended
	}
	return table, ok
}

// namespace finds what is told by paths of one namespace, and learns its mount ids. Nobody else works on list meanwhile.
func (r *resolver) namespace(reader *mountslive.Reader, ns uint64, pids []int, list []*holdings) {
	table, ok := r.table(reader, ns, pids)
	if !ok {
		return
	}
	index, only := indexFor(&table, list), onlyMounts(&table)
	for _, p := range list {
		for i := range p.holds {
			switch h := &p.holds[i]; {
			case h.kind == atMap:
				byDevice(h, index, only)
			case h.mount == 0:
				h.covered(index)
			}
		}
	}
	r.learn(&table)
}

// covered takes the mount that the path is on.
func (h *hold) covered(index *mounts.Index) {
	if m, ok := index.Covering(h.at.path); ok {
		h.mount, h.device = int32(m.ID), m.Device
	}
}

// learn remembers which mounts there are, and tells of them.
func (r *resolver) learn(t *mounts.Table) {
	r.note(t)
	if r.tell != nil {
		r.calling.Lock()
		defer r.calling.Unlock()
		r.tell(*t)
	}
}

// note remembers which mounts there are.
func (r *resolver) note(t *mounts.Table) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tables[t.Namespace] = t.Root == "/" // in a chroot, what is mounted outside of it is missing
	for i := range t.Mounts {
		m := &t.Mounts[i]
		r.known[m.Device] = true
		if m.MountPoint == "/" {
			r.under[int32(m.ParentID)] = true
		}
		if device, known := r.deviceOf[int32(m.ID)]; known && device == "" {
			r.deviceOf[int32(m.ID)] = m.Device
		}
	}
}

// allRead says whether a mount that is in no table was detached: every table was read, that of the holder's namespace whole.
func (r *resolver) allRead(ns uint64) bool { return !r.unread && r.tables[ns] }

// byMountID finds the superblock of a descriptor. One that was closed before its mount went away is dropped.
func (r *resolver) byMountID(p *holdings, h *hold) {
	if device := r.deviceOf[h.mount]; device != "" {
		h.device = device
		return
	}
	if !r.allRead(p.ns) || r.under[h.mount] {
		return // not known to have been unmounted
	}
	if h.kernels {
		h.gone = true // no mount is held that anybody could unmount
		return
	}
	id, same := r.c.again(p, h)
	h.detached = same && id == h.mount
	h.gone = !h.detached
}

// uninhabited learns the mounts of namespaces that no process is in. Where the kernel does not list those, that is no
// trouble of this pass: nothing is said of them then.
func (r *resolver) uninhabited(members map[uint64][]int) {
	inhabited := make(map[uint64]bool, len(members))
	for ns := range members {
		inhabited[ns] = true
	}
	_ = mountslive.Uninhabited(r.ctx, r.fsys, r.group, inhabited, func(t mounts.Table) { r.learn(&t) })
}
