package goroutines

import (
	"cmp"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// Change is how a group of goroutines with one stack differs between two dumps.
type Change struct {
	Before int `json:"before"`
	After  int `json:"after"`
	// Group is the later one; the earlier one where none is left.
	Group Group `json:"group"`
}

// Diff compares the groups of two dumps of one process and returns those whose number changed: first those that grew,
// by how much, then those that shrank. Stacks are compared by functions and lines, so that dumps of two builds have
// little in common.
func Diff(before, after []Group) []Change {
	x := newGroupIndex(before)
	changes := []Change{}
	for i := range after {
		c := Change{After: after[i].Count, Group: after[i]}
		if j := x.find(&after[i]); j >= 0 {
			c.Before = before[j].Count
			x.seen[j] = true
		}
		if c.Before != c.After {
			changes = append(changes, c)
		}
	}
	for j := range before {
		if !x.seen[j] {
			changes = append(changes, Change{Before: before[j].Count, Group: before[j]})
		}
	}
	sorting.Stable(changes, func(a, b Change) int { return cmp.Compare(b.After-b.Before, a.After-a.Before) })
	return changes
}

// groupIndex finds a group by its stack.
type groupIndex struct {
	groups []Group
	hasher hasher
	byHash map[uint64][]int
	seen   []bool
}

func newGroupIndex(groups []Group) *groupIndex {
	x := &groupIndex{
		groups: groups, hasher: newHasher(),
		byHash: make(map[uint64][]int), seen: make([]bool, len(groups)),
	}
	for i := range groups {
		h := x.hasher.hash(groups[i].Frames, groups[i].CreatedBy)
		x.byHash[h] = append(x.byHash[h], i)
	}
	return x
}

func (x *groupIndex) find(g *Group) int {
	for _, i := range x.byHash[x.hasher.hash(g.Frames, g.CreatedBy)] {
		if sameFrames(x.groups[i].Frames, x.groups[i].CreatedBy, g.Frames, g.CreatedBy) {
			return i
		}
	}
	return -1
}
