package checks

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// A wait is short if the kernel's clock says so, and otherwise of any age: two equal readings and what a dump prints are
// the least that it can be.
func TestShortAndUnknownWaits(t *testing.T) {
	slept := func(seconds float64, from string) change {
		return func(_ testing.TB, e *forensics.Evidence) {
			e.Threads[0].WaitSeconds, e.Threads[0].WaitFrom = ptr(seconds), from
		}
	}
	none := func(testing.TB, *forensics.Evidence) {}
	moment := slept(2, procs.WaitFromSched)
	for name, c := range map[string]struct {
		stamp  string
		change change
		// housekeeping is how the finding about it says how long it lasts, "" for no finding; blocked is the outcome of thread-blocked.
		housekeeping string
		blocked      forensics.OutcomeStatus
	}{
		"long":                            {"12 minutes", none, "housekeeping blocked for 12 min", forensics.OutcomeFound},
		"long by the dump alone":          {"12 minutes", func(_ testing.TB, e *forensics.Evidence) { e.Threads[0].WaitSeconds = nil }, "housekeeping blocked for at least 10 min", forensics.OutcomeFound},
		"long, and something wakes it up": {"12 minutes", moment, "housekeeping blocked for at least 10 min", forensics.OutcomeFound},
		"short":                           {"1 minutes", moment, "", forensics.OutcomeClean},
		"long, and more patience was asked for": {"1 minutes", both(slept(78, procs.WaitFromSched), func(_ testing.TB, e *forensics.Evidence) {
			e.Collector.HungAfterSeconds = 300
		}), "housekeeping blocked for 78 s", forensics.OutcomeClean},
		"this moment":                       {"2 minutes", both(slept(0, procs.WaitFromSched), func(_ testing.TB, e *forensics.Evidence) { e.Threads[0].SampledSeconds = 0 }), "", forensics.OutcomeClean},
		"unknown":                           {"1 minutes", forgetThread, "kubelet may be hung: housekeeping blocked by", forensics.OutcomeNotChecked},
		"two readings alone":                {"1 minutes", slept(1.5, procs.WaitFromSamples), "may be hung: housekeeping blocked for at least 1.5 s", forensics.OutcomeNotChecked},
		"short when it was first looked at": {"1 minutes", both(moment, func(_ testing.TB, e *forensics.Evidence) { e.Threads[0].Same = false }), "may be hung: housekeeping blocked for 2 s", forensics.OutcomeClean},
		"it tries again and again":          {"1 minutes", both(moment, func(_ testing.TB, e *forensics.Evidence) { e.Threads[0].Wait.Kind = procs.WaitRetry }), "may be hung: housekeeping blocked for 2 s", forensics.OutcomeClean},
	} {
		t.Run(name, func(t *testing.T) {
			e := sickNode(t)
			addDump(t, &e, strings.Replace(housekeepingDump, "12 minutes", c.stamp, 1), 9825)
			c.change(t, &e)
			a := forensics.Analyze(&e, []forensics.Check{kubeletHousekeepingBlocked, threadBlocked})
			f, found := findingOf(a, "kubelet-housekeeping-blocked")
			if found != (c.housekeeping != "") || !strings.Contains(f.Title, c.housekeeping) {
				t.Errorf("housekeeping: %q, want %q", f.Title, c.housekeeping)
			}
			if a.Outcomes[1].Status != c.blocked {
				t.Errorf("thread-blocked: %+v, want %s", a.Outcomes[1], c.blocked)
			}
		})
	}
}

// forgetThread leaves nothing that proves an age of the thread.
func forgetThread(_ testing.TB, e *forensics.Evidence) {
	t := &e.Threads[0]
	t.WaitSeconds, t.WaitFrom, t.Same, t.SampledSeconds = nil, "", false, 0
}

// A container that has ended but for a thread is told what is known of its wait.
func TestContainerInAShortWait(t *testing.T) {
	for name, c := range map[string]struct {
		seconds *float64
		from    string
		want    string
	}{
		"short":   {ptr(2.0), procs.WaitFromSched, "it began only 2 s before"},
		"unknown": {nil, "", "its duration is unknown"},
		"bound":   {ptr(2.0), procs.WaitFromSamples, "its duration is unknown"},
	} {
		e := stuckNode(t)
		keepAlive(&e)
		e.Processes[len(e.Processes)-1].State = "Z"
		e.Threads[0].WaitSeconds, e.Threads[0].WaitFrom = c.seconds, c.from
		f, ok := findingOf(forensics.Analyze(&e, []forensics.Check{containerUnkillable}), "container-unkillable")
		if !ok || !strings.Contains(f.ConfidenceWhy, c.want) {
			t.Errorf("%s: %q, want %q", name, f.ConfidenceWhy, c.want)
		}
	}
}
