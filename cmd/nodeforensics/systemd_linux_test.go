package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// unitLines are the settings of a unit of examples/systemd, without comments.
func unitLines(t *testing.T, name string) (lines []string) {
	t.Helper()
	for line := range strings.Lines(readFile(t, filepath.Join("../../examples/systemd", name))) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}
	return lines
}

// setting is the value of the only setting of that name.
func setting(t *testing.T, unit, name string) string {
	t.Helper()
	var found []string
	for _, line := range unitLines(t, unit) {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			found = append(found, value)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s has %s=%q, want one", unit, name, found)
	}
	return found[0]
}

var services = []string{"nodeforensics.service", "nodeforensics-check.service"}

// TestUnitsStartTheProgram has the program read the command lines of the units, without doing what they say.
func TestUnitsStartTheProgram(t *testing.T) {
	t.Parallel()
	for _, unit := range services {
		args := strings.Fields(setting(t, unit, "ExecStart"))
		if args[0] != "/usr/local/bin/nodeforensics" {
			t.Errorf("%s starts %s", unit, args[0])
		}
		if o := finish(t, command(t, append(args[1:], "--help")...)); o.status != exitDone {
			t.Errorf("%s: exit status %d: %s", unit, o.status, o.stderr)
		}
	}
	if got := setting(t, services[1], "OnFailure"); got != services[0] {
		t.Errorf("a critical problem starts %s", got)
	}
}

// TestUnitsMakeNoMountNamespace: systemd accesses each mount to make one (systemd.exec(5)), and waits for ever for one that is dead.
func TestUnitsMakeNoMountNamespace(t *testing.T) {
	t.Parallel()
	for _, unit := range services {
		for _, line := range unitLines(t, unit) {
			name, _, _ := strings.Cut(line, "=")
			if strings.HasPrefix(name, "Protect") || strings.HasPrefix(name, "Private") || strings.HasSuffix(name, "Paths") || strings.HasPrefix(name, "Bind") ||
				strings.HasPrefix(name, "Root") || slices.Contains([]string{"DynamicUser", "MountFlags", "TemporaryFileSystem", "ProcSubset", "MountImages", "ExtensionImages", "MountAPIVFS"}, name) {
				t.Errorf("%s: %s", unit, line)
			}
		}
	}
}

// TestUnitsAllowTheSame holds both services to the same privileges.
func TestUnitsAllowTheSame(t *testing.T) {
	t.Parallel()
	var allowed [2][]string
	for i, unit := range services {
		lines := unitLines(t, unit)
		from := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "MemoryMax=") })
		if from < 0 || len(lines)-from < 8 {
			t.Fatalf("%s: %q", unit, lines)
		}
		allowed[i] = lines[from:]
	}
	if !slices.Equal(allowed[0], allowed[1]) {
		t.Errorf("%q\n%q", allowed[0], allowed[1])
	}
}

// TestUnitKeepsFiveReports runs the command of the unit that removes older ones.
func TestUnitKeepsFiveReports(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var want []string
	for i := range 7 {
		for _, extension := range []string{"html", "json"} {
			name := fmt.Sprintf("nodeforensics-node-1-20261120T0%d0000Z.%s", i, extension)
			at := time.Date(2026, 11, 20, i, 0, 0, 0, time.UTC)
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
				t.Fatal(err)
			}
			if i >= 2 {
				want = append(want, name)
			}
		}
	}
	want = append(want, "notes.json")
	if err := os.WriteFile(filepath.Join(dir, "notes.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	script, ok := strings.CutPrefix(setting(t, services[0], "ExecStopPost"), "-/bin/sh -c '")
	script = strings.NewReplacer("$$", "$", "%%", "%", "/var/lib/nodeforensics", dir).Replace(strings.TrimSuffix(script, "'"))
	if out, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", script).CombinedOutput(); !ok || err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
	if got := namesIn(t, dir); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
