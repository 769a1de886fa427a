package goroutines_test

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
)

// TestEmptyLineBeforeLocation has a dump in which the end of a wrapped line was put behind its beginning.
func TestEmptyLineBeforeLocation(t *testing.T) {
	const head, call, at = "goroutine 7 [syscall, 12 minutes]:\n", "os.Stat({0xc05c0aa6e0, 0x66})\n", "\t/usr/local/go/src/os/stat.go:13 +0x35\n"
	for name, tt := range map[string]struct {
		text   string
		frames int
	}{
		"once":      {head + call + "\n" + at + "main.f()\n\n\t/x/main.go:1 +0x1\n", 2},
		"two lines": {head + call + "\n\n" + at + "main.f()\n\t/x/main.go:1 +0x1\n", 1},
		"none":      {head + call + at + "\nmain.f()\n\t/x/main.go:1 +0x1\n", 1},
		"a call":    {head + call + "\nmain.f()\n\t/x/main.go:1 +0x1\n", 1},
		"the end":   {head + call + at + "created by main.main in goroutine 1\n\n", 1},
	} {
		dumps, problems, err := goroutines.Parse(strings.NewReader(tt.text))
		if name == "the end" && len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
		}
		if err != nil || len(dumps) == 0 || len(dumps[0].Goroutines) == 0 {
			t.Fatalf("%s: %v %+v", name, err, dumps)
		}
		if got := len(dumps[0].Goroutines[0].Frames); got != tt.frames {
			t.Errorf("%s: %d frames, want %d", name, got, tt.frames)
		}
	}
}
