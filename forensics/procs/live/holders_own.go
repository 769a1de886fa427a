package live

import (
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	mountslive "github.com/nodeforensics/nodeforensics/forensics/mounts/live"
)

// ownNamespace is namespace for that of this program, where the paths that leave no doubt have not been confirmed. Of
// those, it confirms what has got into doubt since, and what is to be kept.
func (r *resolver) ownNamespace(reader *mountslive.Reader, pids []int, list []*holdings) {
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
	for _, p := range list {
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
