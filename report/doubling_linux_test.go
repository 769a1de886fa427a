package report_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks"
	"github.com/nodeforensics/nodeforensics/internal/jsonlimit"
	"github.com/nodeforensics/nodeforensics/internal/testnode"
	"github.com/nodeforensics/nodeforensics/report"
	"github.com/nodeforensics/nodeforensics/report/plan"
)

// TestWorkGrowsLinearly counts the bytes that are allocated, which no load of the machine changes: with four times as much of
// a kind, what is made for each pair is sixteen times as much. BenchmarkDoubling shows work that allocates nothing.
func TestWorkGrowsLinearly(t *testing.T) {
	if raceEnabled {
		t.Skip("nothing runs beside it, and what is allocated is the same")
	}
	const some, many, times, tooMuch, noise = 100, 1000, 4, 6, 1 << 20
	node := testnode.Node()
	allocated(t, &node) // what is made once
	fixed := allocated(t, &node)
	for _, k := range append(testnode.Kinds(), testnode.Everything()) {
		t.Run(k.Name, func(t *testing.T) {
			grown := func(n int) uint64 {
				e := testnode.With(k, n)
				return max(allocated(t, &e), fixed) - fixed
			}
			n := some
			before := grown(n)
			if before < noise/2 { // small things, of which there can be more: words of a text
				n = many
				before = grown(n)
			}
			if after := grown(n * times); after > tooMuch*before+noise {
				t.Errorf("%d kB for %d, %d kB for %d", before>>10, n, after>>10, n*times)
			}
		})
	}
}

// TestDisksAreNotMultiplied counts the bytes that are allocated, which are the same on every machine: what is made anew for
// each disk of all thresholds, events or pods is sixteen times as much with four times as many. Other tests beside it would count, too.
func TestDisksAreNotMultiplied(t *testing.T) {
	const small, times = 500, 4
	for _, name := range []string{"disks", "disks with a threshold each", "full disks"} {
		i := slices.IndexFunc(testnode.Kinds(), func(k testnode.Kind) bool { return k.Name == name })
		few, many := testnode.With(testnode.Kinds()[i], small), testnode.With(testnode.Kinds()[i], small*times)
		allocated(t, &few) // what is made once
		if before, after := allocated(t, &few), allocated(t, &many); after > 2*times*before {
			t.Errorf("%s: %d MB for %d, %d MB for %d", name, before>>20, small, after>>20, small*times)
		}
	}
}

// allocated is how many bytes judging evidence and showing it takes, freed ones too.
func allocated(t *testing.T, e *forensics.Evidence) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, stage := range work(e) {
		if err := stage(); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// stages are what is done with evidence after it was collected.
var stages = [...]string{"analyze", "html", "json", "text", "plan", "read"}

// work is what each stage does.
func work(e *forensics.Evidence) [len(stages)]func() error {
	var r report.Report
	var text bytes.Buffer
	return [...]func() error{
		func() error {
			r = report.New(report.Tool{Name: "nodeforensics"}, *e, forensics.Analyze(e, checks.All()))
			for _, o := range r.Outcomes {
				if o.Status == forensics.OutcomeFailed {
					return fmt.Errorf("%s: %s", o.Check, o.Reason)
				}
			}
			return nil
		},
		func() error { return report.HTML(io.Discard, r) },
		func() error { return report.JSON(&text, r) },
		func() error { return report.Text(io.Discard, r, report.TextOptions{Width: 80}) },
		func() error {
			_ = plan.Script(io.Discard, e) // which refuses what is too much, at once
			return nil
		},
		func() error {
			if _, err := report.Read(&text); !errors.Is(err, jsonlimit.ErrTooLarge) {
				return err
			}
			return nil // refused where it is too much
		},
	}
}

// costs is the processor time of each stage, with all threads of the garbage collector.
func costs(t testing.TB, e *forensics.Evidence) [len(stages)]time.Duration {
	t.Helper()
	var took [len(stages)]time.Duration
	for i, stage := range work(e) {
		runtime.GC() // of what was left before
		began := cpuTime(t)
		if err := stage(); err != nil {
			t.Fatal(err)
		}
		took[i] = cpuTime(t) - began
	}
	return took
}

func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkDoubling shows by which factor the processor time grows where there is twice as much of a kind, for each stage
// that takes some. About 2 is right, 4 is quadratic.
//
//	go test ./report -run '^$' -bench Doubling -benchtime 1x
func BenchmarkDoubling(b *testing.B) {
	for _, k := range append(testnode.Kinds(), testnode.Everything()) {
		b.Run(k.Name, func(b *testing.B) {
			for b.Loop() {
				double(b, k)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// double measures at five sizes, fewer if that takes long. The factor is the mean of the doublings that can be measured.
func double(b *testing.B, k testnode.Kind) {
	const first, last, measurable, long = 2000, 32_000, 10 * time.Millisecond, 4 * time.Second
	var began, ended [len(stages)]time.Duration
	var doublings [len(stages)]int
	var most time.Duration
	for n := first; n <= last && most < long; n *= 2 {
		e := testnode.With(k, n)
		took := costs(b, &e)
		for i, t := range took {
			if began[i] >= measurable {
				doublings[i]++
			} else {
				began[i] = t
			}
			ended[i], most = t, max(most, t)
		}
	}
	for i, name := range stages {
		if doublings[i] > 0 {
			b.ReportMetric(math.Pow(float64(ended[i])/float64(began[i]), 1/float64(doublings[i])), name+"-factor")
		}
	}
	b.ReportMetric(most.Seconds(), "worst-s")
}
