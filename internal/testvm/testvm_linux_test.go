//go:build download

package testvm_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/testvm"
)

func TestMain(m *testing.M) {
	testvm.Main()
	os.Exit(m.Run())
}

// A machine has the suite's kernel, the modules that were asked for with their parameters and what they depend on, the
// files, and gives back what the test leaves.
func TestMachine(t *testing.T) {
	if testvm.Inside() {
		copyOut(t, "/proc/sys/kernel/osrelease", "/proc/modules", "/sys/module/brd/parameters/rd_nr", "/given", "/sys/class/net/lo/flags")
		return
	}
	given := filepath.Join(t.TempDir(), "given")
	if err := os.WriteFile(given, []byte("from outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := testvm.Run(t, testvm.Machine{
		Modules: []string{"brd rd_nr=3", "nfsv4"},
		Files:   map[string]string{"/given": given},
	})
	for name, want := range map[string]string{
		"osrelease": "6.1.", "modules": "sunrpc ", "rd_nr": "3", "given": "from outside", "flags": "0x9",
	} {
		text, err := os.ReadFile(filepath.Join(out, name))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s is %q (%v), want %q in it", name, text, err, want)
		}
	}
}

// copyOut leaves copies of files for the test outside.
func copyOut(t *testing.T, files ...string) {
	t.Helper()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
		} else if err := os.WriteFile(filepath.Join(testvm.Out(), filepath.Base(file)), text, 0o600); err != nil {
			t.Error(err)
		}
	}
}
