package logs

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// captured reads the log of a captured kubelet through the reader.
func captured(t *testing.T, name string) Story {
	t.Helper()
	path := filepath.Join("..", "..", "testdata", "captures", name, "kubelet.log.gz")
	s := Read(context.Background(), []Source{{
		Path: "kubelet.log", Origin: "kubelet",
		Open: func(context.Context) (io.ReadCloser, error) { return os.Open(path) },
	}}, Options{Now: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC), Zone: time.UTC})
	if len(s.Files) != 1 || s.Files[0].Status != "read" {
		t.Fatalf("files %+v", s.Files)
	}
	if len(s.Lives) != 1 || s.Lives[0].End != EndRunning || s.Lives[0].Stage != StartSyncLoop {
		t.Errorf("lives %+v", s.Lives)
	}
	return s
}

func onThe20th(hour, minute int, second float64) time.Time {
	return time.Date(2026, 11, 20, hour, minute, 0, 0, time.UTC).Add(time.Duration(second * 1e9))
}

// sum is how often a kind was seen, whatever about.
func sum(s Story, k Kind) (n int64) {
	for _, e := range events(s, k) {
		n += e.Count
	}
	return n
}

func TestCaptureHungCephFS(t *testing.T) {
	s := captured(t, "kubelet-1.17.4-hung-cephfs")
	l := s.Loop
	if l == nil || l.Last == nil || !l.Last.Equal(onThe20th(10, 0, 10.421407)) {
		t.Fatalf("loop %+v, want its last line at 10:00:10.421407", l)
	}
	if !strings.Contains(l.Quote.Text, "SyncLoop (housekeeping)") || l.Quote.Line != 2318 || l.Cadence < 1.9 || l.Cadence > 2.1 {
		t.Errorf("quote %+v, cadence %v", l.Quote, l.Cadence)
	}
	if silence, proven := l.Silence(); !proven || silence < 12*60 || l.OthersCount < 100 {
		t.Errorf("silent for %v, proven %v, %d lines of others", silence, proven, l.OthersCount)
	}
	orphans := events(s, KindOrphan)
	if len(orphans) != 1 || orphans[0].Count != 16 || !strings.Contains(orphans[0].Reason, "volume subpaths are still present") || !strings.HasPrefix(orphans[0].PodUID, "2fa11937") {
		t.Errorf("orphans %+v", orphans)
	}
	if mounted := events(s, kindOrphanMounted); len(mounted) != 1 || !strings.HasPrefix(mounted[0].PodUID, "5c948341") {
		t.Errorf("mounted %+v", mounted)
	}
	if n := sum(s, KindSyncLoopHealth); n != 4 {
		t.Errorf("%d failed health checks, want 4", n)
	}
}

func TestCaptureUnmountBusy(t *testing.T) {
	s := captured(t, "kubelet-1.34.4-unmount-busy")
	d := only(t, s)
	if d.Done || d.Stage != StageVolumes || !d.Proven || !strings.HasPrefix(d.PodUID, "2fa11937") || !strings.HasPrefix(d.PodName, "default/web") {
		t.Errorf("%+v", d)
	}
	if got := stagesOf(d); got != "requested killing containers volumes" || !d.Since.Equal(onThe20th(10, 28, 13.137503)) {
		t.Errorf("steps %q, since %v", got, d.Since)
	}
	if !strings.Contains(d.Waits, "volume sub (failed 7 times, next retry after 32 s): EBUSY") {
		t.Errorf("waits %q", d.Waits)
	}
	busy := events(s, KindUnmountBusy)
	if len(busy) != 1 || busy[0].Volume != "sub" || busy[0].Code != "EBUSY" || busy[0].Count != 7 || busy[0].Max != 32 {
		t.Errorf("%+v", busy)
	}
	if len(s.Operations) != 1 || s.Operations[0].Name != opUnmountVolume || s.Operations[0].RetrySeconds != 32 {
		t.Errorf("operations %+v", s.Operations)
	}
	if n := sum(s, KindPodVolumesLeft); n != 449 {
		t.Errorf("%d complaints about volumes, want 449", n)
	}
	if silence, _ := s.Loop.Silence(); silence > 5 {
		t.Errorf("silent for %v: this pod is stuck, the kubelet is not", silence)
	}
}

