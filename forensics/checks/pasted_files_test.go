package checks

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// The counts of TestPastedFiles: pastedFilesRight is to rise, pastedFilesWrong to fall.
const pastedFilesRight, pastedFilesWrong = 6463, 10

// TestPastedFiles counts what is said of the files in testdata/pasted. Of each, the first root cause is looked at.
func TestPastedFiles(t *testing.T) {
	right, missed, wrong := 0, 0, 0
	for _, s := range pastedFiles(t) {
		switch {
		case s.root == "" && slices.Contains(s.want, "none"), slices.Contains(s.want, s.root):
			right++
		case s.root == "":
			missed++
			t.Logf("%s: nothing, want one of %v", s.name, s.want)
		default:
			wrong++
			t.Logf("%s: %q, want one of %v", s.name, s.root, s.want)
		}
	}
	t.Logf("of %d: %d right, %d missed, %d wrong", right+missed+wrong, right, missed, wrong)
	if right < pastedFilesRight || wrong > pastedFilesWrong {
		t.Errorf("%d right, want %d; %d wrong, want at most %d", right, pastedFilesRight, wrong, pastedFilesWrong)
	}
}

// A pastedFile is a file in testdata/pasted, with the checks of which any may be the first root cause, and what is said of it.
type pastedFile struct {
	name, text  string
	want        []string
	root, typed string
}

var pastedOnce struct {
	once  sync.Once
	files []pastedFile
}

// pastedFiles are those that expected.tsv lists, without directories.
func pastedFiles(t *testing.T) []pastedFile {
	t.Helper()
	pastedOnce.once.Do(func() {
		const dir = "testdata/pasted/"
		table, err := os.ReadFile(dir + "expected.tsv")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(table)) {
			row := strings.Split(line, "\t")
			if len(row) < 3 || strings.HasPrefix(row[0], "dir-") || strings.HasPrefix(row[0], "#") {
				continue
			}
			text, err := os.ReadFile(dir + row[0] + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			pastedOnce.files = append(pastedOnce.files, pastedFile{name: row[0], want: strings.Split(row[1], "|"), text: string(text)})
		}
		atOnce(pastedOnce.files, func(s *pastedFile) {
			a := analyzePasted(t, s.text)
			s.root, s.typed = rootOf(a), typed(a)
		})
	})
	return pastedOnce.files
}

// atOnce does something with each file, on all processors.
func atOnce(files []pastedFile, do func(*pastedFile)) {
	var (
		next atomic.Int64
		all  sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(files)); i = next.Add(1) - 1 {
				do(&files[i])
			}
		})
	}
	all.Wait()
}
