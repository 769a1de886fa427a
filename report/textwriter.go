package report

import (
	"bufio"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// textWriter lays text out for a terminal. All text of the node passes [see] or [seeLines] here, and nowhere else are
// escape sequences written than in paint.
type textWriter struct {
	w     *bufio.Writer
	width int
	color bool
	// warned says that the text has warned of rm -rf already.
	warned bool
}

// raw writes bytes as they are; bufio.Writer keeps the first error for Flush.
func (t *textWriter) raw(s string) { _, _ = t.w.WriteString(s) }

func (t *textWriter) blank() { t.raw("\n") }

// line wraps s below an indent.
func (t *textWriter) line(indent, s string) { t.hang(indent, indent, s) }

// item wraps s behind a mark; further lines stand below the first one's text.
func (t *textWriter) item(mark, s string) {
	t.hang(mark, strings.Repeat(" ", len(mark)), s)
}

func (t *textWriter) field(name, s string) { t.item(fieldMark(name), s) }

// oneField is a field that is cut where the line ends.
func (t *textWriter) oneField(name, s string) { t.oneLine(fieldMark(name), s) }

func fieldMark(name string) string { return "  " + name + strings.Repeat(" ", max(1, 12-len(name))) }

func (t *textWriter) hang(first, next, s string) {
	for i, line := range wrap(string(cell(s, maxTextBytes)), t.width-len(first)) {
		if i == 0 {
			t.raw(first + line + "\n")
			continue
		}
		t.raw(next + line + "\n")
	}
}

// marked is a word in colour with its sentence behind it.
func (t *textWriter) marked(c tone, word, s string) {
	word = string(cell(word, 40))
	indent := strings.Repeat(" ", min(textWidth(word)+2, 12))
	for i, line := range wrap(string(cell(s, maxTextBytes)), t.width-len(indent)) {
		if i == 0 {
			t.raw(t.paint(c, word) + "  " + t.bold(line) + "\n")
			continue
		}
		t.raw(indent + t.bold(line) + "\n")
	}
}

func (t *textWriter) strong(s string) { t.raw(t.bold(string(see(s))) + "\n") }

// step is an instruction, or a command that is never wrapped: people copy it.
func (t *textWriter) step(mark string, r forensics.Remedy) {
	s, prose := stepText(r)
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			mark = strings.Repeat(" ", len(mark))
		}
		if prose {
			t.item(mark, line)
			continue
		}
		t.raw(mark + t.bold(line) + "\n")
	}
}

// oneLine cuts s where the line ends.
func (t *textWriter) oneLine(mark, s string) {
	line := mark + string(cell(s, maxTextBytes))
	if textWidth(line) > t.width {
		line = head(line, t.width-1) + "…"
	}
	t.raw(line + "\n")
}

// The escape sequences of ECMA-48 that every terminal knows.
func (t *textWriter) paint(c tone, s string) string {
	code := map[tone]string{toneBad: "1;31", toneWarn: "1;33", toneNote: "1;36", toneGood: "1;32"}[c]
	if !t.color || code == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (t *textWriter) bold(s string) string {
	if !t.color {
		return s
	}
	return "\x1b[1m" + s + "\x1b[0m"
}

// wrap breaks s at blanks into lines of at most width columns. A word that is longer is broken behind a slash where
// there is one, since it is mostly a path.
func wrap(s string, width int) []string {
	width = max(width, 8)
	var lines []string
	line, used := "", 0
	flush := func() {
		lines = append(lines, line)
		line, used = "", 0
	}
	for word := range strings.FieldsSeq(s) {
		n := textWidth(word)
		if line != "" && used+1+n > width && (n <= width || width-used < max(4, width/4)) {
			flush()
		}
		if line != "" {
			line, used = line+" ", used+1
		}
		for used+n > width { // longer than a line: fill what is left of this one
			part := breakWord(word, width-used)
			line += part
			flush()
			word = word[len(part):]
			n = textWidth(word)
		}
		line, used = line+word, used+n
	}
	if line != "" || len(lines) == 0 {
		flush()
	}
	return lines
}

// breakWord is as much of a long word as fits, up to its last slash if that is not too near to the beginning.
func breakWord(word string, room int) string {
	part := head(word, room)
	if i := strings.LastIndexByte(part, '/'); i > len(part)/2 {
		return part[:i+1]
	}
	return part
}

// head is as much of s as fits into width columns, at least one character.
func head(s string, width int) string {
	used := 0
	for i, r := range s {
		used += runeWidth(r)
		if used > width && i > 0 {
			return s[:i]
		}
	}
	return s
}
