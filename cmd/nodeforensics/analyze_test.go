package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/report"
	"github.com/nodeforensics/nodeforensics/report/fleet"
)

const captures = "../../testdata/captures/"

// capture is the path of a file of a captured kubelet.
func capture(t testing.TB, parts ...string) string {
	t.Helper()
	path, err := filepath.Abs(captures + filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// analyze runs the analysis of files and wants an exit status.
func analyze(t testing.TB, want int, args ...string) outcome {
	t.Helper()
	dir := t.TempDir()
	o := finish(t, command(t, append([]string{"analyze", "--output-dir", dir}, args...)...))
	o.dir = dir
	if o.status != want {
		t.Fatalf("exit status %d, want %d\n%s%s", o.status, want, o.stdout, o.stderr)
	}
	return o
}

func TestHousekeepingIsFoundInTheDumpsOfHungKubeletsAlone(t *testing.T) {
	t.Parallel()
	for name, goroutine := range map[string]string{"kubelet-1.17.4-hung-cephfs": "117", "kubelet-1.34.4-hung-csi": "171"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := analyze(t, exitDone, capture(t, name, "goroutine.debug2")).report(t)
			f := finding(t, r, "kubelet-housekeeping-blocked")
			if f.Severity != forensics.Critical || len(f.Because) != 1 || f.Because[0].ID != goroutine {
				t.Errorf("%s because of %v, want critical because of goroutine %s", f.Severity, f.Because, goroutine)
			}
			for _, source := range []string{forensics.SourceMounts, forensics.SourceHealth, forensics.SourceThreads} {
				if ids := clean(r, source); len(ids) > 0 {
					t.Errorf("%q are clean without %s", ids, source)
				}
			}
		})
	}
}

func TestHousekeepingIsNotFoundInTheDumpsOfOtherTroubles(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"kubelet-1.34.4-unmount-busy", "kubelet-1.34.4-runtime-stopped"} {
		for _, form := range []string{"goroutine.debug0", "goroutine.debug1", "goroutine.debug2"} {
			t.Run(name+"/"+form, func(t *testing.T) {
				t.Parallel()
				r := analyze(t, exitDone, capture(t, name, form), capture(t, name, "pods.json"), capture(t, name, "mountinfo")).report(t)
				if list := findings(r, "kubelet-housekeeping-blocked"); len(list) > 0 {
					t.Errorf("housekeeping is blocked: %v", list)
				}
				if len(r.Evidence.Dumps) != 1 || len(r.Evidence.Mounts.Mounts) == 0 {
					t.Errorf("not all was read: %+v", r.Coverage)
				}
			})
		}
	}
}

// A directory is read like its files, links in it are not followed, and what is none of it is one line.
func TestDirectoriesAreRead(t *testing.T) {
	t.Parallel()
	name := "kubelet-1.34.4-hung-csi"
	dir := t.TempDir()
	for _, file := range []string{"goroutine.debug2", "mountinfo", "pods.json"} {
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700), os.WriteFile(filepath.Join(dir, "a", "b", file), []byte(readFile(t, capture(t, name, file))), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	err := errors.Join(
		os.WriteFile(filepath.Join(dir, "one"), []byte("hello\n"), 0o600), os.WriteFile(filepath.Join(dir, "two"), []byte("hello\n"), 0o600),
		os.Symlink(capture(t, name, "kubelet.log.gz"), filepath.Join(dir, "link.gz")),
	)
	if err != nil {
		t.Fatal(err)
	}
	o := analyze(t, exitDone, dir)
	wantOneLine(t, o.stderr, "2 files skipped: unrecognized format", filepath.Join(dir, "one"))
	r := o.report(t)
	finding(t, r, "kubelet-housekeeping-blocked")
	if len(r.Evidence.Mounts.Mounts) == 0 || r.Evidence.Logs != nil {
		t.Errorf("want the mounts, and not what a link leads to: %+v", r.Coverage)
	}
	if o := finish(t, command(t, "goroutines", dir)); o.status != exitDone || !strings.Contains(o.stdout, "housekeeping") {
		t.Errorf("goroutines: %d, %s", o.status, o.stderr)
	}
	if o := finish(t, command(t, "logs", dir, capture(t, name, "kubelet.log.gz"))); o.status != exitDone || !strings.Contains(o.stderr, "5 files skipped: not a log") {
		t.Errorf("logs: %d, %s", o.status, o.stderr)
	}
}

func TestRenderGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	name := "kubelet-1.34.4-hung-csi"
	first := analyze(t, exitDone, capture(t, name, "goroutine.debug2"), capture(t, name, "mountinfo"), capture(t, name, "pods.json"))
	dir := t.TempDir()
	o := finish(t, command(t, "render", "--output-dir", dir, first.file(t, ".json")))
	if o.status != exitDone {
		t.Fatalf("exit status %d: %s", o.status, o.stderr)
	}
	for _, kind := range []string{".html", ".json"} {
		if readFile(t, onlyFile(t, dir, kind)) != readFile(t, first.file(t, kind)) {
			t.Errorf("render writes another %s", kind)
		}
	}
}

