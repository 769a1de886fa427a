package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shown is text that is safe to display: text of the node has passed [see] or [seeLines]. The model of the page has
// evidence in no other type.
type shown string

// maxMarks is how many combining marks can follow each other; more of them cover the neighbouring lines.
const maxMarks = 2

// see makes text of the node safe to look at, on one line: control characters, escape sequences, bidirectional and
// other invisible characters, exotic blanks and invalid UTF-8 become escapes in the notation of Go ("\x1b", "\u202e",
// "\xff"). Markup is left to the template's escaping.
func see(s string) shown { return shown(visible(s, false)) }

// seeLines is [see] for text of several lines: line feeds stay, a tab becomes blanks.
func seeLines(s string) shown { return shown(visible(strings.ReplaceAll(s, "\r\n", "\n"), true)) }

func visible(s string, lines bool) string {
	if plainASCII(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	marks := 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if unicode.Is(unicode.M, r) {
			marks++
		} else {
			marks = 0
		}
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case lines && r == '\n':
			b.WriteByte('\n')
		case lines && r == '\t':
			b.WriteString("    ")
		case hidden(r) || marks > maxMarks:
			b.WriteString(escaped(r))
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// plainASCII is true for nearly all text, so that it is not copied.
func plainASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// hidden says whether a reader cannot see r, or a terminal or browser would act on it.
func hidden(r rune) bool {
	return !unicode.IsPrint(r) || unicode.Is(unicode.Variation_Selector, r) ||
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || r == '\u2800'
}

func escaped(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < 0x100:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// cell is [see] for at most about limit bytes.
func cell(s string, limit int) shown { return clipped(s, limit, see) }

// Visible makes text of the node safe to display on one line, of at most about limit bytes. Control characters, invisible
// characters and invalid UTF-8 become escapes. Long text keeps its head and its tail.
func Visible(s string, limit int) string { return string(cell(s, limit)) }

// Limits of names on the terminal, in bytes: of a cell, so that the longest path the kernel allows does not hide the table
// (head and tail stay; JSON has it all), and of what has a line for itself and is there to be copied.
const (
	maxTableCell = 240
	maxTextLine  = 8 << 10
)

// cellText is text of the node for a table of the terminal.
func cellText(s string) string { return Visible(s, maxTableCell) }

// lineText is text of the node for a line of the terminal.
func lineText(s string) string { return Visible(s, maxTextLine) }

// fit cuts text to so many runes, of which the last marks the cut.
func fit(s string, width int) string {
	if runes := []rune(s); len(runes) > width {
		return string(runes[:width-1]) + "…"
	}
	return s
}

// block is [seeLines] for at most about limit bytes.
func block(s string, limit int) shown { return clipped(s, limit, seeLines) }

// clipped cuts before it escapes, so that a long name of control characters costs no more than a short one. The head
// and the tail remain, since the end of a path says most. The cut states the full length.
func clipped(s string, limit int, escape func(string) shown) shown {
	if len(s) <= limit {
		if out := escape(s); len(out) <= 2*limit {
			return out
		}
		limit = limit / 3 // all of it escapes
	}
	if len(s) <= limit {
		return escape(s)
	}
	return escape(upTo(s, limit*2/3)) + shown(fmt.Sprintf(" …[cut, %s bytes in all]… ", grouped(int64(len(s))))) +
		escape(from(s, len(s)-limit/3))
}

// upTo is the first n bytes of s, less where they would split a character.
func upTo(s string, n int) string {
	for back := 0; n > 0 && back < utf8.UTFMax && !utf8.RuneStart(s[n]); back++ {
		n--
	}
	return s[:n]
}

// from is s from byte n on, or from the next character.
func from(s string, n int) string {
	for ahead := 0; n < len(s) && ahead < utf8.UTFMax && !utf8.RuneStart(s[n]); ahead++ {
		n++
	}
	return s[n:]
}

// runeWidth is the number of terminal columns that a visible character takes: East Asian wide ones and emoji two,
// combining marks none. Where terminals disagree it errs to the wide side, which only wraps earlier.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.Is(unicode.M, r):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3, r >= 0xf900 && r <= 0xfaff,
		r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6, r >= 0x1f000:
		return 2
	}
	return 1
}

func textWidth(s string) int {
	width := 0
	for _, r := range s {
		width += runeWidth(r)
	}
	return width
}
