package report_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/read"
	"github.com/nodeforensics/nodeforensics/internal/mask"
	"github.com/nodeforensics/nodeforensics/report"
)

// captured is the report about a real kubelet, as far as its capture goes.
func captured(t testing.TB, name string) report.Report {
	t.Helper()
	dir := filepath.Join("..", "testdata", "captures", name)
	e := forensics.NewEvidence()
	e.Collected, e.Root, e.Node.Name = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), "saved files", "lab-node-1"
	cover := func(source string) {
		e.Cover(forensics.Source{Source: source, Status: forensics.SourceRead})
	}
	if text := file(t, dir, "goroutine.debug2"); text != nil {
		dumps, err := read.Dumps("goroutine.debug2", bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		e.Dumps = dumps
		cover(forensics.SourceGoroutines)
	}
	if text := file(t, dir, "mountinfo"); text != nil {
		list, errs := mounts.Parse(bytes.NewReader(text))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		e.Mounts.Mounts = list
		cover(forensics.SourceMounts)
	}
	if text := file(t, dir, "pods.json"); text != nil {
		pods, err := kubelet.ParsePods(bytes.NewReader(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		e.Pods = pods
		cover(forensics.SourceKubeletPods)
	}
	if text := file(t, dir, "kubelet.log.gz"); text != nil {
		zipped, err := gzip.NewReader(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(zipped)
		if err != nil {
			t.Fatal(err)
		}
		source := logs.Source{Path: "kubelet.log", Origin: "kubelet", Open: func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(plain)), nil
		}}
		story := logs.Read(t.Context(), []logs.Source{source}, logs.Options{Now: e.Collected})
		e.Logs = &story
		if story.Last != nil {
			e.Collected = *story.Last
		}
		cover(forensics.SourceLogs)
	}
	if _, err := mask.Until(t.Context(), &e, []byte("key"), false); err != nil {
		t.Fatal(err)
	}
	return report.New(report.Tool{Name: "nodeforensics", Version: "test"}, e, forensics.Analyze(&e, checks.All()))
}

func file(t testing.TB, dir, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return text
}

// The captures are small nodes.
func TestCapturesAreSmall(t *testing.T) {
	schema := schemaOfReports(t)
	for _, name := range captureNames {
		r := captured(t, name)
		html := page(t, r)
		checkPage(t, html)
		t.Logf("%s: %d bytes", name, len(html))
		if len(html) > 300_000 {
			t.Errorf("the page of %s has %d bytes", name, len(html))
		}
		if err := schema.Validate(toJSON(t, r)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

var captureNames = []string{
	"kubelet-1.17.4-hung-cephfs", "kubelet-1.34.4-hung-csi", "kubelet-1.34.4-unmount-busy", "kubelet-1.34.4-runtime-stopped",
	"kubelet-1.34.4-healthy", "kubelet-1.17.4-orphan-leftover", "kubelet-1.34.4-disk-pressure",
}