func TestObjectsOfTheAPIAreJudged(t *testing.T) {
	t.Parallel()
	objects := `{"apiVersion": "v1", "kind": "List", "items": [
		{"kind": "Node", "metadata": {"name": "node-1"}, "status": {"conditions": [{"type": "Ready", "status": "True"}], "nodeInfo": {"kubeletVersion": "v1.26.1"}}},
		{"kind": "Pod", "metadata": {"name": "new", "namespace": "shop", "uid": "u-new", "creationTimestamp": "2026-11-20T09:00:00Z"}, "spec": {"nodeName": "node-1"}, "status": {"phase": "Failed", "reason": "Evicted", "message": "token=hunter2secret"}},
		{"kind": "Pod", "metadata": {"name": "old", "namespace": "shop", "uid": "u-old", "creationTimestamp": "2026-11-20T08:00:00Z"}, "spec": {"nodeName": "node-1"}, "status": {"phase": "Succeeded"}},
		{"kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "shop", "deletionTimestamp": "2026-11-20T09:00:00Z", "finalizers": ["kubernetes.io/pvc-protection"]}}]}`
	file := filepath.Join(t.TempDir(), "objects.json")
	if err := os.WriteFile(file, []byte(objects), 0o600); err != nil {
		t.Fatal(err)
	}
	o := analyze(t, exitDone, "--terminated-pod-gc-threshold=1", file)
	r := o.report(t)
	collected := findings(r, "pod-podgc")
	if i := slices.IndexFunc(collected, func(f forensics.Finding) bool { return f.Subject.Kind == forensics.KindController }); i < 0 || !slices.Equal(collected[i].Pods, []string{"u-old"}) {
		t.Errorf("%+v: want the oldest pod deleted, as by 1.26", collected)
	}
	wantNamed(t, finding(t, r, "pvc-terminating-held"), "shop/data", "No pod in the dump uses it")
	if text := readFile(t, o.file(t, ".json")); strings.Contains(text, "hunter2secret") {
		t.Error("a secret of a pod's message is in the report")
	}
}

// What several calls of kubectl wrote to one file is one dump, as old as the file.
func TestObjectsOneAfterTheOther(t *testing.T) {
	t.Parallel()
	file, saved := filepath.Join(t.TempDir(), "objects.json"), time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	var objects strings.Builder
	for _, name := range []string{"web-0", "web-1"} {
		fmt.Fprintf(&objects, "{\n    \"apiVersion\": \"v1\",\n    \"kind\": \"Pod\",\n    \"metadata\": {\"name\": %q, \"namespace\": \"shop\", \"uid\": \"u-%s\"}\n}\n", name, name)
	}
	if err := errors.Join(os.WriteFile(file, []byte(objects.String()), 0o600), os.Chtimes(file, saved, saved)); err != nil {
		t.Fatal(err)
	}
	d := analyze(t, exitDone, file).report(t).Evidence.Cluster
	if d == nil || len(d.Pods) != 2 || d.Saved == nil || !d.Saved.Equal(saved) {
		t.Errorf("%+v, want two pods, saved at %s", d, saved)
	}
}

// Each file is a source of which the report says how large it is.
func TestSizesOfInputsAreTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args, sizes := []string{}, map[string]int64{}
	for name, text := range map[string]string{
		"objects.json": `{"apiVersion": "v1", "kind": "List", "items": [{"kind": "Pod", "metadata": {"name": "new", "namespace": "shop", "uid": "u-new", "resourceVersion": "7"}}]}`,
		"pods.json":    `{"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [{"metadata": {"name": "web", "namespace": "shop", "uid": "u-web"}}]}`,
		"mountinfo":    "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n",
		"dump.txt":     "goroutine 1 [select, 5 minutes]:\nmain.main()\n\t/src/main.go:7 +0x1\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		args, sizes[file] = append(args, file), int64(len(text))
	}
	coverage := analyze(t, exitDone, args...).report(t).Coverage
	for file, size := range sizes {
		if !slices.ContainsFunc(coverage, func(s forensics.Source) bool {
			return s.Bytes == size && (s.Detail == file || strings.HasSuffix(s.Source, ":"+file))
		}) {
			t.Errorf("%s of %d bytes is not among %+v", file, size, coverage)
		}
	}
}

