package procs

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/nodeforensics/nodeforensics/forensics/hostfs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// A resolver finds the mounts of what is held. It reads the table of one namespace after the other and lets go of each
// again: on a node with many containers they are larger than everything else together.
//
// It does so after the processes have been read: a mount that was held then and is in no table now has been unmounted
// lazily.
type resolver struct {
	ctx   context.Context
	fsys  *hostfs.FS
	c     *collector
	found holds
	tell  func(mounts.Table)

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
	r.found.each(func(h *rawHolder) {
		if h.Kind == HoldMap || h.MountID == 0 {
			byNS[h.MountNS] = append(byNS[h.MountNS], h)
		} else {
			r.deviceOf[h.MountID] = ""
		}
	})
	queue := make(chan uint64)
	var all sync.WaitGroup
	for range max(1, min(runtime.GOMAXPROCS(0), maxScanners, len(members))) {
		all.Go(func() {
			for ns := range queue {
				r.namespace(ns, members[ns], byNS[ns])
			}
		})
	}
	for _, ns := range slices.Sorted(maps.Keys(members)) {
		queue <- ns
	}
	close(queue)
	all.Wait()
	r.found.each(func(h *rawHolder) {
		switch {
		case h.Kind == HoldMap && h.MountID == 0:
			h.Detached = !r.known[h.Device] && !r.unread
		case h.Kind == HoldFD && !h.ByPath:
			r.byMountID(h)
		}
	})
}

// namespace finds what is told by paths of one namespace, and learns its mount ids. Nobody else works on held meanwhile.
func (r *resolver) namespace(ns uint64, pids []int, held []*rawHolder) {
	tables, errs := mounts.Namespaces(r.ctx, r.fsys, pids)
	at := slices.IndexFunc(tables, func(t mounts.Table) bool { return t.Namespace == ns })
	if at >= 0 {
		index, spelled := tables[at].Index(), map[uint64]string{}
		for _, h := range held {
			if h.Kind == HoldMap {
				byDevice(h, index, &tables[at], spelled)
			} else if m, ok := index.Covering(h.Path); ok {
				h.MountID, h.Device = m.ID, m.Device
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, err := range errs {
		r.problems.add("mount tables", err)
	}
	if at < 0 {
		r.unread = r.unread || r.ctx.Err() != nil || len(errs) > 0 // otherwise it has ended
		return
	}
	r.learn(&tables[at])
	if r.tell != nil {
		r.tell(tables[at])
	}
}

// learn remembers which mounts there are.
func (r *resolver) learn(t *mounts.Table) {
	for i := range t.Mounts {
		m := &t.Mounts[i]
		r.known[m.Device] = true
		if device, held := r.deviceOf[m.ID]; held && device == "" {
			r.deviceOf[m.ID] = m.Device
		}
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

// kept lists the holds that were there and are wanted.
func (r *resolver) kept(keep func(*Holder) bool) []Holder {
	count := 0
	r.found.each(func(h *rawHolder) {
		h.gone = h.gone || keep != nil && !keep(&h.Holder)
		if !h.gone {
			count++
		}
	})
	list := make([]Holder, 0, count)
	for i, chunk := range r.found {
		for j := range chunk {
			if !chunk[j].gone {
				list = append(list, chunk[j].Holder)
			}
		}
		r.found[i] = nil
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
