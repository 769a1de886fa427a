package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/report"
)

// runLimit is how long one run may take on a machine that is busy with other tests; it measures nothing.
const runLimit = 90 * time.Second

// outcome is what a run of the program left.
type outcome struct {
	status         int
	stdout, stderr string
	dir            string // its --output-dir
	took           time.Duration
}

// command is a run of the program that ends after runLimit. It works in a directory of its own.
func command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), runLimit)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, program(t, programName), args...)
	cmd.Dir = t.TempDir()
	// Whoever holds our pipes after the end keeps Wait from returning well.
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// examine runs the program with a directory to write to, reads what it prints to the end, and wants an exit status. Where this node is
// examined and a second dump is taken, it is soon.
func examine(t testing.TB, want int, args ...string) outcome {
	t.Helper()
	dir := t.TempDir()
	flags := []string{"--output-dir", dir}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		flags = append(flags, "--interval", "1s")
	}
	o := finish(t, command(t, append(flags, args...)...))
	o.dir = dir
	if o.status != want {
		t.Fatalf("exit status %d, want %d\n%s%s", o.status, want, o.stdout, o.stderr)
	}
	return o
}

// finish runs a command and collects what it prints, where that was not arranged otherwise.
func finish(t testing.TB, cmd *exec.Cmd) outcome {
	t.Helper()
	return start(t, cmd)()
}

// start starts a command; the function that it returns waits for it.
func start(t testing.TB, cmd *exec.Cmd) (wait func() outcome) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &stdout
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &stderr
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() outcome {
		t.Helper()
		err := cmd.Wait()
		o := outcome{took: time.Since(began), stdout: stdout.String(), stderr: stderr.String()}
		var exit *exec.ExitError
		switch {
		case err == nil:
		case errors.As(err, &exit) && exit.Exited():
			o.status = exit.ExitCode()
		default:
			t.Fatalf("%v after %v\n%s%s", err, o.took, &stdout, &stderr)
		}
		return o
	}
}

// file is the path of the one file of that kind in the output directory, which holds nothing that is not whole.
func (o outcome) file(t testing.TB, extension string) string {
	t.Helper()
	return onlyFile(t, o.dir, extension)
}

func onlyFile(t testing.TB, dir, extension string) string {
	t.Helper()
	var found []string
	for _, name := range namesIn(t, dir) {
		if strings.HasSuffix(name, ".tmp") {
			t.Errorf("a partial file was left: %s", name)
		}
		if filepath.Ext(name) == extension {
			found = append(found, name)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s has %q, want one *%s", dir, namesIn(t, dir), extension)
	}
	return filepath.Join(dir, found[0])
}

func namesIn(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// report reads the JSON that was written.
func (o outcome) report(t testing.TB) report.Report {
	t.Helper()
	return readReport(t, o.file(t, ".json"))
}

// readReport reads a report, which has to fit the schema.
func readReport(t testing.TB, path string) report.Report {
	t.Helper()
	text := readFile(t, path)
	r, err := report.Read(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var document any
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	schema, err := reportSchema()
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(document); err != nil {
		t.Errorf("%s does not fit the schema: %v", path, err)
	}
	return r
}

// reportSchema is what every report has to fit.
var reportSchema = sync.OnceValues(func() (*jsonschema.Resolved, error) {
	var schema jsonschema.Schema
	if err := json.Unmarshal(report.JSONSchema(), &schema); err != nil {
		return nil, err
	}
	return schema.Resolve(nil)
})

func readFile(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// coverage is the entry of a source.
func coverage(t testing.TB, r report.Report, source string) forensics.Source {
	t.Helper()
	i := slices.IndexFunc(r.Coverage, func(s forensics.Source) bool { return s.Source == source })
	if i < 0 {
		t.Fatalf("%s is not in the coverage: %+v", source, r.Coverage)
	}
	return r.Coverage[i]
}

// findings are those with an id.
func findings(r report.Report, id string) []forensics.Finding {
	var found []forensics.Finding
	for _, f := range r.Findings {
		if f.ID == id {
			found = append(found, f)
		}
	}
	return found
}

// finding is the only one with an id.
func finding(t testing.TB, r report.Report, id string) forensics.Finding {
	t.Helper()
	list := findings(r, id)
	if len(list) != 1 {
		t.Fatalf("%d findings %s, want 1; all: %s", len(list), id, titles(r))
	}
	return list[0]
}

// wantNamed checks that a finding names things.
func wantNamed(t testing.TB, f forensics.Finding, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(f.Title+"\n"+f.Detail, part) {
			t.Errorf("%q is not in %s: %s\n%s", part, f.ID, f.Title, f.Detail)
		}
	}
}

// atLeast are the findings that are at least so severe.
func atLeast(r report.Report, severity forensics.Severity) []forensics.Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f forensics.Finding) bool {
		return f.Severity.Rank() < severity.Rank()
	})
}

// titles is for messages.
func titles(r report.Report) string {
	var b strings.Builder
	for _, f := range atLeast(r, forensics.Warning) {
		b.WriteString("\n\t" + string(f.Severity) + " " + f.ID + " (" + f.Subject.String() + "): " + f.Title)
	}
	for _, c := range r.Coverage {
		if c.Status != forensics.SourceRead {
			b.WriteString("\n\tcoverage " + c.Source + " " + string(c.Status) + ": " + c.Detail)
		}
	}
	return b.String()
}

// clean are the checks that found nothing although they need a source.
func clean(r report.Report, source string) []string {
	var ids []string
	for _, c := range checks.All() {
		needs := slices.ContainsFunc(c.Needs, func(n forensics.Need) bool { return len(n) == 1 && n[0] == source })
		if needs && slices.ContainsFunc(r.Outcomes, func(o forensics.Outcome) bool { return o.Check == c.ID && o.Status == forensics.OutcomeClean }) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// kinds are the kinds of a chain, from the root on.
func kinds(d forensics.Diagnosis) []forensics.Kind {
	var list []forensics.Kind
	for _, link := range d.Chain {
		list = append(list, link.Kind)
	}
	return list
}

// healthAt is what was learnt about the mount on a path.
func healthAt(t testing.TB, r report.Report, mountPoint string) mounts.Health {
	t.Helper()
	var found []mounts.Health
	for _, h := range r.MountHealth {
		if h.MountPoint == mountPoint {
			found = append(found, h)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d results for %s, want 1", len(found), mountPoint)
	}
	return found[0]
}
