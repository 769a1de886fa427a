package logview

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

const (
	// endOfLog is how close to the end of a log a message must be to count as current: the kubelet repeats a failure at
	// least every 2 min 2 s.
	endOfLog = 150 * time.Second
	// EveryRound is the same for messages of each round of a loop: every second, every 2 seconds; skipped rounds at least
	// every 5.
	EveryRound = 30 * time.Second
	// freshLog is how close the end of a log must be to the examination to describe the same time.
	freshLog = 5 * time.Minute
)

// First is when the first of a list of messages was written, nil where no time is known.
func First(list []logs.Event) *time.Time {
	var t *time.Time
	for _, e := range list {
		t = Earliest(t, e.First)
	}
	return t
}

// Last is when the last of a list of messages was written, nil where no time is known.
func Last(list []logs.Event) *time.Time {
	var t *time.Time
	for _, e := range list {
		t = Latest(t, cmp.Or(e.Last, e.First))
	}
	return t
}

// Earliest is the earlier of two times; nil is an unknown one.
func Earliest(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.Before(*a) {
		return b
	}
	return a
}

// Latest is the later of two times; nil is an unknown one.
func Latest(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.After(*a) {
		return b
	}
	return a
}

// Between is the time from a to b in seconds; 0 where one is unknown.
func Between(a, b *time.Time) float64 {
	if a == nil || b == nil {
		return 0
	}
	return b.Sub(*a).Seconds()
}

// KubeletEnd is the time of the last line of a kubelet, or of any log where that is unknown.
func KubeletEnd(p *forensics.Pass) *time.Time {
	return forensics.Once(p, "the kubelet's last line", func() *time.Time { return findKubeletEnd(p) })
}

func findKubeletEnd(p *forensics.Pass) *time.Time {
	s := Story(p)
	var end *time.Time
	if s.Loop != nil {
		end = Latest(s.Loop.Last, s.Loop.OthersLast)
	}
	for _, l := range s.Lives {
		end = Latest(end, l.Last)
	}
	switch {
	case end != nil:
		return end
	case s.Last != nil && s.Loop == nil && slices.ContainsFunc(s.Files, func(f logs.File) bool { return f.Format == "event" }):
		t := s.Last.Add(-eventPause)
		return &t
	}
	return s.Last
}

// Boot is when the machine was started last, by the kernel's first line in the logs; nil where no log shows it. What an earlier kernel
// showed as going on has ended then: a thread that was blocked, a mount that did not respond.
func Boot(p *forensics.Pass) *time.Time {
	return forensics.Once(p, "the last boot", func() *time.Time { return Last(Events(p, "kernel-boot")) })
}

// BootedBelow says whether the kernel has started below a message without a time.
func BootedBelow(p *forensics.Pass, e logs.Event) bool {
	boots := sorting.Delete(slices.Clone(Events(p, "kernel-boot")), func(b logs.Event) bool { return b.Last != nil })
	return e.Last == nil && len(e.Quotes) > 0 && Below([]logs.Event{e}, boots)
}

// beforeBoot says whether a time is before the last boot.
func beforeBoot(p *forensics.Pass, t *time.Time) bool {
	boot := Boot(p)
	return t != nil && boot != nil && t.Before(*boot)
}

// eventPause is how long a kubelet waits at most until it reports an event of an object again while its cause lasts (client-go,
// tools/record: one in five minutes, after the first 25).
const eventPause = 5 * time.Minute

// eventBurst is how many events of an object are reported before that; several messages about it wait for one another.
const eventBurst = 25

// Current says whether a message that was last written at that time was still current when the kubelet's log ended.
func Current(p *forensics.Pass, last *time.Time) bool {
	return Within(last, KubeletEnd(p), endOfLog)
}

// Within says whether end is not more than d after t. What has no time, as a line that somebody has quoted without one, is
// within: nothing says that it is over.
func Within(t, end *time.Time, d time.Duration) bool {
	return t == nil || end != nil && end.Sub(*t) <= d
}

