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
// makes text without secrets cheap, which nearly all text of a node is.
type machine struct {
	triggers []trigger
	// next is the transition table, by state and byte. The top bit says that the new state has something to report.
	next []uint16
	// ends lists the triggers that end in a state, by their index.
	ends [][]int
}

const reports = 1 << 15

func newMachine(triggers []trigger) *machine {
	m := &machine{triggers: triggers, next: make([]uint16, 256), ends: make([][]int, 1)}
	for i, t := range triggers {
		m.add(t.word, i)
	}
	m.link()
	return m
}

// add puts a word into the trie, whose missing edges are 0, the root.
func (m *machine) add(word string, index int) {
	at := 0
	for i := range len(word) {
		edge := at<<8 | int(word[i])
		if m.next[edge] == 0 {
			m.next[edge] = uint16(len(m.ends))
			m.next = append(m.next, make([]uint16, 256)...)
			m.ends = append(m.ends, nil)
		}
		at = int(m.next[edge])
	}
	m.ends[at] = append(m.ends[at], index)
}

// link turns the trie into an automaton without failure: where no edge leads on, that of the longest suffix does.
func (m *machine) link() {
	fail := make([]int, len(m.ends))
	queue := []int{0}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for c := range 256 {
			to := int(m.next[at<<8|c])
			switch {
			case to != 0:
				if at != 0 {
					fail[to] = int(m.next[fail[at]<<8|c])
				}
				m.ends[to] = append(m.ends[to], m.ends[fail[to]]...)
				queue = append(queue, to)
			case at != 0:
				m.next[at<<8|c] = m.next[fail[at]<<8|c]
			}
		}
	}
	for edge, to := range m.next {
		if len(m.ends[to]) > 0 {
			m.next[edge] |= reports
		}
	}
	for state := range m.ends {
		for c := 'A'; c <= 'Z'; c++ {
			m.next[state<<8|int(c)] = m.next[state<<8|int(c-'A'+'a')]
		}
	}
}

// scan calls report for every trigger in s, in the order of their ends, until it returns false.
func (m *machine) scan(s string, report func(index, end int) bool) {
	at := 0
	for i := range len(s) {
		to := m.next[at<<8|int(s[i])]
		at = int(to &^ reports)
		if to&reports != 0 {
			for _, index := range m.ends[at] {
				if !report(index, i+1) {
					return
				}
			}
		}
	}
}
