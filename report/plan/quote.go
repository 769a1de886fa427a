package plan

import (
	"fmt"
	"strings"
)

// assign writes an assignment that gives a variable of a POSIX shell any bytes but NUL. What is not plain is written as
// octal escapes for printf, so that the script itself holds nothing that a terminal, a shell or an editor takes for
// something else.
func assign(name, value string) string {
	if !strings.ContainsFunc(value, notPlain) {
		return name + "='" + value + "'"
	}
	var b strings.Builder
	for i := range len(value) {
		if c := value[i]; notPlain(rune(c)) {
			fmt.Fprintf(&b, `\0%03o`, c)
		} else {
			b.WriteByte(c)
		}
	}
	// The dot keeps newlines at the end, which a command substitution drops.
	return fmt.Sprintf("%s=$(printf '%%b.' '%s')\n%s=${%s%%.}", name, b.String(), name, name)
}

// notPlain says of a byte that it means something inside single quotes, to a terminal or to a person's eye.
func notPlain(r rune) bool {
	return r < ' ' || r >= 0x7f || strings.ContainsRune("'\"\\`$%", r)
}

// word is one argument of a command, for text that people read.
func word(s string) string {
	return "'" + strings.NewReplacer("'", "[27]", "`", "[60]", "$", "[24]", `\`, "[5c]").Replace(visible(s)) + "'"
}

// visible writes text for comments and messages: on one line, in ASCII, with everything else as an escape.
func visible(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, "[%02x]", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// mountinfo writes a path as /proc/PID/mountinfo does (mangle_path in fs/seq_file.c).
func mountinfo(p string) string {
	return strings.NewReplacer(`\`, `\134`, " ", `\040`, "\t", `\011`, "\n", `\012`).Replace(p)
}