// Ago is for how many seconds a log without times went on after the last of a list of messages, by the kernel's own clock; 0 where that is
// not known.
func Ago(p *forensics.Pass, list []logs.Event) float64 {
	ago := -1.0
	for _, e := range list {
		if e.Last != nil || len(e.Quotes) == 0 || e.Quotes[len(e.Quotes)-1].Uptime == 0 {
			return 0
		}
		last := e.Quotes[len(e.Quotes)-1]
		for _, f := range Story(p).Files {
			if gap := f.Uptime - last.Uptime; f.Path == last.File && (ago < 0 || gap < ago) {
				ago = gap
			}
		}
	}
	return max(ago, 0)
}

// fresh says whether the kubelet's log reaches up to the examination.
func fresh(p *forensics.Pass) bool {
	end := KubeletEnd(p)
	return end != nil && !p.Evidence.Collected.IsZero() && p.Evidence.Collected.Sub(*end) <= freshLog
}

// Stale says whether the log ended well before the examination: its troubles may be over.
func Stale(p *forensics.Pass) bool { return !p.Evidence.Collected.IsZero() && !fresh(p) }

// AsOf says when the log ends, where that is well before the examination: the finding holds for that time.
func AsOf(p *forensics.Pass) string {
	end := KubeletEnd(p)
	if end == nil || fresh(p) {
		return ""
	}
	if last := Story(p).Last; last != nil && last.After(*end) {
		end = last
	}
	s := "The log ends at " + Moment(end)
	if gap := Between(end, &p.Evidence.Collected); !p.Evidence.Collected.IsZero() && gap > 0 {
		s += ", " + text.Duration(gap) + " before the examination"
	}
	return s + ": the problem may have ended since."
}

// Moment spells a time of a log.
func Moment(t *time.Time) string {
	if t == nil {
		return "an unknown time"
	}
	return text.Moment(*t)
}

// Since is " since " and a time, "" where it is not known.
func Since(t *time.Time) string {
	if t == nil {
		return ""
	}
	return " since " + text.Moment(*t)
}

// Clock is the time of day with its zone, for places where the date is beside it.
func Clock(t *time.Time) string {
	if t == nil {
		return "an unknown time"
	}
	return t.UTC().Format("15:04:05 UTC")
}

// Span says from when to when, with the date; once where both are the same second.
func Span(first, last *time.Time) string {
	switch {
	case last == nil || first != nil && Moment(first) == Moment(last):
		return "at " + Moment(first)
	case first == nil || first.UTC().Format(time.DateOnly) != last.UTC().Format(time.DateOnly):
		return "from " + Moment(first) + " to " + Moment(last)
	}
	return "from " + Moment(first) + " to " + Clock(last)
}

// fewLines is more than most people pick out of a log to show one error, and less than a log has of a minute.
// Messages of several lines, and wrapped ones, are more lines, and no more text: fewBytes.
const (
	fewLines = 16
	fewBytes = 100 * fewLines
)

// Picked says whether all there is are a few lines that somebody has picked, and whether a message of that time is at their end:
// whoever quotes more than the failure may show that it works again. Of one failure, several programs write within a second.
func Picked(p *forensics.Pass, last *time.Time) bool { return PickedWithin(p, last, Moments) }

// Moments is how far apart programs write of one failure.
const Moments = 2 * time.Second

// PickedWithin is Picked of a message that comes again after a pause at the earliest.
func PickedWithin(p *forensics.Pass, last *time.Time, pause time.Duration) bool {
	lines, all, bytes := saved(p)
	return all > 0 && all <= mostWritten && (lines <= fewLines || bytes > 0 && bytes <= fewBytes) && Within(last, lastShown(p), pause)
}

// OnlyEvents says whether all there is are events of the API.
func OnlyEvents(p *forensics.Pass) bool {
	return !slices.ContainsFunc(Story(p).Files, func(f logs.File) bool { return f.Format != "event" })
}

