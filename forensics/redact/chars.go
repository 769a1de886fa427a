package redact

import (
	"net/url"
	"strings"
)

func isLower(c byte) bool    { return 'a' <= c && c <= 'z' }
func isUpper(c byte) bool    { return 'A' <= c && c <= 'Z' }
func isDigit(c byte) bool    { return '0' <= c && c <= '9' }
func isLetter(c byte) bool   { return isLower(c) || isUpper(c) }
func isAlnum(c byte) bool    { return isLetter(c) || isDigit(c) }
func isLowerHex(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'f' }
func isQuote(c byte) bool    { return c == '"' || c == '\'' || c == '`' }
func isBlank(c byte) bool    { return c == ' ' || c == '\t' }
func isSpace(c byte) bool {
	return isBlank(c) || c == '\n' || c == '\r' || c == '\v' || c == '\f' || c == 0
}

// isNameChar says whether a name of a variable, a flag, an option or a key may have a byte in it.
func isNameChar(c byte) bool { return isAlnum(c) || c == '_' || c == '-' || c == '.' }

// isBase64 is for both alphabets, without the padding.
func isBase64(c byte) bool { return isAlnum(c) || c == '+' || c == '/' || c == '-' || c == '_' }

// isToken is what the tokens of known services consist of.
func isToken(c byte) bool { return isAlnum(c) || c == '-' || c == '_' }

// span returns the end of the bytes of one class that begin at i.
func span(s string, i int, is func(byte) bool) int {
	for i < len(s) && is(s[i]) {
		i++
	}
	return i
}

// spanBack returns the beginning of the bytes of one class that end at i.
func spanBack(s string, i int, is func(byte) bool) int {
	for i > 0 && is(s[i-1]) {
		i--
	}
	return i
}

// all says that a string is not empty and of one class.
func all(s string, is func(byte) bool) bool { return s != "" && span(s, 0, is) == len(s) }

// at returns a byte, or 0 beyond the end.
func at(s string, i int) byte {
	if i < 0 || i >= len(s) {
		return 0
	}
	return s[i]
}

// hasFold says whether s goes on at i with a word, which is given in lower case.
func hasFold(s string, i int, word string) bool {
	return i >= 0 && len(s)-i >= len(word) && strings.EqualFold(s[i:i+len(word)], word)
}

// plain undoes the escapes of a secret, so that it gets the same placeholder wherever it stands.
func plain(s string) string {
	for range maxLayers {
		if strings.IndexByte(s, '\\') < 0 {
			break
		}
		s = unescapeJSON(s).text.String()
	}
	if unescaped, err := url.PathUnescape(s); err == nil {
		return unescaped
	}
	return s
}
