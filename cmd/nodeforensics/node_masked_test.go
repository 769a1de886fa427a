//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/report"
	"github.com/nodeforensics/nodeforensics/report/fleet"
)

// masking is an examination that masks names as a node does: the program reads the key from its standard input. Node-9 is not reached at first.
func masking(t *testing.T) string {
	r, err := report.Read(strings.NewReader(readFile(t, "../../report/testdata/hung-mount.json")))
	if err != nil {
		t.Fatal(err)
	}
	r.Evidence.Redactions = nil // of another key
	file := filepath.Join(t.TempDir(), "unmasked.json")
	writeTo(t, file, jsonText(t, r))
	return fmt.Sprintf(`*) if [ $P = node-9 ] && [ ! -e $D/healed ]; then echo "Error from server: pod nodeforensics/nf-node-9 on node-9 (10.1.2.3)" >&2; exit 1; fi
sed s/worker-7/$P/g %[2]s > $D/$P.json; %[1]s analyze $D/$P.json -o json $(echo "$*" | grep -o -e "--redact[^ ]*") | gzip -c; exit;;
`, program(t, programName), file)
}

// TestAllNodesMasked: reports with masked names have one key, so that a cause is joined, and the files tell no name. Started again, it goes on.
func TestAllNodesMasked(t *testing.T) {
	t.Parallel()
	kubectl, dir := fakeKubectl(t, []string{"node-1", "node-2", "node-9"}, masking(t))
	out := filepath.Join(dir, "out")
	args := []string{"node", "--all", "--redact=strict", "--kubectl", kubectl, "--output-dir", out}
	o := finish(t, command(t, args...))
	if o.status != exitFailed || !strings.Contains(o.stderr, "2 of 3 nodes examined") || !regexp.MustCompile(`node-1 \(host-[0-9a-f]{8}\): CRITICAL CephFS ip-`).MatchString(o.stderr) {
		t.Fatalf("exit status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
	key := strings.TrimSpace(readFile(t, filepath.Join(out, keyFile)))
	if info, err := os.Lstat(filepath.Join(out, keyFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", info.Mode(), err)
	}
	digits := strings.TrimPrefix(key, keyPrefix)
	if calls := readFile(t, filepath.Join(dir, "calls")); strings.Contains(calls, digits) || strings.Count(calls, "exec --namespace=nodeforensics --container=main --stdin nf-node-1 -- /nodeforensics") != 1 || len(digits) != 64 {
		t.Errorf("key %q, calls:\n%s", key, calls)
	}
	files, _ := filepath.Glob(filepath.Join(out, "*.*"))
	for _, f := range files {
		if text := filepath.Base(f) + readFile(t, f); f != filepath.Join(out, keyFile) && regexp.MustCompile(`node-[129]\b|10\.0\.0\.5|10\.1\.2\.3`).MatchString(text) || f != filepath.Join(out, keyFile) && strings.Contains(text, digits) {
			t.Errorf("%s tells names", f)
		}
	}
	if s := summaryIn(t, out); len(s.Causes) == 0 || len(s.Causes[0].Nodes) != 2 || !strings.HasPrefix(s.Causes[0].Title, "CephFS ip-") || s.NodesKnown != 3 || len(s.NotExamined) != 1 {
		t.Errorf("%d of %d nodes, not examined: %v, causes: %+v", len(s.Nodes), s.NodesKnown, s.NotExamined, s.Causes)
	}

	writeTo(t, filepath.Join(dir, "healed"), nil)
	o = finish(t, command(t, args...))
	if o.status != exitDone || !strings.Contains(o.stderr, "3 of 3 nodes examined") || !strings.Contains(o.stderr, "2 of 3 nodes already in") || strings.TrimSpace(readFile(t, filepath.Join(out, keyFile))) != key {
		t.Errorf("exit status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
	if s := summaryIn(t, out); len(s.Causes) == 0 || len(s.Causes[0].Nodes) != 3 || len(s.NotExamined) != 0 {
		t.Errorf("%+v", s)
	}
	for _, args := range [][]string{args[:2], append(args[:2:2], "--", "--redact=strict")} {
		if o := finish(t, command(t, append(append([]string{}, args[0], args[1], "--kubectl", kubectl, "--output-dir", out), args[2:]...)...)); o.status == exitDone || strings.Contains(o.stderr, "[1/") {
			t.Errorf("%q: exit status %d\n%s", args, o.status, o.stderr)
		}
	}
}

// summaryIn is the summary in a directory, of the last round.
func summaryIn(t *testing.T, dir string) (s fleet.Summary) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "nodeforensics-fleet-*.json"))
	if len(files) == 0 {
		t.Fatal("no summary")
	}
	last := files[0]
	for _, f := range files {
		if strings.HasSuffix(f, "-2.json") {
			last = f
		}
	}
	if err := json.Unmarshal([]byte(readFile(t, last)), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAllNodesMaskedElsewhere: what is not masked with the key of the run is not stored, and masked reports are not put beside others.
func TestAllNodesMaskedElsewhere(t *testing.T) {
	t.Parallel()
	kubectl, dir := fakeKubectl(t, []string{"node-1"}, sends)
	out := filepath.Join(dir, "out")
	o := finish(t, command(t, "node", "--all", "--redact=strict", "--kubectl", kubectl, "--output-dir", out))
	if files, _ := filepath.Glob(filepath.Join(out, "host-*")); o.status != exitFailed || !strings.Contains(o.stderr, "not masked with the key of this run") || len(files) > 0 {
		t.Errorf("exit status %d, %q\n%s", o.status, files, o.stderr)
	}
	out = reportsOf(t, "node-3")
	o = finish(t, command(t, "node", "--all", "--redact=strict", "--kubectl", kubectl, "--output-dir", out))
	if _, err := os.Lstat(filepath.Join(out, keyFile)); o.status != exitFailed || !strings.Contains(o.stderr, "use another directory") || err == nil {
		t.Errorf("exit status %d\n%s", o.status, o.stderr)
	}
}

// TestNodeMaskedWithAKey: a single node is masked with the key of a file, also where the program is sent.
func TestNodeMaskedWithAKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, ssh := filepath.Join(dir, "key"), filepath.Join(dir, "ssh")
	writeTo(t, file, []byte("a key of\nseveral lines\n"))
	if err := os.WriteFile(ssh, []byte("#!/bin/sh\nshift\necho \"$*\" >> "+dir+"/calls\nexec sh -c \"$*\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	o := finish(t, command(t, "node", "node-1", "--kubectl", "no-such-kubectl", "--ssh", ssh+" {node}", "-o", "json", "--redact=strict", "--redact-key", file, "--", "--no-logs", "--no-probe"))
	here := finish(t, command(t, "-o", "json", "--redact=strict", "--redact-key", file, "--no-logs", "--no-probe"))
	name := regexp.MustCompile(`"redaction_key": "[0-9a-f]{16}"`)
	if got, want := name.FindString(o.stdout), name.FindString(here.stdout); o.status != exitDone || want == "" || got != want {
		t.Errorf("exit status %d, key %s, want %s\n%s", o.status, got, want, o.stderr)
	}
	if calls := readFile(t, filepath.Join(dir, "calls")); strings.Contains(calls, keyPrefix) || !strings.Contains(calls, "--redact-key=-") {
		t.Error(calls)
	}
}
