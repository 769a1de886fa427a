package logview

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

// questionLimit is the time after which a call to the runtime fails (--runtime-request-timeout, 2 minutes).
const questionLimit = 2 * time.Minute

// RuntimeSilence is a runtime that did not respond, by the kubelet's log.
type RuntimeSilence struct {
	Events []logs.Event
	// Since is the latest moment at which it can have stopped responding; Until is when that was logged last.
	Since, Until *time.Time
	// Current says that it was so when the log ended.
	Current bool
	// Calls are the calls that failed, Reason is what the kubelet logged about the first.
	Calls  []string
	Reason string
}

// Runtime finds a runtime that did not answer calls that it should answer at once; nil if the log shows none.
func Runtime(p *forensics.Pass) *RuntimeSilence {
	var s RuntimeSilence
	late := false // a call timed out: it began earlier
	if byHand(p) {
		return nil
	}
	for _, e := range Events(p, append(ofPods[:len(ofPods):len(ofPods)], logs.KindRuntimeCallFailed, logs.KindRuntimeDown, logs.KindPLEGRelistFailed, logs.KindSyncLoopSkipped, logs.KindPLEGUnhealthy, logs.KindContainerGCFailed, logs.KindImageGCFailed, kubeletFatal, "node-not-ready")...) {
		call, ok := unansweredIn(e)
		if !ok || e.Kind != kubeletFatal && !AfterStart(p, Last([]logs.Event{e})) {
			continue
		}
		current := Repeating(p, e) && !RuntimeStarted(p, e) && !podStarted(p, e)
		if e.Kind == "node-not-ready" && (!current || becameReady(p, e)) { // its own check reports it
			continue
		}
		s.Events, s.Current = append(s.Events, e), s.Current || current
		s.Reason = cmp.Or(s.Reason, e.Reason)
		if call != "" {
			s.Calls = findings.Union(s.Calls, []string{call})
		}
		if t := e.First; t != nil && (s.Since == nil || t.Before(*s.Since)) {
			s.Since, late = t, e.Code == "DeadlineExceeded"
		}
	}
	if len(s.Events) == 0 {
		return nil
	}
	s.Until = Last(s.Events)
	s.Current = s.Current && !SaidOver(p, s.Events...)
	if s.Since != nil && late {
		t := s.Since.Add(-questionLimit)
		s.Since = &t
	}
	return &s
}

// becameReady says whether the node has become ready after an event.
func becameReady(p *forensics.Pass, e logs.Event) bool {
	last, ready := Last([]logs.Event{e}), Last(Events(p, "node-ready"))
	return last != nil && ready != nil && ready.After(*last)
}

// aMinute is longer than any list takes, in seconds.
const aMinute = 60

// byHand says that all that shows it are calls of crictl, or what docker has printed, of which one was answered later, or a single one: crictl
// waits for seconds, and a busy runtime is that slow. No list takes a minute, and the version is nothing that a runtime looks for.
func byHand(p *forensics.Pass) bool {
	all := Events(p, logs.KindRuntimeCallFailed, logs.KindRuntimeDown, logs.KindPLEGRelistFailed, logs.KindSyncLoopSkipped, logs.KindPLEGUnhealthy)
	if len(all) == 0 || slices.ContainsFunc(all, func(e logs.Event) bool {
		return e.Origin != "crictl" && (e.Origin != "" || e.Kind != logs.KindRuntimeDown)
	}) {
		return false
	}
	return len(all) == 1 && all[0].Count == 1 && all[0].Kind == logs.KindRuntimeCallFailed && all[0].Number < aMinute && (!strings.HasPrefix(all[0].Reason, "Version: ") || !Sole(p, all)) || lastLine(Events(p, "runtime-answered")) > lastLine(all)
}

// lastLine is the last line of events of one text, whose lines have no times; 0 where there is none.
func lastLine(list []logs.Event) (last int64) {
	for _, e := range list {
		for _, q := range e.Quotes {
			last = max(last, q.Line)
		}
	}
	return last
}

// Below says whether each file that quotes some messages has one of later ones below all of these: what people paste is in the order in
// which they saw it, and what a command prints has no time.
func Below(messages, later []logs.Event) bool {
	last := map[string]int64{}
	for _, e := range later {
		for _, q := range e.Quotes {
			last[q.File] = max(last[q.File], q.Line)
		}
	}
	for _, e := range messages {
		for _, q := range e.Quotes {
			if last[q.File] <= q.Line {
				return false
			}
		}
	}
	return len(messages) > 0 && len(later) > 0
}

// SaidOver says whether a sentence below all these messages, in the same text, says that the trouble is over. In a log, which nobody writes by
// hand, it is what a program has printed.
func SaidOver(p *forensics.Pass, messages ...logs.Event) bool {
	over := Events(p, "said-over")
	return len(over) > 0 && Written(p) && Below(messages, over)
}

