// Package foreign finds what other mount namespaces have of a host's mounts: copies that propagation may tie to them, and mounts that
// the host no longer has.
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
// The parent mount decides what propagates, not the propagation type of a mount itself. A copy is mounted on the same
// directory of a peer of the parent, or of a mount that receives from it, directly or through others. If something
// else is mounted below it, it is no copy: the kernel skips it and leaves it mounted. One that is covered as a whole is unmounted.
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

// A maybeCopy is a copy if its parent is in the peer group of the original's parent, or receives from it.
type maybeCopy struct {
	mounts.Copy
	group, master int // of its parent
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
			if len(c.originals[at]) < maxSame { // they are stacked, and each copy may be one of each
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

// placeOn is the place of a mount on its parent.
func placeOn(m, parent *mounts.Mount) place {
	below := strings.TrimPrefix(m.MountPoint, strings.TrimSuffix(parent.MountPoint, "/"))
	return place{m.Device, path.Join(trimRoot(parent.Root), below)}
}

// Look searches the table of a namespace for copies, once for each namespace, and returns the ids of possible ones.
// Whether they are copies is known when all tables have been read, see [Copies.Found].
func (c *Copies) Look(t *mounts.Table) []int {
	if c.looked[t.Namespace] {
		return nil
	}
	c.looked[t.Namespace] = true
	var ids []int
	var byID map[int]*mounts.Mount
	var below map[int]bool // mounts with others on them that do not cover them
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
