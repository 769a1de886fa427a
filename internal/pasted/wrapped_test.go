package pasted

import (
	"strings"
	"testing"
)

func TestParagraphs(t *testing.T) {
	known := func(line string) bool { return strings.HasPrefix(line, "known message") }
	for _, c := range []struct{ name, text, want string }{
		{"within a word", "see:\n\nknown mess\nage here\n\nend\n", "see:\n\nknown message here\n\n\nend\n"},
		{"between words", "known\nmessage\nhere\n", "known message here\n\n\n"},
		{"between fences", "see\n```\nknown mess\nage\n```\n", "see\n```\nknown message\n\n```\n"},
		{"what is no message is left alone", "a\nb\n\nknown mess\nage\n", "a\nb\n\nknown message\n\n"},
		{"nothing", "a\nb\n\nc\n", ""},
		{"a line of a log begins anew", "known mess\nI1120 10:02:45.000001    2588 a.go:1] age\n", ""},
		{"one line", "known message\n", ""},
		{"more lines than a message has", "known mess\n" + strings.Repeat("age\n", mostWrapped), ""},
	} {
		if got := string(Paragraphs([]byte(c.text), known)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
