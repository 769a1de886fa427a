package redact

import (
	"encoding/base64"
	"strings"
)

// authorization is for the header, in any of the ways in which programs print one:
//
//	Authorization: Bearer x    "Authorization":["Basic x"]    authorization=Bearer%20x
//
// Whatever stands there is masked, but for the name of the scheme.
func (f *finding) authorization(from, to int) {
	n, ok := nameAt(f.s, from, to)
	if !ok {
		return
	}
	sep, i := separator(f.s, n)
	if sep != equals && sep != loose {
		return
	}
	for c := at(f.s, i); (c == '[' || isQuote(c) || c == '\\' || isBlank(c)) && placeholderAt(f.s, i) < 0; c = at(f.s, i) {
		i++
	}
	scheme := span(f.s, i, func(c byte) bool { return isAlnum(c) || c == '-' })
	start := span(f.s, span(f.s, scheme, isBackslash), isBlank)
	if !isBlank(at(f.s, start-1)) {
		start = i // a token without a scheme
	}
	end := f.wordEnd(start)
	if at(f.s, start) == '<' {
		return // <masked>
	}
	if params := f.paramsEnd(start); params > end {
		end = params // Digest, AWS4-HMAC-SHA256
	}
	known := contains(schemes, f.s[i:scheme])
	if start < end && !harmless(f.s[start:end]) && (known || !isWord(f.s[start:end])) && (start != i || !isWord(f.s[start:end])) {
		f.add("authorization", start, end)
	}
}

// schemes are those of the register of IANA, and those of services that have one of their own.
var schemes = []string{
	"basic", "bearer", "digest", "negotiate", "ntlm", "token", "apikey", "api-key", "key", "hawk", "hoba", "mutual", "scram-sha-1",
	"scram-sha-256", "oauth", "privatetoken", "aws", "aws4-hmac-sha256", "sharedkey", "sharedkeylite", "signature", "splunk", "dpop", "jwt",
}

// paramsEnd returns where a list like `username="a", response="b"` ends, or i where there is none.
func (f *finding) paramsEnd(i int) int {
	s := f.s
	for end := i; ; {
		equals := span(s, end, isNameChar)
		if equals == end || at(s, equals) != '=' {
			return i
		}
		if v, ok := quotedAt(s, equals+1); ok {
			if i = v.to; isQuote(at(s, i)) {
				i++
			}
		} else {
			i = f.wordEnd(equals + 1)
		}
		if at(s, i) != ',' {
			return i
		}
		end = span(s, i+1, isBlank)
	}
}

// scheme is for credentials that stand behind the name of their scheme without the header's name. Since these are words
// of English as well ("basic authentication"), what follows has to look like credentials.
func (f *finding) scheme(from, to int) {
	start := span(f.s, to, isBlank)
	if start == to || isNameChar(at(f.s, from-1)) {
		return
	}
	end := start
	for end < len(f.s) {
		if p := placeholderAt(f.s, end); p > 0 {
			end = p
			continue
		}
		if c := f.s[end]; !isBase64(c) && strings.IndexByte(".~=", c) < 0 {
			break
		}
		end++
	}
	end = max(start, spanBack(f.s, end, func(c byte) bool { return c == '.' }))
	credentials := f.s[start:end]
	if hasFold(f.s, from, "basic") && !looksBasic(credentials) || !hasFold(f.s, from, "basic") && !looksBearer(credentials) {
		return
	}
	f.add("authorization", start, end)
}

// looksBasic says whether a value is user and password, in base64 or as they are, or at least looks random.
func looksBasic(value string) bool {
	value = strings.TrimRight(plain(value), "=")
	if placeholderAt(value, 0) >= 0 {
		return true
	}
	if decoded, err := base64.RawStdEncoding.DecodeString(value); err == nil && len(value) >= 6 {
		user, _, ok := strings.Cut(string(decoded), ":")
		return ok && all(user, func(c byte) bool { return c > ' ' && c < 0x7f }) || looksRandom(value)
	}
	user, password, ok := strings.Cut(value, ":")
	return ok && user != "" && password != "" && !all(password, isDigit) || looksRandom(value)
}

// looksBearer says whether a word is a token rather than a word of a sentence.
func looksBearer(value string) bool {
	if placeholderAt(value, 0) >= 0 {
		return true
	}
	return len(value) >= 8 && !isWord(value) && (strings.ContainsAny(value, "0123456789") || len(value) >= 24)
}

// isWord says that something consists of letters and hyphens only, as words do.
func isWord(s string) bool {
	return len(s) < 32 && all(s, func(c byte) bool { return isLetter(c) || c == '-' })
}

// cookies is for the headers of cookies, which have blanks in them.
func (f *finding) cookies(from, to int) {
	n, ok := nameAt(f.s, from, to)
	if !ok {
		return
	}
	sep, i := separator(f.s, n)
	if sep != loose && sep != equals {
		return
	}
	if at(f.s, i) == '[' && placeholderAt(f.s, i) < 0 { // "Cookie":["a=b"]
		i++
	}
	v, quoted := quotedAt(f.s, i)
	switch {
	case quoted:
	case sep == loose:
		v = value{from: i, to: lineEnd(f.s, i)}
	case at(f.s, i) == '<': // <none>
		return
	default:
		v = value{from: i, to: f.wordEnd(i)}
	}
	if text := f.s[v.from:v.to]; !harmless(text) && !all(text, isDigit) {
		f.add("cookie", v.from, v.to)
	}
}

// signature is for the parameter by which a URL is its own permission: Azure's sig, the signatures of AWS and Google.
func (f *finding) signature(from, to int) {
	if to-from < len("signature=") && strings.IndexByte("?&;", at(f.s, from-1)) < 0 {
		return
	}
	end := span(f.s, to, func(c byte) bool { return isBase64(c) || c == '%' || c == '=' || c == '.' })
	if p := placeholderAt(f.s, to); p > 0 {
		end = f.wordEnd(to)
	}
	if end-to >= 8 {
		f.add("signature", to, end)
	}
}
