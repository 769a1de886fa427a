package stackdump

import (
	"fmt"
	"io"
)

// Digest reads every dump in r as [Parse] does, with memory bounded by the number of distinct stacks: of the goroutines
// of a dump that have one stack and one state it keeps the first keep of them, and the one that has waited longest. The
// others are summed up in one Goroutine more, which has no ID, the frames of one of them, their number as Count, and the
// longest wait as WaitMinutes. So [GroupBy] counts the same groups as of the whole dump.
func Digest(r io.Reader, keep int) (dumps []Dump, problems []Problem, err error) {
	d := digester{keep: max(keep, 1), dumps: make(map[*dump]*digest)}
	found, problems, err := Parser{}.read(r, d.add)
	dumps = make([]Dump, 0, len(found))
	for _, f := range rejoin(found) {
		if f.seen > 0 {
			dumps = append(dumps, f.Dump)
		}
	}
	if d.dropped > 0 {
		problems = append(problems, Problem{Reason: fmt.Sprintf("too many distinct stacks: %d goroutines not kept", d.dropped)})
	}
	return dumps, problems, err
}

// maxDigestFrames bounds the frames kept of all goroutines together; beyond it one of each kind is kept.
const maxDigestFrames = 800_000

type digester struct {
	keep    int
	slab    frameSlab
	dumps   map[*dump]*digest
	frames  int
	dropped int
}

// digest is what is kept of one dump.
type digest struct {
	groups *grouper
	kinds  map[kind]*sample
}

// kind is the goroutines of a group that are in one state.
type kind struct {
	group *Group
	state string
}

// sample says where the goroutines of one kind stand in Dump.Goroutines.
type sample struct {
	kept    int
	longest int // the index of the one that has waited longest
	others  int // the index of the sum of the others, 0: there is none
}

func (d *digester) add(to *dump, s *scratch) {
	x := d.dumps[to]
	if x == nil {
		x = &digest{newGrouper(), make(map[kind]*sample)}
		d.dumps[to] = x
	}
	var creator *Frame
	if s.created {
		creator = &s.creator
	}
	group := x.groups.add(&s.Goroutine, creator, func() Goroutine { return s.goroutine(&d.slab) })
	if group == nil {
		d.dropped += s.Count
		to.Truncated = true
		return
	}
	k := x.kinds[kind{group, s.State}]
	switch {
	case k == nil:
		x.kinds[kind{group, s.State}] = &sample{kept: 1, longest: len(to.Goroutines)}
		d.append(to, s)
	case k.kept < d.keep && d.frames < maxDigestFrames:
		k.kept++
		if s.WaitMinutes > to.Goroutines[k.longest].WaitMinutes {
			k.longest = len(to.Goroutines)
		}
		d.append(to, s)
	default:
		d.sum(to, k, s)
	}
}

func (d *digester) append(to *dump, s *scratch) {
	d.frames += len(s.Frames)
	to.Goroutines = append(to.Goroutines, s.goroutine(&d.slab))
}

// sum counts a goroutine with the others of its kind, or in its place the one that had waited longest so far.
func (d *digester) sum(to *dump, k *sample, s *scratch) {
	longest := &to.Goroutines[k.longest]
	count, minutes := s.Count, s.WaitMinutes
	if minutes > longest.WaitMinutes {
		count, minutes = longest.Count, longest.WaitMinutes
		*longest = s.goroutine(&d.slab)
	}
	if k.others == 0 {
		k.others = len(to.Goroutines)
		other := to.Goroutines[k.longest]
		other.ID, other.Count, other.WaitMinutes, other.Line = 0, 0, 0, 0
		to.Goroutines = append(to.Goroutines, other)
	}
	others := &to.Goroutines[k.others]
	others.Count += count
	others.WaitMinutes = max(others.WaitMinutes, minutes)
}