func TestCaptureOrphanLeftover(t *testing.T) {
	s := captured(t, "kubelet-1.17.4-orphan-leftover")
	if o := s.Orphans; o == nil || o.Last != 3 || o.Max != 3 || o.Named != 1 || o.Rotates || !strings.HasPrefix(o.PodUID, "002d97dc-") {
		t.Errorf("%+v", o)
	}
	if n := sum(s, KindOrphan); n != 15 || len(s.Deletions) != 0 {
		t.Errorf("%d lines about orphans, %d deletions", n, len(s.Deletions))
	}
}

func TestCaptureRuntimeStopped(t *testing.T) {
	s := captured(t, "kubelet-1.34.4-runtime-stopped")
	pleg := events(s, KindPLEGUnhealthy)
	if len(pleg) != 1 || pleg[0].Count != 12 || !strings.Contains(pleg[0].Reason, "container runtime is down") {
		t.Fatalf("%+v", pleg)
	}
	seen := pleg[0].Last.Add(-time.Duration(pleg[0].Number * 1e9))
	if seen.Before(onThe20th(10, 51, 40)) || seen.After(onThe20th(10, 51, 41)) {
		t.Errorf("PLEG was active last at %v, want 10:51:40", seen)
	}
	relist := events(s, KindPLEGRelistFailed)
	if len(relist) != 1 || relist[0].Code != "DeadlineExceeded" {
		t.Errorf("%+v", relist)
	}
	if n := sum(s, KindRuntimeDown); n != 1 || sum(s, KindSyncLoopSkipped) != 17 {
		t.Errorf("%d times down", n)
	}
	if silence, proven := s.Loop.Silence(); proven {
		t.Errorf("silent for %v: the loop goes on, and skips", silence)
	}
}

func TestCaptureDiskPressure(t *testing.T) {
	s := captured(t, "kubelet-1.34.4-disk-pressure")
	for kind, want := range map[Kind]int64{
		KindEvictionReclaiming: 37, KindEvictionMustEvict: 37, KindEvictionCritical: 36, KindEvictionNone: 37, KindImageGCAll: 37,
		KindImageRemoved: 2, kindImageGC: 1, KindImageGCFailed: 1, KindEvictionEvicted: 0,
	} {
		if n := sum(s, kind); n != want {
			t.Errorf("%s: %d, want %d", kind, n, want)
		}
	}
	critical := events(s, KindEvictionCritical)
	if len(critical) != 1 || critical[0].PodName != "default/web-lab-node-1" {
		t.Errorf("%+v", critical)
	}
	removed := events(s, KindImageRemoved)
	if len(removed) != 2 || !removed[1].First.Equal(onThe20th(11, 10, 41.139024)) || !strings.HasPrefix(removed[1].Image, "sha256:4e13ac71") {
		t.Errorf("removed %+v", removed)
	}
	if len(s.Deletions) != 0 {
		t.Errorf("deletions %+v: nothing was evicted", s.Deletions)
	}
}

// Nothing in this log says why the loop is silent, and at this verbosity its silence proves nothing.
func TestCaptureHungCSI(t *testing.T) {
	s := captured(t, "kubelet-1.34.4-hung-csi")
	if silence, proven := s.Loop.Silence(); proven || silence < 600 {
		t.Errorf("silent for %v, proven %v", silence, proven)
	}
	if s.Lives[0].Verbosity != 2 || len(s.Deletions) != 0 || len(s.Operations) != 0 || s.Orphans != nil {
		t.Errorf("verbosity %d, deletions %v, operations %v, orphans %v", s.Lives[0].Verbosity, s.Deletions, s.Operations, s.Orphans)
	}
	if n := sum(s, kindHousekeepingLong); n != 0 {
		t.Errorf("%d", n)
	}
}
