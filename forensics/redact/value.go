package redact

import "strings"

// A value is what is assigned, without its quotes.
type value struct {
	from, to int
	quoted   bool
}

// valueAt returns the value that begins at s[i].
func (f *finding) valueAt(n name, sep separation, i int) value {
	s := f.s
	if at(s, i) == '[' && placeholderAt(s, i) < 0 {
		if v, ok := bytesAt(s, i); ok {
			return v
		}
		if v, ok := listAt(s, i); ok { // the values of a header: "X-Token":["x"]
			return v
		}
		if isAlnum(at(s, i+1)) {
			i++
		}
	}
	i = yamlTag(s, i)
	if v, ok := quotedAt(s, i); ok {
		if sep == equals && !n.quoted && closesBefore(s, i) {
			return value{}
		}
		return v
	}
	if escape := span(s, i, isBackslash); escape > i && isQuote(at(s, escape)) {
		return value{} // to be seen a layer below
	}
	switch sep {
	case element:
		if end := strings.Index(s[i:min(len(s), i+harmlessLimit)], "</"); end >= 0 {
			return value{from: i, to: i + end}
		}
	case loose, equals, pair:
		if v, ok := blockAt(s, n, i); ok {
			return v
		}
		if sep == pair && at(s, i-1) != ':' || sep == pair && at(s, n.next) == ' ' {
			break // within a line
		}
		if !n.quoted && startsLine(s, n) && (sep != equals || sentence(s, i)) || sep == pair {
			return value{from: i, to: lineEnd(s, i)}
		}
	}
	if at(s, i) == '<' { // <nil>, <redacted>
		if end := strings.IndexAny(s[i:min(len(s), i+reach)], ">\n"); end > 0 && s[i+end] == '>' {
			return value{from: i, to: i + end + 1}
		}
	}
	end := f.wordEnd(i)
	if sep == loose && at(s, end) == ':' && all(s[i:end], isNameChar) && (!isPasswordName(n.text) || !isBlank(at(s, end+1)) || !mixed(s[i:end])) {
		return value{} // the next name of a structure: {Password: Token:}
	}
	if sep == loose && isBlank(at(s, i-1)) && beginsField(s[i:end]) && afterField(s, n.start) {
		return value{}
	}
	return value{from: i, to: end}
}

// beginsField says whether a word is the next field of a structure as Go prints it, "Insecure:true", behind an empty one.
func beginsField(word string) bool {
	colon := strings.IndexByte(word, ':')
	return colon > 0 && isUpper(word[0]) && all(word[:colon], isAlnum)
}

// afterField says whether the word before a name is a field of a structure.
func afterField(s string, i int) bool {
	first := max(0, i-4*reach)
	end := first + spanBack(s[first:i], i-first, isBlank)
	start := first + spanBack(s[first:end], end-first, func(c byte) bool { return c > ' ' })
	return end < i && strings.IndexByte(s[start:end], ':') > 0
}

// yamlTag skips what YAML has before a value: "!!str x", ">- x".
func yamlTag(s string, i int) int {
	if strings.HasPrefix(s[i:], "!!str ") {
		return i + len("!!str ")
	}
	if (strings.HasPrefix(s[i:], ">- ") || strings.HasPrefix(s[i:], "|- ")) && at(s, i+3) > ' ' {
		return i + 3
	}
	if strings.HasPrefix(s[i:], "| ") { // of a line break that was made a blank
		if next := span(s, i+1, isBlank); at(s, next) > ' ' {
			return next
		}
	}
	return i
}

// quotedAt returns a quoted value. Without a closing quote in the same line, the rest of the line belongs to it.
func quotedAt(s string, i int) (value, bool) {
	quote := at(s, i)
	if !isQuote(quote) {
		return value{}, false
	}
	if triple := s[i:min(len(s), i+3)]; triple == `"""` || triple == "'''" { // TOML
		if end := strings.Index(s[i+3:], triple); end > 0 && strings.IndexByte(s[i+3:i+3+end], '\n') < 0 {
			return value{from: i + 3, to: i + 3 + end, quoted: true}, true
		}
	}
	for j := i + 1; j < len(s) && s[j] != '\n'; j++ {
		if p := placeholderAt(s, j); p > 0 {
			j = p - 1
			continue
		}
		switch s[j] {
		case '\\':
			j++
		case quote:
			if isAlnum(at(s, j+1)) && isPasswordEnd(s[j-1]) && s[j-1] != '=' && strings.IndexByte(s[j+1:min(len(s), j+reach)], quote) > 0 {
				continue // an unescaped one in the middle
			}
			return value{from: i + 1, to: j, quoted: true}, true
		}
	}
	end := strings.IndexByte(s[i:], '\n')
	if end < 0 {
		end = len(s) - i
	}
	return value{from: i + 1, to: i + end, quoted: true}, true
}

