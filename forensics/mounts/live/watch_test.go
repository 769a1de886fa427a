package live

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestWatch(t *testing.T) {
	const patience = 15 * time.Second
	for name, tc := range map[string]struct {
		calls   []time.Duration // how long each takes
		expired bool
		slowest string
	}{
		"all quick":                    {[]time.Duration{time.Second, 2 * time.Second}, false, "call 1"},
		"first is the slowest":         {[]time.Duration{3 * time.Second, 2 * time.Second}, false, "call 0"},
		"each just in time":            {[]time.Duration{patience, patience, patience - 1}, false, "call 1"},
		"one too late":                 {[]time.Duration{time.Second, patience + time.Second}, true, "call 1"},
		"too late, then another quick": {[]time.Duration{2 * patience, time.Second}, true, "call 0"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				expired := 0
				w := watch{now: time.Now, patience: patience, expired: func() { expired++ }}
				if got := w.read(); got != (progress{}) {
					t.Errorf("before: %+v", got)
				}
				total := time.Duration(0)
				for i, took := range tc.calls {
					w.enter("call " + string(rune('0'+i)))
					time.Sleep(took)
					synctest.Wait()
					if got := w.read(); got.waited != took || got.total != total {
						t.Errorf("call %d: %+v; want %v waited, %v in all", i, got, took, total)
					}
					total += took
				}
				w.leave()
				time.Sleep(3 * patience)
				if got := w.read(); got.slowest != tc.slowest || got.total != total || got.waited != 0 {
					t.Errorf("after: %+v; want %s, %v", got, tc.slowest, total)
				}
				if want := map[bool]int{true: 1}[tc.expired]; expired != want {
					t.Errorf("expired %d times; want %d", expired, want)
				}
			})
		})
	}
}
