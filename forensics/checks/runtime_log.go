package checks

import (
	"cmp"
	"fmt"
	"slices"
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

// finding is what the log alone says.
func (s *runtimeSilence) finding(p *forensics.Pass) forensics.Finding {
	runtime := p.Model.RuntimeEntity()
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: runtime, Confidence: forensics.Certain, ConfidenceWhy: "the kubelet says so in its log",
		Title:    fmt.Sprintf("%s has not answered %s since %s", runtimeName(runtime), p.Model.KubeletName(), moment(s.since)),
		Detail:   "The kubelet can start, change and stop no container meanwhile; running ones go on.",
		Remedies: runtimeRemedies(p, runtime),
	}
	switch {
	case !s.stands:
		f.Severity, f.Remedies = forensics.Info, nil
		f.Title = fmt.Sprintf("%s did not answer %s from %s to %s, then did", runtimeName(runtime), p.Model.KubeletName(), moment(s.since), clock(s.until))
	}
	if s.stands {
		f.Detail = sentences(f.Detail, asOf(p))
		blameRuntimeProcess(p, &f)
	}
	return s.join(p, f)
}

// join adds the log to a finding that rests on a dump, or on the log itself.
func (s *runtimeSilence) join(p *forensics.Pass, f forensics.Finding) forensics.Finding {
	if s == nil {
		return f
	}
	if f.Severity == forensics.Warning && s.stands && between(s.since, s.until) >= stuckAfter && said(s.events) > 2 && !stale(p) {
		f.Severity = forensics.Critical
		f.Confidence, f.ConfidenceWhy = forensics.Certain, withReason(f.ConfidenceWhy, "the kubelet says so in its log")
	}
	if s.stands || f.Since == nil {
		f.Since = earliest(f.Since, s.since)
	}
	what := "In the kubelet's log"
	if len(s.calls) > 0 {
		what += " " + some(s.calls) + " failed"
	} else {
		what += " it is said to be down"
	}
	f.Detail = sentences(f.Detail, fmt.Sprintf("%s (%s, first %s, last %s: %s).", what, times(said(s.events)), clock(firstSaid(s.events)), clock(s.until), s.reason))
	f.Refs = append(f.Refs, quotesOf(s.events...)...)
	return f
}

// plegTrouble is a PLEG that the kubelet's log calls unhealthy, or that says that it cannot list.
type plegTrouble struct {
	events []logs.Event
	since  *time.Time
	until  *time.Time
	stands bool
	// unhealthy says that the kubelet called it so, and skips its sync loop therefore.
	unhealthy bool
	reason    string
	runtime   bool
}

func plegInLog(p *forensics.Pass) *plegTrouble {
	var t plegTrouble
	for _, e := range events(p, logs.KindPLEGUnhealthy, logs.KindPLEGRelistFailed) {
		last := lastSaid([]logs.Event{e})
		if !afterStart(p, last) || e.Kind == logs.KindPLEGUnhealthy && e.Max < relistThreshold {
			continue
		}
		t.events = append(t.events, e)
		t.stands = t.stands || soonBefore(last, kubeletEnd(p), repeats(e))
		t.runtime = t.runtime || strings.Contains(e.Reason, "runtime is down") || e.Kind == logs.KindPLEGRelistFailed
		if e.Kind == logs.KindPLEGUnhealthy {
			t.unhealthy, t.reason = true, e.Reason
			if last != nil { // when it was active last: what the line counts back to
				active := last.Add(-time.Duration(e.Number * float64(time.Second))).Truncate(time.Millisecond)
				t.since = earliest(t.since, &active)
			}
		}
	}
	if len(t.events) == 0 {
		return nil
	}
	if t.since == nil {
		t.since = firstSaid(t.events)
	}
	t.reason = cmp.Or(t.reason, t.events[0].Reason)
	t.until = lastSaid(t.events)
	return &t
}

// finding is what the log alone says.
func (t *plegTrouble) finding(p *forensics.Pass) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: plegEntity, ConfidenceWhy: "the kubelet says so in its log",
		Title:    fmt.Sprintf("%s: the PLEG has not got through its list of containers since %s", p.Model.KubeletName(), moment(t.since)),
		Remedies: []forensics.Remedy{evidenceFirst(p)},
	}
	switch {
	case !t.stands:
		f.Severity, f.Remedies = forensics.Info, nil
		f.Title = fmt.Sprintf("%s: the PLEG did not get through its list of containers from %s to %s, then did", p.Model.KubeletName(), moment(t.since), clock(t.until))
	case t.unhealthy && !stale(p):
		f.Severity = forensics.Critical
	}
	if t.unhealthy {
		f.Detail = "The kubelet calls its PLEG unhealthy and starts, changes and removes no pod meanwhile."
	}
	if t.stands {
		f.Detail = sentences(f.Detail, asOf(p))
	}
	return t.join(p, f)
}

// join adds the log to a finding that rests on a dump, or on the log itself.
func (t *plegTrouble) join(p *forensics.Pass, f forensics.Finding) forensics.Finding {
	if t == nil {
		return f
	}
	if t.stands || f.Since == nil {
		f.Since = earliest(f.Since, t.since)
	}
	if t.stands && t.unhealthy && !stale(p) && f.Severity == forensics.Warning {
		f.Severity = forensics.Critical
		f.Confidence, f.ConfidenceWhy = forensics.Certain, withReason(f.ConfidenceWhy, "the kubelet says so in its log")
	}
	f.Detail = sentences(f.Detail, fmt.Sprintf("The log says why, %s from %s to %s: %s.", times(said(t.events)), clock(firstSaid(t.events)), clock(t.until), t.reason))
	f.Refs = append(f.Refs, quotesOf(t.events...)...)
	cause := syncLoopEntity
	switch minor := p.Model.KubeletMinor(); {
	case t.runtime:
		cause = p.Model.RuntimeEntity()
	case minor == 0 || minor > 13 || len(f.Because) > 0:
		return f
	}
	if !slices.Contains(f.Because, cause) {
		f.Because = append(f.Because, cause)
	}
	return f
}