func TestADumpIsReadFromStandardInput(t *testing.T) {
	t.Parallel()
	in, err := os.Open(capture(t, "kubelet-1.34.4-hung-csi", "goroutine.debug2"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	cmd := command(t, "analyze", "-o", "json", "-")
	cmd.Stdin = in
	o := finish(t, cmd)
	r, err := report.Read(strings.NewReader(o.stdout))
	if err != nil || o.status != exitDone {
		t.Fatalf("exit status %d, %v: %s", o.status, err, o.stderr)
	}
	finding(t, r, "kubelet-housekeeping-blocked")
	if names := namesIn(t, cmd.Dir); len(names) != 0 {
		t.Errorf("files were written beside: %q", names)
	}
}

func TestFailOnTurnsFindingsIntoAnExitStatus(t *testing.T) {
	t.Parallel()
	hung := capture(t, "kubelet-1.17.4-hung-cephfs", "goroutine.debug2")
	well := capture(t, "kubelet-1.34.4-unmount-busy", "goroutine.debug2")
	for _, tt := range []struct {
		name, file, severity string
		want                 int
	}{
		{"a critical finding is critical", hung, "critical", exitFinding},
		{"a critical finding is more than a warning", hung, "warning", exitFinding},
		{"no finding", well, "critical", exitDone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := analyze(t, tt.want, "--fail-on", tt.severity, tt.file)
			o.report(t) // is written all the same
		})
	}
	t.Run("a file that cannot be read changes nothing", func(t *testing.T) {
		t.Parallel()
		analyze(t, exitFinding, "--fail-on", "critical", hung, filepath.Join(t.TempDir(), "missing"))
	})
}

func TestARenderedReportIsAlwaysTheSame(t *testing.T) {
	t.Parallel()
	first := analyze(t, exitDone, capture(t, "kubelet-1.34.4-hung-csi", "goroutine.debug2"), capture(t, "kubelet-1.34.4-hung-csi", "mountinfo"))
	saved := first.file(t, ".json")
	for range 2 {
		dir := t.TempDir()
		o := finish(t, command(t, "render", "--output-dir", dir, saved))
		if o.status != exitDone {
			t.Fatalf("exit status %d: %s", o.status, o.stderr)
		}
		for _, extension := range []string{".html", ".json"} {
			if diff := cmp.Diff(readFile(t, first.file(t, extension)), readFile(t, onlyFile(t, dir, extension))); diff != "" {
				t.Errorf("%s differs (-first +rendered): %.2000s", extension, diff)
			}
		}
	}
}

func TestAnAnalysisOfAnAnalysisIsTheSame(t *testing.T) {
	t.Parallel()
	dump, table := capture(t, "kubelet-1.17.4-hung-cephfs", "goroutine.debug2"), capture(t, "kubelet-1.17.4-hung-cephfs", "mountinfo")
	first := analyze(t, exitDone, dump, table)
	again := analyze(t, exitDone, first.file(t, ".json")).report(t)
	wantSameJudgement(t, first.report(t), again)
}

// wantSameJudgement compares what two reports find.
func wantSameJudgement(t testing.TB, a, b report.Report) {
	t.Helper()
	if diff := cmp.Diff(a.Findings, b.Findings); diff != "" {
		t.Errorf("other findings (-first +second):\n%s", diff)
	}
	if diff := cmp.Diff(a.Diagnoses, b.Diagnoses); diff != "" {
		t.Errorf("other diagnoses (-first +second):\n%s", diff)
	}
	if diff := cmp.Diff(a.Outcomes, b.Outcomes); diff != "" {
		t.Errorf("other outcomes (-first +second):\n%s", diff)
	}
}

// TestBadInput: one line names the file and the reason, what could be read is reported, and nothing is left half done.
func TestBadInputIsNamedInOneLineAndTheRestIsJudged(t *testing.T) {
	t.Parallel()
	good := capture(t, "kubelet-1.34.4-hung-csi", "goroutine.debug2")
	dump := readFile(t, good)
	for _, tt := range []struct {
		name, content string
		reason        string
	}{
		{"dump cut in the middle", dump[:len(dump)/2], "cut"},
		{"JSON of another schema", `{"schema": "somebody.else/v3", "findings": []}`, "somebody.else/v3"},
		{"JSON without a schema", `{"findings": []}`, "schema"},
		{"JSON cut in the middle", `{"schema": "nodeforensics.report/v2", "findings": [`, "JSON"},
		{"report with a field of another type", `{"schema": "nodeforensics.report/v2", "findings": "many"}`, "findings"},
		{"list of nothing", `{"kind": "NodeList", "items": []}`, "no pods, nodes"},
		{"objects of no use", `{"kind": "List", "items": [{"kind": "Secret", "metadata": {"name": "a"}}]}`, "Secret"},
		{"list of pods cut in the middle", `{"kind": "PodList", "items": [{"metadata": {"name": "a"`, "unexpected"},
		{"empty file", "", "empty"},
		{"file of blanks", " \n\t\n", "empty"},
		{"some text", "this is not what you are looking for\n", "unrecognized format"},
		{"an ELF header", "\x7fELF\x02\x01\x01\x00\x00\x00", "unrecognized format"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bad := filepath.Join(t.TempDir(), "bad file")
			if err := os.WriteFile(bad, []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
			o := analyze(t, exitDone, bad, good)
			wantOneLine(t, o.stderr, bad, tt.reason)
			finding(t, o.report(t), "kubelet-housekeeping-blocked")
		})
	}
	t.Run("a directory without files", func(t *testing.T) {
		t.Parallel()
		o := analyze(t, exitDone, t.TempDir(), good)
		finding(t, o.report(t), "kubelet-housekeeping-blocked")
	})
	t.Run("a file that is not there", func(t *testing.T) {
		t.Parallel()
		missing := filepath.Join(t.TempDir(), "missing")
		o := analyze(t, exitDone, missing, good)
		wantOneLine(t, o.stderr, missing, "no such file")
		finding(t, o.report(t), "kubelet-housekeeping-blocked")
	})
	t.Run("nothing that can be read writes nothing", func(t *testing.T) {
		t.Parallel()
		o := analyze(t, exitFailed, filepath.Join(t.TempDir(), "missing"))
		if names := namesIn(t, o.dir); len(names) != 0 {
			t.Errorf("written: %q", names)
		}
	})
	t.Run("a second examination of a node is not mixed with the first", func(t *testing.T) {
		t.Parallel()
		var saved []string
		for _, name := range []string{"a", "b"} {
			e := forensics.NewEvidence()
			e.Collected, e.Node.Name = e.Collected.AddDate(2026, 1, 1), "node-a"
			text, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			saved = append(saved, path)
		}
		o := analyze(t, exitDone, saved...)
		wantOneLine(t, o.stderr, saved[1], "one at a time")
		if r := o.report(t); r.Node.Name != "node-a" {
			t.Errorf("node %q", r.Node.Name)
		}
	})
	t.Run("render", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		o := finish(t, command(t, "render", "--output-dir", dir, good))
		wantOneLine(t, o.stderr, good)
		if names := namesIn(t, dir); o.status != exitFailed || len(names) != 0 {
			t.Errorf("exit status %d, files %q", o.status, names)
		}
	})
}

