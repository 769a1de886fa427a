package redact

// A trigger is a lower-case word that may be part of a secret, or of what names one. Where it occurs, in any case, find
// looks closer.
type trigger struct {
	word string
	find func(f *finding, from, to int)
	// fits is for words that are common in text: only if it holds, find is called, and even then the word is no reason
	// to look below the escapes of the text.
	fits func(s string, from, to int) bool
}

// A machine finds all triggers in one pass over a text (Aho and Corasick, "Efficient string matching", 1975). It is what
// makes text without secrets cheap, which nearly all text of a node is. Its states are the beginnings of the triggers, numbered by
// their lengths, so that the states that follow one stand side by side. State 0 is the empty beginning.
type machine struct {
	triggers []trigger
	// label is the last byte of each state.
	label []byte
	// follow says where the states that lengthen each one begin; they end where those of the next one begin.
	follow []uint16
	// fail is the state of the longest end of each one that is a state, too.
	fail []uint16
	// ends lists the triggers that end in a state, by their index.
	ends [][]int
	// short are the states of at most shortest bytes, in which nearly all text stays. next has what follows each of them, by state and
	// byte, so that nobody has to search. The top bit says that the new state has something to report.
	short int
	next  []uint16
}

const (
	reports  = 1 << 15
	shortest = 2
)

func newMachine(triggers []trigger) *machine {
	m := &machine{triggers: triggers}
	m.number(trieOf(triggers))
	m.link()
	return m
}

// A beginning is one of triggers, in the order in which they are read.
type beginning struct {
	label         byte
	first, second int // the first state that lengthens this one; the next one that lengthens the same one; 0 for none
	ends          []int
}

func trieOf(triggers []trigger) []beginning {
	trie := make([]beginning, 1, 4096)
	for index, t := range triggers {
		at := 0
		for i := range len(t.word) {
			next := trie[at].first
			for next != 0 && trie[next].label != t.word[i] {
				next = trie[next].second
			}
			if next == 0 {
				next = len(trie)
				trie = append(trie, beginning{label: t.word[i], second: trie[at].first})
				trie[at].first = next
			}
			at = next
		}
		trie[at].ends = append(trie[at].ends, index)
	}
	return trie
}

// number takes the states in the order of their lengths.
func (m *machine) number(trie []beginning) {
	order := make([]int, 1, len(trie))
	m.label, m.ends, m.follow = make([]byte, len(trie)), make([][]int, len(trie)), make([]uint16, len(trie)+1)
	length, until := 0, 1 // of the states before until, none is longer than length
	for state := 0; state < len(order); state++ {
		if state == until {
			length, until = length+1, len(order)
		}
		if length <= shortest {
			m.short = state + 1
		}
		of := trie[order[state]]
		m.label[state], m.ends[state], m.follow[state] = of.label, of.ends, uint16(len(order))
		for next := of.first; next != 0; next = trie[next].second {
			order = append(order, next)
		}
	}
	m.follow[len(trie)] = uint16(len(trie))
}

// link finds where to go on where no state follows.
func (m *machine) link() {
	m.fail = make([]uint16, len(m.label))
	m.next = make([]uint16, m.short<<8)
	for at := range m.label {
		if at < m.short {
			copy(m.next[at<<8:(at+1)<<8], m.next[int(m.fail[at])<<8:]) // of the root: of itself, nothing yet
		}
		for to := m.follow[at]; to < m.follow[at+1]; to++ {
			c := m.label[to]
			if at != 0 {
				m.fail[to] = m.step(m.fail[at], c) &^ reports
			}
			m.ends[to] = append(m.ends[to], m.ends[m.fail[to]]...)
			if at < m.short {
				m.lead(at, c, to)
			}
		}
	}
}

// lead has a state follow a short one.
func (m *machine) lead(at int, c byte, to uint16) {
	if len(m.ends[to]) > 0 {
		to |= reports
	}
	m.next[at<<8|int(c)] = to
	if isLower(c) {
		m.next[at<<8|int(c-'a'+'A')] = to
	}
}

// step returns the state after one more byte. Its top bit says whether something ends there.
func (m *machine) step(at uint16, c byte) uint16 {
	for int(at) >= m.short {
		for to := m.follow[at]; to < m.follow[at+1]; to++ {
			if label := m.label[to]; label == c || isLower(label) && label-'a'+'A' == c {
				if len(m.ends[to]) > 0 {
					to |= reports
				}
				return to
			}
		}
		at = m.fail[at]
	}
	return m.next[int(at)<<8|int(c)]
}

// scan calls report for every trigger in s, in the order of their ends, until it returns false.
func (m *machine) scan(s string, report func(index, end int) bool) {
	at := uint16(0)
	for i := range len(s) {
		if int(at) < m.short {
			at = m.next[int(at)<<8|int(s[i])]
		} else {
			at = m.step(at, s[i])
		}
		if at&reports == 0 {
			continue
		}
		at &^= reports
		for _, index := range m.ends[at] {
			if !report(index, i+1) {
				return
			}
		}
	}
}
