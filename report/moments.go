package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// momentOf is an event as a moment.
func momentOf(e logs.Event) timelineMoment {
	m := timelineMoment{From: *e.First, To: *e.First, Count: e.Count, Kind: e.Kind, Pod: cmp.Or(e.PodName, e.PodUID), Text: logs.Words(e.Kind)}
	if e.Last != nil && e.Last.After(m.From) {
		m.To = *e.Last
	}
	if about := subjectText(e.Subject); about != "" {
		m.Text += ": " + about
	}
	if e.Count > 1 {
		m.Text += ", " + times(e.Count)
	}
	if len(e.Quotes) > 0 {
		m.Quote = &e.Quotes[0]
	}
	return m
}

// subjectText names what a message is about, most telling first, and why.
func subjectText(s logs.Subject) string {
	const most = 160
	var parts []string
	for _, part := range []string{
		cmp.Or(s.PodName, s.PodUID), s.Container, cmp.Or(s.Volume, s.UniqueName, s.Path), s.Driver, s.Image, s.Device, s.Server,
		s.Process,
	} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	text := strings.Join(parts, " ")
	switch {
	case text == "":
		text = s.Reason
	case s.Reason != "":
		text += " (" + s.Reason + ")"
	}
	return excerpt(text, most)
}

// excerpt cuts a text to so many runes and marks the cut.
func excerpt(s string, most int) string {
	n := 0
	for i := range s {
		if n++; n > most {
			return s[:i] + "…"
		}
	}
	return s
}

// livesOf are the starts and ends of the kubelet.
func livesOf(s *logs.Story) []timelineMoment {
	var list []timelineMoment
	for _, l := range s.Lives {
		name := strings.TrimSpace("kubelet " + text.Release(l.Version))
		if l.PID != 0 {
			name += fmt.Sprintf(" (pid %d)", l.PID)
		}
		if l.Started != nil {
			list = append(list, timelineMoment{From: *l.Started, To: *l.Started, Text: name + " starts"})
		}
		if l.Last != nil && l.End != logs.EndRunning && l.End != "" {
			list = append(list, timelineMoment{From: *l.Last, To: *l.Last, Text: name + " ended: " + string(l.End), Quote: l.EndQuote})
		}
	}
	return list
}

// loopOf are the silences of the sync loop, and the last of them if it lasts.
func loopOf(s *logs.Story) []timelineMoment {
	l := s.Loop
	if l == nil {
		return nil
	}
	// Without housekeeping lines a loop that has nothing to do is silent, too.
	shown := l.Cadence > 0 && !l.LastSeen["housekeeping"].IsZero()
	var list []timelineMoment
	for _, g := range l.Gaps {
		if !shown {
			break
		}
		to := g.From.Add(time.Duration(g.Seconds * float64(time.Second)))
		list = append(list, timelineMoment{From: g.From, To: to, Text: "the sync loop said nothing for " + text.Duration(g.Seconds)})
	}
	if l.Last == nil {
		return list
	}
	if shown && l.OthersLast != nil && l.OthersLast.Sub(*l.Last) > time.Minute {
		return append(list, timelineMoment{
			From: *l.Last, To: *l.OthersLast, Open: true, Quote: l.Quote,
			Text: fmt.Sprintf("nothing of the sync loop any more, %d lines of other parts of the kubelet", l.OthersCount),
		})
	}
	return append(list, timelineMoment{From: *l.Last, To: *l.Last, Quote: l.Quote, Text: "last line of the sync loop"})
}

// deletionsOf are the pods on their way out, each one span.
func deletionsOf(s *logs.Story) []timelineMoment {
	var list []timelineMoment
	for _, d := range s.Deletions {
		if len(d.Steps) == 0 {
			continue
		}
		first, last := d.Steps[0], d.Steps[len(d.Steps)-1]
		m := timelineMoment{From: first.Time, To: last.Time, Pod: cmp.Or(d.PodName, d.PodUID), Quote: &last.Quote, Count: int64(len(d.Steps))}
		switch {
		case d.Done:
			m.Text = fmt.Sprintf("pod %s left the node in %s", m.Pod, text.Duration(last.Time.Sub(first.Time).Seconds()))
		default:
			m.Text, m.Open = fmt.Sprintf("pod %s stands at the stage %q", m.Pod, d.Stage), true
			if s.Last != nil && s.Last.After(m.To) {
				m.To = *s.Last
			}
			if d.Waits != "" {
				m.Text += ": it waits for " + d.Waits
			}
			if len(d.Complaints) > 0 {
				m.Quote = &d.Complaints[0]
			}
		}
		list = append(list, m)
	}
	return list
}

// operationsOf are the volume operations that have not ended well, each one span.
func operationsOf(s *logs.Story) []timelineMoment {
	var list []timelineMoment
	for _, o := range s.Operations {
		from := o.Started
		if from == nil {
			from = o.Failed
		}
		if from == nil {
			continue
		}
		m := timelineMoment{From: *from, To: *from, Pod: cmp.Or(o.PodName, o.PodUID), Count: max(o.Failures, 1)}
		about := cmp.Or(o.Volume, o.UniqueName)
		if o.Failed == nil {
			m.Text, m.Open = fmt.Sprintf("%s of %s was started and has not come back", o.Name, about), true
			if s.Last != nil && s.Last.After(m.To) {
				m.To = *s.Last
			}
		} else {
			m.Text = fmt.Sprintf("%s of %s failed %s: %s", o.Name, about, times(o.Failures), excerpt(cmp.Or(o.Reason, o.Code, "no reason given"), 120))
			if o.Failed.After(m.To) {
				m.To = *o.Failed
			}
		}
		if len(o.Quotes) > 0 {
			m.Quote = &o.Quotes[0]
		}
		list = append(list, m)
	}
	return list
}