// listAt is for quoted values in brackets: from the first one to the end of the last one.
func listAt(s string, i int) (value, bool) {
	v, ok := quotedAt(s, i+1)
	for ok && v.to < len(s) {
		next := span(s, v.to+1, func(c byte) bool { return c == ',' || isBlank(c) })
		more, found := quotedAt(s, next)
		if !found || next == v.to+1 {
			break
		}
		v.to = more.to
	}
	return v, ok
}

// bytesAt is for bytes as Go prints them: "[104 117]", "[]uint8{0x68, 0x75}".
func bytesAt(s string, i int) (value, bool) {
	start := i + 1
	for _, open := range []string{"[]uint8{", "[]byte{"} {
		if strings.HasPrefix(s[i:], open) {
			start = i + len(open)
		}
	}
	end := span(s, start, func(c byte) bool { return isLowerHex(c) || strings.IndexByte(" ,x", c) >= 0 })
	if c := at(s, end); end == start || !isDigit(s[start]) || c != ']' && c != '}' && c != '&' && c != 0 {
		return value{}, false
	}
	return value{from: start, to: end}, true
}

// closesBefore says whether a quote behind NAME= is none that begins a value, but ends what the name stands in, as in
// err="no PASSWORD=" pod="x".
func closesBefore(s string, i int) bool {
	c := at(s, i+1)
	return c == 0 || isSpace(c) || strings.IndexByte(",;)}]", c) >= 0
}

// startsLine says whether a name is the first thing in its line, or in a quoted string, but for indentation, a list's
// hyphen and "export".
func startsLine(s string, n name) bool {
	i := spanBack(s, n.start, func(c byte) bool { return isBlank(c) || c == '-' })
	if i < n.start && strings.HasSuffix(s[:i], "export") {
		i = spanBack(s, i-len("export"), isBlank)
	}
	return i == 0 || s[i-1] == '\n' || s[i-1] == '\r' || opensQuote(s, i-1)
}

// opensQuote says whether a quote begins a string, rather than ending one.
func opensQuote(s string, i int) bool {
	return isQuote(s[i]) && (i == 0 || isSpace(s[i-1]) || strings.IndexByte("=:([{,", s[i-1]) >= 0)
}

// lineEnd returns where a value ends that has the rest of its line: before a comment, a comma that ends a JSON line, and
// blanks.
func lineEnd(s string, i int) int {
	end := i
	for end < len(s) && s[end] != '\n' && s[end] != '\r' && !closesQuote(s, end) && !isBreak(s, end) {
		if s[end] == '#' && isBlank(at(s, end-1)) {
			break
		}
		end = max(end+1, span(s, end, isBackslash))
	}
	for end > i && (isBlank(s[end-1]) || s[end-1] == ',') {
		end--
	}
	return end
}

// sentence says whether the rest of the line is one value with blanks in it, as a file of assignments may have, rather
// than further arguments and assignments. In a single line it never is.
func sentence(s string, i int) bool {
	if !strings.ContainsAny(s, "\n") {
		return false
	}
	line := s[i:lineEnd(s, i)]
	return !strings.Contains(line, "=") && !strings.Contains(line, " -") && !strings.Contains(line, ": ")
}

