package logline

import (
	"testing"
	"time"
)

func TestMonth(t *testing.T) {
	for m := time.January; m <= time.December; m++ {
		line := m.String()[:3] + " 21 10:00:00 host"
		if got, ok := Month(line); got != m || !ok {
			t.Errorf("%q: %v, %t", line, got, ok)
		}
		if got, ok := Month([]byte(line)); got != m || !ok {
			t.Errorf("%q as bytes: %v, %t", line, got, ok)
		}
	}
	for _, line := range []string{"", "Ja", "anF", "nov 21", "Foo 21", "2026"} {
		if got, ok := Month(line); ok {
			t.Errorf("%q: %v", line, got)
		}
	}
}

func TestCRI(t *testing.T) {
	for _, tt := range []struct {
		line, stream, message string
		partial, ok           bool
	}{
		{line: "stderr F panic: x", stream: "stderr", message: "panic: x", ok: true},
		{line: "stdout P half", stream: "stdout", message: "half", partial: true, ok: true},
		{line: "stderr F:tag:other text", stream: "stderr", message: "text", ok: true},
		{line: "stderr F:tag", stream: "stderr", ok: true},
		{line: "stderr F ", stream: "stderr", ok: true},
		{line: "stderr F", stream: "stderr", ok: true},
		{line: "stderr F  indented", stream: "stderr", message: " indented", ok: true},
		{line: "stderr Failed"},
		{line: "stdxyz F x"},
		{line: "stderr X x"},
		{line: "stderr"},
		{line: ""},
	} {
		stream, partial, message, ok := CRI(tt.line)
		if stream != tt.stream || partial != tt.partial || message != tt.message || ok != tt.ok {
			t.Errorf("%q: %q, %t, %q, %t", tt.line, stream, partial, message, ok)
		}
		if _, _, message, ok := CRI([]byte(tt.line)); string(message) != tt.message || ok != tt.ok {
			t.Errorf("%q as bytes: %q, %t", tt.line, message, ok)
		}
	}
}

func TestJournalBytes(t *testing.T) {
	if got, ok := JournalBytes([]byte("[27,91,109,255]")); got != "\x1b[m\xff" || !ok {
		t.Errorf("%q, %t", got, ok)
	}
	for _, s := range []string{"", "[x]", `"text"`, `["a"]`, "[goroutine 1]"} {
		if got, ok := JournalBytes([]byte(s)); ok {
			t.Errorf("%q: %q", s, got)
		}
	}
}
