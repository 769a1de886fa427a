package procs

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	mountslive "github.com/nodeforensics/nodeforensics/forensics/mounts/live"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// A resolver finds the mounts of what is held. It reads the table of one namespace after the other and lets go of each
// again: on a node with many containers they are larger than everything else together.
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

// ofDenied learns what mounts the processes see that may not be looked at: any process may read their mount tables. Without
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

// namespace finds what is told by paths of one namespace, and learns its mount ids. Nobody else works on held meanwhile.
func (r *resolver) namespace(reader *mountslive.Reader, ns uint64, pids []int, held []*holdings) {
	table, ok := r.table(reader, ns, pids)
	if !ok {
		return
	}
	index, only := indexFor(&table, held), onlyMounts(&table)
	for _, p := range held {
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

// covered takes the mount that the path lies on.
func (h *hold) covered(index *mounts.Index) {
	if m, ok := index.Covering(h.at.path); ok {
		h.mount, h.device = int32(m.ID), m.Device
	}
}

// indexFor is the index of those mounts of a table that can matter to some paths: what lies on a path or above it. Most
// namespaces have few processes and, having begun as a copy of the host's, many mounts.
func indexFor(t *mounts.Table, held []*holdings) *mounts.Index {
	above := map[string]bool{"/": true}
	for _, p := range held {
		for i := range p.holds {
			name := p.holds[i].at.path
			for ; len(name) > 1 && !above[name]; name = name[:max(0, strings.LastIndexByte(name, '/'))] {
				above[name] = true
			}
		}
	}
	some := mounts.Table{}
	for i := range t.Mounts {
		if above[t.Mounts[i].MountPoint] {
			some.Mounts = append(some.Mounts, t.Mounts[i])
		}
	}
	return some.Index()
}

// ownNamespace is namespace for that of this program, where the paths that leave no doubt have not been confirmed. Of
// those, it confirms what has got into doubt since, and what is to be kept.
func (r *resolver) ownNamespace(reader *mountslive.Reader, pids []int, held []*holdings) {
	table, ok := r.table(reader, r.own, pids)
	if !ok {
		return
	}
	o := ownMounts{now: r.before, ancestors: map[int32][]mounts.Mount{}}
	if !slices.Equal(table.Mounts, r.before.mounts) {
		// Links are spelled as this program sees them, which may be from a chroot: then there are more mounts.
		all := mounts.Table{Mounts: slices.Clone(table.Mounts)}
		defer r.note(&all)
		if table, ok = r.table(reader, r.own, []int{ownPID()}); !ok {
			return
		}
		o.now = &plainPaths{}
		o.now.take(&table)
	}
	only := onlyMounts(&table)
	for _, p := range held {
		for i := range p.holds {
			h := &p.holds[i]
			switch {
			case h.kind == atMap:
				byDevice(h, o.now.index, only)
			case h.mount == 0:
				r.ownHold(&o, p, h)
			}
			o.notAll = o.notAll || h.kind == atFD && !h.byPath && !o.now.has(h.mount)
		}
	}
	r.learn(&table)
	if o.notAll {
		if all, ok := r.table(reader, r.own, reader.Outside(ownPID(), pids)); ok {
			r.note(&all)
		}
	}
}

// ownMounts is what the table of the program's own namespace says now.
type ownMounts struct {
	now       *plainPaths
	notAll    bool // something is held that is not in it, as outside of the chroot that this program is in
	ancestors map[int32][]mounts.Mount
}

func (r *resolver) ownHold(o *ownMounts, p *holdings, h *hold) {
	o.now.find(h.at)
	h.mount, h.device = h.at.id, h.at.super
	if h.kind == atFD && !h.at.device && (!o.now.plain[int(h.mount)] || r.wanted(o, p, h)) {
		r.confirm(p, h, o.now.index)
	}
}

// wanted says whether a hold would be kept if the mount is the one that the path tells, or one above it, for a file that
// was opened before the mount was made.
func (r *resolver) wanted(o *ownMounts, p *holdings, h *hold) bool {
	if r.keep == nil {
		return false
	}
	r.calling.Lock()
	defer r.calling.Unlock()
	holder := p.holder(h)
	if r.keep(&holder) {
		return true
	}
	above, ok := o.ancestors[h.mount]
	if !ok {
		above = o.now.index.Ancestors(int(h.mount))
		o.ancestors[h.mount] = above
	}
	for i := range above {
		other := holder
		if other.MountID, other.Device = above[i].ID, above[i].Device; r.keep(&other) {
			return true
		}
	}
	return false
}

// confirm asks the kernel for the mount id of a descriptor.
func (r *resolver) confirm(p *holdings, h *hold, index *mounts.Index) {
	id, same := r.c.again(p, h)
	switch {
	case !same:
		h.gone = true
	case id != 0:
		m, _ := index.ByID(int(id))
		h.mount, h.device, h.byPath = id, m.Device, false
		r.mu.Lock()
		r.deviceOf[id] = m.Device
		r.mu.Unlock()
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
		if device, held := r.deviceOf[int32(m.ID)]; held && device == "" {
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

// kept lists the holds that were there and are wanted.
func (r *resolver) kept() []holders.Holder {
	count := 0
	for _, p := range r.found {
		p.first = count
		for i := range p.holds {
			h := &p.holds[i]
			if !h.gone && r.keep != nil {
				holder := p.holder(h)
				h.gone = !r.keep(&holder)
			}
			if !h.gone {
				count++
			}
		}
	}
	list := slices.Grow(r.room, count)[:count]
	var all sync.WaitGroup
	for part := range slices.Chunk(r.found, len(r.found)/runtime.GOMAXPROCS(0)+1) {
		all.Go(func() {
			for _, p := range part {
				p.list(list[p.first:])
			}
		})
	}
	all.Wait()
	return list
}

// list writes what has not gone.
func (p *holdings) list(to []holders.Holder) {
	n := 0
	for i := range p.holds {
		if h := &p.holds[i]; !h.gone {
			to[n] = p.holder(h)
			n++
		}
	}
	p.holds = nil
}

// byDevice finds the mount of a mapped file, of which the superblock is certain: the mount that its path lies on if it is
// of that superblock, else the only mount of that superblock in the namespace.
func byDevice(h *hold, index *mounts.Index, only func(device string) int) {
	switch m, covered := index.Covering(h.at.path); {
	case covered && m.Device == h.device:
		h.mount = int32(m.ID)
	case covered && ownDevices(m.FSType):
		h.mount, h.device, h.byPath = int32(m.ID), m.Device, true
	default:
		h.mount = int32(only(h.device))
	}
}

// onlyMounts finds the one mount of a superblock in a table, 0 if there are several or none.
func onlyMounts(t *mounts.Table) func(device string) int {
	ids := sync.OnceValue(func() map[string]int {
		ids := make(map[string]int, len(t.Mounts))
		for i := range t.Mounts {
			m := &t.Mounts[i]
			if _, several := ids[m.Device]; several {
				ids[m.Device] = 0
			} else {
				ids[m.Device] = m.ID
			}
		}
		return ids
	})
	return func(device string) int { return ids()[device] }
}

// ownDevices lists the file systems whose files show other device numbers than the mount table.
func ownDevices(fsType string) bool {
	switch fsType {
	case "btrfs", "overlay", "bcachefs", "unionfs", "aufs":
		return true
	}
	return false
}
