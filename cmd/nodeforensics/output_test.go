package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/report"
)

// TestOutputIsPrintedAndWritesNoFile tries each format of each command.
func TestOutputIsPrintedAndWritesNoFile(t *testing.T) {
	t.Parallel()
	dump, log := capture(t, "kubelet-1.34.4-hung-csi", "goroutine.debug2"), capture(t, "kubelet-1.34.4-hung-csi", "kubelet.log.gz")
	saved := analyze(t, exitDone, dump).file(t, ".json")
	begins := map[string]string{formatText: "", formatJSON: "{\n", formatYAML: "", formatHTML: "<!", formatMarkdown: ""}
	for _, tt := range []struct {
		args    []string
		formats []string
	}{
		{[]string{"analyze", dump}, reportFormats},
		{[]string{"render", saved}, reportFormats},
		{[]string{"goroutines", dump}, goroutineFormats},
		{[]string{"logs", log}, dataFormats},
		{[]string{"checks"}, []string{formatText, formatYAML}},
		{[]string{"checks", "mount-hung"}, dataFormats},
		{[]string{"version"}, dataFormats},
	} {
		printed := map[string]string{}
		for _, format := range tt.formats {
			cmd := command(t, append(tt.args, "--output", format)...)
			o := finish(t, cmd)
			if o.status != exitDone || o.stderr != "" || o.stdout == "" || !strings.HasPrefix(o.stdout, begins[format]) {
				t.Errorf("%v as %s: exit status %d, %q, %.80q", tt.args, format, o.status, o.stderr, o.stdout)
			}
			if names := namesIn(t, cmd.Dir); len(names) != 0 {
				t.Errorf("%v as %s wrote %q", tt.args, format, names)
			}
			printed[format] = o.stdout
		}
		if tt.args[0] == "analyze" { // which says when it ran
			continue
		}
		if printed[formatJSON] != "" {
			sameValue(t, printed[formatJSON], printed[formatYAML])
		}
	}
}

// sameValue wants a JSON and a YAML document to say the same.
func sameValue(t *testing.T, inJSON, inYAML string) {
	t.Helper()
	var want, got any
	if err := json.Unmarshal([]byte(inJSON), &want); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(inYAML), &got); err != nil {
		t.Fatalf("%v in %.2000s", err, inYAML)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("YAML differs from JSON: %.2000s", diff)
	}
}

func TestOutputAndFilesTogether(t *testing.T) {
	t.Parallel()
	o := analyze(t, exitDone, "-o", "json", capture(t, "kubelet-1.34.4-hung-csi", "goroutine.debug2"))
	if o.stdout != readFile(t, o.file(t, ".json")) {
		t.Error("the file has not what was printed")
	}
	for _, extension := range []string{".html", ".json"} {
		if !strings.Contains(o.stderr, o.file(t, extension)) {
			t.Errorf("%q does not name the %s", o.stderr, extension)
		}
	}
}

// TestFormerFlags holds what scripts may use.
func TestFormerFlags(t *testing.T) {
	t.Parallel()
	dump := capture(t, "kubelet-1.34.4-hung-csi", "goroutine.debug2")
	dir := t.TempDir()
	if o := finish(t, command(t, "analyze", "--out", dir, dump)); o.status != exitDone {
		t.Fatalf("exit status %d: %s", o.status, o.stderr)
	}
	if _, err := report.Read(strings.NewReader(readFile(t, onlyFile(t, dir, ".json")))); err != nil {
		t.Error(err)
	}
	old, now := finish(t, command(t, "goroutines", "--json", dump)), finish(t, command(t, "goroutines", "-o", "json", dump))
	if old.stdout != now.stdout || old.status != exitDone {
		t.Errorf("--json says something else than -o json: exit status %d, %s", old.status, old.stderr)
	}
	for _, name := range []string{"--help", "analyze --help", "logs --help"} {
		help := finish(t, command(t, strings.Fields(name)...)).stdout
		for _, flag := range []string{"--out ", "--json", "--format"} {
			if strings.Contains(help, flag) {
				t.Errorf("%s names %s", name, flag)
			}
		}
	}
}

// TestResultsNeverOverwriteEachOther runs twice with one name, for a node and a time that are not known.
func TestResultsNeverOverwriteEachOther(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dump := capture(t, "kubelet-1.34.4-hung-csi", "goroutine.debug2")
	for range 3 {
		if o := finish(t, command(t, "analyze", "--output-dir", dir, dump)); o.status != exitDone {
			t.Fatalf("exit status %d: %s", o.status, o.stderr)
		}
	}
	names := namesIn(t, dir)
	if len(names) != 6 || !slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(name, "-3.html") }) {
		t.Fatalf("the files are %q", names)
	}
	for _, name := range names {
		if !strings.HasPrefix(name, "nodeforensics-unknown-node-unknown-time") {
			t.Errorf("%s does not say that node and time are not known", filepath.Join(dir, name))
		}
	}
}

func TestFileNameSaysNodeAndTime(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		node string
		at   time.Time
		want string
	}{
		{"node-1.example", at, "nodeforensics-node-1.example-20261122T100000Z"},
		{"node-1", time.Time{}, "nodeforensics-node-1-unknown-time"},
		{"", at, "nodeforensics-unknown-node-20261122T100000Z"},
		{"../..", time.Time{}, "nodeforensics-_-unknown-time"},
		{"", time.Time{}, "nodeforensics-unknown-node-unknown-time"},
	} {
		r := report.Report{Evidence: forensics.Evidence{Collected: tt.at}}
		r.Node.Name = tt.node
		if got := fileName(r); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func TestFailOn(t *testing.T) {
	t.Parallel()
	dump := capture(t, "kubelet-1.34.4-hung-csi", "goroutine.debug2") // most checks need more
	saved := analyze(t, exitFinding, "--fail-on", "critical,incomplete", dump).file(t, ".json")
	full := filepath.Join(t.TempDir(), "full.json")
	r := readReport(t, saved)
	for i := range r.Outcomes {
		r.Outcomes[i].Status = forensics.OutcomeClean
	}
	if err := os.WriteFile(full, must(json.Marshal(r)), 0o600); err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.json")
	r.Evidence.Collector.Interrupted = "interrupted"
	if err := os.WriteFile(cut, must(json.Marshal(r)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		file, on string
		want     int
	}{
		{saved, "incomplete", exitFinding},
		{full, "incomplete", exitDone},
		{cut, "incomplete", exitFinding},
		{full, "info", exitFinding},
		{full, "info,incomplete", exitFinding},
		{full, "severe", exitUsage},
	} {
		if o := finish(t, command(t, "render", "-o", "text", "--fail-on", tt.on, tt.file)); o.status != tt.want {
			t.Errorf("--fail-on %s of %s: exit status %d, want %d: %s", tt.on, filepath.Base(tt.file), o.status, tt.want, o.stderr)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	t.Parallel()
	known := []string{"output", "output-dir", "out", "timeout", "since", "no-logs", "log"}
	for word, want := range map[string]string{
		"outputdir": "; did you mean --output-dir?", "outputt": "; did you mean --output?", "tmeout": "; did you mean --timeout?", "zebra": "", "x": "", "": "",
	} {
		if got := didYouMean(word, known, "--"); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}
