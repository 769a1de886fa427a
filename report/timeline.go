package report

import (
	"cmp"
	"fmt"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// A timeline is the events of logs, in lanes, of bounded size.
type timeline struct {
	// From and To are the ends of the axis: the first and the last event of any lane.
	From time.Time
	To   time.Time
	// Lanes are those that have events, always in the same order.
	Lanes []timelineLane
	// Marks are when a diagnosis began, as far as that is known, worst first.
	Marks []timelineMark
}

// A timelineLane is one part of the node.
type timelineLane struct {
	ID    logs.Lane
	Title string
	// Events are in the order in which they began; at most [maxEvents].
	Events []timelineEvent
	// Omitted counts the messages of the events that are left out.
	Omitted int64
}

// A timelineEvent is a point or a span of time in which something log messages occurred, one or many.
type timelineEvent struct {
	From time.Time
	// To equals From for what was said once.
	To time.Time
	// Open says that it had not ended at To, where the log ends.
	Open bool
	// Count is the number of its messages; 0 where the absence of messages shows it.
	Count int64
	// Text says what happened.
	Text string
	// Kind is the kind of message; empty where several kinds show it.
	Kind logs.Kind
	// Pod is "namespace/name" or a UID, empty where it is about no pod or several.
	Pod string
	// Quote is the line that says so.
	Quote *logs.Quote
	// Marked says that a diagnosis rests on it.
	Marked bool
}

// A timelineMark is when a diagnosis began.
type timelineMark struct {
	Time time.Time
	Text string
	// Diagnosis is its index in Analysis.Diagnoses.
	Diagnosis int
}

// maxEvents is how many events a lane has at most.
const maxEvents = 40

// newTimeline arranges the events of the logs. Without logs it has no lanes.
func newTimeline(e *forensics.Evidence, a *forensics.Analysis) timeline {
	t := timeline{Lanes: []timelineLane{}, Marks: []timelineMark{}}
	if e.Logs == nil {
		return t
	}
	events := map[logs.Lane][]timelineEvent{}
	add := func(lane logs.Lane, m ...timelineEvent) { events[lane] = append(events[lane], m...) }
	add(logs.LaneSyncLoop, livesOf(e.Logs)...)
	add(logs.LaneSyncLoop, loopOf(e.Logs)...)
	add(logs.LaneDeletions, deletionsOf(e.Logs)...)
	add(logs.LaneVolumes, operationsOf(e.Logs)...)
	for _, event := range e.Logs.Events {
		if lane := event.Kind.Lane(); lane != "" && event.First != nil {
			add(lane, timelineEventOf(event))
		}
	}
	cited := citedBy(a)
	for _, lane := range lanes {
		if list := events[lane.id]; len(list) > 0 {
			for i := range list {
				list[i].Marked = list[i].Quote != nil && cited[forensics.LogPlace(*list[i].Quote)]
			}
			shown, omitted := bounded(list)
			t.Lanes = append(t.Lanes, timelineLane{lane.id, lane.title, shown, omitted})
		}
	}
	t.span()
	t.marks(a)
	return t
}

// span sets the ends of the axis.
func (t *timeline) span() {
	for _, lane := range t.Lanes {
		for _, m := range lane.Events {
			if t.From.IsZero() || m.From.Before(t.From) {
				t.From = m.From
			}
			if m.To.After(t.To) {
				t.To = m.To
			}
		}
	}
}

// marks adds the diagnoses that began within the axis.
func (t *timeline) marks(a *forensics.Analysis) {
	for i, d := range a.Diagnoses {
		if d.Since != nil && !d.Since.Before(t.From.Truncate(time.Second)) && !d.Since.After(t.To) {
			t.Marks = append(t.Marks, timelineMark{*d.Since, d.Title, i})
		}
	}
}

// citedBy are the places in logs that the findings of diagnoses quote.
func citedBy(a *forensics.Analysis) map[string]bool {
	cited := map[string]bool{}
	for _, d := range a.Diagnoses {
		for _, i := range d.Findings {
			for _, r := range a.Findings[i].Refs {
				cited[r.Source] = true
			}
		}
	}
	return cited
}

// bounded folds events of one kind until they fit, and then leaves out those with the fewest messages. What a
// diagnosis rests on stays.
func bounded(list []timelineEvent) (shown []timelineEvent, omitted int64) {
	if len(list) > maxEvents {
		list = folded(list)
	}
	if len(list) > maxEvents {
		sorting.Stable(list, func(a, b timelineEvent) int { return cmp.Compare(weight(b), weight(a)) })
		for _, m := range list[maxEvents:] {
			omitted += max(m.Count, 1)
		}
		list = list[:maxEvents]
	}
	sorting.Stable(list, func(a, b timelineEvent) int { return cmp.Or(a.From.Compare(b.From), b.To.Compare(a.To)) })
	return list, omitted
}

func weight(m timelineEvent) int64 {
	w := min(m.Count, 1<<40)
	if m.Open {
		w += 1 << 41
	}
	if m.Marked {
		w += 1 << 42
	}
	return w
}

// folded joins the events of one kind that no diagnosis rests on into one.
func folded(list []timelineEvent) []timelineEvent {
	at := map[logs.Kind]int{}
	var out []timelineEvent
	about := map[int]int{}
	for _, m := range list {
		i, ok := at[m.Kind]
		if m.Marked || m.Kind == "" || !ok {
			if !m.Marked && m.Kind != "" {
				at[m.Kind] = len(out)
				about[len(out)] = 1
			}
			out = append(out, m)
			continue
		}
		into := &out[i]
		if m.From.Before(into.From) {
			into.From, into.Quote = m.From, m.Quote
		}
		if m.To.After(into.To) {
			into.To = m.To
		}
		into.Count += m.Count
		into.Open = into.Open || m.Open
		into.Pod = ""
		about[i]++
	}
	for i, n := range about {
		if n > 1 {
			out[i].Text = fmt.Sprintf("%s: %s, %d subjects", logs.Words(out[i].Kind), times(out[i].Count), n)
		}
	}
	return out
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return grouped(n) + " times"
}
