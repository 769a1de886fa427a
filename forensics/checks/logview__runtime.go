package checks

import (
	"cmp"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// questionLimit is after how long a question to the runtime fails (--runtime-request-timeout, 2 minutes).
const questionLimit = 2 * time.Minute

// runtimeSilence is a runtime that has not answered, by the kubelet's log.
type runtimeSilence struct {
	events []logs.Event
	// since is when it stopped to answer at the latest; until is when that was said last.
	since, until *time.Time
	// stands says that it was so when the log ended.
	stands bool
	// calls are the questions that failed, reason what the kubelet says of the first.
	calls  []string
	reason string
}

// runtimeInLog finds a runtime that did not answer what it should at once; nil if the log tells of none.
func runtimeInLog(p *forensics.Pass) *runtimeSilence {
	var s runtimeSilence
	late := false // a question timed out: it was asked before
	for _, e := range events(p, logs.KindRuntimeCallFailed, logs.KindRuntimeDown, logs.KindPLEGRelistFailed, logs.KindSyncLoopSkipped, logs.KindPLEGUnhealthy) {
		call, ok := unansweredIn(e)
		if !ok || !afterStart(p, lastSaid([]logs.Event{e})) {
			continue
		}
		s.events = append(s.events, e)
		s.stands = s.stands || soonBefore(lastSaid([]logs.Event{e}), kubeletEnd(p), repeats(e))
		s.reason = cmp.Or(s.reason, e.Reason)
		if call != "" {
			s.calls = union(s.calls, []string{call})
		}
		if t := e.First; t != nil && (s.since == nil || t.Before(*s.since)) {
			s.since, late = t, e.Code == "DeadlineExceeded"
		}
	}
	if len(s.events) == 0 {
		return nil
	}
	s.until = lastSaid(s.events)
	if s.since != nil && late {
		t := s.since.Add(-questionLimit)
		s.since = &t
	}
	return &s
}

// repeats is how often a complaint about the runtime or the PLEG is repeated at least, while its cause lasts: a question
// that is not answered fails after 2 minutes, one that is refused and a loop that skips say so at once and again.
func repeats(e logs.Event) time.Duration {
	if e.Code == "DeadlineExceeded" {
		return endOfLog
	}
	return everyRound
}

// unansweredIn says whether a message tells of a runtime that does not answer, and which question it was.
func unansweredIn(e logs.Event) (call string, ok bool) {
	switch e.Kind {
	case logs.KindRuntimeDown:
		return "", true
	case logs.KindSyncLoopSkipped, logs.KindPLEGUnhealthy:
		return "", strings.Contains(e.Reason, "runtime is down")
	case logs.KindPLEGRelistFailed:
		return "", e.Code == "DeadlineExceeded" || e.Code == "Unavailable"
	}
	call, _, _ = strings.Cut(e.Reason, " ")
	call = strings.TrimSuffix(call, ":")
	return call, answersAtOnce(call) && (e.Code == "DeadlineExceeded" || e.Code == "Unavailable")
}
