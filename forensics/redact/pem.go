package redact

import "strings"

// pemHeader is how long the line of a private key's beginning can be.
const pemHeader = 64

// privateKey is for PEM blocks ("-----BEGIN RSA PRIVATE KEY-----", RFC 7468) and those of PGP, whole or cut. What stays is
// the first line, which says what was there.
func (f *finding) privateKey(from, to int) {
	begin := strings.LastIndex(f.s[max(0, from-pemHeader):from], "-----BEGIN ")
	dashes := strings.Index(f.s[to:min(len(f.s), to+pemHeader)], "-----")
	if begin < 0 || dashes < 0 || !strings.HasPrefix(f.s[to:], " KEY") {
		return
	}
	start := span(f.s, to+dashes+len("-----"), func(c byte) bool { return isSpace(c) || c == '|' })
	f.add("private-key", start, f.pemEnd(start))
}

// pemEnd returns where the body of a block ends: at its last line, or where it was cut.
func (f *finding) pemEnd(start int) int {
	if end := strings.Index(f.s[start:], "-----"); end >= 0 && strings.HasPrefix(f.s[start+end:], "-----END") {
		return start + spanBack(f.s[start:start+end], end, isSpace)
	}
	end := start
	for i := start; i < len(f.s); i = span(f.s, end, isSpace) {
		word := span(f.s, i, func(c byte) bool { return isAlnum(c) || c == '+' || c == '/' || c == '=' })
		if p := placeholderAt(f.s, i); p > 0 {
			word = p
		}
		if next := at(f.s, word); word == i || word < len(f.s) && !isSpace(next) && !isQuote(next) && next != '\\' && next != '&' && next != '|' {
			break
		}
		end = word
	}
	return end
}
