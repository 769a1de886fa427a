package goroutines

import (
	"fmt"
	"io"
	"strings"
)

// A Digester reads dumps in memory that does not grow with them. A dump of few goroutines is kept as [Parse] does. Of a
// larger one each kind of goroutine (one stack, one state, one class of waiting time, one lock) is kept as examples and a
// sum: one Goroutine more, which has no ID, the frames of the first example, as Count the number of the others, and as
// WaitMinutes the shortest of their waits. Dump.Summed says that. So [GroupBy] counts the same groups as of the whole dump.
//
// The examples are the first ones in the order of the dump, which the runtime keeps from one dump of a process to the
// next, and the one that has waited longest. As long as there is room, each that is blocked by anything but a lock, or
// waits for an answer, is an example, too: its arguments tell which thread it is, and whether it is the one that holds a lock.
type Digester struct {
	// Whole is up to how many goroutines a dump is kept whole; 5,000 by default. So many examples there are at most, too.
	Whole int
	// Keep is how many examples there are of a kind; 16 by default, as many as [Group.IDs].
	Keep int
	// Bytes bounds the memory of what is kept of all dumps together; 12 MiB by default. Beyond three quarters of it new kinds
	// are kept only if they are blocked, and beyond all of it goroutines are told apart by their creator and state alone.
	Bytes int
}

// Digest reads every dump in r.
func (o Digester) Digest(r io.Reader) (dumps []Dump, problems []Problem, err error) {
	if o.Whole <= 0 {
		o.Whole = 5000
	}
	if o.Keep <= 0 {
		o.Keep = maxGroupIDs
	}
	if o.Bytes <= 0 {
		o.Bytes = 12 << 20
	}
	d := digester{Digester: o, dumps: make(map[*dump]*digest)}
	found, problems, err := Parser{}.read(r, d.add)
	dumps = make([]Dump, 0, len(found))
	for _, f := range rejoin(found) {
		if f.seen > 0 {
			dumps = append(dumps, f.Dump)
		}
	}
	if d.coarse > 0 {
		problems = append(problems, Problem{Reason: fmt.Sprintf("too many distinct stacks: %d goroutines are counted by creator and state only, without their stacks", d.coarse)})
	}
	if d.dropped > 0 {
		problems = append(problems, Problem{Reason: fmt.Sprintf("too many distinct stacks: %d goroutines not kept", d.dropped)})
	}
	return dumps, problems, err
}

type digester struct {
	Digester
	slab    frameSlab
	dumps   map[*dump]*digest
	bytes   int // of what is kept
	coarse  int
	dropped int
}

// digest is what is kept of one dump.
type digest struct {
	kinds map[uint64]*kind // by the hash of what kinds are told apart by; nil while the dump is kept whole
	list  hasher
	kept  int // examples
	bytes int // of them, while the dump is kept whole
}

// kind is where the goroutines of one kind stand in Dump.Goroutines.
type kind struct {
	wait    waitClass
	lock    string
	kept    int
	first   int
	longest int
	others  int   // the sum of the others; 0: there is none
	next    *kind // with the same hash
}

func (d *digester) add(to *dump, s *scratch) {
	x := d.dumps[to]
	if x == nil {
		x = &digest{list: newHasher()}
		d.dumps[to] = x
		d.bytes += dumpSize
	}
	if x.kinds != nil {
		d.sort(to, x, s)
		return
	}
	x.bytes += s.size()
	d.bytes += s.size()
	to.Goroutines = append(to.Goroutines, s.goroutine(&d.slab))
	if len(to.Goroutines) > d.Whole || d.bytes > d.Bytes {
		d.condense(to, x)
	}
}

// condense turns a dump that was kept whole into kinds.
func (d *digester) condense(to *dump, x *digest) {
	all := to.Goroutines
	to.Goroutines, x.kinds = []Goroutine{}, make(map[uint64]*kind)
	d.bytes -= x.bytes
	d.slab = frameSlab{}
	var s scratch
	for i := range all {
		s.copy(&all[i])
		s.loose = 0
		all[i] = Goroutine{}
		d.sort(to, x, &s)
	}
}

