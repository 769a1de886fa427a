package redact

import "strings"

// A secret's name may be that of a whole structure, in the ways in which Go, protobuf and JSON print one:
//
//	"node_stage_secrets":{"adminKey":"x"}    secrets:<key:"adminKey" value:"x" >    Secrets:map[adminKey:x]
//	map[string]string{"adminKey":"x"}        stringData: {adminKey: x}
//
// Everything in it is masked but names, and what names an object instead of being a secret (secretKeyRef).

// openings are what a structure begins with, behind its name.
var openings = []string{`"map[`, "'map[", `\"map[`, "map[string]string{", "map[string][]uint8{", "map[string][]byte{", "map[", "&{", "{", "<"}

// structure masks what is in a structure and says whether there is one.
func (f *finding) structure(n name, sep separation, i int) bool {
	if n.end-n.start > len("controller_unpublish_secrets")*2 || sep != loose && sep != equals && (sep != prose || at(f.s, i) != '{') {
		return false
	}
	for _, open := range openings {
		if !strings.HasPrefix(f.s[i:], open) {
			continue
		}
		start := i + len(open)
		if c := at(f.s, start); open == "<" && !hasFold(f.s, start, "key:") || open == "{" && !opensMap(f.s, start) || c == 0 {
			return false
		}
		if start >= f.structured {
			f.leaves(start)
		}
		return true
	}
	return false
}

// opensMap says whether a brace is followed by a name: of JSON, YAML or protobuf.
func opensMap(s string, i int) bool {
	i = span(s, i, func(c byte) bool { return isSpace(c) || c == '\\' || isQuote(c) })
	end := span(s, i, isNameChar)
	end = span(s, end, func(c byte) bool { return c == '\\' || isQuote(c) })
	return end > i && (at(s, end) == ':' || at(s, end) == '=')
}

// referenceNames are names in such a structure whose values say where a secret is.
var referenceNames = strings.Fields(`key name namespace kind apiversion secretname secretnamespace optional defaultmode mode items path
	audience expirationseconds expirationtimestamp type uid resourceversion username user userid adminid id creationtimestamp`)

// leaves masks the values from the beginning of a structure to its end.
func (f *finding) leaves(i int) {
	depth, start := 1, i
	for i < len(f.s) && depth > 0 && i-start < structureLimit {
		switch c := f.s[i]; {
		case placeholderAt(f.s, i) > 0:
			i = placeholderAt(f.s, i)
		case strings.IndexByte("{[<", c) >= 0:
			depth, i = depth+1, i+1
		case strings.IndexByte("}]>", c) >= 0:
			depth, i = depth-1, i+1
		case isQuote(c) || c == '\\' && isQuote(at(f.s, span(f.s, i, isBackslash))), isNameChar(c):
			i = f.leaf(i)
		default:
			i++
		}
	}
	f.structured = max(f.structured, i)
	f.spend(4 * (i - start))
}

// structureLimit bounds a structure; one that does not end is looked at no further.
const structureLimit = 16 << 10

// leaf looks at a name and masks its value, unless that is a structure again. It returns where to go on.
func (f *finding) leaf(i int) int {
	from, to, next := quotedWord(f.s, i)
	sign := span(f.s, next, isBlank)
	if c := at(f.s, sign); c != ':' && c != '=' {
		return max(next, i+1)
	}
	name := strings.ToLower(f.s[from:to])
	value := span(f.s, sign+1, isBlank)
	switch c := at(f.s, value); {
	case strings.IndexByte("{[<&", c) >= 0 || strings.HasPrefix(f.s[value:], "map["):
		return value
	case c == '}' || c == ']' || c == '>' || c == ',':
		return value
	}
	from, to, next = quotedWord(f.s, value)
	if from == value { // without quotes
		to = leafEnd(f.s, value)
		next = to
	}
	if !contains(referenceNames, name) && !harmless(f.s[from:to]) {
		f.add("structure", from, to)
	}
	return max(next, value+1)
}

// quotedWord returns a word that may be quoted, below any number of escapes, and where it ends with its quote.
func quotedWord(s string, i int) (from, to, next int) {
	escapes := span(s, i, isBackslash) - i
	if quote := at(s, i+escapes); isQuote(quote) {
		end := s[i : i+escapes+1]
		from = i + len(end)
		for to = from; to < len(s) && s[to] != '\n'; to++ {
			if s[to] == quote && spanBack(s[:to], to, isBackslash) == to-escapes && strings.HasPrefix(s[to-escapes:], end) {
				return from, to - escapes, to + 1
			}
		}
		return from, to, to
	}
	to = span(s, i, func(c byte) bool { return isNameChar(c) || c == '/' })
	return i, to, to
}

// leafEnd returns where a value without quotes ends: before a bracket, or where another name and a colon follow.
func leafEnd(s string, i int) int {
	for end := i; end < len(s); end++ {
		if p := placeholderAt(s, end); p > 0 {
			end = p - 1
			continue
		}
		switch c := s[end]; {
		case c == '}' || c == ']' || c == '>' || c == '\n' || isQuote(c) || c == '\\':
			return end
		case (c == ' ' || c == ',') && separates(s, end+1):
			return end
		}
	}
	return len(s)
}

// kind is for Secrets of Kubernetes as JSON: their data is secret, whatever its names.
func (f *finding) kind(from, to int) {
	i := span(f.s, to, func(c byte) bool { return isQuote(c) || c == '\\' || isBlank(c) })
	if at(f.s, i) != ':' || from < f.kinds {
		return
	}
	i = span(f.s, i+1, func(c byte) bool { return isQuote(c) || c == '\\' || isBlank(c) })
	if !hasFold(f.s, i, "secret") || isAlnum(at(f.s, i+len("secret"))) {
		return
	}
	window := f.s[max(0, from-harmlessLimit):min(len(f.s), i+harmlessLimit)]
	f.spend(len(window))
	f.kinds = from + harmlessLimit/2
	for _, name := range []string{`"data":`, `\"data\":`, ` data: `} {
		if at := strings.Index(window, name); at >= 0 {
			start := max(0, from-harmlessLimit) + at + len(name)
			if start = span(f.s, start, isBlank); at >= 0 && f.s[min(start, len(f.s)-1)] == '{' {
				f.leaves(start + 1)
			}
		}
	}
}
