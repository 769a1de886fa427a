package logs

import (
	"encoding/binary"
	"slices"
)

// A matcher finds where any of some hundred words occurs in a text, and looks at a fraction of its bytes: of each word a
// window of equal length is searched for by the blocks of three bytes that end it, and a block that stands nearer to the
// beginning, or in none, says how far to go on (Wu and Manber, "A fast algorithm for multi-pattern searching", 1994).
type matcher struct {
	window int
	// shift is how far the window may move, by the hash of the block that ends it; 0 is a candidate.
	shift [1 << hashBits]uint8
	// words are the candidates of a hash, from first up to the first of the next.
	first [1<<hashBits + 1]uint16
	words []candidate
}

// A candidate is a word and where its window begins.
type candidate struct {
	word   string
	offset int
}

const (
	hashBits  = 14 // 16 KiB, which fit into the first cache
	block     = 3
	minWord   = 5  // what is shorter would be found everywhere
	maxWindow = 10 // longer ones have more blocks in the table than they win by going further
)

// hash takes the three bytes before i; i is at least 4.
func hash(b []byte, i int) uint32 {
	return binary.LittleEndian.Uint32(b[i-4:]) >> 8 * 0x9E3779B1 >> (32 - hashBits)
}

// newMatcher makes a matcher of words, each at least minWord long. The sample is text like that which is to be searched:
// the windows are laid where the words are least like it.
func newMatcher(words []string, sample []byte) *matcher {
	words = slices.Clone(words)
	slices.Sort(words)
	words = slices.Compact(words)
	m := &matcher{window: maxWindow}
	for _, w := range words {
		m.window = min(m.window, len(w))
	}
	var common [1 << hashBits]uint32
	for i := 4; i <= len(sample); i++ {
		common[hash(sample, i)]++
	}
	for i := range m.shift {
		m.shift[i] = uint8(max(m.window-block+1, 0))
	}
	ends := make([]uint32, len(words)) // where the window of each ends
	for i, w := range words {
		c := candidate{w, m.place(w, &common)}
		ends[i], m.words = m.enter(c), append(m.words, c)
	}
	m.index(ends)
	return m
}

// index puts the words in the order in which their windows end, by a counting sort.
func (m *matcher) index(ends []uint32) {
	for _, h := range ends {
		m.first[h+1]++
	}
	for h := range m.shift {
		m.first[h+1] += m.first[h]
	}
	words, next := make([]candidate, len(m.words)), m.first
	for i, h := range ends {
		words[next[h]] = m.words[i]
		next[h]++
	}
	m.words = words
}

// place chooses the window of a word: the one whose blocks are rarest in the sample, the last block above all, since it
// costs a comparison.
func (m *matcher) place(word string, common *[1 << hashBits]uint32) int {
	best, lowest := 0, uint64(1)<<63
	for offset := 0; offset+m.window <= len(word); offset++ {
		cost := uint64(0)
		for end := block; end <= m.window; end++ {
			cost += uint64(common[m.hashOf(word, offset+end)]) * uint64(min(end-block+1, 4))
		}
		if cost < lowest {
			best, lowest = offset, cost
		}
	}
	return best
}

// hashOf is the hash of the block of a word that ends before end.
func (m *matcher) hashOf(word string, end int) uint32 {
	return hash([]byte{0, word[end-3], word[end-2], word[end-1]}, 4)
}

// enter puts the blocks of a window into the table and returns the hash of the last one.
func (m *matcher) enter(c candidate) uint32 {
	last := uint32(0)
	for end := block; end <= m.window; end++ {
		last = m.hashOf(c.word, c.offset+end)
		m.shift[last] = min(m.shift[last], uint8(m.window-end))
	}
	return last
}

// next returns a position in the first line, from a beginning of a line on, that holds a word; -1 if no line does.
func (m *matcher) next(text []byte, from int) int {
	if len(m.words) == 0 {
		return -1
	}
	i := max(from+m.window, 4)
	for i <= len(text) {
		h := binary.LittleEndian.Uint32(text[i-4:i]) >> 8 * 0x9E3779B1 >> (32 - hashBits)
		skip := int(m.shift[h&(1<<hashBits-1)])
		if skip > 0 {
			i += skip
			continue
		}
		for _, c := range m.words[m.first[h]:m.first[h+1]] {
			start := i - m.window - c.offset
			if start >= from && start+len(c.word) <= len(text) && string(text[start:start+len(c.word)]) == c.word {
				return start
			}
		}
		i++
	}
	return -1
}
