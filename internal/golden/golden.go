// Package golden is for tests: it holds texts to files below testdata, which the flag -update writes anew. That a text is
// right is judged by other tests, and by who reads the difference:
//
//	go test ./PACKAGE -run Golden -update && git diff
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Update says whether the files are to be written anew, for tests that make files of other kinds.
func Update() bool { return *update }

// Check fails the test if got is not what the file has; name is the file below testdata. Under -update the file is written.
func Check(t testing.TB, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", filepath.FromSlash(name))
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s has changed, see -update (-before +now):\n%s", file, diff)
	}
}
