package live

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// claiming has a program say that another version of Go compiled it, of as many characters.
func claiming(t *testing.T, program, version string) string {
	t.Helper()
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	own := regexp.MustCompile(`go1\.\d\d`)
	at := bytes.Index(text, buildInfo)
	found := own.FindIndex(text[at:])
	if at < 0 || found == nil || found[0] > 64 { // before Go 1.18 it is a string elsewhere
		found, at = own.FindIndex(text), 0
	}
	old := bytes.Clone(text[at+found[0] : at+found[1]])
	changed := program + "-" + version
	if err := os.WriteFile(changed, bytes.ReplaceAll(text, old, []byte(version)), 0o700); err != nil {
		t.Fatal(err)
	}
	return changed
}

// TestNewerVersion reads a program that claims to be of a version that nobody knows. It is read as it is, but for reasons of waits that
// nothing confirms, or not at all.
func TestNewerVersion(t *testing.T) { readAsNewer(t, "local") }

// readAsNewer takes a program that a version of Go compiled, or the go command that runs the test.
func readAsNewer(t *testing.T, version string) {
	t.Helper()
	next := fmt.Sprintf("go1.%d", newest()+1)
	program := claiming(t, build(t, version, []string{"-ldflags", "-s -w"}, "CGO_ENABLED=0"), next)
	own, memory, info, err := both(t, exec.Command(program), Read)
	if err != nil {
		t.Log("not read: ", err)
		if strings.HasPrefix(cmp.Or(strings.TrimPrefix(version, "local"), strings.TrimPrefix(runtime.Version(), "go")), fmt.Sprintf("1.%d", newest())) {
			t.Error("want it to be read: its layout is that of the newest version")
		}
		return
	}
	if !strings.HasPrefix(info.Version, next) {
		t.Fatalf("version %q, want %s", info.Version, next)
	}
	elide(&memory, own)
	for i := range memory.Goroutines {
		for _, g := range own.Goroutines {
			if g.ID == memory.Goroutines[i].ID && memory.Goroutines[i].State == "waiting" {
				memory.Goroutines[i].State = g.State
			}
		}
	}
	if diff := gocmp.Diff(lines(own), lines(memory)); diff != "" {
		t.Errorf("(-its own dump +its memory):\n%s", diff)
	}
}

// TestOddVersions: what names no version of Go 1 is not read, and says so; what names one in another way is.
func TestOddVersions(t *testing.T) {
	program := build(t, "local", []string{"-ldflags", "-s -w"}, "CGO_ENABLED=0")
	_, _, _, err := both(t, exec.Command(claiming(t, program, "go2.00")), Read)
	if err == nil || !strings.Contains(err.Error(), "its version of Go is not known") {
		t.Errorf("go2.00: %v", err)
	}
	_, _, _, err = both(t, exec.Command(claiming(t, program, "go1.02")), Read)
	if err == nil || !strings.Contains(err.Error(), "too old to be read") {
		t.Errorf("go1.02: %v", err)
	}
	const older = "go1.19" // another table of functions
	_, _, _, err = both(t, exec.Command(claiming(t, program, older)), Read)
	if err == nil {
		t.Errorf("%s, compiled by %s, was read", older, runtime.Version())
	}
	for text, want := range map[string]string{
		"devel go1.28-1f3c2 Mon Nov 2 2026": "28", "go1.26.8 X:nodwarf5": "26", "go1.24.6 (Red Hat 1.24.6-1.el9)": "24", "go1.28rc1": "28", "devel +1f3c2": "", "": "",
	} {
		found := append(release.FindStringSubmatch(text), "", "")
		if got := cmp.Or(found[1], ""); got != want {
			t.Errorf("%q is minor version %q, want %q", text, got, want)
		}
	}
}
