package main

import (
	"os"
	"testing"
)

// What a run that is ended leaves is said as of that moment: nothing, a process that still works, or files.
func TestLeftovers(t *testing.T) {
	var l leftovers
	want := func(text string) {
		t.Helper()
		if got := l.String(); got != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
	want("no report was written")
	l.collecting(4711)
	want("no report was written; the collecting process (pid 4711) ends, too, unless it is blocked in the kernel")
	l.writing("/tmp", os.Getpid()) // this process ends, and writes no more
	want("no report was written; the collecting process (pid 4711) ends, too, unless it is blocked in the kernel")
	l.writing("/tmp", 4712)
	want("no report was written; process 4712 may still be writing to /tmp")
	l.wrote([]string{"/tmp/a.json", "/tmp/a.html"})
	want("written: /tmp/a.json, /tmp/a.html")
}
