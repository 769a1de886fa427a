package redact

import "strings"

// maxWords and maxCommand bound a command line inside a text.
const (
	maxWords   = 48
	maxCommand = 4 << 10
)

// command looks at the name of a program in a text for a command line: "COMMAND=/usr/bin/mysql -px", `sh -c "redis-cli -a
// x"`, `["redis-cli","-a","x"]`.
func (f *finding) command(from, to int) {
	if from < f.commanded {
		return // it stands in another one's
	}
	places := f.commandWords(from, to)
	if len(places) < 2 {
		return
	}
	words := make([]string, len(places))
	for i, p := range places {
		words[i] = f.s[p[0]:p[1]]
	}
	before := at(f.s, from-1)
	prose := from > 0 && (isBlank(before) && f.s[max(0, from-2):from] != ": ")
	for _, p := range secretsIn(f.r.programs, words, prose) {
		f.add("argument", places[p.word][0]+p.from, places[p.word][0]+p.to)
	}
}

// fitsCommand says whether a word is the name of a program: as it is in the table, and words follow. Those of few letters
// are often something else, unless a path or a quote stands before them.
func fitsCommand(name string) func(s string, from, to int) bool {
	return func(s string, from, to int) bool {
		if c := at(s, to); !isBlank(c) && !isQuote(c) && c != '\\' || s[from:to] != name {
			return false
		}
		before := at(s, from-1)
		if isNameChar(before) {
			return false
		}
		return len(name) > 3 || !isBlank(before) || at(s, from-2) == ':' || strings.Contains(s[to:min(len(s), to+24)], " -")
	}
}

// commandWords returns the words of the command line that begins with a program: up to a sign of the shell, or to the
// quote around it. Quotes and escapes of quotes around words belong to none.
func (f *finding) commandWords(from, to int) [][2]int {
	places := [][2]int{{from, to}}
	listed := isQuote(at(f.s, span(f.s, to, isBackslash))) // ["redis-cli","-a"]: each word is quoted, and so is none of the rest
	i, limit := to, min(len(f.s), to+maxCommand)
	for i < limit && len(places) < maxWords {
		next := f.nextWord(i, limit, listed)
		if next[1] <= next[0] {
			break
		}
		places = append(places, next)
		i = next[1]
	}
	f.spend(4 * (i - from))
	f.commanded = i
	return places
}

// nextWord returns the next word from i on, none where the command ends.
func (f *finding) nextWord(i, limit int, listed bool) [2]int {
	start := i
	for i < limit {
		quote := span(f.s, i, isBackslash)
		switch c := at(f.s, quote); {
		case isBlank(f.s[i]), listed && f.s[i] == ',':
			i++
		case listed && f.s[i] == 'a' && isDigit(at(f.s, i+1)) && at(f.s, i+2) == '=': // of the audit log
			i += 3
		case isQuote(c) && i == start && !listed:
			return [2]int{} // that of the whole command
		case isQuote(c) && i == start:
			i = quote + 1
			start = -1
		case isQuote(c):
			from, to, _ := quotedWord(f.s[:limit], i)
			return [2]int{from, to}
		case f.s[i] == '\\' && quote < limit, strings.IndexByte(";|&\n()<>", f.s[i]) >= 0:
			return [2]int{}
		default:
			return [2]int{i, f.bareWord(i, limit)}
		}
	}
	return [2]int{}
}

// bareWord returns where a word of a command line ends that does not begin with a quote.
func (f *finding) bareWord(i, limit int) int {
	end := i
	for end < limit && !isSpace(f.s[end]) && strings.IndexByte(";|", f.s[end]) < 0 && !closesQuote(f.s, end) {
		if p := placeholderAt(f.s, end); p > 0 {
			end = p
			continue
		}
		if isQuote(f.s[end]) && end > i && isAlnum(at(f.s, end+1)) { // -p"x"
			if v, ok := quotedAt(f.s[:limit], end); ok {
				return v.to
			}
		}
		end++
	}
	for end > i && strings.IndexByte(`,:)]`, f.s[end-1]) >= 0 {
		end--
	}
	return end
}

// piped is for "echo x | cryptsetup open …": the program reads a password.
func (f *finding) piped(from, _ int) {
	first := max(0, from-harmlessLimit/8)
	before := f.s[first:from]
	f.spend(len(before))
	pipe := strings.LastIndexByte(before, '|')
	if pipe < 0 || strings.ContainsAny(before[pipe:], ";\n") {
		return
	}
	for _, program := range []string{"echo ", "printf "} {
		if i := strings.LastIndex(before[:pipe], program); i >= 0 {
			start := first + span(before, i+len(program), isBlank)
			end := first + spanBack(before[:pipe], pipe, isBlank)
			for at(f.s, start) == '-' && start < end {
				start = span(f.s, span(f.s, start, isNameChar), isBlank)
			}
			if start < end && !strings.HasPrefix(f.s[start:end], "$") {
				f.add("argument", start, end)
			}
			return
		}
	}
}