// SaidRepeated says whether a sentence beside these messages, in the same text, says that they come again and again.
func SaidRepeated(p *forensics.Pass, messages ...logs.Event) bool {
	const near = 4 // lines, as of a fence and a blank
	return Written(p) && slices.ContainsFunc(Events(p, "said-repeated"), func(e logs.Event) bool {
		return slices.ContainsFunc(e.Quotes, func(said logs.Quote) bool {
			return slices.ContainsFunc(messages, func(m logs.Event) bool {
				return slices.ContainsFunc(m.Quotes, func(q logs.Quote) bool { return q.File == said.File && max(q.Line-said.Line, said.Line-q.Line) <= near })
			})
		})
	})
}

// Repeating says whether a message about the runtime or PLEG was still repeated when the log ended.
func Repeating(p *forensics.Pass, e logs.Event) bool {
	last := Last([]logs.Event{e})
	return Within(last, KubeletEnd(p), Repeats(e)) && !skippedOnce(p, e, last) && !readyAgain(p, e, last)
}

// RuntimeStarted says whether the runtime has started since a message about it or about PLEG.
func RuntimeStarted(p *forensics.Pass, e logs.Event) bool {
	last, start := Last([]logs.Event{e}), Last(Events(p, "runtime-started"))
	return last != nil && start != nil && start.After(*last)
}

// skippedOnce says that the sync loop skipped a single round, and the runtime responds: the kubelet itself, or its machine, had stood still,
// and so had the ages of what it knew. While a cause lasts, the loop skips again after 100 ms and logs that (syncLoop in
// pkg/kubelet/kubelet.go, 1.10 to 1.36).
func skippedOnce(p *forensics.Pass, e logs.Event, last *time.Time) bool {
	return (e.Kind == logs.KindSyncLoopSkipped || e.Kind == logs.KindPLEGUnhealthy) && e.Count == 1 && last != nil && p.Evidence.Collected.Sub(*last) > time.Second &&
		slices.ContainsFunc(p.Evidence.Runtimes, func(r runtimes.Runtime) bool { return r.Answer != nil && r.Answer.Status == "ok" })
}

// Repeats is the longest time between two messages about the runtime or PLEG while their cause lasts: an unanswered call fails after 2
// minutes, a refused call or a loop that skips is logged at once and again.
func Repeats(e logs.Event) time.Duration {
	if e.Code == "DeadlineExceeded" {
		return endOfLog
	}
	return EveryRound
}

// ofPods are failed calls about one sandbox or container. They show a runtime that is down only where its socket refused them.
var ofPods = []logs.Kind{
	logs.KindSandboxCreateFailed, logs.KindSandboxStopFailed, "sandbox-remove-failed",
	"container-create-failed", "container-start-failed", logs.KindContainerStopFailed, "container-remove-failed", logs.KindPodKillFailed,
}

// statusMissing says whether the first status of the runtime is missing for longer than any start takes, where the kubelet asks for it at once and
// then every five seconds (pkg/kubelet/runtime.go, since 1.15).
func statusMissing(e logs.Event) bool {
	return e.Reason == "container runtime status check may not have completed yet" && Between(e.First, e.Last) >= 10
}

// podStarted says that containers were started since such a call: the runtime is there again.
func podStarted(p *forensics.Pass, e logs.Event) bool {
	return slices.Contains(ofPods, e.Kind) && PodStartedSince(p, Last([]logs.Event{e}))
}

// PodStartedSince says whether events show that a container of a pod was started after a time.
func PodStartedSince(p *forensics.Pass, t *time.Time) bool {
	start := Last(Events(p, "pod-started"))
	return t != nil && start != nil && start.After(*t)
}

// kubeletFatal is a kubelet that ends: it does so when it cannot connect to the runtime.
const kubeletFatal logs.Kind = "kubelet-fatal"

// unansweredIn says whether a message shows a runtime that does not respond, and which call it was.
func unansweredIn(e logs.Event) (call string, ok bool) {
	if slices.Contains(ofPods, e.Kind) {
		return "", e.Cause() == logs.CauseRuntimeDown
	}
	switch e.Kind {
	case logs.KindRuntimeDown:
		return "", true
	case logs.KindSyncLoopSkipped:
		return "", e.Cause() == logs.CauseRuntimeDown || statusMissing(e)
	case logs.KindContainerGCFailed: // a list of the containers has no other error around it
		return "", e.Cause() == logs.CauseRuntimeDown || strings.HasPrefix(e.Reason, "rpc error: code = DeadlineExceeded")
	case logs.KindPLEGUnhealthy, logs.KindImageGCFailed, kubeletFatal, "node-not-ready":
		return "", e.Cause() == logs.CauseRuntimeDown
	case logs.KindPLEGRelistFailed:
		return "", e.Cause() == logs.CauseRuntimeDown || e.Code == "DeadlineExceeded" || e.Code == "Unavailable"
	}
	return e.Call(), stall.AnswersAtOnce(e.Call()) && (e.Cause() == logs.CauseRuntimeDown || e.Code == "DeadlineExceeded" || e.Code == "Unavailable")
}
