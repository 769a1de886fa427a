package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// timelineEventOf is a log event on the timeline.
func timelineEventOf(e logs.Event) timelineEvent {
	m := timelineEvent{From: *e.First, To: *e.First, Count: e.Count, Kind: e.Kind, Pod: cmp.Or(e.PodName, e.PodUID), Text: logs.Words(e.Kind)}
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

// subjectText names the subject of a message, the most specific part first, and the reason.
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

// livesOf are the starts and exits of the kubelet.
func livesOf(s *logs.Story) []timelineEvent {
	var list []timelineEvent
	for _, l := range s.Lives {
		name := strings.TrimSpace("kubelet " + text.Release(l.Version))
		if l.PID != 0 {
			name += fmt.Sprintf(" (pid %d)", l.PID)
		}
		if l.Started != nil {
			list = append(list, timelineEvent{From: *l.Started, To: *l.Started, Text: name + " started"})
		}
		if l.Last != nil && l.End != logs.EndRunning && l.End != "" {
			list = append(list, timelineEvent{From: *l.Last, To: *l.Last, Text: name + " ended: " + string(l.End), Quote: l.EndQuote})
		}
	}
	return list
}

// loopOf are the gaps in the lines of the sync loop, also one that has not ended.
func loopOf(s *logs.Story) []timelineEvent {
	l := s.Loop
	if l == nil {
		return nil
	}
	// Without housekeeping lines, an idle sync loop also logs nothing.
	shown := l.Cadence > 0 && !l.LastSeen["housekeeping"].IsZero()
	var list []timelineEvent
	for _, g := range l.Gaps {
		if !shown {
			break
		}
		to := g.From.Add(time.Duration(g.Seconds * float64(time.Second)))
		list = append(list, timelineEvent{From: g.From, To: to, Text: "no line of the sync loop for " + text.Duration(g.Seconds)})
	}
	if l.Last == nil {
		return list
	}
	if shown && l.OthersLast != nil && l.OthersLast.Sub(*l.Last) > time.Minute {
		return append(list, timelineEvent{
			From: *l.Last, To: *l.OthersLast, Open: true, Quote: l.Quote,
			Text: fmt.Sprintf("no more lines of the sync loop, %s of other kubelet components", count(int(l.OthersCount), "line")),
		})
	}
	return append(list, timelineEvent{From: *l.Last, To: *l.Last, Quote: l.Quote, Text: "last line of the sync loop"})
}

// deletionsOf are the deletions of pods, each one span.
func deletionsOf(s *logs.Story) []timelineEvent {
	var list []timelineEvent
	for _, d := range s.Deletions {
		if len(d.Steps) == 0 {
			continue
		}
		first, last := d.Steps[0], d.Steps[len(d.Steps)-1]
		m := timelineEvent{From: first.Time, To: last.Time, Pod: cmp.Or(d.PodName, d.PodUID), Quote: &last.Quote, Count: int64(len(d.Steps))}
		switch {
		case d.Done:
			m.Text = fmt.Sprintf("pod %s deleted in %s", m.Pod, text.Duration(last.Time.Sub(first.Time).Seconds()))
		default:
			m.Text, m.Open = fmt.Sprintf("pod %s stuck in deletion at stage %s", m.Pod, d.Stage), true
			if s.Last != nil && s.Last.After(m.To) {
				m.To = *s.Last
			}
			if d.Waits != "" {
				m.Text += ": waits for " + d.Waits
			}
			if len(d.Complaints) > 0 {
				m.Quote = &d.Complaints[0]
			}
		}
		list = append(list, m)
	}
	return list
}

// operationsOf are the failed or unfinished volume operations, each one span.
func operationsOf(s *logs.Story) []timelineEvent {
	var list []timelineEvent
	for _, o := range s.Operations {
		from := o.Started
		if from == nil {
			from = o.Failed
		}
		if from == nil {
			continue
		}
		m := timelineEvent{From: *from, To: *from, Pod: cmp.Or(o.PodName, o.PodUID), Count: max(o.Failures, 1)}
		about := cmp.Or(o.Volume, o.UniqueName)
		if o.Failed == nil {
			m.Text, m.Open = fmt.Sprintf("%s of %s started and has not returned", o.Name, about), true
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
