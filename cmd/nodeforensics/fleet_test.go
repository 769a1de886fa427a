package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/report"
	"github.com/nodeforensics/nodeforensics/report/fleet"
)

// reportsOf writes a directory of reports: of a captured kubelet whose runtime is stopped, under other names.
func reportsOf(t testing.TB, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	r := analyze(t, exitDone, capture(t, "kubelet-1.34.4-runtime-stopped")).report(t)
	for i, name := range names {
		r.Node.Name, r.Evidence.Node.Name = name, name
		r.Evidence.Collected = time.Date(2026, 11, 20, 11, i, 0, 0, time.UTC)
		writeTo(t, filepath.Join(dir, name+".json"), jsonText(t, r))
	}
	return dir
}

func jsonText(t testing.TB, r report.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := report.JSON(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func write(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	return err
}

func writeTo(t testing.TB, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// summaryOf runs the command and reads the JSON that it writes.
func summaryOf(t testing.TB, want int, args ...string) (fleet.Summary, outcome) {
	t.Helper()
	dir := t.TempDir()
	o := finish(t, command(t, append([]string{"fleet", "--output-dir", dir}, args...)...))
	if o.dir = dir; o.status != want {
		t.Fatalf("exit status %d, want %d\n%s%s", o.status, want, o.stdout, o.stderr)
	}
	var s fleet.Summary
	if err := json.Unmarshal([]byte(readFile(t, o.file(t, ".json"))), &s); err != nil {
		t.Fatal(err)
	}
	return s, o
}

func TestFleetJoinsADirectory(t *testing.T) {
	dir := reportsOf(t, "node-1", "node-2", "node-10")
	writeTo(t, filepath.Join(dir, "node-2.html"), []byte("<html>"))
	writeTo(t, filepath.Join(dir, "other.txt"), []byte("not read"))
	writeTo(t, filepath.Join(dir, "cut.json"), []byte(`{"schema":`))
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write([]byte(strings.ReplaceAll(readFile(t, filepath.Join(dir, "node-1.json")), `"node-1"`, `"node-3"`)))
	_ = w.Close()
	writeTo(t, filepath.Join(dir, "node-3.json.gz"), packed.Bytes())
	s, o := summaryOf(t, exitDone, dir)
	var nodes []string
	for _, n := range s.Causes[0].Nodes {
		nodes = append(nodes, n.Node)
	}
	if diff := cmp.Diff([]string{"node-1", "node-2", "node-3", "node-10"}, nodes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, want := range []string{"4 nodes: 4 sick; 1 file not read", "container runtime does not respond: 4 nodes, since 2026-11-20 10:51", "cut.json: the", "Report: "} { // what follows depends on where the line is wrapped
		if !strings.Contains(o.stdout, want) {
			t.Errorf("%q is not in\n%s", want, o.stdout)
		}
	}
	page := readFile(t, o.file(t, ".html"))
	way, err := filepath.Rel(o.dir, filepath.Join(dir, "node-2.html"))
	if err != nil || strings.Count(page, `"`+filepath.ToSlash(way)+`"`) == 0 {
		t.Errorf("no link to %s: %v", way, err)
	}
	if strings.Contains(page, "node-10.html") {
		t.Error("a link to a page that is not there")
	}
	info, err := os.Stat(o.file(t, ".html"))
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	again, _ := summaryOf(t, exitDone, dir, o.dir) // what it has written itself is no report
	if diff := cmp.Diff(s.NotExamined, again.NotExamined); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFleetReadsFilesStandardInputAndArchives(t *testing.T) {
	dir := reportsOf(t, "node-1", "node-2")
	archive := filepath.Join(t.TempDir(), "reports.tar.gz")
	var text bytes.Buffer
	z := gzip.NewWriter(&text)
	w := tar.NewWriter(z)
	member := readFile(t, filepath.Join(dir, "node-2.json"))
	if err := errors.Join(w.WriteHeader(&tar.Header{Name: "reports/node-2.json", Mode: 0o600, Size: int64(len(member)), Format: tar.FormatUSTAR}),
		write(w, member), w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	writeTo(t, archive, text.Bytes())
	cmd := command(t, "fleet", "-", archive, "-o", "json")
	cmd.Stdin = strings.NewReader(readFile(t, filepath.Join(dir, "node-1.json")) + `{"kind":"Node","apiVersion":"v1","metadata":{"name":"node-9"}}`)
	o := finish(t, cmd)
	var s fleet.Summary
	if err := json.Unmarshal([]byte(o.stdout), &s); err != nil {
		t.Fatalf("%v\n%s", err, o.stderr)
	}
	if len(s.Nodes) != 2 || len(s.Causes[0].Nodes) != 2 || s.Schema != "nodeforensics.fleet/v1" {
		t.Errorf("%+v", s)
	}
	if diff := cmp.Diff([]fleet.Missing{{Node: "node-9", Reason: "no report"}}, s.NotExamined); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	yaml := finish(t, command(t, "fleet", dir, "-o", "yaml"))
	if yaml.status != exitDone || !strings.HasPrefix(yaml.stdout, "schema: nodeforensics.fleet/v1\n") {
		t.Errorf("status %d\n%s", yaml.status, yaml.stdout)
	}
}

func TestFleetOfNothing(t *testing.T) {
	empty := t.TempDir()
	for name, args := range map[string][]string{"an empty directory": {empty}, "no such file": {filepath.Join(empty, "none.json")}} {
		o := finish(t, command(t, append([]string{"fleet"}, args...)...))
		if o.status != exitFailed || !strings.Contains(o.stdout, "No report was read") || !strings.Contains(o.stderr, "no report was read") {
			t.Errorf("%s: status %d\n%s%s", name, o.status, o.stdout, o.stderr)
		}
	}
	if o := finish(t, command(t, "fleet")); o.status != exitUsage {
		t.Errorf("status %d\n%s", o.status, o.stderr)
	}
}

// Nodes of which another command knows why there is no report.
func TestFleetListsNodesThatDidNotRespond(t *testing.T) {
	out := t.TempDir()
	stdout, err := os.Create(filepath.Join(out, "stdout"))
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	a := &app{out: newTerminal(stdout), err: newTerminal(stdout)}
	f := fleetOutput{dir: out, toDir: func() bool { return true }}
	if err := a.fleet(f, nil, []fleet.Missing{{Node: "node-2", Reason: "no way in"}}, time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	_ = a.out.flush()
	if text := readFile(t, stdout.Name()); !strings.Contains(text, "node-2: no way in") || !strings.Contains(text, "1 not examined") {
		t.Errorf("it says\n%s", text)
	}
}

// Ten thousand reports of 300 kB, as a whole process. They take 3 GB of disk:
//
//	NODEFORENSICS_FLEET=DIR go test ./cmd/nodeforensics -run '^$' -bench FleetAtScale -benchtime 1x
func BenchmarkFleetAtScale(b *testing.B) {
	dir := os.Getenv("NODEFORENSICS_FLEET")
	if dir == "" {
		b.Skip("NODEFORENSICS_FLEET is not set to a directory with room for 3 GB")
	}
	const reports, name = 10_000, "NAME-OF-NODE"
	var bases []string
	for _, of := range []string{"kubelet-1.17.4-hung-cephfs", "kubelet-1.34.4-runtime-stopped", "kubelet-1.34.4-disk-pressure", "kubelet-1.34.4-unmount-busy"} {
		r := analyze(b, exitDone, capture(b, of)).report(b)
		r.Node.Name, r.Evidence.Collected = name, time.Date(2026, 11, 20, 11, 0, 0, 0, time.UTC)
		well := r
		well.Diagnoses, well.Findings = nil, nil
		bases = append(bases, string(jsonText(b, r)), string(jsonText(b, well)), string(jsonText(b, well)), string(jsonText(b, well)))
	}
	total := 0
	for i := range reports {
		text := strings.ReplaceAll(bases[i%len(bases)], name, fmt.Sprintf("worker-%d", i))
		total += len(text)
		writeTo(b, filepath.Join(dir, fmt.Sprintf("worker-%d.json", i)), []byte(text))
	}
	b.SetBytes(int64(total))
	for b.Loop() {
		cmd := command(b, "fleet", dir, "--output-dir", filepath.Join(b.TempDir(), "out"))
		if o := finish(b, cmd); o.status != exitDone {
			b.Fatalf("exit status %d\n%s", o.status, o.stderr)
		}
		b.ReportMetric(float64(peakMemory(cmd.ProcessState))/(1<<20), "MiB-peak")
		b.ReportMetric((cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), "cpu-s")
	}
}

// With one key, a name has the same placeholder in all reports; without one, in no two.
func TestRedactKey(t *testing.T) {
	dir := t.TempDir()
	key, short := filepath.Join(dir, "key"), filepath.Join(dir, "short")
	writeTo(t, key, []byte("sixteen bytes, or more"))
	writeTo(t, short, []byte("short"))
	run := func(args ...string) report.Report {
		return analyze(t, exitDone, append([]string{capture(t, "kubelet-1.34.4-unmount-busy"), "--redact", "strict"}, args...)...).report(t)
	}
	a, b, other := run("--redact-key", key), run("--redact-key", key), run()
	title := func(r report.Report) string { return r.Diagnoses[0].Title }
	if a.Evidence.Collector.RedactionKey == "" || a.Evidence.Collector.RedactionKey != b.Evidence.Collector.RedactionKey || other.Evidence.Collector.RedactionKey != "" {
		t.Errorf("keys %q, %q, %q", a.Evidence.Collector.RedactionKey, b.Evidence.Collector.RedactionKey, other.Evidence.Collector.RedactionKey)
	}
	if strings.Contains(title(a), "web-lab-node-1") || title(a) != title(b) || title(a) == title(other) {
		t.Errorf("titles %q, %q, %q", title(a), title(b), title(other))
	}
	if strings.Contains(string(jsonText(t, a)), "sixteen bytes") {
		t.Error("the key is in the report")
	}
	o := finish(t, command(t, "analyze", capture(t, "kubelet-1.34.4-unmount-busy"), "--redact-key", short))
	if o.status != exitUsage || !strings.Contains(o.stderr, "5 bytes, want at least 16") {
		t.Errorf("status %d\n%s", o.status, o.stderr)
	}
}