// saved is how many lines of logs, lines at all, and bytes were read if all are saved texts; else nothing. What somebody has written around the
// lines of a log, and what commands have printed, are lines, too.
func saved(p *forensics.Pass) (ofLogs, all, bytes int64) {
	if !p.Evidence.Collected.IsZero() {
		return 0, 0, 0
	}
	for _, f := range Story(p).Files {
		ofLogs += f.Lines
		if len(p.Evidence.Dumps)+len(p.Evidence.Threads) == 0 { // else these tell more than a line or two
			ofLogs -= f.Prose
		}
		all += f.Lines
		bytes += f.Bytes
	}
	return ofLogs, all, bytes
}

// mostWritten is how many lines a text has at most that somebody may have written by hand, or picked.
const mostWritten = 20 * fewLines

// Written says whether somebody may have written the text by hand, or picked its lines.
func Written(p *forensics.Pass) bool {
	_, all, _ := saved(p)
	return all > 0 && all <= mostWritten
}

// Brief says whether all there is are one to three lines, or all that a text shows between fences: who pastes them shows what fails.
func Brief(p *forensics.Pass) bool {
	const most, mostBytes = 3, 2 << 10
	_, all, bytes := saved(p)
	if all > 0 && all <= most && bytes <= mostBytes {
		return true
	}
	return Written(p) && !slices.ContainsFunc(Story(p).Files, func(f logs.File) bool { return f.Shown == 0 || f.Lines-f.Prose > f.Shown })
}

// Sole says whether a text that somebody has written shows nothing else of a log than these messages, with a stack perhaps: they are what it is
// about.
func Sole(p *forensics.Pass, messages []logs.Event) bool {
	const most = 64 // lines, of a stack and the registers
	ofLogs, all, _ := saved(p)
	return all > 0 && all <= mostWritten && ofLogs <= most && !slices.ContainsFunc(Story(p).Events, func(e logs.Event) bool {
		beside := strings.HasPrefix(string(e.Kind), "said-") || strings.HasPrefix(string(e.Kind), "kernel-stall-")
		return !beside && !slices.ContainsFunc(messages, func(m logs.Event) bool { return m.Kind == e.Kind })
	})
}

// LastWritten is Picked of a text that may be longer: whether a message of that time is at its end.
func LastWritten(p *forensics.Pass, last *time.Time) bool {
	return Written(p) && Within(last, lastShown(p), Moments)
}

// lastShown is the time of the last line of the logs. Ages of events count from when the table was printed, which is no event.
func lastShown(p *forensics.Pass) *time.Time {
	if OnlyEvents(p) {
		return Last(Story(p).Events)
	}
	return Story(p).Last
}

// StillComes says whether a message was still repeated when the log ended, at the pace at which it had come.
func StillComes(p *forensics.Pass, e logs.Event) bool {
	last, pace := Last([]logs.Event{e}), time.Duration(0)
	if e.Count >= FewFailures && e.First != nil && last != nil {
		pace = 2 * last.Sub(*e.First) / time.Duration(e.Count)
	}
	if e.Count >= eventBurst && OnlyEvents(p) {
		pace = max(pace, 3*eventPause)
	}
	return Current(p, last) || Within(last, KubeletEnd(p), pace)
}

// AfterStart says whether a time is more than a minute after the last start of the kubelet, as far as that is known: of one that another one
// replaced in the time that a text leaves out, the start is not in the text.
func AfterStart(p *forensics.Pass, t *time.Time) bool {
	lives := Story(p).Lives
	n := len(lives)
	if t == nil || n == 0 || lives[n-1].Started == nil || lives[n-1].Stage == "" && n > 1 && Between(lives[n-2].Last, lives[n-1].Started) > leftOut {
		return true
	}
	return t.Sub(*lives[n-1].Started) > time.Minute
}

// leftOut is for how many seconds no kubelet logs anything where part of a log was left out.
const leftOut = 600
