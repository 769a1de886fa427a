package procs

import (
	"cmp"
	"context"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/nodeforensics/nodeforensics/forensics/hostfs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/probe"
)

// A resolver finds the mounts of what is held. It reads the table of one namespace after the other and lets go of each
// again: on a node with many containers they are larger than everything else together.
//
// It does so after the processes have been read: a mount that was held then and is in no table now has been unmounted
// lazily.
type resolver struct {
	ctx   context.Context
	fsys  *hostfs.FS
	group *probe.Group
	c     *collector
	found []holds // of each scanner, by pid
	tell  func(mounts.Table)
	keep  func(*Holder) bool
	own   uint64 // the namespace of which plain paths were not asked for their mount id

	mu       sync.Mutex // for the rest, while tables are read
	problems *problems
	deviceOf map[int]string  // by mount id, which is unique in the machine; of those that are held, "" until it is found
	known    map[string]bool // devices of all mounts
	unread   bool            // the table of a namespace is missing: a mount may be in that
}

// resolve finds the mount of each hold. members are processes of each namespace.
func (r *resolver) resolve(members map[uint64][]int) {
	r.deviceOf, r.known = map[int]string{}, map[string]bool{}
	byNS := map[uint64][]*rawHolder{}
	r.each(func(h *rawHolder) {
		switch {
		case h.Kind != HoldMap && h.MountID != 0:
			r.deviceOf[h.MountID] = ""
		case h.MountNS != r.own:
			byNS[h.MountNS] = append(byNS[h.MountNS], h)
		}
	})
	inhabited := maps.Clone(members)
	if pids, ok := members[r.own]; ok {
		r.reading(func(reader *mounts.Reader) { r.ownNamespace(reader, pids) })
		delete(members, r.own)
	}
	queue := make(chan uint64)
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), maxScanners, len(members)) {
		all.Go(func() {
			r.reading(func(reader *mounts.Reader) {
				for ns := range queue {
					r.namespace(reader, ns, members[ns], byNS[ns])
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
	r.uninhabited(inhabited)
	r.each(func(h *rawHolder) {
		switch {
		case h.gone:
		case h.Kind == HoldMap && h.MountID == 0:
			h.Detached = !r.known[h.Device] && !r.unread
		case h.Kind == HoldFD && !h.ByPath:
			r.byMountID(h)
		}
	})
}

// each calls f with every hold.
func (r *resolver) each(f func(*rawHolder)) {
	for _, list := range r.found {
		list.each(f)
	}
}

// reading calls f with a reader of its own.
func (r *resolver) reading(f func(*mounts.Reader)) {
	reader, err := mounts.NewReader(r.fsys)
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

func (r *resolver) missing() {
	r.mu.Lock()
	r.unread = true
	r.mu.Unlock()
}

// table reads the table of a namespace.
func (r *resolver) table(reader *mounts.Reader, ns uint64, pids []int) (mounts.Table, bool) {
	table, ok, errs := reader.Namespace(r.ctx, ns, pids)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, err := range errs {
		r.problems.add("mount tables", err)
	}
	if !ok {
		r.unread = r.unread || r.ctx.Err() != nil || len(errs) > 0 // otherwise it has ended
	}
	return table, ok
}

// namespace finds what is told by paths of one namespace, and learns its mount ids. Nobody else works on held meanwhile.
func (r *resolver) namespace(reader *mounts.Reader, ns uint64, pids []int, held []*rawHolder) {
	table, ok := r.table(reader, ns, pids)
	if !ok {
		return
	}
	index, spelled := indexFor(&table, held), map[uint64]string{}
	for _, h := range held {
		if h.Kind == HoldMap {
			byDevice(h, index, &table, spelled)
		} else if m, ok := index.Covering(h.Path); ok {
			h.MountID, h.Device = m.ID, m.Device
		}
	}
	r.learn(&table)
}

// indexFor is the index of those mounts of a table that can matter to some paths: what lies on a path or above it. Most
// namespaces have few processes and, having begun as a copy of the host's, many mounts.
func indexFor(t *mounts.Table, held []*rawHolder) *mounts.Index {
	above := map[string]bool{"/": true}
	for _, h := range held {
		for name := h.Path; len(name) > 1 && !above[name]; name = name[:max(0, strings.LastIndexByte(name, '/'))] {
			above[name] = true
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
func (r *resolver) ownNamespace(reader *mounts.Reader, pids []int) {
	table, ok := r.table(reader, r.own, pids)
	if !ok {
		return
	}
	var now plainPaths
	now.take(&table)
	ancestors, spelled := map[int][]mounts.Mount{}, map[uint64]string{}
	r.each(func(h *rawHolder) {
		switch {
		case h.MountNS != r.own || h.Kind != HoldMap && h.MountID != 0:
			return
		case h.Kind == HoldMap:
			byDevice(h, now.index, &table, spelled)
			return
		}
		if at := h.at; !at.looked {
			at.looked = true
			if m, ok := now.index.Covering(at.path); ok {
				at.id, at.super = m.ID, m.Device
			}
		}
		h.MountID, h.Device = h.at.id, h.at.super
		if h.Kind == HoldFD && !h.at.device && (!now.plain[h.MountID] || r.wanted(h, now.index, ancestors)) {
			r.confirm(h, now.index)
		}
	})
	r.learn(&table)
}

// wanted says whether a hold would be kept if the mount is the one that the path tells, or one above it, for a file that
// was opened before the mount was made.
func (r *resolver) wanted(h *rawHolder, index *mounts.Index, ancestors map[int][]mounts.Mount) bool {
	if r.keep == nil {
		return false
	}
	if r.keep(&h.Holder) {
		return true
	}
	above, ok := ancestors[h.MountID]
	if !ok {
		above = index.Ancestors(h.MountID)
		ancestors[h.MountID] = above
	}
	for i := range above {
		other := h.Holder
		if other.MountID, other.Device = above[i].ID, above[i].Device; r.keep(&other) {
			return true
		}
	}
	return false
}

// confirm asks the kernel for the mount id of a descriptor.
func (r *resolver) confirm(h *rawHolder, index *mounts.Index) {
	id, same := r.c.again(h)
	switch {
	case !same:
		h.gone = true
	case id != 0:
		m, _ := index.ByID(id)
		h.MountID, h.Device, h.ByPath = id, m.Device, false
		r.deviceOf[id] = m.Device
	}
}

// learn remembers which mounts there are, and tells of them.
func (r *resolver) learn(t *mounts.Table) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range t.Mounts {
		m := &t.Mounts[i]
		r.known[m.Device] = true
		if device, held := r.deviceOf[m.ID]; held && device == "" {
			r.deviceOf[m.ID] = m.Device
		}
	}
	if r.tell != nil {
		r.tell(*t)
	}
}

// byMountID finds the superblock of a descriptor. One that was closed before its mount went away is dropped.
func (r *resolver) byMountID(h *rawHolder) {
	if device := r.deviceOf[h.MountID]; device != "" {
		h.Device = device
		return
	}
	if r.unread || len(r.known) == 0 {
		return // not known to be in no table
	}
	id, same := r.c.again(h)
	h.Detached = same && id == h.MountID
	h.gone = !h.Detached
}

// kept lists the holds that were there and are wanted, by pid.
func (r *resolver) kept(keep func(*Holder) bool) []Holder {
	count := 0
	r.each(func(h *rawHolder) {
		h.gone = h.gone || keep != nil && !keep(&h.Holder)
		if !h.gone {
			count++
		}
	})
	list := make([]Holder, 0, count)
	for len(r.found) > 0 {
		first := slices.MinFunc(r.found, func(a, b holds) int { return cmp.Compare(a.pid(), b.pid()) })
		at := slices.IndexFunc(r.found, func(l holds) bool { return l.pid() == first.pid() })
		for pid := first.pid(); r.found[at].pid() == pid; r.found[at] = r.found[at].rest() {
			if h := &r.found[at][0][0]; !h.gone {
				list = append(list, h.Holder)
			}
		}
		if r.found[at].pid() == 0 {
			r.found = slices.Delete(r.found, at, at+1)
		}
	}
	return list
}

// byDevice finds the mount of a mapped file, of which the superblock is certain: the mount that its path lies on if it is
// of that superblock, else the only mount of that superblock in the namespace.
func byDevice(h *rawHolder, index *mounts.Index, t *mounts.Table, spelled map[uint64]string) {
	device, ok := spelled[h.device]
	if !ok {
		device = spellDevice(h.device)
		spelled[h.device] = device
	}
	h.Device = device
	switch m, covered := index.Covering(h.Path); {
	case covered && m.Device == device:
		h.MountID = m.ID
	case covered && ownDevices(m.FSType):
		h.MountID, h.Device, h.ByPath = m.ID, m.Device, true
	default:
		h.MountID = only(t, device)
	}
}

// only returns the one mount of a superblock in a table, 0 if there are several or none.
func only(t *mounts.Table, device string) int {
	id := 0
	for i := range t.Mounts {
		if t.Mounts[i].Device == device {
			if id != 0 {
				return 0
			}
			id = t.Mounts[i].ID
		}
	}
	return id
}

// ownDevices lists the file systems whose files show other device numbers than the mount table.
func ownDevices(fsType string) bool {
	switch fsType {
	case "btrfs", "overlay", "bcachefs", "unionfs", "aufs":
		return true
	}
	return false
}
