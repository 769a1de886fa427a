package logs

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzParse(f *testing.F) {
	for _, line := range []string{
		klogLine, klogJSONLine, "Nov 21 10:00:02 worker-1 kubelet[2588]: " + klogLine, "2026-11-21T09:00:02.000001Z stderr P " + klogLine,
		`{"log":"a\n","stream":"stderr","time":"2026-11-21T09:00:02.000001Z"}`, `{"__REALTIME_TIMESTAMP":"1795251600000000","MESSAGE":[120,255]}`,
		"[  123.456789] x", "[Sat Nov 21 10:00:00 2026] x", "3,1234,5678901,-;x", "kern  :err   : [  1.2] x", "<3>[  1.2] x",
		`<27>1 2026-11-21T10:00:02Z h a p m [x y="z"] m`, `time="2026-11-21T10:00:00Z" level=error msg="a"`, "1795251602.000001 h t[1]: x",
		"I1121 10:00:02.000001 1 a.go:1] \"x\" err=<\n\ta\n > b=\"c\"", "{", "{\"", "{}", "{\"a\":", "<", "<1", "<1>", "[", "[ ", "k", "kern ", "Nov 21 10:00:00 ", "Sat 2026-11-21 10:00:00 ", "\x1b[",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.SplitAfterN(text, "\n", 4)
		p := testParser()
		e, s := p.parse(lines...)
		if len(e.Raw) > maxRaw || !strings.HasPrefix(lines[0], e.Raw) && !s.has(layerJournal) && !s.has(layerDocker) {
			t.Errorf("raw is %d bytes", len(e.Raw))
		}
		size := len(e.Message)
		for _, field := range e.Fields {
			size += len(field.Key) + len(field.Value)
		}
		if size > 4*len(text)+64 || len(e.Fields) > 2*maxFields { // a byte may become a replacement character
			t.Errorf("%d bytes of %d, %d fields", size, len(text), len(e.Fields))
		}
		if utf8.ValidString(text) && e.Time.Year() > 9999 {
			t.Errorf("the year %d", e.Time.Year())
		}
		if again, _ := p.parse(lines...); again.Message != e.Message || !again.Time.Equal(e.Time) {
			t.Error("another time it is something else")
		}
		if s.depth > maxLayers {
			t.Errorf("%d layers", s.depth)
		}
	})
}

func FuzzMatcher(f *testing.F) {
	f.Add("a kubelet says that orphaned pod", "orphaned pod|SyncLoop |housekeeping took longer")
	f.Add("aaaaaaaaaaaa", "aaaaa|aaaaaa")
	f.Add("xyzSyncLoopSyncLoop", "SyncLoop")
	f.Fuzz(func(t *testing.T, text, list string) {
		var words []string
		for word := range strings.SplitSeq(list, "|") {
			if len(word) >= minWord && !strings.Contains(word, "\n") {
				words = append(words, word)
			}
		}
		if len(words) == 0 || len(words) > 1000 {
			return
		}
		for _, sample := range []string{"", text} {
			m := newMatcher(words, []byte(sample))
			for from := 0; from <= len(text); {
				line, _, more := strings.Cut(text[from:], "\n")
				holds := false
				for _, w := range words {
					holds = holds || strings.Contains(line, w)
				}
				at := m.next([]byte(text[:from+len(line)]), from)
				if holds != (at >= 0) {
					t.Fatalf("line %q: found at %d", line, at)
				}
				if !more {
					break
				}
				from += len(line) + 1
			}
		}
	})
}

func FuzzScan(f *testing.F) {
	f.Add([]byte("a\nI1121 10:00:02.000001 1 a.go:1] orphaned pod\nmore\n"), uint16(3))
	f.Add([]byte("2026-11-21T09:00:02.000001Z stderr P orphaned\n2026-11-21T09:00:02.000001Z stderr F  pod orphaned pod\n"), uint16(50))
	f.Fuzz(func(t *testing.T, log []byte, _ uint16) {
		const word = "orphaned pod"
		entries, file := readAll(t, memory("fuzz", log), Options{Workers: 1}, word)
		lines, selected := int64(bytes.Count(log, []byte("\n"))), int64(0)
		if len(log) > 0 && log[len(log)-1] != '\n' {
			lines++
		}
		for line := range bytes.Lines(log) {
			if bytes.Contains(line, []byte(word)) {
				selected++
			}
		}
		if isCompressed(log) {
			return
		}
		if file.Lines != lines || file.Selected != selected || file.Bytes != int64(len(log)) {
			t.Errorf("%d lines, %d selected, %d bytes; want %d, %d, %d", file.Lines, file.Selected, file.Bytes, lines, selected, len(log))
		}
		for _, e := range entries {
			if e.Line < 1 || e.Line > lines {
				t.Errorf("line %d of %d", e.Line, lines)
			}
		}
	})
}
