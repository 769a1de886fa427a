package goroutines

// Word is one machine word of a call's arguments.
type Word struct {
	Value uint64 `json:"value"`
	// Known is false where the runtime printed "_": the word exists and its
	// value was not at hand.
	Known bool `json:"known"`
	// Uncertain is true where the runtime printed "?" behind the value: the
	// register's spill slot may hold something older. Go 1.17 prints such
	// values without the mark: there, trust the outermost frame that has it.
	Uncertain bool `json:"uncertain,omitempty"`
}

// Words returns the machine words of f.Args in order. Aggregates such as the
// "{pointer, length}" of a string are flattened, so that the numbering is the
// same for every Go release. "..." yields no word.
//
// The format is that of printArgs in the runtime's traceback.go.
func (f Frame) Words() []Word {
	words := make([]Word, 0, 8)
	for rest := f.Args; rest != ""; {
		var token string
		token, rest = nextToken(rest)
		if w, ok := parseWord(token); ok {
			words = append(words, w)
		}
	}
	return words
}

// nextToken cuts s at the first separator or bracket.
func nextToken(s string) (token, rest string) {
	for i := range len(s) {
		switch s[i] {
		case ',', ' ', '{', '}':
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

func parseWord(s string) (Word, bool) {
	if s == "_" {
		return Word{}, true
	}
	w := Word{Known: true}
	if n := len(s); n > 0 && s[n-1] == '?' {
		w.Uncertain = true
		s = s[:n-1]
	}
	if len(s) < 3 || len(s) > 18 || s[0] != '0' || s[1] != 'x' {
		return Word{}, false
	}
	v, ok := parseHex([]byte(s[2:]))
	w.Value = v
	return w, ok
}
