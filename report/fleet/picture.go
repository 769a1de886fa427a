package fleet

import (
	"fmt"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/text"
	"github.com/nodeforensics/nodeforensics/report"
	"github.com/nodeforensics/nodeforensics/report/internal/frame"
)

// The sizes of the timeline in pixels.
const (
	pictureWidth = 1080
	picturePad   = 14
	laneHeight   = 46
	laneGap      = 6
	axisHeight   = 34
	binWidth     = 12
	maxLanes     = 12
	// longest is how much time the timeline shows; what began before is at its left edge.
	longest = 48 * time.Hour
)

// picture is a common timeline: for each cause, when it began on which nodes.
type picture struct {
	W, H    int
	Alt     string
	Range   string
	Early   int // sightings that began before the range
	Unknown int // sightings without a time
	Lanes   []lane
	Ticks   []frame.Tick
	Axis    int
	TickY   int
	DateY   int
}

type lane struct {
	Number      int
	Title       string
	Y, H, TextY int
	Tone        string
	Dots        []dot
	Nodes       string
}

type dot struct {
	X, Y, R float64
	Text    string // the number of nodes; "" for one
	TextY   float64
	Full    string
}

// newPicture is nil where no two moments are known.
func newPicture(s *Summary) *picture {
	from, to := span(s)
	if from == nil || !to.After(*from) {
		return nil
	}
	p := &picture{W: pictureWidth}
	if to.Sub(*from) > longest {
		start := to.Add(-longest)
		from = &start
	}
	scale := frame.Scale{From: *from, To: *to, Width: pictureWidth, Pad: picturePad}
	y := 6
	for i := range s.Causes {
		c := &s.Causes[i]
		for _, n := range c.Nodes {
			switch {
			case n.Since == nil:
				p.Unknown++
			case n.Since.Before(*from):
				p.Early++
			}
		}
		if c.Since == nil || len(p.Lanes) == maxLanes {
			continue
		}
		l := lane{Number: i + 1, Title: report.Visible(c.Title, 140), Y: y, H: laneHeight, TextY: y + 15, Tone: severityMark(c.Severity).Tone}
		l.Dots = dots(c, scale, float64(y+31))
		l.Nodes = nodesOf(c)
		y += laneHeight + laneGap
		p.Lanes = append(p.Lanes, l)
	}
	p.H, p.Axis, p.TickY, p.DateY = y+axisHeight, y, y+14, y+29
	p.Ticks = scale.Ticks()
	p.Range = text.Moment(*from) + " to " + text.Moment(*to)
	p.Alt = fmt.Sprintf("Timeline of %s, %s: when each began on which nodes", text.Plural(len(p.Lanes), "cause"), p.Range)
	return p
}

// span is from the first beginning of a cause to the last report.
func span(s *Summary) (from, to *time.Time) {
	to = s.To
	for i := range s.Causes {
		for _, n := range s.Causes[i].Nodes {
			if n.Since != nil {
				from, to = earliest(from, n.Since), latest(to, n.Since)
			}
		}
	}
	return from, to
}

// dots are the nodes of a cause; those that began at nearly the same time are one dot. The nodes are in the order of their times.
func dots(c *Cause, scale frame.Scale, y float64) (list []dot) {
	var first, last *Sighting
	count, at := 0, 0.0
	flush := func() {
		if count == 0 {
			return
		}
		d := dot{X: at, Y: y, R: 5, Full: first.Node + ", " + text.Moment(*first.Since), TextY: y + 4}
		if count > 1 {
			d.R = frame.Tenth(min(6+float64(len(fmt.Sprint(count)))*2.2, 13))
			d.Text = fmt.Sprint(count)
			d.Full = fmt.Sprintf("%d nodes, %s to %s, first %s", count, text.Moment(*first.Since), last.Since.UTC().Format("15:04:05"), first.Node)
		}
		d.Full = report.Visible(d.Full, maxCell)
		list = append(list, d)
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if n.Since == nil {
			break
		}
		if here := scale.X(*n.Since); count == 0 || here-at > 2*binWidth {
			flush()
			count, at, first = 0, here, n
		}
		count++
		last = n
	}
	flush()
	return list
}
