package live

import (
	"encoding/binary"
	"errors"
)

// errNoGoroutines says that the runtime's list was not found.
var errNoGoroutines = errors.New("the runtime's list of goroutines was not found")

// maxGoroutines is how many are read.
const maxGoroutines = 1 << 20

// goroutines finds runtime.allgs. A program that grows puts it where nothing was when its mappings were read, and into pages that were read
// before: where it is not found, both are read anew.
func (p *program) goroutines() ([]uint64, error) {
	list := p.allgs()
	for len(list) == 0 && p.elsewhere(errOutside) {
		p.pages = nil
		list = p.allgs()
	}
	if len(list) == 0 {
		return nil, errNoGoroutines
	}
	return list, nil
}

// allgs finds runtime.allgs, a slice in the program's zeroed data, by what its elements are: each points to a g whose sched.g is itself.
func (p *program) allgs() []uint64 {
	var best []uint64
	var where uint64
	good := 0
	left := uint64(maxImage)
	for _, md := range p.modules {
		for _, part := range [][2]uint64{{md.noptrbss, md.enoptrbss}, {md.bss, md.ebss}} {
			n := min(part[1]-part[0], left)
			left -= n
			p.search(part[0], part[0]+n, func(start uint64, data []byte) {
				for i := 0; i+24 <= len(data); i += 8 {
					at, n, room := binary.LittleEndian.Uint64(data[i:]), binary.LittleEndian.Uint64(data[i+8:]), binary.LittleEndian.Uint64(data[i+16:])
					if at == 0 || at%8 != 0 || n == 0 || n > room || room > 4*maxGoroutines || !p.mapped(at, 8*n) {
						continue
					}
					if list, passed := p.candidates(at, n); passed > good || passed == good && len(list) > len(best) {
						best, good, where = list, passed, start+uint64(i)
					}
				}
			})
		}
	}
	if good == 0 {
		return nil
	}
	return p.grown(where, best)
}

// grown reads the list anew where the program has moved it since, or is about to: its address and its length are not written at once.
func (p *program) grown(where uint64, list []uint64) []uint64 {
	header := func() (at, n uint64) {
		var words [16]byte
		if p.bytes(where, words[:]) != nil {
			return 0, 0
		}
		return binary.LittleEndian.Uint64(words[:]), binary.LittleEndian.Uint64(words[8:])
	}
	for range attempts {
		at, n := header()
		again, passed := p.candidates(at, n)
		if now, _ := header(); now == at && passed > 0 {
			return again
		}
	}
	return list
}

// candidates reads a slice of pointers, and counts how many of the first ones point to a g.
func (p *program) candidates(at, n uint64) (list []uint64, passed int) {
	const sample = 64
	words := make([]byte, 8*min(n, sample))
	if p.bytes(at, words) != nil {
		return nil, 0
	}
	for i := 0; i < len(words); i += 8 {
		if p.isG(binary.LittleEndian.Uint64(words[i:])) {
			passed++
		}
	}
	if passed == 0 {
		return nil, 0
	}
	words = make([]byte, 8*min(n, maxGoroutines))
	if p.bytes(at, words) != nil {
		return nil, 0
	}
	for i := 0; i < len(words); i += 8 {
		list = append(list, binary.LittleEndian.Uint64(words[i:]))
	}
	return list, passed
}

// isG says whether a goroutine is at an address: its saved registers name it, and it has a number. The g on which a thread runs the
// runtime itself (g0, gsignal) has none, and stands in no list; pointers to it are what is found while the list lies where nothing was when
// the mappings were read.
func (p *program) isG(addr uint64) bool {
	if addr == 0 || addr%8 != 0 {
		return false
	}
	self, err1 := p.u64(addr + uint64(p.gSched+p.bufG))
	id, err2 := p.u64(addr + uint64(p.gID))
	return err1 == nil && err2 == nil && self == addr && id > 0 && id <= maxID
}
