package golden

import (
	"os"
	"path/filepath"
	"testing"
)

// failures is a test that notes whether it has failed.
type failures struct {
	testing.TB
	failed bool
}

func (f *failures) Helper()               {}
func (f *failures) Errorf(string, ...any) { f.failed = true }

func TestAStaleFileFails(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("testdata", 0o755); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join("testdata", "a.txt")
	if err := os.WriteFile(name, []byte("before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for got, want := range map[string]bool{"before\n": false, "now\n": true, "before": true} {
		f := &failures{TB: t}
		if Check(f, "a.txt", got); f.failed != want {
			t.Errorf("%q: failed is %t, want %t", got, f.failed, want)
		}
	}
	*update = true
	defer func() { *update = false }()
	if Check(t, "a.txt", "now\n"); !Update() {
		t.Error("the flag is not seen")
	}
	if text, err := os.ReadFile(name); err != nil || string(text) != "now\n" {
		t.Errorf("the file is %q, %v", text, err)
	}
}