// wantOneLine checks that there is one line which says something.
func wantOneLine(t testing.TB, text string, parts ...string) {
	t.Helper()
	if strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") {
		t.Errorf("want one line, got %q", text)
	}
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q does not say %q", text, part)
		}
	}
}

func TestWrongUsageIsExplainedAndDoesNothing(t *testing.T) {
	t.Parallel()
	dump := capture(t, "kubelet-1.34.4-hung-csi", "goroutine.debug2")
	for name, tt := range map[string]struct {
		args []string
		says string
	}{
		"an unknown flag":             {[]string{"--hunk-after", "1s"}, "--hunk-after"},
		"an unknown flag of analyze":  {[]string{"analyze", "--root", "/", dump}, "--root"},
		"an unknown command":          {[]string{"exterminate"}, "exterminate"},
		"an unknown format":           {[]string{"analyze", "-o", "pdf", dump}, "html or markdown"},
		"a directory for -o":          {[]string{"analyze", "-o", "/tmp/x", dump}, "--output-dir /tmp/x"},
		"the former --format":         {[]string{"--format", "json", "--out", "-"}, "--output FORMAT"},
		"the former --out -":          {[]string{"--out", "-"}, "--output json"},
		"a format of other commands":  {[]string{"holders", "-o", "html", "/"}, "text, json or yaml"},
		"two formats":                 {[]string{"logs", "--json", "-o", "yaml", dump}, "--json"},
		"an unknown severity":         {[]string{"analyze", "--fail-on", "fatal", dump}, "fatal"},
		"analyze nothing":             {[]string{"analyze"}, "want nodeforensics analyze FILE"},
		"render two":                  {[]string{"render", dump, dump}, "got 2 arguments; want nodeforensics render REPORT.json"},
		"a misspelled command":        {[]string{"analyse", dump}, "did you mean analyze?"},
		"a file without a command":    {[]string{dump}, "nodeforensics analyze FILE"},
		"a misspelled flag":           {[]string{"--outputdir", "/tmp"}, "did you mean --output-dir?"},
		"a misspelled flag of logs":   {[]string{"logs", "--sinc", "1h", dump}, "did you mean --since?"},
		"a flag of another command":   {[]string{"analyze", "--hung-after", "1s", dump}, "it is a flag of nodeforensics"},
		"a misspelled check":          {[]string{"checks", "mount-hang"}, "did you mean mount-hung?"},
		"the beginning of a check":    {[]string{"checks", "eviction"}, "did you mean eviction-stuck?"},
		"a duration without its unit": {[]string{"--timeout", "60"}, "--timeout"},
		"no time at all":              {[]string{"--timeout", "0s"}, "--timeout"},
		"hung at once":                {[]string{"--hung-after", "0s"}, "--hung-after"},
		"to probe and not to probe":   {[]string{"--probe", "--no-probe"}, "--probe"},
		"an unknown check":            {[]string{"checks", "mount-haunted"}, "mount-haunted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, tt.args...)
			o := finish(t, cmd)
			if o.status != exitUsage || !strings.Contains(o.stderr, tt.says) || !strings.Contains(o.stderr, "--help") {
				t.Errorf("exit status %d, %q; want 2, a word about %s, and where to find help", o.status, o.stderr, tt.says)
			}
			if names := namesIn(t, cmd.Dir); len(names) != 0 || o.stdout != "" {
				t.Errorf("it did something: files %q, output %q", names, o.stdout)
			}
		})
	}
}

