// Package foreign finds what other mount namespaces have of a host's mounts: copies that propagation may tie to them, and mounts that
// the host has no more.
package foreign

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// Copies finds what propagation ties to mounts of one table. The zero value is not usable, see [NewCopies].
//
// What propagates is decided by the mount that a mount lies on, and not by its own mark: a copy is what lies on the same
// directory of a peer of that, or of a mount that receives from it, directly or by way of others. One below which something
// else is mounted is none: the kernel passes it over, and leaves it behind; one that is covered as a whole goes.
type Copies struct {
	originals map[place][]original
	devices   map[string]bool // of the originals
	feeds     map[int]int     // by peer group, the one that it receives from
	looked    map[uint64]bool
	maybe     []maybeCopy
}

// A place is a directory that a superblock is mounted on, within the file system that the directory is of.
type place struct{ device, at string }

type original struct{ id, group int }

// A maybeCopy is a copy if what it lies on is in the peer group of what the original lies on, or receives from it.
type maybeCopy struct {
	mounts.Copy
	group, master int // of what it lies on
}

// NewCopies looks for copies of those mounts of a table for which want is true. The table is not looked through for copies.
func NewCopies(t *mounts.Table, want func(*mounts.Mount) bool) *Copies {
	c := &Copies{originals: map[place][]original{}, devices: map[string]bool{}, feeds: map[int]int{}, looked: map[uint64]bool{}}
	byID := mountsByID(t)
	for i := range t.Mounts {
		m := &t.Mounts[i]
		if parent := byID[m.ParentID]; parent != nil && parent.Shared != 0 && want(m) {
			at := placeOn(m, parent)
			c.devices[m.Device] = true
			if len(c.originals[at]) < maxSame { // they lie on each other, and each copy may be one of each
				c.originals[at] = append(c.originals[at], original{m.ID, parent.Shared})
			}
		}
	}
	return c
}

func mountsByID(t *mounts.Table) map[int]*mounts.Mount {
	byID := make(map[int]*mounts.Mount, len(t.Mounts))
	for i := range t.Mounts {
		byID[t.Mounts[i].ID] = &t.Mounts[i]
	}
	return byID
}

// placeOn is where a mount lies on its parent.
func placeOn(m, parent *mounts.Mount) place {
	below := strings.TrimPrefix(m.MountPoint, strings.TrimSuffix(parent.MountPoint, "/"))
	return place{m.Device, path.Join(trimRoot(parent.Root), below)}
}

// Look looks for copies in the table of a namespace, once for each namespace, and returns the ids of those that may be some.
// Whether they are is known when all tables have been looked at, see [Copies.Found].
func (c *Copies) Look(t *mounts.Table) []int {
	if c.looked[t.Namespace] {
		return nil
	}
	c.looked[t.Namespace] = true
	var ids []int
	var byID map[int]*mounts.Mount
	var below map[int]bool // mounts that others lie on, without covering them
	for i := range t.Mounts {
		m := &t.Mounts[i]
		if m.Shared != 0 && m.Master != 0 {
			c.feeds[m.Shared] = m.Master
		}
		if !c.devices[m.Device] {
			continue
		}
		if byID == nil { // most tables have none
			byID, below = mountsByID(t), map[int]bool{}
			for _, other := range t.Mounts {
				if on := byID[other.ParentID]; on != nil && on.MountPoint != other.MountPoint {
					below[on.ID] = true
				}
			}
		}
		parent := byID[m.ParentID]
		if below[m.ID] || parent == nil || parent.Shared == 0 && parent.Master == 0 {
			continue
		}
		for _, o := range c.originals[placeOn(m, parent)] {
			if o.id != m.ID {
				c.maybe = append(c.maybe, maybeCopy{mounts.Copy{Of: o.id, MountID: m.ID, MountPoint: m.MountPoint, Namespace: t.Namespace, OnGroup: o.group}, parent.Shared, parent.Master})
				ids = append(ids, m.ID)
			}
		}
	}
	return ids
}

// Found lists the mounts on the same directories as the originals, by the mount that they may be copies of.
func (c *Copies) Found() []mounts.Copy {
	found := []mounts.Copy{}
	for _, m := range c.maybe {
		m.Groups = c.groups(m.group, m.master)
		found = append(found, m.Copy)
	}
	sorting.Stable(found, func(a, b mounts.Copy) int { return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.MountID, b.MountID)) })
	return found
}

// groups are a peer group, if there is one, and those that a mount receives from by way of its master.
func (c *Copies) groups(group, master int) []int {
	list := []int{}
	if group != 0 {
		list = append(list, group)
	}
	for master != 0 && !slices.Contains(list, master) {
		list = append(list, master)
		master = c.feeds[master]
	}
	return list
}

// maxSame bounds the mounts of one superblock that are compared with each other.
const maxSame = 64
