package logview

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// silentAfter is the silence after which the sync loop counts as stalled. Housekeeping alone logs every 2 seconds at -v 4.
const silentAfter = 60 * time.Second

// othersAfter is how many lines other parts must have logged meanwhile: a log that was cut is no silence.
const othersAfter = 3

// Silence is a sync loop that logged nothing while other parts of the kubelet did.
type Silence struct {
	Loop  *logs.Loop
	Since time.Time
	// Seconds is how long the log shows the silence.
	Seconds float64
	// Last is the kind of the loop's last line.
	Last string
}

// Skipping is a sync loop that logs that it skips.
type Skipping struct {
	Events []logs.Event
	Reason string
	Since  *time.Time
	// Seconds is how long the log shows that it skips.
	Seconds float64
	// Pleg says that an unhealthy PLEG is among the reasons, Runtime that a runtime that is down is.
	Pleg, Runtime bool
}

// SyncLoop judges the kubelet's log: a silent loop, one that skips, or why the log proves neither.
func SyncLoop(p *forensics.Pass) (*Silence, *Skipping, string) {
	s := Story(p)
	if s.Loop == nil {
		return nil, nil, ""
	}
	if KubeletEnded(p, s) {
		return nil, nil, "the kubelet's log ends with the end of the kubelet"
	}
	if skips := loopSkips(p); skips != nil {
		return nil, skips, ""
	}
	l := s.Loop
	switch {
	case l.Last == nil || l.Cadence == 0 || l.LastSeen["housekeeping"].IsZero(): // lines about orphans may stop for good
		verbosity := ""
		if n := len(s.Lives); n > 0 {
			verbosity = fmt.Sprintf(" (at least -v %d)", s.Lives[n-1].Verbosity)
		}
		return nil, nil, "the log alone does not show whether the sync loop is stalled: at this verbosity" + verbosity +
			" the kubelet logs no housekeeping lines, and an idle loop logs as little as a blocked one"
	case l.OthersLast == nil || l.OthersCount < othersAfter:
		return nil, nil, ""
	}
	quiet := l.OthersLast.Sub(*l.Last)
	if quiet < silentAfter || quiet.Seconds() < 10*l.Cadence {
		return nil, nil, ""
	}
	return &Silence{l, *l.Last, quiet.Seconds(), lastLoopLine(l)}, nil, ""
}

// KubeletEnded says whether the log's last kubelet is known to have ended. One whose process still exists has not, whatever it logged: it
// recovers from some panics.
func KubeletEnded(p *forensics.Pass, s *logs.Story) bool {
	if len(s.Lives) == 0 {
		return false
	}
	last := s.Lives[len(s.Lives)-1]
	if k := p.Evidence.Kubelet; k != nil && k.PID > 1 && k.PID == last.PID {
		if _, runs := p.Model.Process(k.PID); runs {
			return false
		}
	}
	return last.End != logs.EndRunning && last.End != ""
}

// wellAgain are the lines that show a kubelet to run, and those that show its node to be ready; the latest of these that has a time.
func wellAgain(p *forensics.Pass) (runs, rows []logs.Event, ready *time.Time) {
	for _, e := range Story(p).Events {
		switch {
		case e.Kind == "kubelet-runs":
			runs = append(runs, e)
		case e.Kind == "node-ready" && e.Last == nil:
			rows = append(rows, e)
		case e.Kind == "node-ready":
			ready = Latest(ready, e.Last)
		}
	}
	return runs, rows, ready
}

// StartedSince says whether a later kubelet has been able to start, after one ended at a time or at a line: systemd shows it running below,
// its node is ready, or its sync loop has taken an event of a container.
func StartedSince(p *forensics.Pass, last *time.Time, quotes ...logs.Quote) bool {
	runs, rows, ready := wellAgain(p)
	if l := Story(p).Loop; l != nil {
		if at := l.LastSeen["PLEG"]; !at.IsZero() {
			ready = Latest(ready, &at)
		}
	}
	return last != nil && ready != nil && ready.After(*last) || len(quotes) > 0 && Below([]logs.Event{{Quotes: quotes}}, append(runs, rows...))
}

// over says whether the text shows below a message that its trouble has ended: what a kubelet cannot start with, once one runs, and what makes
// a node not ready, once it is.
func over(p *forensics.Pass, e logs.Event) bool {
	switch e.Kind {
	case kubeletFatal:
		return StartedSince(p, e.Last, e.Quotes...)
	case "checkpoint-corrupt", "cgroup-driver-mismatch":
		return StartedSince(p, nil, e.Quotes...)
	case logs.KindPLEGUnhealthy, logs.KindSyncLoopSkipped, logs.KindCertExpired, "node-not-ready":
		_, rows, _ := wellAgain(p)
		return Below([]logs.Event{e}, rows)
	case logs.KindPLEGRelistFailed, logs.KindRuntimeCallFailed:
		_, rows, _ := wellAgain(p)
		return skipped(p) && Below([]logs.Event{e}, rows)
	}
	return false
}

// skipped says whether the kubelet has called PLEG or its runtime unhealthy: if the node is ready after that, both are well again.
func skipped(p *forensics.Pass) bool {
	return slices.ContainsFunc(Story(p).Events, func(e logs.Event) bool {
		return e.Kind == logs.KindPLEGUnhealthy || e.Kind == logs.KindSyncLoopSkipped
	})
}

// readyAgain says whether the node has become ready since a failed call to the runtime, after the kubelet had called that or PLEG unhealthy.
func readyAgain(p *forensics.Pass, e logs.Event, last *time.Time) bool {
	if e.Kind != logs.KindPLEGRelistFailed && e.Kind != logs.KindRuntimeCallFailed || last == nil {
		return false
	}
	_, _, ready := wellAgain(p)
	not := Last(Events(p, "node-not-ready"))
	return ready != nil && ready.After(*last) && (not == nil || ready.After(*not)) && skipped(p)
}

// lastLoopLine is the kind of the loop's last line.
func lastLoopLine(l *logs.Loop) string {
	for _, kind := range slices.Sorted(maps.Keys(l.LastSeen)) {
		if l.Last != nil && l.LastSeen[kind].Equal(*l.Last) {
			return kind
		}
	}
	return ""
}

// loopSkips finds a loop that has skipped for a minute or more and still did when the log ended. A starting kubelet skips for some seconds.
func loopSkips(p *forensics.Pass) *Skipping {
	var list []logs.Event
	for _, e := range Events(p, logs.KindSyncLoopSkipped, logs.KindPLEGUnhealthy) {
		if last := Last([]logs.Event{e}); Within(last, KubeletEnd(p), endOfLog) && AfterStart(p, last) {
			list = append(list, e)
		}
	}
	if beforeBoot(p, Last(list)) {
		return nil
	}
	if len(list) == 0 || !Within(Last(list), KubeletEnd(p), EveryRound) {
		return nil
	}
	s := Skipping{Events: list, Since: First(list), Reason: list[len(list)-1].Reason}
	if s.Seconds = Between(s.Since, Last(list)); s.Seconds < silentAfter.Seconds() {
		return nil
	}
	for _, e := range list {
		s.Pleg = s.Pleg || e.Kind == logs.KindPLEGUnhealthy
		s.Runtime = s.Runtime || e.Cause() == logs.CauseRuntimeDown
	}
	return &s
}