func TestChecksSchemaAndVersionAreTold(t *testing.T) {
	t.Parallel()
	list := finish(t, command(t, "checks"))
	one := finish(t, command(t, "checks", "mount-hung"))
	version := finish(t, command(t, "version"))
	schema := finish(t, command(t, "schema"))
	ofFleet := finish(t, command(t, "schema", "fleet"))
	for _, o := range []outcome{list, one, version, schema, ofFleet} {
		if o.status != exitDone || o.stderr != "" {
			t.Errorf("exit status %d: %s", o.status, o.stderr)
		}
	}
	if !strings.Contains(list.stdout, "kubelet-housekeeping-blocked") || !strings.Contains(one.stdout, "Needs: mounts") {
		t.Errorf("checks: %s\n%s", list.stdout, one.stdout)
	}
	if schema.stdout != string(report.JSONSchema()) {
		t.Errorf("schema: %.200q", schema.stdout)
	}
	if ofFleet.stdout != string(fleet.JSONSchema()) {
		t.Errorf("schema fleet: %.200q", ofFleet.stdout)
	}
	if !strings.HasPrefix(version.stdout, "nodeforensics ") {
		t.Errorf("version: %q", version.stdout)
	}
}

// TestPlan prints a script from a file and from standard input, and nothing from what is no report.
func TestPlan(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../report/testdata/hung-mount.json")
	if err != nil {
		t.Fatal(err)
	}
	saved := filepath.Join(t.TempDir(), "report.json")
	if err := os.WriteFile(saved, text, 0o600); err != nil {
		t.Fatal(err)
	}
	piped := command(t, "plan", "-")
	piped.Stdin = bytes.NewReader(text)
	o := finish(t, command(t, "plan", saved))
	if o.status != exitDone || o.stderr != "" || o.stdout != finish(t, piped).stdout {
		t.Errorf("status %d, %q; want the same script from a file and from standard input", o.status, o.stderr)
	}
	for _, part := range []string{"#!/bin/sh\n", "step remove-vol-data", "step leave-mounted 'its file system is not healthy (hung)", "\nsteps\n"} {
		if !strings.Contains(o.stdout, part) {
			t.Errorf("the script lacks %q", part)
		}
	}
	bad := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(bad, []byte(`{"schema":"other"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if o := finish(t, command(t, "plan", bad)); o.status != exitFailed || o.stdout != "" {
		t.Errorf("no report: status %d, %q", o.status, o.stdout)
	}
	if o := finish(t, command(t, "plan")); o.status != exitUsage {
		t.Errorf("no argument: status %d", o.status)
	}
}
