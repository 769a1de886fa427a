package checks

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The counts of TestPastedFiles: pastedFilesRight is to rise, pastedFilesWrong to fall.
const pastedFilesRight, pastedFilesWrong = 2862, 0

// TestPastedFiles counts what is said of the files in testdata/pasted. Of each, the first root cause is looked at.
func TestPastedFiles(t *testing.T) {
	const dir = "testdata/pasted/"
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
		root := pastedRoot(t, string(text))
		switch {
		case root == "" && slices.Contains(want, "none"), slices.Contains(want, root):
			right++
			continue
		case root == "":
			missed++
		default:
			wrong++
		}
		t.Logf("%s: %q, want one of %v", row[0], root, want)
	}
	t.Logf("of %d: %d right, %d missed, %d wrong", right+missed+wrong, right, missed, wrong)
	if right < pastedFilesRight || wrong > pastedFilesWrong {
		t.Errorf("%d right, want %d; %d wrong, want at most %d", right, pastedFilesRight, wrong, pastedFilesWrong)
	}
}
