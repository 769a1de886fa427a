package redact

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// maxLayers is how many escapes may lie over each other: JSON in JSON in a URL.
const maxLayers = 3

// A layer is a text without one layer of escapes. What is found in it is found in the text that it came from.
type layer struct {
	text strings.Builder
	// from has the offset in the original text for each byte, and for the end.
	from []int32
}

// add appends what stands for the bytes from offset on.
func (l *layer) add(offset int, text string) {
	l.text.WriteString(text)
	for range len(text) {
		l.from = append(l.from, int32(offset))
	}
}

// keep appends bytes that stand for themselves.
func (l *layer) keep(s string, from, to int) {
	l.text.WriteString(s[from:to])
	for i := from; i < to; i++ {
		l.from = append(l.from, int32(i))
	}
}

// layers looks below the escapes of JSON and of URLs, which may stand anywhere in a secret and before it. Only texts with
// a trigger come here: the triggers themselves are never escaped.
func (f *finding) layers() {
	if f.layer == maxLayers {
		return
	}
	if strings.IndexByte(f.s, '\\') >= 0 {
		f.below(unescapeJSON(f.s))
	}
	for _, quote := range quoteEscapes {
		if strings.Contains(f.s, quote) {
			f.below(unescapeQuotes(f.s))
			break
		}
	}
	if strings.IndexByte(f.s, '%') >= 0 || strings.IndexByte(f.s, '+') >= 0 {
		f.below(unescapeURL(f.s))
	}
}

// below adds what is found in a layer.
func (f *finding) below(l *layer) {
	text := l.text.String()
	f.spend(2 * len(text))
	if text == f.s {
		return // nothing was escaped
	}
	l.from = append(l.from, int32(len(f.s)))
	inner := look(f.r, text, f.layer+1, f.depth, f.fuel)
	if inner == nil {
		return
	}
	if inner.cut < len(text) {
		f.cut = min(f.cut, int(l.from[inner.cut]))
	}
	for _, x := range inner.secrets {
		f.secrets = append(f.secrets, secret{int(l.from[x.from]), int(l.from[x.to]), x.rule})
	}
}

// unescapeJSON undoes the escapes of JSON strings (RFC 8259), and of Go's %q, wherever they stand. What is none stays.
func unescapeJSON(s string) *layer {
	l := &layer{from: make([]int32, 0, len(s)+1)}
	l.text.Grow(len(s))
	for i := 0; i < len(s); {
		if plain := span(s, i, func(c byte) bool { return c != '\\' }); plain > i {
			l.keep(s, i, plain)
			i = plain
			continue
		}
		end, text := escapeJSON(s, i)
		l.add(i, text)
		i = end
	}
	return l
}

// escapeJSON returns where the escape ends that begins at i, and what it stands for.
func escapeJSON(s string, i int) (int, string) {
	switch c := at(s, i+1); c {
	case '"', '\\', '/', '\'':
		return i + 2, string(rune(c))
	case 'n':
		return i + 2, "\n"
	case 'r':
		return i + 2, "\r"
	case 't':
		return i + 2, "\t"
	case 'u':
		if code, ok := number(s, i+2, 4); ok && utf8.ValidRune(rune(code)) {
			return i + 6, string(rune(code))
		}
	case 'x':
		if code, ok := number(s, i+2, 2); ok {
			return i + 4, string([]byte{byte(code)})
		}
	}
	return i + 1, `\`
}

// unescapeURL undoes the percent-encoding of RFC 3986 and, in words that have such, the plus signs of forms.
func unescapeURL(s string) *layer {
	l := &layer{from: make([]int32, 0, len(s)+1)}
	l.text.Grow(len(s))
	for i := 0; i < len(s); {
		word := span(s, i, func(c byte) bool { return !isSpace(c) })
		if word == i {
			word = i + 1
		}
		form := isForm(s[i:word])
		for i < word {
			code, ok := number(s, i+1, 2)
			switch {
			case s[i] == '%' && ok && i+3 <= word:
				l.add(i, string([]byte{byte(code)}))
				i += 3
			case s[i] == '+' && form:
				l.add(i, " ")
				i++
			default:
				l.keep(s, i, i+1)
				i++
			}
		}
	}
	return l
}

// quoteEscapes are how quotes are written inside others: in a string of a shell, in HTML.
var quoteEscapes = []string{`'"'"'`, `'\''`, "&quot;", "&#34;", "&#39;", "&#x27;", "&apos;"}

// unescapeQuotes undoes them.
func unescapeQuotes(s string) *layer {
	l := &layer{from: make([]int32, 0, len(s)+1)}
	l.text.Grow(len(s))
	for i := 0; i < len(s); {
		if plain := span(s, i, func(c byte) bool { return c != '&' && c != '\'' }); plain > i {
			l.keep(s, i, plain)
			i = plain
			continue
		}
		n := slices.IndexFunc(quoteEscapes, func(quote string) bool { return strings.HasPrefix(s[i:], quote) })
		if n < 0 {
			l.keep(s, i, i+1)
			i++
			continue
		}
		quote := "'"
		if n == 2 || n == 3 {
			quote = `"`
		}
		l.add(i, quote)
		i += len(quoteEscapes[n])
	}
	return l
}

// number reads a hexadecimal number of so many digits.
func number(s string, i, digits int) (int, bool) {
	if i+digits > len(s) {
		return 0, false
	}
	n := 0
	for _, c := range []byte(s[i : i+digits]) {
		switch {
		case isDigit(c):
			n = n<<4 | int(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			n = n<<4 | int(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return n, true
}

// isForm says whether a word looks like a URL with a query, or another one in which blanks are written as plus signs.
func isForm(word string) bool {
	_, query, ok := strings.Cut(word, "?")
	return ok && strings.Contains(query, "=") || hasEscapedByte(word)
}

// hasEscapedByte says whether there is a "%2F" or the like.
func hasEscapedByte(s string) bool {
	for i := strings.IndexByte(s, '%'); i >= 0; {
		if _, ok := number(s, i+1, 2); ok {
			return true
		}
		next := strings.IndexByte(s[i+1:], '%')
		if next < 0 {
			return false
		}
		i += 1 + next
	}
	return false
}
