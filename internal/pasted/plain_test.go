package pasted

import (
	"strings"
	"testing"
)

// TestPlain has what stands before and behind all lines, and what only looks like it.
func TestPlain(t *testing.T) {
	const a, b, c, d = "E1120 10:02:45.000001    2588 file.go:301] x", "two", "three", "four"
	text := strings.Join([]string{a, b, c, d}, "\n")
	for name, tt := range map[string]struct{ in, want string }{
		"padded":             {strings.ReplaceAll(text, "\n", "   \n"), text},
		"one line is padded": {a + "\n" + b + " \n" + c, a + "\n" + b + " \n" + c}, // a terminal may have wrapped it there
		"Windows":            {strings.ReplaceAll(text, "\n", "\r\n"), text},
		"indented":           {"  " + strings.ReplaceAll(text, "\n", "\n    "), a + "\n  " + b + "\n  " + c + "\n  " + d},
		"behind bars":        {"| " + a + "\n|\n| " + b, a + "\n\n" + b},
		"a table":            {"| a | b |\n|---|---|\n| 1 | 2 |", "| a | b |\n|---|---|\n| 1 | 2 |"},
		"a comment":          {"// two", "// two"},
		"cat -n":             {"     1\t" + a + "\n     2\t\n     3\t" + b, a + "\n\n" + b},
		"grep -n":            {"17:" + a + "\n29:" + a, a + "\n" + a},
		"less -N":            {"      7 two\n      8 three\n      9 four\n     10 two\n", " 7 two\n 8 three\n 9 four\n10 two\n"}, // or counts
		"from the first":     {"1 two\n2 three\n3 four\n4 two\n", "two\nthree\nfour\ntwo\n"},
		"hours":              {"08:00 two\n09:00 three\n10:00 four\n11:00 two\n", "08:00 two\n09:00 three\n10:00 four\n11:00 two\n"},
		"counts":             {"2 two\n17 three\n400 four\n401 five\n", "2 two\n17 three\n400 four\n401 five\n"},
		"double-spaced":      {strings.ReplaceAll(text+"\n"+text, "\n", "\n\n"), text + "\n" + text + strings.Repeat("\n", 7)},
		"paragraphs":         {"a\n\nb\n\nc\nd\n\ne\n\nf\n\ng", "a\n\nb\n\nc\nd\n\ne\n\nf\n\ng"},
	} {
		lines := strings.Split(tt.in, "\n")
		changed := plain(lines)
		if got := strings.Join(lines, "\n"); got != tt.want || changed != (tt.in != tt.want) {
			t.Errorf("%s: changed %v, %q", name, changed, got)
		}
	}
}
