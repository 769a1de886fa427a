package mounts

import (
	"path"
	"slices"
	"strings"
)

// A Copy is a mount that umount(2) of another one takes along, because the directory that it is mounted on belongs to a copy
// of that mount's parent which is a peer of the parent or receives from it (mount_namespaces(7)). The kernel answers EBUSY
// also while the copy is in use: propagate_mount_busy in fs/pnode.c. It does not matter how the two mounts themselves
// propagate, nor whether they are of the same file system.
type Copy struct {
	MountID int `json:"mount_id"` // the mount that somebody unmounts
	CopyID  int `json:"copy_id"`
	// Namespace is the mount namespace of the copy.
	Namespace uint64 `json:"namespace,omitempty"`
}

// Copies finds the copies of some mounts of one namespace, in that and in others.
type Copies struct {
	wanted map[place][]wantedCopy
	master map[int]int // peer group to the one that it receives from
	found  []foundCopy
}

// A place is a directory: the file system and the path in that.
type place struct{ device, path string }

type wantedCopy struct{ id, group int }

type foundCopy struct {
	Copy
	group  int   // of the mount's parent
	parent Mount // of the copy
}

// NewCopies is for the copies of the mounts of a table for which want is true. They may be in the same table.
func NewCopies(t *Table, want func(*Mount) bool) *Copies {
	c := &Copies{wanted: map[place][]wantedCopy{}, master: map[int]int{}}
	c.each(t, func(m, parent *Mount, at place) {
		if parent.Shared != 0 && want(m) {
			c.wanted[at] = append(c.wanted[at], wantedCopy{m.ID, parent.Shared})
		}
	})
	return c
}

// each calls f for the mounts on parents that propagate.
func (c *Copies) each(t *Table, f func(m, parent *Mount, at place)) {
	parents := map[int]*Mount{}
	for i := range t.Mounts {
		if m := &t.Mounts[i]; m.Shared != 0 || m.Master != 0 {
			parents[m.ID] = m
			if m.Shared != 0 && m.Master != 0 {
				c.master[m.Shared] = m.Master
			}
		}
	}
	for i := range t.Mounts {
		m := &t.Mounts[i]
		if parent := parents[m.ParentID]; parent != nil && parent != m {
			below := strings.TrimPrefix(m.MountPoint, strings.TrimSuffix(parent.MountPoint, "/"))
			f(m, parent, place{parent.Device, path.Join(parent.Root, below)})
		}
	}
}

// Look searches the table of a namespace, once for each. It returns the ids of what may turn out to be copies.
func (c *Copies) Look(t *Table) []int {
	var ids []int
	if len(c.wanted) == 0 {
		return nil
	}
	c.each(t, func(m, parent *Mount, at place) {
		for _, w := range c.wanted[at] {
			if w.id != m.ID && !goesOn(t, m) {
				c.found = append(c.found, foundCopy{Copy{w.id, m.ID, t.Namespace}, w.group, *parent})
				ids = append(ids, m.ID)
			}
		}
	})
	return ids
}

// goesOn says that a copy stays when the mount goes, because it has mounts below it. One that covers it does not count.
func goesOn(t *Table, m *Mount) bool {
	return slices.ContainsFunc(t.Mounts, func(o Mount) bool { return o.ParentID == m.ID && o.ID != m.ID && o.MountPoint != m.MountPoint })
}

// List returns the copies, when all tables have been searched.
func (c *Copies) List() []Copy {
	var list []Copy
	for _, f := range c.found {
		group := f.parent.Shared
		if group != f.group {
			group = f.parent.Master
		}
		for range c.master { // no chain is longer
			if group == f.group || group == 0 {
				break
			}
			group = c.master[group]
		}
		if group == f.group {
			list = append(list, f.Copy)
		}
	}
	return list
}
