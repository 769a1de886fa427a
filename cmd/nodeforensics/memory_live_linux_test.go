package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// liveMemory is what both processes of an examination may take together, at their peaks: 64 MiB, and what the measure is too
// high by. For the parent, wait4(2) tells the largest of its own and its child's.
const liveMemory = 72 << 20

// TestMemoryOfALiveRun examines a node whose kubelet has very many goroutines, or sends nonsense.
func TestMemoryOfALiveRun(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a large kubelet")
	}
	for name, flags := range map[string][]string{
		"77000 goroutines":  {"--leak=77000", "--leak-depth=3"},
		"4900 goroutines":   {"--leak=4900", "--leak-depth=40"},
		"30 MB of brackets": {"--hostile-pods=30000000"},
	} {
		t.Run(name, func(t *testing.T) {
			if !onNode(t) {
				return
			}
			startKubelet(t, t.TempDir(), flags...)
			cmd := command(t, "--out", t.TempDir())
			o := finish(t, cmd)
			o.dir = cmd.Args[2]
			r := o.report(t)
			parent, child := peakMemory(cmd.ProcessState), r.Evidence.Collector.PeakBytes
			size, err := os.Stat(o.file(t, ".json"))
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("live memory: parent %d child %d json %d took %v", parent, child, size.Size(), o.took)
			if sum, most := parent+child, int64(liveMemory)+size.Size(); !raceEnabled && sum > most {
				t.Errorf("%d and %d MiB at the peaks, want at most %d together, with what is said", parent>>20, child>>20, most>>20)
			}
			checkLive(t, name, r.Evidence, titles(r))
		})
	}
}

// checkLive wants that little memory did not cost the verdict.
func checkLive(t *testing.T, name string, e forensics.Evidence, titles string) {
	t.Helper()
	if len(e.Dumps) == 0 {
		t.Fatalf("no dump: %s", titles)
	}
	if name == "30 MB of brackets" {
		return
	}
	leaked := 0
	for _, d := range e.Dumps[:1] {
		for _, g := range d.Goroutines {
			if g.State == "sync.Mutex.Lock" {
				leaked += g.Count
			}
		}
	}
	want, _ := strconv.Atoi(regexp.MustCompile(`^\d+`).FindString(name))
	if leaked != want || !strings.Contains(titles, name+" of kubelet") {
		t.Errorf("%d goroutines wait for a lock, want %d: %s", leaked, want, titles)
	}
}

// benchmarkLiveMemory runs TestMemoryOfALiveRun, which needs a node, and tells what it measured.
func benchmarkLiveMemory(b *testing.B) {
	program(b, kubeletName)
	measured := regexp.MustCompile(`live memory: parent (\d+) child (\d+) json (\d+) took (\S+)`)
	for _, name := range []string{"77000_goroutines", "4900_goroutines", "30_MB_of_brackets"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				exe, err := os.Executable()
				if err != nil {
					b.Fatal(err)
				}
				cmd := exec.Command(exe, "-test.v", "-test.run", fmt.Sprintf("^TestMemoryOfALiveRun$/^%s$", name))
				cmd.Env = append(os.Environ(), builtEnv+"="+built.dir)
				out, err := cmd.CombinedOutput()
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