// blockAt is for the block scalars of YAML: "key: |" and the lines below it that are indented more.
func blockAt(s string, n name, i int) (value, bool) {
	if c := at(s, i); c != '|' && c != '>' {
		return value{}, false
	}
	head := span(s, i+1, func(c byte) bool { return c == '+' || c == '-' || isDigit(c) || isBlank(c) })
	if at(s, head) == '\r' {
		head++
	}
	if at(s, head) != '\n' {
		return value{}, false
	}
	indent := n.start - spanBack(s, n.start, func(c byte) bool { return isBlank(c) || c == '-' })
	end := head + 1
	from := span(s, end, isBlank)
	for end < len(s) {
		text := span(s, end, isBlank)
		if c := at(s, text); c != '\n' && c != '\r' && text-end <= indent {
			break
		}
		if next := strings.IndexByte(s[text:], '\n'); next >= 0 {
			end = text + next + 1
		} else {
			end = len(s)
		}
	}
	return value{from: from, to: max(from, spanBack(s, end, isSpace))}, true
}

// wordEnd returns where a value without quotes ends: at a blank, at a quote that closes what is around it, or at a
// separator behind which another assignment begins. Anything else may be part of a secret.
func (f *finding) wordEnd(i int) int {
	if i < f.word.from || i >= f.word.to { // else it has been gone through
		f.word.from, f.word.to = i, rawWordEnd(f.s, i)
		f.spend(f.word.to - i)
	}
	end := f.word.to
	for end > i && strings.IndexByte(".,;:!?", f.s[end-1]) >= 0 {
		end--
	}
	return end
}

func rawWordEnd(s string, i int) int {
	end := i
	for end < len(s) && !isSpace(s[end]) {
		if p := placeholderAt(s, end); p >= 0 {
			end = p
			continue
		}
		c := s[end]
		closers := span(s, end, isCloser)
		if closesQuote(s, end) || isBreak(s, end) ||
			strings.IndexByte(",;&?|", c) >= 0 && separates(s, end+1) || strings.IndexByte(")]}>", c) >= 0 && closes(s, closers) {
			break
		}
		// A run is passed as a whole, so that long ones take no more than linear time.
		if end = max(end+1, span(s, end, isBackslash)); strings.IndexByte(")]}>", c) >= 0 {
			end = max(end, closers)
		}
	}
	return end
}

// closesQuote says whether a quote, or an escaped one, closes something that began before: no letter or digit follows.
func closesQuote(s string, i int) bool {
	i = span(s, i, isBackslash)
	return isQuote(at(s, i)) && !isAlnum(at(s, i+1))
}

// isBreak says whether an escaped line break stands there, and not a backslash before a word.
func isBreak(s string, i int) bool {
	letter := span(s, i, isBackslash)
	if next := at(s, letter); letter == i || next != 'n' && next != 'r' && next != 't' {
		return false
	}
	rest := span(s, letter+1, func(c byte) bool { return isBlank(c) || c == '\\' || isQuote(c) })
	end := span(s, rest, isNameChar)
	return rest == len(s) || rest > letter+1 || strings.IndexByte("=: [-#}\n", at(s, end)) >= 0
}

func isBackslash(c byte) bool { return c == '\\' }

// mountFlags are options without a value that follow a password in a list.
var mountFlags = []string{
	"ro", "rw", "suid", "nosuid", "dev", "nodev", "exec", "noexec", "sync", "async", "atime", "noatime", "relatime", "hard", "soft", "intr",
	"acl", "noacl", "seal", "guest", "mfsymlinks", "allow_other", "allow_root", "default_permissions", "reconnect", "serverino",
	"noserverino", "cifsacl", "nobrl", "noperm", "_netdev", "nofail", "remount", "bind", "share", "noshare", "nocrc",
}

// separates says whether another assignment, an option, a closing bracket or nothing follows a separator.
func separates(s string, i int) bool {
	i = span(s, i, isBlank)
	end := span(s, i, isNameChar)
	switch c := at(s, end); {
	case c == '=' || c == ':':
		return end > i
	case end == i:
		return c == 0 || isSpace(c) || strings.IndexByte(`"'\{[)]}&;|,`, c) >= 0
	}
	return contains(mountFlags, s[i:end])
}

func isCloser(c byte) bool { return strings.IndexByte(")]}>,;.:", c) >= 0 }

// closes says whether the word ends behind brackets and the like, which then are no part of a value.
func closes(s string, end int) bool {
	c := at(s, end)
	return end == len(s) || isSpace(c) || isQuote(c) || c == '\\' || c == '&'
}
