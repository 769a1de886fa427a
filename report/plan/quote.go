package plan

import (
	"fmt"
	"strings"
)

// longest is the length of a text of the report in the script, in bytes.
const longest = 300

// word is one argument of a command, for text that people read: in single quotes, without characters that a shell interprets
// outside of them.
func word(s string) string {
	return "'" + strings.NewReplacer("'", "[27]", "`", "[60]", "$", "[24]", `\`, "[5c]").Replace(visible(s)) + "'"
}

// visible writes text for comments and messages: on one line, in ASCII, with everything else as an escape, and not too long.
func visible(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if b.Len() > longest {
			b.WriteString("[...]")
			break
		}
		switch c := s[i]; {
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, "[%02x]", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
