package redact_test

import (
	"flag"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/redact"
	"github.com/nodeforensics/nodeforensics/internal/testsecrets"
)

var ordinaryBytes = flag.Int("ordinary", 8<<20, "how many `bytes` of ordinary log lines to look for false masks in")

// What holds no secret is not masked: at most one line in 100,000.
func TestOrdinaryLinesStay(t *testing.T) {
	r := redact.New(nil)
	lines, size, masked := 0, 0, 0
	for line := range testsecrets.Ordinary(1) {
		if size > *ordinaryBytes {
			break
		}
		lines, size = lines+1, size+len(line)
		if got := r.Text("x", line); got != line {
			if masked++; masked <= 50 {
				t.Logf("from %s\n  to %s", line, got)
			}
		}
	}
	t.Logf("%d of %d lines", masked, lines)
	if masked*100_000 > lines {
		t.Errorf("%d of %d lines are masked", masked, lines)
	}
}
