package checks

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The counts of TestPastedHeld: pastedHeldRight is to rise, pastedHeldWrong to fall.
const pastedHeldRight, pastedHeldWrong = 37, 1

// TestPastedHeld counts what is said of samples that no code was written for. Of each, the first root cause is looked at. It prints the
// names of those that are wrong only: what is missed is not to be tuned by name.
func TestPastedHeld(t *testing.T) {
	const dir = "testdata/pasted-held/"
	table, err := os.ReadFile(dir + "expected.tsv")
	if err != nil {
		t.Fatal(err)
	}
	right, missed, wrong := 0, 0, 0
	for line := range strings.Lines(string(table)) {
		row := strings.Split(line, "\t")
		if len(row) < 3 || strings.HasPrefix(row[0], "dir-") {
			continue
		}
		text, err := os.ReadFile(dir + row[0] + ".txt")
		if err != nil {
			continue // the heading
		}
		want := strings.Split(row[1], "|")
		switch root := pastedRoot(t, string(text)); {
		case root == "" && row[1] == "none", slices.Contains(want, root):
			right++
		case root == "":
			missed++
		default:
			wrong++
			t.Logf("%s: %q, want one of %v", row[0], root, want)
		}
	}
	t.Logf("of %d: %d right, %d missed, %d wrong", right+missed+wrong, right, missed, wrong)
	if right < pastedHeldRight || wrong > pastedHeldWrong {
		t.Errorf("%d right, want %d; %d wrong, want at most %d", right, pastedHeldRight, wrong, pastedHeldWrong)
	}
}
