package report

import (
	"cmp"
	"fmt"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// A Timeline is what logs told, as lanes of moments beside each other, of bounded size. It is made of [Evidence] and
// [Analysis] alone, so a saved report can draw it again.
type Timeline struct {
	// From and To are the ends of the axis: the first and the last moment of any lane.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Lanes are those that have moments, always in the same order.
	Lanes []Lane `json:"lanes"`
	// Marks are when a diagnosis began, as far as that is known, worst first.
	Marks []Mark `json:"marks"`
}

// A Lane is one part of the node.
type Lane struct {
	// ID is "syncloop", "deletions", "volumes", "disk", "runtime" or "kernel".
	ID    string `json:"id"`
	Title string `json:"title"`
	// Moments are in the order in which they began; at most [MostMoments].
	Moments []Moment `json:"moments"`
	// Omitted counts the messages behind the moments that found no room.
	Omitted int64 `json:"omitted,omitempty"`
}

// A Moment is a point or a span of time in which something was said, once or often.
type Moment struct {
	From time.Time `json:"from"`
	// To equals From for what was said once.
	To time.Time `json:"to"`
	// Open says that it had not ended at To, where the log ends.
	Open bool `json:"open,omitempty"`
	// Count is how many messages are folded into it; 0 for what is told from the absence of messages.
	Count int64 `json:"count"`
	// Text says what happened, in the words of a person.
	Text string `json:"text"`
	// Kind is the kind of message; empty for what was told from several.
	Kind logs.Kind `json:"kind,omitempty"`
	// Pod is "namespace/name" or a UID, empty where it is about no pod or several.
	Pod string `json:"pod,omitempty"`
	// Quote is the line that says so.
	Quote *logs.Quote `json:"quote,omitempty"`
	// Marked says that a diagnosis rests on it.
	Marked bool `json:"marked,omitempty"`
}

// A Mark is when a diagnosis began.
type Mark struct {
	Time time.Time `json:"time"`
	Text string    `json:"text"`
	// Diagnosis is its index in Analysis.Diagnoses.
	Diagnosis int `json:"diagnosis"`
}

// MostMoments is how many moments a lane has at most.
const MostMoments = 40

// laneTitles are the lanes in the order in which they are drawn.
var laneTitles = []struct{ id, title string }{
	{laneSyncLoop, "Kubelet and its sync loop"},
	{laneDeletions, "Pods on their way out"},
	{laneVolumes, "Volumes"},
	{laneDisk, "Disk, images, evictions"},
	{laneRuntime, "Container runtime"},
	{laneKernel, "Kernel"},
}

const (
	laneSyncLoop  = "syncloop"
	laneDeletions = "deletions"
	laneVolumes   = "volumes"
	laneDisk      = "disk"
	laneRuntime   = "runtime"
	laneKernel    = "kernel"
)

// NewTimeline arranges what the logs told. Without logs it has no lanes.
func NewTimeline(e *forensics.Evidence, a *forensics.Analysis) Timeline {
	t := Timeline{Lanes: []Lane{}, Marks: []Mark{}}
	if e.Logs == nil {
		return t
	}
	moments := map[string][]Moment{}
	add := func(lane string, m ...Moment) { moments[lane] = append(moments[lane], m...) }
	add(laneSyncLoop, livesOf(e.Logs)...)
	add(laneSyncLoop, loopOf(e.Logs)...)
	add(laneDeletions, deletionsOf(e.Logs)...)
	add(laneVolumes, operationsOf(e.Logs)...)
	for _, event := range e.Logs.Events {
		if lane := laneOf(event); lane != "" && event.First != nil {
			add(lane, momentOf(event))
		}
	}
	told := toldBy(a)
	for _, lane := range laneTitles {
		if list := moments[lane.id]; len(list) > 0 {
			for i := range list {
				list[i].Marked = list[i].Quote != nil && told[forensics.LogPlace(*list[i].Quote)]
			}
			shown, omitted := bounded(list)
			t.Lanes = append(t.Lanes, Lane{lane.id, lane.title, shown, omitted})
		}
	}
	t.span()
	t.marks(a)
	return t
}

// span sets the ends of the axis.
func (t *Timeline) span() {
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
func (t *Timeline) marks(a *forensics.Analysis) {
	for i, d := range a.Diagnoses {
		if d.Since != nil && !d.Since.Before(t.From.Truncate(time.Second)) && !d.Since.After(t.To) {
			t.Marks = append(t.Marks, Mark{*d.Since, d.Title, i})
		}
	}
}

// toldBy are the places in logs that the findings of diagnoses quote.
func toldBy(a *forensics.Analysis) map[string]bool {
	told := map[string]bool{}
	for _, d := range a.Diagnoses {
		for _, i := range d.Findings {
			for _, r := range a.Findings[i].Refs {
				told[r.Source] = true
			}
		}
	}
	return told
}

// bounded folds moments of one kind until they fit, and then leaves out those with the fewest messages. What a
// diagnosis rests on stays.
func bounded(list []Moment) (shown []Moment, omitted int64) {
	if len(list) > MostMoments {
		list = folded(list)
	}
	if len(list) > MostMoments {
		sorting.Stable(list, func(a, b Moment) int { return cmp.Compare(weight(b), weight(a)) })
		for _, m := range list[MostMoments:] {
			omitted += max(m.Count, 1)
		}
		list = list[:MostMoments]
	}
	sorting.Stable(list, func(a, b Moment) int { return cmp.Or(a.From.Compare(b.From), b.To.Compare(a.To)) })
	return list, omitted
}

func weight(m Moment) int64 {
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
func folded(list []Moment) []Moment {
	at := map[logs.Kind]int{}
	var out []Moment
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
