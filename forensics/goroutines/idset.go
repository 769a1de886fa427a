package goroutines

// idIndex maps the numbers of goroutines to where they are kept. It is a hash
// table with open addressing: a Go map costs a tenth of the time of Parse here.
type idIndex struct {
	slots []idSlot // a power of two, at most half full
	n     int
}

type idSlot struct {
	id    int64 // plus one: 0 is a free slot
	index int32
}

// maxIDs bounds the memory for recognising a goroutine that comes twice.
const maxIDs = 1 << 18

func (x *idIndex) find(id int64) (index int, ok bool) {
	if x.n == 0 {
		return 0, false
	}
	s := x.slot(id)
	if s == nil || s.id == 0 {
		return 0, false
	}
	return int(s.index), true
}

// add remembers id unless it is known or there are too many.
func (x *idIndex) add(id int64, index int) {
	if x.n >= maxIDs {
		return
	}
	if 2*x.n >= len(x.slots) {
		x.grow()
	}
	if s := x.slot(id); s != nil && s.id == 0 {
		s.id, s.index = id+1, int32(min(index, maxIDs))
		x.n++
	}
}

// maxProbes bounds the search, so that numbers made to collide are forgotten
// and not slow.
const maxProbes = 64

// slot returns the one of id, or the free one where it would go, or nil. The
// runtime gives out numbers in a row: neighbours stay neighbours.
func (x *idIndex) slot(id int64) *idSlot {
	mask := uint64(len(x.slots) - 1)
	i := uint64(id) + uint64(id)>>16*0x9e3779b97f4a7c15
	for range maxProbes {
		if s := &x.slots[i&mask]; s.id == 0 || s.id == id+1 {
			return s
		}
		i++
	}
	return nil
}

func (x *idIndex) grow() {
	old := x.slots
	x.slots = make([]idSlot, max(64, 2*len(old)))
	for _, s := range old {
		if s.id == 0 {
			continue
		}
		if to := x.slot(s.id - 1); to != nil {
			*to = s
		}
	}
}
