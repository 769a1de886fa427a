package collect

import (
	"context"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// TestAReaderReturnsWhatItHasAtItsEnd reads with a reader that goes on until its context ends, by its own limit or by that of
// the run: what it has then is kept, and that it is not all is said, also if the reader does not say so.
func TestAReaderReturnsWhatItHasAtItsEnd(t *testing.T) {
	for name, limit := range map[string]struct{ run, reader time.Duration }{
		"its limit":         {time.Minute, 200 * time.Millisecond},
		"the run's end":     {200 * time.Millisecond, time.Minute},
		"the run has ended": {-time.Second, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) { // no other program on the machine can make it late
			c, err := newCollector(t.Context(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit.run)
			defer cancel()
			c.read(ctx, forensics.SourceHolders, limit.reader, func(ctx context.Context) (forensics.Evidence, error) {
				<-ctx.Done()
				return forensics.Evidence{Processes: []procs.Process{{PID: 4}}}, nil
			})
			got := c.seen()
			if last := got.Coverage[len(got.Coverage)-1]; last.Source != forensics.SourceHolders || last.Status != forensics.SourceTimeout {
				t.Errorf("%s: coverage %+v, want a timeout", name, last)
			}
			if want := limit.run > 0; (len(got.Processes) == 1) != want {
				t.Errorf("%s: %d processes, want what was read to be kept: %t", name, len(got.Processes), want)
			}
		})
	}
}

// A reader is told to end a tenth of its time before it is given up: of its own time, or of what is left of the run.
func TestGraceOfAReader(t *testing.T) {
	now := time.Now()
	c := &collector{opt: Options{Now: func() time.Time { return now }}}
	for left, want := range map[time.Duration]time.Duration{
		0: 0, time.Second: 100 * time.Millisecond, time.Minute: time.Second, -time.Second: 0,
	} {
		ctx, cancel := context.WithDeadline(t.Context(), now.Add(left))
		if got := c.grace(ctx, 10*time.Second); got != want {
			t.Errorf("%v before the end of the run: %v, want %v", left, got, want)
		}
		cancel()
	}
	if got := c.grace(context.Background(), 10*time.Second); got != time.Second {
		t.Errorf("of a run without an end: %v, want a second", got)
	}
}

// Where no kubelet can be asked, each thing that it would have said is absent, with the reason.
func TestNoKubeletToAsk(t *testing.T) {
	for why, k := range map[string]*kubelet.Instance{
		"no kubelet runs": nil, "the kubelet is stopped by a signal": {PID: os.Getpid(), State: "T"},
	} {
		c, err := newCollector(t.Context(), Options{Root: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		c.evidence.Kubelet = k
		c.askKubelet(t.Context())
		var absent []string
		for _, s := range c.seen().Coverage {
			if s.Status == forensics.SourceAbsent && s.Detail == why {
				absent = append(absent, s.Source)
			}
		}
		if want := []string{forensics.SourceKubeletHealth, forensics.SourceKubeletPods, forensics.SourceMetrics, forensics.SourceGoroutines}; !slices.Equal(absent, want) {
			t.Errorf("%s: %q are absent, want %q", why, absent, want)
		}
		_ = c.fs.Close()
	}
}
