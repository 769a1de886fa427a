package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/report"
)

// liveMemory is what both processes of an examination may take together, at their peaks: 64 to 77 MiB, by when the
// collector of garbage runs, and what the measure is too high by. For the parent, wait4(2) tells the largest of its own and its child's.
const liveMemory = 84 << 20

// A liveNode is something that makes a node large.
type liveNode struct {
	name  string
	flags []string // of the kubelet
	make  func(t *testing.T, root string)
	check func(t *testing.T, r report.Report)
}

// liveNodes are what TestMemoryOfALiveRun examines.
func liveNodes() []liveNode {
	return []liveNode{
		{"77000 goroutines", []string{"--leak=77000", "--leak-depth=3"}, nil, leaked(77000)},
		{"4900 goroutines", []string{"--leak=4900", "--leak-depth=40"}, nil, leaked(4900)},
		{"30 MB of brackets", []string{"--hostile-pods=30000000"}, nil, nil},
		{"65000 maps", nil, crowd(crowdMaps), crowdFound},
		{"100000 mounts", nil, crowd(crowdMounts), crowdFound},
		{"80000 pods", []string{"--more-pods=80000"}, nil, leftOut(80_001)},
		{"80000 pod directories", []string{"--more-pods=80000"}, podDirectories(80_000), leftOut(80_001)},
	}
}

// TestMemoryOfALiveRun examines a node on which something is very large: what the kubelet answers, or what pods have made.
func TestMemoryOfALiveRun(t *testing.T) {
	t.Parallel()
	if testing.Short() || raceEnabled {
		t.Skip("starts a large kubelet, and measures what the race detector multiplies")
	}
	for _, n := range liveNodes() {
		t.Run(n.name, func(t *testing.T) {
			if !onNode(t) {
				return
			}
			root := t.TempDir()
			startKubelet(t, root, n.flags...)
			if n.make != nil {
				n.make(t, root)
			}
			r := measureLiveRun(t)
			for range 5 {
				if !slices.ContainsFunc(r.Coverage, func(s forensics.Source) bool {
					return s.Status == forensics.SourceTimeout || strings.Contains(s.Detail, "no answer within")
				}) {
					break
				}
				t.Logf("again, as the machine was too busy: %s", titles(r))
				r = measureLiveRun(t)
			}
			if n.check != nil {
				n.check(t, r)
			}
		})
	}
}

// measureLiveRun examines the node, and fails if that takes too much memory.
func measureLiveRun(t *testing.T) report.Report {
	t.Helper()
	dir := t.TempDir()
	cmd := command(t, "--output-dir", dir)
	peak := measured(t, cmd)
	o := finish(t, cmd)
	o.dir = dir
	r := o.report(t)
	parent, child := peak(), r.Evidence.Collector.PeakBytes
	size, err := os.Stat(o.file(t, ".json"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("live memory: parent %d child %d json %d took %v", parent, child, size.Size(), o.took)
	if sum, most := parent+child, int64(liveMemory)+size.Size(); sum > most {
		t.Errorf("%d and %d MiB at the peaks, want at most %d together, with what is said", parent>>20, child>>20, most>>20)
	}
	return r
}

// leaked wants that little memory did not cost the verdict on goroutines that wait for a lock.
func leaked(want int) func(t *testing.T, r report.Report) {
	return func(t *testing.T, r report.Report) {
		t.Helper()
		if len(r.Evidence.Dumps) == 0 {
			t.Fatalf("no dump: %s", titles(r))
		}
		leaked := 0
		for _, g := range r.Evidence.Dumps[0].Goroutines {
			if g.State == "sync.Mutex.Lock" {
				leaked += g.Count
			}
		}
		if leaked != want || !strings.Contains(titles(r), fmt.Sprintf("%d,%03d goroutines wait for one lock", want/1000, want%1000)) {
			t.Errorf("%d goroutines wait for a lock, want %d: %s", leaked, want, titles(r))
		}
	}
}

// leftOut wants to be told how many pods the kubelet lists, and those of them that have a directory.
func leftOut(want int) func(t *testing.T, r report.Report) {
	return func(t *testing.T, r report.Report) {
		t.Helper()
		detail := ""
		for _, s := range r.Evidence.Coverage {
			if s.Source == forensics.SourceKubeletPods {
				detail = s.Detail
			}
		}
		listed := map[string]bool{}
		for _, p := range r.Evidence.Pods {
			listed[p.UID] = true
		}
		if text := fmt.Sprintf("the kubelet lists %d pods; %d are left out", want, want-len(listed)); !strings.Contains(detail, text) {
			t.Errorf("%d pods are kept, and it says %q; want %q", len(listed), detail, text)
		}
		lost := 0
		for _, d := range r.Evidence.PodDirs {
			if !listed[d.UID] {
				lost++
			}
		}
		if lost > 1 { // a test may have one of its own
			t.Errorf("of %d pods with a directory it is not known that the kubelet lists them", lost)
		}
	}
}

// benchmarkLiveMemory runs TestMemoryOfALiveRun, which needs a node, and tells what it measured.
func benchmarkLiveMemory(b *testing.B) {
	program(b, kubeletName)
	measured := regexp.MustCompile(`live memory: parent (\d+) child (\d+) json (\d+) took (\S+)`)
	for _, n := range liveNodes() {
		name := strings.ReplaceAll(n.name, " ", "_")
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				exe, err := os.Executable()
				if err != nil {
					b.Fatal(err)
				}
				out, err := exec.Command(exe, "-test.v", "-test.run", fmt.Sprintf("^TestMemoryOfALiveRun$/^%s$", name)).CombinedOutput()
				m := measured.FindSubmatch(out)
				if m == nil {
					b.Skipf("no live run: %v\n%s", err, out)
				}
				mib := func(text []byte) float64 { n, _ := strconv.ParseFloat(string(text), 64); return n / (1 << 20) }
				took, _ := time.ParseDuration(string(m[4]))
				b.ReportMetric(mib(m[1]), "MiB")
				b.ReportMetric(mib(m[2]), "child-MiB")
				b.ReportMetric(mib(m[3]), "json-MiB")
				b.ReportMetric(took.Seconds(), "s")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}
