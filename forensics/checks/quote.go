package checks

import (
	"fmt"
	"strings"
)

// quote writes a string from the node as one word for bash: what is printed in a report is pasted into a root shell.
func quote(s string) string {
	plain := s != ""
	for i, r := range s {
		switch {
		case r < ' ' || r == 0x7f || r == '\ufffd' || r >= 0x80:
			return ansiQuote(s)
		case r == '~' && i > 0: // expanded at the start of a word only
		case !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:@%,=", r):
			plain = false
		}
	}
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// ansiQuote writes $'...' with every byte outside printable ASCII as an escape, so that nothing is hidden.
func ansiQuote(s string) string {
	var b strings.Builder
	b.WriteString("$'")
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteString("'")
	return b.String()
}
