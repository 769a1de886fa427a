package checks

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	logslive "github.com/nodeforensics/nodeforensics/forensics/logs/live"
	"github.com/nodeforensics/nodeforensics/forensics/read"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/report"
)

// logOf is the evidence of a person who has a kubelet's log and nothing else.
func logOf(tb testing.TB, capture string) forensics.Evidence {
	tb.Helper()
	dir, err := filepath.Abs(filepath.Join(captures, capture))
	if err != nil {
		tb.Fatal(err)
	}
	fsys, err := hostfs.Open(dir)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = fsys.Close() }()
	story := logs.Read(context.Background(), []logs.Source{logslive.FileSource(fsys, "/kubelet.log.gz", "")},
		logs.Options{Now: time.Date(2026, 11, 20, 23, 0, 0, 0, time.UTC)})
	e := forensics.NewEvidence()
	part, err := read.Logs(story)
	if err != nil {
		tb.Fatal(err)
	}
	e.Merge(part)
	return e
}

// TestCapturedLogs judges the logs of real kubelets alone. What is true of them stands in testdata/captures.
func TestCapturedLogs(t *testing.T) {
	const web, sub = "2fa11937efabc40db85278b553e1ceeb", "volume 2fa11937efabc40db85278b553e1ceeb/kubernetes.io/empty-dir/sub"
	for _, tt := range []struct {
		capture string
		want    []string
		says    []string
	}{
		{
			"kubelet-1.17.4-hung-cephfs",
			[]string{"kubelet-syncloop-stalled critical subsystem syncloop", "pod-orphaned warning pod " + web, "node-not-ready info subsystem pod-network"},
			[]string{
				"no log line for 12 min, while other parts of the kubelet logged", "has logged nothing since 2026-11-20 10:00:10 UTC", "of 10:00:10 UTC",
				"That line is the start of housekeeping, and its end is missing", "A subPath directory is left over",
			},
		},
		{
			"kubelet-1.17.4-orphan-leftover",
			[]string{"pod-orphaned warning pod 002d97dc-e398-4e34-b510-38f52354ad29"},
			[]string{"counts 3 orphaned pods and names only the first. Each round names the same pod", "Kubelets up to 1.17 never remove them"},
		},
		{
			"kubelet-1.34.4-hung-csi",
			[]string{"kubelet-syncloop-stalled warning subsystem syncloop", "image-gc-failing warning subsystem image-gc"},
			[]string{
				"stalled for at least 5 min at 2026-11-20 10:25:36 UTC: health check syncloop failed",
				"The log alone does not show whether the sync loop is stalled: at this verbosity (at least -v 2)",
			},
		},
		{
			"kubelet-1.34.4-unmount-busy",
			[]string{"pod-terminating-stuck warning pod " + web + " because " + sub, "unmount-busy warning " + sub, "node-not-ready info subsystem pod-network"},
			[]string{
				"Pod default/web-lab-node-1 stuck in Terminating for 50 s: volume sub cannot be unmounted: target is busy",
				"The kubelet's unmount was refused 7 times, from 10:28:13 UTC to 10:28:45 UTC. It waits 32 s until its next try.", `The deletion of default/web-lab-node-1 (` + web + `) has been stuck at the stage "volumes" (unmounting volumes) since`,
			},
		},
		{
			"kubelet-1.34.4-runtime-stopped",
			[]string{
				"runtime-unresponsive critical runtime runtime", "kubelet-pleg-unhealthy critical subsystem pleg because runtime runtime",
				"kubelet-syncloop-stalled warning subsystem syncloop because subsystem pleg",
			},
			[]string{"no relist since 2026-11-20 10:51:40 UTC", "has not responded since 2026-11-20 10:51:41 UTC"},
		},
		{
			"kubelet-1.34.4-disk-pressure",
			[]string{
				"eviction-stuck warning subsystem eviction", "image-gc-failing warning subsystem image-gc",
				"image-gc-removed-in-use info subsystem image-gc because subsystem eviction",
				"node-not-ready info subsystem pod-network",
			},
			[]string{"cannot be evicted: default/web-lab-node-1", "sha256:4e13ac714925", "must be loaded again by an operator", "The disk is not full of unused images"},
		},
	} {
		t.Run(tt.capture, func(t *testing.T) {
			e := logOf(t, tt.capture)
			a := forensics.Analyze(&e, All())
			got := slices.DeleteFunc(summaries(a), func(s string) bool { return strings.HasPrefix(s, "log-noise info") })
			if diff := cmp.Diff(sorted(tt.want), sorted(got)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			for _, says := range tt.says {
				if !strings.Contains(texts(a), says) {
					t.Errorf("nothing says %q:\n%s", says, texts(a))
				}
			}
			var page strings.Builder
			if err := report.HTML(&page, report.New(report.Tool{}, e, a)); err != nil || !strings.Contains(page.String(), `<figure class="timeline">`) {
				t.Errorf("the page has no timeline: %v", err)
			}
		})
	}
}

// TestCapturedLogAndDump joins the log of a kubelet with its goroutines and mounts: one story, and since when.
func TestCapturedLogAndDump(t *testing.T) {
	for _, tt := range []struct {
		capture string
		want    []string
		since   string
	}{
		{"kubelet-1.17.4-hung-cephfs", []string{"goroutine 117", "subsystem housekeeping", "subsystem syncloop", "kubelet kubelet"}, "10:00:10.421407"},
		{"kubelet-1.34.4-unmount-busy", []string{"mount 44", "pod 2fa11937efabc40db85278b553e1ceeb"}, "10:28:08.062043"},
		{"kubelet-1.34.4-runtime-stopped", []string{"runtime runtime", "subsystem pleg", "subsystem syncloop", "kubelet kubelet"}, "10:51:40.172"},
	} {
		t.Run(tt.capture, func(t *testing.T) {
			dump, err := os.ReadFile(filepath.Join(captures, tt.capture, "goroutine.debug2"))
			if err != nil {
				t.Fatal(err)
			}
			e := captured(t, tt.capture, dump)
			log := logOf(t, tt.capture)
			e.Merge(forensics.Evidence{Logs: log.Logs, Coverage: log.Coverage})
			d := forensics.Analyze(&e, All()).Diagnoses[0]
			var chain []string
			for _, link := range d.Chain {
				chain = append(chain, string(link.Kind)+" "+link.ID)
			}
			if diff := cmp.Diff(tt.want, chain); diff != "" {
				t.Errorf("chain (-want +got):\n%s", diff)
			}
			if d.Since == nil || !d.Since.Equal(*at(tt.since)) {
				t.Errorf("since %v; want %s", d.Since, tt.since)
			}
		})
	}
}
