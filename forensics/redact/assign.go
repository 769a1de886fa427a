package redact

import "strings"

// A name is what something is assigned to.
type name struct {
	text       string
	start, end int
	// next is behind the closing quote, or the name.
	next   int
	quoted bool
}

// assignment looks at a word that may be the end of a secret's name, for something that is assigned to it.
func (f *finding) assignment(from, to int) {
	n, ok := nameAt(f.s, from, to)
	if !ok {
		return
	}
	sep, next := separator(f.s, n)
	if sep == nothing {
		return
	}
	certain := secretName(n.text) || isKeyOf(f.s, n)
	if !certain && !isKeyName(n.text) {
		return
	}
	v := valueAt(f.s, n, sep, next)
	if v.from >= v.to {
		return
	}
	value := f.s[v.from:v.to]
	switch {
	case placeholderAt(value, 0) < 0 && (harmless(value) || certain && f.isProse(n, sep, v)):
	case normal(n.text) == "secret" && strings.Contains(value, "/") && isObject(value): // klog: secret="namespace/name"
	case !certain && !looksRandom(value):
	case isWordEnd(n.text, "auth") && !looksBasic(value):
	case isWordEnd(n.text, "ticket") && len(value) < 16:
	default:
		f.add("assignment", v.from, v.to)
	}
}

// isKeyOf says whether a name is the second word of a secret's: "luks key: x".
func isKeyOf(s string, n name) bool {
	if !strings.EqualFold(n.text, "key") || !isBlank(at(s, n.start-1)) {
		return false
	}
	for _, word := range []string{"luks", "private", "encryption", "api", "master", "account", "signing"} {
		if hasFold(s, n.start-1-len(word), word) && !isNameChar(at(s, n.start-2-len(word))) {
			return true
		}
	}
	return false
}

// nameAt returns the name that the word s[from:to] ends. It is none if the name goes on, or is a file's.
func nameAt(s string, from, to int) (name, bool) {
	if hasFold(s, to, "_in") {
		to += 3
	}
	if end := span(s, to, isDigit); end > to && end-to <= 2 {
		to = end
	} else if at(s, to) == '_' && isDigit(at(s, to+1)) {
		to = span(s, to+1, isDigit)
	}
	if c := at(s, to); isAlnum(c) || c == '_' || c == '-' || c == '/' || c == '.' && isAlnum(at(s, to+1)) {
		return name{}, false
	}
	first := max(0, from-reach)
	start := first + spanBack(s[first:], from-first, isNameChar)
	n := name{text: s[start:to], start: start, end: to, next: to}
	if isQuote(at(s, to)) {
		n.next, n.quoted = to+1, true
	}
	if at(s, n.next) == ']' { // config["password"] = "x"
		n.next++
	}
	if before := at(s, start-1); (before == '/' || before == '~') && !n.quoted && at(s, n.next) != '=' {
		return name{}, false // "/var/run/token: permission denied"
	}
	return n, true
}

// How a name and a value are held together.
type separation int

const (
	nothing  separation = iota
	equals              // NAME=value
	loose               // name = value, name: value
	element             // <name>value</name>
	argument            // --name value
	pair                // "name": "NAME", "value": "x"
)

// separator returns what stands behind a name, and where the value begins.
func separator(s string, n name) (separation, int) {
	i := span(s, n.next, isBlank)
	switch c := at(s, i); {
	case c == '=':
		for i++; at(s, i) == '=' || at(s, i) == '>' || at(s, i) == '~'; i++ {
		}
		if next := span(s, i, isBlank); next > i || s[i-1] == '>' {
			return loose, next
		}
		return equals, i
	case c == ':' && !strings.HasPrefix(s[i:], "://"):
		if i++; at(s, i) == '=' {
			i++
		}
		return loose, span(s, i, isBlank)
	case c == '>' && at(s, n.start-1) == '<':
		return element, i + 1
	case c == ',' || c == '\n' || c == '\r':
		return pairSeparator(s, i)
	case i > n.next:
		return argumentSeparator(s, n, i)
	}
	return nothing, 0
}

// pairSeparator is for the way in which environment variables stand in the JSON and YAML of pods:
//
//	{"name":"DB_PASSWORD","value":"x"}
//	- name: DB_PASSWORD
//	  value: x
func pairSeparator(s string, i int) (separation, int) {
	quoteOrBlank := func(c byte) bool { return isSpace(c) || isQuote(c) || c == ',' }
	i = span(s, i, quoteOrBlank)
	if !hasFold(s, i, "value") {
		return nothing, 0
	}
	i = span(s, i+len("value"), quoteOrBlank)
	if at(s, i) != ':' {
		return nothing, 0
	}
	return pair, span(s, i+1, isBlank)
}

// argumentSeparator is for command lines inside text: "--token x", "-n node.session.auth.password -v x", and for netrc.
func argumentSeparator(s string, n name, i int) (separation, int) {
	for _, value := range []string{"-v ", "--value ", "--value="} {
		if hasFold(s, i, value) {
			return argument, i + len(value)
		}
	}
	switch {
	case n.quoted || at(s, i) == '-' || at(s, i) == 0:
		return nothing, 0
	case strings.HasPrefix(n.text, "--"):
		return argument, i
	case strings.EqualFold(n.text, "password") && afterLogin(s[:n.start]):
		return argument, i
	}
	return nothing, 0
}

// afterLogin says whether a text ends like "machine x login y ", see netrc(5).
func afterLogin(s string) bool {
	user := spanBack(s, spanBack(s, len(s), isSpace), func(c byte) bool { return !isSpace(c) })
	return strings.HasSuffix(s[:spanBack(s, user, isSpace)], "login")
}

// proseWords follow the name of a flag or of a thing in sentences.
var proseWords = []string{
	"a", "and", "are", "as", "at", "authentication", "can", "cannot", "could", "expired", "failed", "flag", "for",
	"from", "has", "have",
	"in", "instead", "invalid", "is", "may", "missing", "must", "not", "of", "on", "option", "or", "required",
	"requires", "set",
	"should", "the", "to", "unknown", "was", "were", "will", "with", "without",
}

// isProse says that name and value are words of a sentence: "failed to fetch token: Post ...", "flag --token is
// deprecated". It is not asked about passwords.
func (f *finding) isProse(n name, sep separation, v value) bool {
	word := f.s[v.from:v.to]
	switch {
	case v.quoted || n.quoted || !all(word, isLetter):
		return false
	case sep == argument:
		return contains(proseWords, word)
	case sep != loose || strings.Contains(normal(n.text), "pass"):
		return false
	}
	before := f.s[max(0, n.start-2):n.start]
	return all(n.text, isLetter) && len(before) == 2 && isLetter(before[0]) && before[1] == ' ' && at(f.s, v.to) == ' '
}

func contains(words []string, word string) bool {
	for _, w := range words {
		if strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}