// sort adds a goroutine to its kind.
func (d *digester) sort(to *dump, x *digest, s *scratch) {
	wait, lock := classOf(s.WaitMinutes), s.lock()
	h := x.list.kind(s, wait, lock)
	k := x.kinds[h]
	for k != nil && !k.has(to, s, wait, lock) {
		k = k.next
	}
	switch {
	case k == nil && d.room(s):
		k = &kind{wait: wait, lock: strings.Clone(lock), kept: 1, first: len(to.Goroutines), longest: len(to.Goroutines), next: x.kinds[h]}
		x.kinds[h] = k
		d.bytes += kindSize
		d.keep(to, x, s)
	case k == nil:
		d.blur(to, x, s)
	case d.isExample(x, k, s, lock):
		k.kept++
		if s.WaitMinutes > to.Goroutines[k.longest].WaitMinutes {
			k.longest = len(to.Goroutines)
		}
		d.keep(to, x, s)
	default:
		d.sum(to, x, k, s)
	}
}

// isExample says whether one more goroutine of a kind is kept.
func (d *digester) isExample(x *digest, k *kind, s *scratch, lock string) bool {
	if x.kept >= d.Whole || d.bytes > d.Bytes*3/4 {
		return false
	}
	if k.kept < d.Keep {
		return true
	}
	return lock == "" && (s.Blocked() || asks(s.Frames))
}

// room says whether one more kind may be kept.
func (d *digester) room(s *scratch) bool {
	if d.bytes < d.Bytes*3/4 {
		return true
	}
	return d.bytes < d.Bytes && s.Blocked()
}

func (d *digester) keep(to *dump, x *digest, s *scratch) {
	x.kept++
	d.bytes += s.size()
	to.Goroutines = append(to.Goroutines, s.goroutine(&d.slab))
}

// sum counts a goroutine with the others of its kind, or in its place the one that had waited longest so far.
func (d *digester) sum(to *dump, x *digest, k *kind, s *scratch) {
	longest := &to.Goroutines[k.longest]
	count, minutes := s.Count, s.WaitMinutes
	if minutes > longest.WaitMinutes && k.longest != k.first {
		count, minutes = longest.Count, longest.WaitMinutes
		s.overwrite(longest)
	} else if minutes > longest.WaitMinutes && d.bytes < d.Bytes {
		k.longest = len(to.Goroutines)
		d.keep(to, x, s)
		return
	}
	if k.others == 0 {
		k.others = len(to.Goroutines)
		other := to.Goroutines[k.first]
		other.ID, other.Count, other.WaitMinutes, other.Line, other.CreatorID = 0, 0, minutes, 0, 0
		to.Goroutines = append(to.Goroutines, other)
		d.bytes += goroutineSize
	}
	others := &to.Goroutines[k.others]
	others.Count += count
	others.WaitMinutes = min(others.WaitMinutes, minutes)
	to.Summed += count
}

// blur counts a goroutine, for the stack of which there is no room, by its creator, state and class of waiting time.
func (d *digester) blur(to *dump, x *digest, s *scratch) {
	s.Frames, s.spans, s.args, s.Labels = s.Frames[:0], s.spans[:0], s.args[:0], nil
	s.Cut = true
	wait := classOf(s.WaitMinutes)
	h := x.list.kind(s, wait, "")
	k := x.kinds[h]
	for k != nil && !k.has(to, s, wait, "") {
		k = k.next
	}
	if k == nil {
		if d.bytes > d.Bytes*5/4 {
			d.dropped += s.Count
			to.Truncated = true
			return
		}
		s.ID, s.Line, s.CreatorID = 0, 0, 0
		k = &kind{wait: wait, kept: 1, first: len(to.Goroutines), longest: len(to.Goroutines), others: len(to.Goroutines), next: x.kinds[h]}
		x.kinds[h] = k
		d.bytes += goroutineSize + kindSize
		to.Goroutines = append(to.Goroutines, s.goroutine(&d.slab))
		d.coarse += s.Count
		to.Summed += s.Count
		return
	}
	others := &to.Goroutines[k.others]
	others.Count += s.Count
	others.WaitMinutes = min(others.WaitMinutes, s.WaitMinutes)
	d.coarse += s.Count
	to.Summed += s.Count
}

// waitClass are waits that prove the same: nothing, less than a minute (see [Goroutine.WaitAtLeast]), more.
type waitClass uint8

func classOf(minutes int) waitClass {
	switch {
	case minutes <= 0:
		return 0
	case minutes < 3:
		return 1
	}
	return 2
}

func (k *kind) has(d *dump, s *scratch, wait waitClass, lock string) bool {
	g := &d.Goroutines[k.first]
	if k.wait != wait || k.lock != lock || g.State != s.State || g.Cut != s.Cut {
		return false
	}
	var creator *Frame
	if s.created {
		creator = &s.creator
	}
	return sameFrames(g.Frames, g.CreatedBy, s.Frames, creator)
}
