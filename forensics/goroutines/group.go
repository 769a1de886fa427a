package goroutines

import (
	"cmp"
	"hash/maphash"
	"slices"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// Group is all goroutines with the same stack: the same functions at the same
// lines, started by the same function. Arguments and states may differ.
type Group struct {
	Count int `json:"count"`
	// States counts the goroutines by state; empty for the aggregated forms.
	States map[string]int `json:"states"`
	// MaxWaitMinutes is the longest WaitMinutes of one of them; 0: under a
	// minute or unknown.
	MaxWaitMinutes int `json:"max_wait_minutes,omitempty"`
	// Blocked says that this is not how a healthy goroutine rests; see [Goroutine.Blocked].
	Blocked bool `json:"blocked"`
	Role    Role `json:"role"`
	// Frames and CreatedBy are those of the first goroutine, arguments included.
	Frames    []Frame `json:"frames"`
	CreatedBy *Frame  `json:"created_by,omitempty"`
	// IDs are the first 16 goroutines; empty for the aggregated forms.
	IDs []int64 `json:"ids"`
}

const maxGroupIDs = 16

// GroupBy groups the goroutines of d: the blocked ones first, then those that
// wait longest, then the largest groups.
func GroupBy(d Dump) []Group {
	h := newHasher()
	byHash := make(map[uint64][]*Group) // stacks with the same hash are compared
	var groups []*Group
	for i := range d.Goroutines {
		g := &d.Goroutines[i]
		sum := h.hash(g.Frames, g.CreatedBy)
		at := slices.IndexFunc(byHash[sum], func(group *Group) bool {
			return sameFrames(group.Frames, group.CreatedBy, g.Frames, g.CreatedBy)
		})
		if at < 0 {
			at = len(byHash[sum])
			group := newGroup(g)
			byHash[sum] = append(byHash[sum], group)
			groups = append(groups, group)
		}
		byHash[sum][at].add(g)
	}
	sorting.Stable(groups, compareGroups)
	result := make([]Group, len(groups))
	for i, g := range groups {
		result[i] = *g
	}
	return result
}

// newGroup is an empty group of goroutines like g.
func newGroup(g *Goroutine) *Group {
	group := &Group{States: make(map[string]int), Role: RoleOf(*g), Frames: g.Frames, CreatedBy: g.CreatedBy, IDs: []int64{}}
	if group.Frames == nil {
		group.Frames = []Frame{}
	}
	return group
}

// add counts a goroutine.
func (group *Group) add(g *Goroutine) {
	group.Count += g.Count
	if g.State != "" {
		group.States[g.State] += g.Count
	}
	group.MaxWaitMinutes = max(group.MaxWaitMinutes, g.WaitMinutes)
	group.Blocked = group.Blocked || g.Blocked()
	if g.ID > 0 && len(group.IDs) < maxGroupIDs {
		group.IDs = append(group.IDs, g.ID)
	}
}

// sameFrames says whether two stacks have the same functions at the same lines, started by the same function.
func sameFrames(a []Frame, aCreator *Frame, b []Frame, bCreator *Frame) bool {
	if len(a) != len(b) || (aCreator == nil) != (bCreator == nil) {
		return false
	}
	if aCreator != nil && aCreator.Func != bCreator.Func {
		return false
	}
	for i := range a {
		if a[i].Line != b[i].Line || a[i].Func != b[i].Func {
			return false
		}
	}
	return true
}

// hasher hashes stacks.
type hasher struct{ seed maphash.Seed }

func newHasher() hasher { return hasher{maphash.MakeSeed()} }

func (h hasher) hash(frames []Frame, creator *Frame) uint64 {
	var sum uint64
	for i := range frames {
		sum = sum*0x9e3779b97f4a7c15 + maphash.String(h.seed, frames[i].Func) + uint64(frames[i].Line)
	}
	if creator != nil {
		sum = sum*0x9e3779b97f4a7c15 + maphash.String(h.seed, creator.Func)
	}
	return sum
}

// kind hashes all that kinds of goroutines are told apart by.
func (h hasher) kind(s *scratch, wait waitClass, lock string) uint64 {
	var creator *Frame
	if s.created {
		creator = &s.creator
	}
	sum := h.hash(s.Frames, creator)
	sum = sum*0x9e3779b97f4a7c15 + maphash.String(h.seed, s.State) + uint64(wait)
	if lock != "" {
		sum = sum*0x9e3779b97f4a7c15 + maphash.String(h.seed, lock)
	}
	return sum
}

// compareGroups orders as GroupBy says. Equal ones are ordered by their stacks,
// so that the order does not depend on the input's.
func compareGroups(a, b *Group) int {
	if a.Blocked != b.Blocked {
		if a.Blocked {
			return -1
		}
		return 1
	}
	if c := cmp.Or(cmp.Compare(b.MaxWaitMinutes, a.MaxWaitMinutes), cmp.Compare(b.Count, a.Count)); c != 0 {
		return c
	}
	return slices.CompareFunc(a.Frames, b.Frames, func(x, y Frame) int {
		return cmp.Or(cmp.Compare(x.Func, y.Func), cmp.Compare(x.Line, y.Line))
	})
}
