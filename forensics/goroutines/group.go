package goroutines

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"io"
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
	g := newGrouper()
	for i := range d.Goroutines {
		gr := &d.Goroutines[i]
		g.add(gr, gr.CreatedBy, func() Goroutine { return *gr })
	}
	return g.result()
}

// Groups reads and groups in one pass. All dumps in r are counted together.
// Memory is bounded by the number of distinct stacks, and by a limit in
// number and size beyond which goroutines are left out, with a Problem.
func Groups(r io.Reader) ([]Group, []Problem, error) {
	return Parser{}.Groups(r)
}

// Groups is the package's function [Groups] with the limits of p.
func (p Parser) Groups(r io.Reader) ([]Group, []Problem, error) {
	g := newGrouper()
	var slab frameSlab
	_, problems, err := p.read(r, func(_ *dump, s *scratch) {
		var creator *Frame
		if s.created {
			creator = &s.creator
		}
		g.add(&s.Goroutine, creator, func() Goroutine { return s.goroutine(&slab) })
	})
	if g.ungrouped > 0 {
		problems = append(problems, Problem{Reason: fmt.Sprintf("too many distinct stacks: %d goroutines are in no group", g.ungrouped)})
	}
	return g.result(), problems, err
}

// maxGroupFrames bounds the frames of all groups together: some 80 MB with their strings.
const maxGroupFrames = 400_000

// grouper collects groups. Stacks with the same hash are compared.
type grouper struct {
	hasher
	byHash    map[uint64][]*Group
	groups    []*Group
	frames    int
	ungrouped int
}

func newGrouper() *grouper {
	return &grouper{hasher: newHasher(), byHash: make(map[uint64][]*Group)}
}

// add counts g, whose Args and CreatedBy may be missing; full returns all of it.
func (gr *grouper) add(g *Goroutine, creator *Frame, full func() Goroutine) {
	group := gr.find(g, creator, full)
	if group == nil {
		gr.ungrouped += g.Count
		return
	}
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

func (gr *grouper) find(g *Goroutine, creator *Frame, full func() Goroutine) *Group {
	h := gr.hash(g.Frames, creator)
	for _, group := range gr.byHash[h] {
		if sameStack(group, g.Frames, creator) {
			return group
		}
	}
	if gr.frames+len(g.Frames) > maxGroupFrames {
		return nil
	}
	gr.frames += len(g.Frames) + 1
	specimen := full()
	group := &Group{
		States:    make(map[string]int),
		Role:      RoleOf(specimen),
		Frames:    specimen.Frames,
		CreatedBy: specimen.CreatedBy,
		IDs:       []int64{},
	}
	if group.Frames == nil {
		group.Frames = []Frame{}
	}
	gr.byHash[h] = append(gr.byHash[h], group)
	gr.groups = append(gr.groups, group)
	return group
}

func sameStack(group *Group, frames []Frame, creator *Frame) bool {
	return sameFrames(group.Frames, group.CreatedBy, frames, creator)
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

func (gr *grouper) result() []Group {
	sorting.Stable(gr.groups, compareGroups)
	groups := make([]Group, len(gr.groups))
	for i, g := range gr.groups {
		groups[i] = *g
	}
	return groups
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
