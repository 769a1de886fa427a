package report

import (
	"cmp"
	"fmt"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// A timeline is what logs told, as lanes of moments beside each other, of bounded size.
type timeline struct {
	// From and To are the ends of the axis: the first and the last moment of any lane.
	From time.Time
	To   time.Time
	// Lanes are those that have moments, always in the same order.
	Lanes []timelineLane
	// Marks are when a diagnosis began, as far as that is known, worst first.
	Marks []timelineMark
}

// A timelineLane is one part of the node.
type timelineLane struct {
	ID    logs.Lane
	Title string
	// Moments are in the order in which they began; at most [maxMoments].
	Moments []timelineMoment
	// Omitted counts the messages behind the moments that found no room.
	Omitted int64
}

// A timelineMoment is a point or a span of time in which something was said, once or often.
type timelineMoment struct {
	From time.Time
	// To equals From for what was said once.
	To time.Time
	// Open says that it had not ended at To, where the log ends.
	Open bool
	// Count is how many messages are folded into it; 0 for what is told from the absence of messages.
	Count int64
	// Text says what happened, in the words of a person.
	Text string
	// Kind is the kind of message; empty for what was told from several.
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

// maxMoments is how many moments a lane has at most.
const maxMoments = 40

// newTimeline arranges what the logs told. Without logs it has no lanes.
func newTimeline(e *forensics.Evidence, a *forensics.Analysis) timeline {
	t := timeline{Lanes: []timelineLane{}, Marks: []timelineMark{}}
	if e.Logs == nil {
		return t
	}
	moments := map[logs.Lane][]timelineMoment{}
	add := func(lane logs.Lane, m ...timelineMoment) { moments[lane] = append(moments[lane], m...) }
	add(logs.LaneSyncLoop, livesOf(e.Logs)...)
	add(logs.LaneSyncLoop, loopOf(e.Logs)...)
	add(logs.LaneDeletions, deletionsOf(e.Logs)...)
	add(logs.LaneVolumes, operationsOf(e.Logs)...)
	for _, event := range e.Logs.Events {
		if lane := event.Kind.Lane(); lane != "" && event.First != nil {
			add(lane, momentOf(event))
		}
	}
	cited := citedBy(a)
	for _, lane := range lanes {
		if list := moments[lane.id]; len(list) > 0 {
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
		for _, m := range lane.Moments {
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

// bounded folds moments of one kind until they fit, and then leaves out those with the fewest messages. What a
// diagnosis rests on stays.
func bounded(list []timelineMoment) (shown []timelineMoment, omitted int64) {
	if len(list) > maxMoments {
		list = folded(list)
	}
	if len(list) > maxMoments {
		sorting.Stable(list, func(a, b timelineMoment) int { return cmp.Compare(weight(b), weight(a)) })
		for _, m := range list[maxMoments:] {
			omitted += max(m.Count, 1)
		}
		list = list[:maxMoments]
	}
	sorting.Stable(list, func(a, b timelineMoment) int { return cmp.Or(a.From.Compare(b.From), b.To.Compare(a.To)) })
	return list, omitted
}

func weight(m timelineMoment) int64 {
	w := min(m.Count, 1<<40)
	if m.Open {
		w += 1 << 41
	}
	if m.Marked {
		w += 1 << 42
	}
	return w
}

// folded joins the moments of one kind that no diagnosis rests on into one.
func folded(list []timelineMoment) []timelineMoment {
	at := map[logs.Kind]int{}
	var out []timelineMoment
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
			out[i].Text = fmt.Sprintf("%s: %s, about %d different things", logs.Words(out[i].Kind), times(out[i].Count), n)
		}
	}
	return out
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
