package mounts

import (
	"cmp"
	"path"
	"slices"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// An Index answers questions about the tree of one table. It follows the path that the kernel would follow, so it
// knows which mounts are covered by others, also where a mount higher up covers a whole subtree.
//
// All answers are lexical: nothing is looked up, no symbolic link followed. Where a table is inconsistent (a parent that
// is not in it, as in a chroot; ids that name each other as parents) a mount counts as mounted at the top.
//
// An Index does not change and may be used by several goroutines. It refers to the table, which must not change either.
type Index struct {
	mounts []Mount
	byID   map[int]int32
	// sorted are the mounts by mount point, those on one mount point as a stack, topmost last. points finds the
	// ranges of equal mount points in it.
	sorted []int32
	points map[string]point
	// lengths has a bit for each length of a mount point, so that Covering need not try every prefix of a path.
	lengths [maxLength/64 + 1]uint64
}

// A point is a mount point: sorted[lo:hi], and the mount that is seen there.
type point struct {
	lo, hi  int32
	visible int32 // none if the whole stack is covered by a mount higher up
}

const (
	none = -1 // no mount
	top  = -1 // the id of the parent of those that have none

	// maxLength is the longest mount point for which lengths has a bit of its own; all longer ones share the last. The
	// kernel prints none that is longer.
	maxLength = 4096
)

// Index builds the index of a table.
func (t *Table) Index() *Index {
	x := &Index{
		mounts: t.Mounts,
		byID:   make(map[int]int32, len(t.Mounts)),
		sorted: make([]int32, len(t.Mounts)),
		points: make(map[string]point, len(t.Mounts)),
	}
	for i := range t.Mounts {
		x.sorted[i] = int32(i)
		if _, twice := x.byID[t.Mounts[i].ID]; !twice {
			x.byID[t.Mounts[i].ID] = int32(i)
		}
	}
	slices.SortStableFunc(x.sorted, func(a, b int32) int {
		return cmp.Compare(x.mounts[a].MountPoint, x.mounts[b].MountPoint)
	})
	x.findPoints()
	return x
}

// parentID returns the id of the parent, or top if that is not in the table or the mount itself.
func (x *Index) parentID(m *Mount) int {
	if _, ok := x.byID[m.ParentID]; !ok || m.ParentID == m.ID {
		return top
	}
	return m.ParentID
}

// findPoints finds the ranges of equal mount points and what is visible at each. Shorter paths come first: what is
// visible above a mount point is then known.
func (x *Index) findPoints() {
	var ranges []point
	for lo := 0; lo < len(x.sorted); {
		hi := lo + 1
		for hi < len(x.sorted) && x.mountPoint(lo) == x.mountPoint(hi) {
			hi++
		}
		ranges = append(ranges, point{int32(lo), int32(hi), none})
		lo = hi
	}
	slices.SortStableFunc(ranges, func(a, b point) int {
		return cmp.Compare(len(x.mountPoint(int(a.lo))), len(x.mountPoint(int(b.lo))))
	})
	for _, p := range ranges {
		name := x.mountPoint(int(p.lo))
		p.visible = x.climb(x.sorted[p.lo:p.hi], x.above(name))
		x.points[name] = p
		x.lengths[lengthBit(name)/64] |= 1 << (lengthBit(name) % 64)
	}
}

func (x *Index) mountPoint(sorted int) string { return x.mounts[x.sorted[sorted]].MountPoint }

// above returns the id of the mount that the directory of a mount point is on.
func (x *Index) above(mountPoint string) int {
	if mountPoint == "/" {
		return top
	}
	if i := x.covering(path.Dir(mountPoint)); i != none {
		return x.mounts[i].ID
	}
	return top
}

// climb follows the mounts of one mount point, from the one that a path arrives on to the topmost, which it returns. It
// sorts the stack: those that the way does not touch, then those on the way.
func (x *Index) climb(stack []int32, parent int) int32 {
	on := map[int][]int32{} // by parent: one at most, except on old kernels, where the latest of several is seen
	for _, i := range stack {
		id := x.parentID(&x.mounts[i])
		on[id] = append(on[id], i)
	}
	found := int32(none)
	var way []int32
	for touched := map[int32]bool{}; ; {
		list := on[parent]
		if len(list) == 0 {
			untouched := sorting.Delete(slices.Clone(stack), func(i int32) bool { return touched[i] })
			copy(stack[copy(stack, untouched):], way)
			return found
		}
		found = list[len(list)-1]
		on[parent] = list[:len(list)-1]
		touched[found] = true
		way = append(way, found)
		parent = x.mounts[found].ID
	}
}

func lengthBit(name string) int { return min(len(name), maxLength) }
