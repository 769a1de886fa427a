package goroutines

import (
	"encoding/binary"
	"strings"
)

// interner returns the same string for the same bytes: a dump of 100,000
// goroutines has a few thousand functions and files. A small table in front of
// each map answers most questions without hashing the whole name. It stops
// growing at a limit, so that junk cannot fill memory with names that never
// come back.
type interner struct {
	funcs, files, misc names
	size               int
	loose              int // bytes of strings that were handed out and are not kept
}

type names struct {
	recent []entry // nil until it pays
	all    map[string]entry
}

type entry struct{ raw, name string }

const (
	recentBits  = 11
	internLimit = 8 << 20 // bytes of strings kept
)

func newInterner() *interner {
	in := new(interner)
	in.funcs.all = make(map[string]entry)
	in.files.all = make(map[string]entry)
	in.misc.all = make(map[string]entry)
	return in
}

// function returns the normalised form of a symbol. It is false for what can be none.
func (in *interner) function(b []byte) (name string, ok bool) {
	name = in.lookup(&in.funcs, b, symbolName)
	return name, name != ""
}

// symbolName returns the normalised form of s, or nothing if s is prose: a
// symbol has no space outside of type arguments.
func symbolName(s string) string {
	path, _, _ := strings.Cut(s, "[")
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == 0x7f || c == ' ' && i < len(path) {
			return ""
		}
	}
	return normalizeFunc(s)
}

func (in *interner) file(b []byte) string { return in.lookup(&in.files, b, nil) }

func (in *interner) text(b []byte) string { return in.lookup(&in.misc, b, nil) }

func (in *interner) lookup(n *names, b []byte, convert func(string) string) string {
	var slot *entry
	if n.recent != nil {
		slot = &n.recent[slotOf(b)]
		if slot.raw == string(b) {
			return slot.name
		}
	}
	e, ok := n.all[string(b)]
	if !ok {
		e.raw = string(b)
		e.name = e.raw
		if convert != nil {
			e.name = convert(e.raw)
		}
		if in.size < internLimit {
			n.all[e.raw] = e
			in.size += 2*len(e.raw) + 64
		} else {
			in.loose += len(e.raw) + len(e.name)
		}
	}
	if slot != nil {
		*slot = e
	} else if len(n.all) > 64 {
		n.recent = make([]entry, 1<<recentBits)
	}
	return e.name
}

// slotOf mixes the length, the end and the middle of b: where symbols and paths differ.
func slotOf(b []byte) uint64 {
	n := len(b)
	if n < 16 {
		h := uint64(n)
		for _, c := range b {
			h = h*31 + uint64(c)
		}
		return h & (1<<recentBits - 1)
	}
	h := binary.LittleEndian.Uint64(b[n-8:])
	h ^= binary.LittleEndian.Uint64(b[n/2:]) * 0x9e3779b97f4a7c15
	h = (h ^ uint64(n)) * 0x9e3779b97f4a7c15
	return h >> (64 - recentBits)
}
