package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/text"
	"github.com/nodeforensics/nodeforensics/report/internal/frame"
)

// The sizes of the picture in pixels.
const (
	timelineWidth = 1080
	timelinePad   = 10
	axisHeight    = 34
	markHeight    = 20
	laneHead      = 20
	laneRow       = 17
	laneRows      = 9
	laneGap       = 6
	dotWidth      = 9
	laneChar      = 6.3 // pixels of a character of 11 px in the system's fonts, rather too much
	laneText      = 64  // characters
)

// timelinePicture is lanes beside each other over one axis of time.
type timelinePicture struct {
	W, H  int
	Alt   shown
	Range string
	Cited bool // a root cause rests on one of the events
	Lanes []drawnLane
	Ticks []frame.Tick
	Marks []drawnMark
}

// Axis is where the lanes end, TickY and DateY are where the axis is labelled.
func (p *timelinePicture) Axis() int { return p.H - axisHeight }

func (p *timelinePicture) TickY() int { return p.H - axisHeight + 14 }

func (p *timelinePicture) DateY() int { return p.H - axisHeight + 29 }

type drawnLane struct {
	Title string
	Left  string // how many events are in the table only
	Y, H  int    // the band
	TextY int
	Bars  []laneBar
}

// laneBar is an event: a bar for a span, a dot for a point, with an arrow where it had not ended.
type laneBar struct {
	X, Y, W float64
	Kind    string // class: "open", "told" (a diagnosis rests on it), "" for others
	Full    shown
	Text    shown // beside it, where there is room
	TextX   float64
	TextY   float64
	Anchor  string // "end" where the text is before the bar
	Below   bool   // the text is in the next row
	Arrow   string
}

// drawnMark is when a root cause began.
type drawnMark struct {
	X      float64
	TextX  float64
	Text   string
	Anchor string
	Full   shown
}

// newTimelinePicture draws lanes to scale; nil where all is one event.
func newTimelinePicture(t timeline, examined time.Time, room *budget) *timelinePicture {
	span := t.To.Sub(t.From)
	if span <= 0 {
		return nil
	}
	s := scale{frame.Scale{From: t.From, To: t.To, Width: timelineWidth, Pad: timelinePad}}
	if late := examined.Sub(t.To); late > 0 && late < span/4 {
		s.To = examined
	}
	p := &timelinePicture{W: timelineWidth, Alt: timelineAlt(t), Range: text.Moment(s.From) + " to " + text.Moment(s.To)}
	y := markHeight
	for _, lane := range t.Lanes {
		drawn := s.lane(lane, y, room)
		y = drawn.Y + drawn.H + laneGap
		p.Lanes = append(p.Lanes, drawn)
		p.Cited = p.Cited || slices.ContainsFunc(lane.Events, func(m timelineEvent) bool { return m.Marked })
	}
	p.H = y + axisHeight
	p.Ticks = s.Ticks()
	p.Marks = s.marks(t.Marks)
	return p
}

func timelineAlt(t timeline) shown {
	n := 0
	for _, lane := range t.Lanes {
		n += len(lane.Events)
	}
	return shown(fmt.Sprintf("Timeline of %s in %s from %s to %s; the table below has the same events.",
		count(n, "event"), count(len(t.Lanes), "lane"), text.Moment(t.From), text.Moment(t.To)))
}

func eventWeight(m timelineEvent) int {
	switch {
	case m.Marked:
		return 3
	case m.Open:
		return 2
	case m.Count == 0: // starts and ends
		return 1
	}
	return 0
}

func eventSpan(m timelineEvent) string {
	from := text.Moment(m.From)
	switch {
	case !m.To.After(m.From):
		return from
	case m.Open:
		return "since " + from
	}
	return from + " to " + m.To.UTC().Format("15:04:05 UTC")
}
