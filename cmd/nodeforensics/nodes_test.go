package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/report"
)

// TestAnalyzeTellsNodesApart: a log with the lines of two nodes gives a verdict and a document for each, the worst first.
func TestAnalyzeTellsNodesApart(t *testing.T) {
	t.Parallel()
	const orphan = `E1120 10:02:45.000001    2588 kubelet_volumes.go:245] "There were many similar errors. Turn up verbosity to see them." err="orphaned pod \"3f9b4a0e-1111-2222-3333-444455556666\" found, but volume paths are still present on disk" numErrs=1`
	file := filepath.Join(t.TempDir(), "both.log")
	text := "Nov 20 10:02:44 worker-2 kubelet[900]: I1120 10:02:44.000001     900 server.go:416] \"Kubelet version\" kubeletVersion=\"v1.34.4\"\n" +
		strings.Repeat("Nov 20 10:02:45 worker-1 kubelet[2588]: "+orphan+"\n", 5)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	o := finish(t, command(t, "analyze", "--output", "json", "--output-dir", dir, file))
	var nodes []string
	for in := json.NewDecoder(strings.NewReader(o.stdout)); ; {
		var r report.Report
		err := in.Decode(&r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v: %q", err, o.stdout)
		}
		found := "nothing"
		if len(r.Diagnoses) > 0 {
			found = r.Findings[r.Diagnoses[0].Findings[0]].ID
		}
		nodes = append(nodes, r.Node.Name+" "+found)
	}
	if got := strings.Join(nodes, ", "); got != "worker-1 pod-orphaned, worker-2 nothing" {
		t.Errorf("%s\n%s", got, o.stderr)
	}
	if names := namesIn(t, dir); len(names) != 4 {
		t.Errorf("written: %q", names)
	}
	plain := finish(t, command(t, "analyze", file)).stdout
	if first, second := strings.Index(plain, "worker-1\n"), strings.Index(plain, "worker-2\n"); first < 0 || second < first {
		t.Errorf("the names are at %d and %d of\n%s", first, second, plain)
	}
}
