package logs

import (
	"slices"
	"testing"
	"time"
)

// TestSilenceIsProvenBeyondTenRounds is at and below both limits: ten of the usual distances, and a minute.
func TestSilenceIsProvenBeyondTenRounds(t *testing.T) {
	for _, tt := range []struct {
		cadence, seconds float64
		want             bool
	}{{20, 200, true}, {20, 199, false}, {2, 60, true}, {2, 59, false}, {0, 3600, false}} {
		last := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
		others := last.Add(time.Duration(tt.seconds) * time.Second)
		l := Loop{Last: &last, OthersLast: &others, OthersCount: 1, Cadence: tt.cadence}
		if seconds, proven := l.Silence(); proven != tt.want || seconds != tt.seconds {
			t.Errorf("%v s at a round each %v s: %v s, proven %t", tt.seconds, tt.cadence, seconds, proven)
		}
	}
}

// TestGapsAreLongerThanAMinute has a gap of a minute, and one of a nanosecond more.
func TestGapsAreLongerThanAMinute(t *testing.T) {
	for more, want := range []int{0, 1} {
		l := loop{last: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)}
		if l.gap(l.last.Add(minGap + time.Duration(more))); len(l.Gaps) != want {
			t.Errorf("a minute and %d ns: %+v", more, l.Gaps)
		}
	}
}

// TestZonesOfHalfAnHour has zones that are not whole hours, on both sides of Greenwich.
func TestZonesOfHalfAnHour(t *testing.T) {
	for text, want := range map[string]int{
		"Z": 0, "+00:00": 0, "+01:00": 3600, "+05:30": 19800, "+0530": 19800, "+05:45": 20700, "-03:30": -12600, "-0330": -12600, "-09:30 x": -34200,
	} {
		if seconds, _, ok := zoneOffset(text); !ok || seconds != want {
			t.Errorf("%s: %d s, %t; want %d", text, seconds, ok, want)
		}
	}
}

// TestKernelQuotesTheKubelet has the kernel write what the kubelet does, as after "echo … > /dev/kmsg": nothing that the
// kubelet says is believed from there.
func TestKernelQuotesTheKubelet(t *testing.T) {
	rules, quoted := newRulebook(), 0
	for _, ex := range allExamples(t) {
		if ex.origin == "kernel" {
			continue
		}
		p := &lineParser{origin: "kubelet", latest: testNow, zone: testNow.Location()}
		e, _ := p.parse(ex.line)
		var o occurrence
		if _, ok := rules.find(&e, &o); !ok {
			continue
		}
		quoted++
		kind := o.Kind
		e.Origin, o = "kernel", occurrence{}
		if _, ok := rules.find(&e, &o); ok && o.Kind == kind && !slices.ContainsFunc(rules.kernel, func(r known) bool { return r.kind == kind }) {
			t.Errorf("%s: %s from the kernel: %s", ex.name, kind, ex.line)
		}
	}
	if quoted < 100 {
		t.Errorf("only %d lines of the kubelet are known", quoted)
	}
}

// How often a line comes is told by the distances between different moments: several programs' lines of one moment tell nothing.
func TestCadence(t *testing.T) {
	for want, seconds := range map[float64][]int{
		0: {0, 2, 4},
		2: {0, 0, 2, 2, 2, 4, 4, 6, 6, 6, 6},
		3: {0, 3, 6, 7, 9, 12},
	} {
		var c cadence
		for _, s := range seconds {
			c.add(time.Unix(int64(s), 0))
		}
		if got := c.usual(); got != want {
			t.Errorf("%v: %v, want %v", seconds, got, want)
		}
	}
}
