package checks

import (
	"slices"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

var _ = scenariosOf("kubelet-syncloop-stalled", kubeletSyncloopStalledInLogs())

func kubeletSyncloopStalledInLogs() []scenario {
	clean, unjudged := forensics.OutcomeClean, forensics.OutcomeNotChecked
	return []scenario{
		{
			name: "a log alone", base: wellNode, change: both(silentSince("10:00:10", 900), logAlone),
			want: []string{"critical subsystem syncloop"}, says: "no log line for 12 min, while other parts of the kubelet logged",
		},
		{
			name: "a log alone says where", base: wellNode, change: both(silentSince("10:00:10", 900), logAlone),
			want: []string{"critical subsystem syncloop"}, says: "That line is the start of housekeeping, and its end is missing",
		},
		{
			name: "a log alone, of a loop silent for a minute and a half", base: wellNode, change: both(silentSince("10:11:00", 90), logAlone),
			want: []string{"warning subsystem syncloop"},
		},
		{name: "a log that ended hours ago", base: wellNode, change: both(silentSince("10:00:10", 900), func(tb testing.TB, e *forensics.Evidence) {
			logAlone(tb, e)
			e.Collected = at("10:12:30").Add(3 * time.Hour)
		}), want: []string{"warning subsystem syncloop"}, says: "The log ends at 2026-11-20 10:12:29 UTC, 3 h before the examination: the problem may have ended since"},
		{name: "the health check disagrees", base: wellNode, change: silentSince("10:00:10", 900), want: []string{"warning subsystem syncloop"}},
		{
			name: "the dump explains it, the log says since when", base: sickNode, change: silentSince("10:00:10", 900),
			want: []string{"warning subsystem syncloop"}, says: "The loop's last line in the log is of 10:00:10 UTC",
		},
		{
			name: "it skips, and says so", base: wellNode, change: both(tells(event(logs.KindSyncLoopSkipped, 30, "10:08:00", "10:12:27", down)), logAlone),
			want: []string{"critical subsystem syncloop"}, says: "has skipped pod synchronization for 4 min: container runtime is down",
		},
		{name: "it skipped until a minute ago", base: wellNode, change: both(tells(event(logs.KindSyncLoopSkipped, 30, "10:08:00", "10:11:20", down)), logAlone), outcome: unjudged},
		{name: "it skipped, and went on", base: wellNode, change: both(tells(event(logs.KindSyncLoopSkipped, 30, "09:50:00", "09:58:00", down)), logAlone), outcome: unjudged},
		{name: "the kubelet has just started", base: wellNode, change: both(lives(life(1, "10:12:00", "10:12:29", "running", "syncloop")),
			tells(event(logs.KindSyncLoopSkipped, 3, "10:12:01", "10:12:20", down)), logAlone), outcome: unjudged},
		{name: "no other part logs: the log was cut", base: wellNode, change: both(silentSince("10:00:10", 0), logAlone), outcome: unjudged},
		{name: "at -v 2 silence proves nothing", base: wellNode, change: both(atLowVerbosity, logAlone), outcome: unjudged},
		{
			name: "at -v 2 the health check tells that it stands, and no more", base: wellNode, change: both(atLowVerbosity,
				tells(event(logs.KindSyncLoopHealth, 3, "10:12:00", "10:12:20", logs.Subject{})), logAlone),
			want: []string{"warning subsystem syncloop"}, says: "The log alone does not show whether the sync loop is stalled",
		},
		{name: "the health check failed once, long ago", base: wellNode, change: both(atLowVerbosity,
			tells(event(logs.KindSyncLoopHealth, 3, "09:40:00", "09:42:20", logs.Subject{})), logAlone), outcome: unjudged},
		{name: "at -v 2 orphans were named, and are no more", base: wellNode, change: both(silentSince("10:00:10", 900), func(_ testing.TB, e *forensics.Evidence) {
			e.Logs.Loop.LastSeen = map[string]time.Time{"orphans": *at("10:00:10")}
		}, logAlone), outcome: unjudged},
		{name: "at -v 2 another source tells", base: wellNode, change: atLowVerbosity, outcome: clean},
		{name: "the kubelet ended", base: wellNode, change: both(silentSince("10:00:10", 900), lives(life(1, "09:00:00", "10:12:29", "signal", "")), logAlone), outcome: unjudged},
	}
}

var _ = scenariosOf("kubelet-syncloop-stalled", kubeletSyncloopStalledInDumps())

func kubeletSyncloopStalledInDumps() []scenario {
	return []scenario{
		{
			name: "a dump alone", base: wellNode, change: withStack("kubelet-1.22", "H.34 the sync loop waits for the lock of the pod workers"),
			want: []string{"critical subsystem syncloop"}, says: "sync loop blocked",
		},
		{name: "a dump of a sync loop at rest", base: wellNode, change: withStack("kubelet-1.22", "the sync loop at rest"), outcome: forensics.OutcomeClean},
	}
}

// TestSilenceOfAWaitingThread: without a dump, the silence of the sync loop is an effect of what the only waiting thread waits for, if it has
// waited as long.
func TestSilenceOfAWaitingThread(t *testing.T) {
	for _, tt := range []struct {
		waits  float64
		effect bool
	}{{740, true}, {300, false}} {
		e := sickNode(t)
		noDump(t, &e)
		silentSince("10:00:10", 900)(t, &e)
		e.Kubelet.Endpoints = nil
		e.Threads[0].WaitSeconds = &tt.waits
		e.Threads[0].Path = "/mnt/elsewhere" // so that housekeeping has nothing to do with it
		a := forensics.Analyze(&e, All())
		root := slices.ContainsFunc(a.Diagnoses, func(d forensics.Diagnosis) bool { return a.Findings[d.Findings[0]].ID == "kubelet-syncloop-stalled" })
		named := slices.ContainsFunc(a.Findings, func(f forensics.Finding) bool { return f.ID == "kubelet-syncloop-stalled" })
		if !named || root == tt.effect {
			t.Errorf("a thread that has waited for %g s: silence named %v, as a cause %v", tt.waits, named, root)
		}
	}
}
