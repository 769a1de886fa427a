// Package shellword writes arguments as words of a shell's command line.
package shellword

import (
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/text"
)

// Quote writes a string from the node as one word for bash: what is printed in a report is pasted into a root shell. Bytes
// that are no UTF-8 are bytes again.
func Quote(s string) string {
	s = text.FromValidUTF8(s)
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

// Join writes a command that is made of arguments as one line for bash, which runs it with exactly these.
func Join(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = Quote(arg)
	}
	return strings.Join(words, " ")
}

// ansiQuote writes $'...' with every byte outside printable ASCII as an escape, so that nothing is hidden. Quotes and backslashes
// are escapes, too, as numbers: a shell that does not know $'...' (dash, the sh of Debian and Ubuntu) ends the word at the next quote,
// whatever stands before that.
func ansiQuote(s string) string {
	var b strings.Builder
	b.WriteString("$'")
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' || c >= 0x7f || c == '\'' || c == '\\':
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteString("'")
	return b.String()
}
