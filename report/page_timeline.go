package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// timelineView is what logs told, as a picture and as a table.
type timelineView struct {
	Picture *timelinePicture
	Rows    []momentRow
	Cut     int
	Lanes   []laneNote
}

// laneNote says what a lane left out.
type laneNote struct {
	Title   string
	Omitted string
}

type momentRow struct {
	Number  int
	Anchor  string
	From    *when
	Order   int64
	Lasted  string
	Seconds float64
	Lane    string
	What    shown
	Count   string
	Marked  bool
	Open    bool
	Quote   shown
	Place   shown
}

// newTimelineView is nil where no log was read.
func newTimelineView(r Report, places *places) *timelineView {
	analysis := forensics.Analysis{Diagnoses: r.Diagnoses, Findings: r.Findings, Outcomes: r.Outcomes}
	for _, d := range r.Diagnoses { // a report may come from anywhere
		if slices.ContainsFunc(d.Findings, func(i int) bool { return i < 0 || i >= len(r.Findings) }) {
			analysis.Diagnoses = nil
		}
	}
	t := newTimeline(&r.Evidence, &analysis)
	if len(t.Lanes) == 0 {
		return nil
	}
	v, room := &timelineView{}, budget(budgetTimeline)
	for _, lane := range t.Lanes {
		if lane.Omitted > 0 {
			v.Lanes = append(v.Lanes, laneNote{lane.Title, count(int(min(lane.Omitted, 1<<40)), "message")})
		}
		for _, m := range lane.Moments {
			row := newMomentRow(m, lane, r.Evidence.Collected)
			if !room.fits(row, 260) {
				v.Cut++
				continue
			}
			v.Rows = append(v.Rows, row)
		}
	}
	sorting.Stable(v.Rows, func(a, b momentRow) int { return cmp.Compare(a.Order, b.Order) })
	for i := range v.Rows {
		row := &v.Rows[i]
		row.Number, row.Anchor = i+1, "moment-"+strconv.Itoa(i+1)
		places.putLine(string(row.Place), row.Anchor)
	}
	v.Picture = newTimelinePicture(t, r.Evidence.Collected, &room)
	return v
}

func newMomentRow(m timelineMoment, lane timelineLane, now time.Time) momentRow {
	row := momentRow{
		From: newWhen(&m.From, now), Order: m.From.UnixMilli(), Lane: lane.Title, What: cell(m.Text, maxCell), Marked: m.Marked, Open: m.Open,
	}
	if m.From.IsZero() {
		row.Order = 0
	}
	if d := m.To.Sub(m.From); d > 0 {
		row.Seconds = d.Seconds()
		row.Lasted = text.Duration(row.Seconds)
	}
	if m.Count > 1 {
		row.Count = grouped(m.Count)
	}
	if m.Quote != nil {
		row.Quote, row.Place = block(m.Quote.Text, maxLine), cell(forensics.LogPlace(*m.Quote), maxCell)
	}
	return row
}

// timelinePicture is lanes beside each other over one axis of time.
type timelinePicture struct {
	W, H  int
	Alt   shown
	Range string
	Told  bool // a root cause rests on one of the moments
	Lanes []drawnLane
	Ticks []drawnTick
	Marks []drawnMark
}

// Axis is where the lanes end, TickY and DateY are where the axis is labelled.
func (p *timelinePicture) Axis() int  { return p.H - axisHeight }
func (p *timelinePicture) TickY() int { return p.H - axisHeight + 14 }
func (p *timelinePicture) DateY() int { return p.H - axisHeight + 29 }

type drawnLane struct {
	Title string
	Left  string // how many moments are in the table only
	Y, H  int    // the band
	TextY int
	Bars  []laneBar
}

// laneBar is a moment: a bar for a span, a dot for a point, with an arrow where it had not ended.
type laneBar struct {
	X, Y, W float64
	Kind    string // class: "open", "told" (a diagnosis rests on it), "" for others
	Full    shown
	Text    shown // beside it, where there is room
	TextX   float64
	TextY   float64
	Anchor  string // "end" where the text stands before the bar
	Below   bool   // the text stands in the next row
	Arrow   string
}

type drawnTick struct {
	X          float64
	Text, Date string
	Anchor     string
}

// drawnMark is when a root cause began.
type drawnMark struct {
	X      float64
	TextX  float64
	Text   string
	Anchor string
	Full   shown
}

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

// newTimelinePicture draws lanes to scale; nil where all is one moment.
func newTimelinePicture(t timeline, examined time.Time, room *budget) *timelinePicture {
	span := t.To.Sub(t.From)
	if span <= 0 {
		return nil
	}
	s := scale{from: t.From, to: t.To}
	if late := examined.Sub(t.To); late > 0 && late < span/4 {
		s.to = examined
	}
	p := &timelinePicture{W: timelineWidth, Alt: timelineAlt(t), Range: moment(s.from) + " to " + moment(s.to)}
	y := markHeight
	for _, lane := range t.Lanes {
		drawn := s.lane(lane, y, room)
		y = drawn.Y + drawn.H + laneGap
		p.Lanes = append(p.Lanes, drawn)
		p.Told = p.Told || slices.ContainsFunc(lane.Moments, func(m timelineMoment) bool { return m.Marked })
	}
	p.H = y + axisHeight
	p.Ticks = s.ticks()
	p.Marks = s.marks(t.Marks)
	return p
}

func timelineAlt(t timeline) shown {
	n := 0
	for _, lane := range t.Lanes {
		n += len(lane.Moments)
	}
	return shown(fmt.Sprintf("Timeline of %s in %s from %s to %s; the table below tells the same.",
		count(n, "moment"), count(len(t.Lanes), "lane"), moment(t.From), moment(t.To)))
}

// scale turns moments into pixels.
type scale struct{ from, to time.Time }

func (s scale) x(t time.Time) float64 {
	share := float64(t.Sub(s.from)) / float64(s.to.Sub(s.from))
	return tenth(timelinePad + min(max(share, 0), 1)*(timelineWidth-2*timelinePad))
}

// lane packs the moments of a lane into rows: first those that matter most, each into the first row in which bar and
// text have room, then the others wherever the bar fits.
func (s scale) lane(lane timelineLane, y int, room *budget) drawnLane {
	d := drawnLane{Title: lane.Title, Y: y, TextY: y + 14}
	order := make([]int, len(lane.Moments))
	for i := range order {
		order[i] = i
	}
	sorting.Stable(order, func(a, b int) int { return cmp.Compare(momentWeight(lane.Moments[b]), momentWeight(lane.Moments[a])) })
	var rows [laneRows][]interval
	used, left := 1, 0
	for _, i := range order {
		bar := s.bar(lane.Moments[i])
		row := place(&rows, &bar)
		if row < 0 {
			left++
			continue
		}
		used = max(used, row+1)
		bar.Y = float64(y + laneHead + row*laneRow)
		bar.TextY = bar.Y + 9
		if bar.Below {
			bar.TextY += laneRow - 2
			used = max(used, row+2)
		}
		if bar.Arrow != "" {
			bar.Arrow = fmt.Sprintf("M%g %gl7 4.5l-7 4.5z", bar.X+bar.W, bar.Y)
		}
		if room.fits(bar, 150) {
			d.Bars = append(d.Bars, bar)
		}
	}
	if left > 0 {
		d.Left = grouped(int64(left)) + " more are in the table"
	}
	d.H = laneHead + used*laneRow + 3
	return d
}

func momentWeight(m timelineMoment) int {
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

func (s scale) bar(m timelineMoment) laneBar {
	b := laneBar{X: s.x(m.From), W: dotWidth}
	if w := s.x(m.To) - b.X; w > dotWidth {
		b.W = tenth(w)
	}
	b.X = min(b.X, timelineWidth-timelinePad-b.W)
	b.Full = cell(m.Text, maxCell) + shown(" ("+momentSpan(m)+")")
	switch {
	case m.Marked:
		b.Kind = "told"
	case m.Open:
		b.Kind = "open"
	}
	if m.Open {
		b.Arrow = "open"
	}
	b.Text = cell(m.Text, maxCell)
	if short := head(string(b.Text), laneText); short != string(b.Text) {
		b.Text = shown(strings.TrimRight(short, " ,(:") + "…")
	}
	return b
}

func momentSpan(m timelineMoment) string {
	from := m.From.UTC().Format("2006-01-02 15:04:05")
	switch {
	case !m.To.After(m.From):
		return from
	case m.Open:
		return from + " and on"
	}
	return from + " to " + m.To.UTC().Format("15:04:05")
}

// interval is what is taken of a row.
type interval struct{ from, to float64 }

// place finds a row for a bar and a side for its text, and takes the room. It returns -1 where there is none.
func place(rows *[laneRows][]interval, b *laneBar) int {
	right := b.X + b.W + 5
	if b.Arrow != "" {
		right += 8
	}
	width := float64(textWidth(string(b.Text))) * laneChar
	if b.Kind == "told" { // set in bold
		width *= 1.12
	}
	for row := range rows {
		switch {
		case right+width < timelineWidth-timelinePad && free(rows[row], b.X, right+width):
			b.TextX = tenth(right)
			rows[row] = append(rows[row], interval{b.X - 3, right + width + 6})
			return row
		case b.X-5-width > 0 && free(rows[row], b.X-5-width, right):
			b.TextX, b.Anchor = tenth(b.X-5), "end"
			rows[row] = append(rows[row], interval{b.X - 8 - width, right + 3})
			return row
		case row+1 < laneRows && b.X+width < timelineWidth-timelinePad && free(rows[row], b.X, right) && free(rows[row+1], b.X, b.X+width):
			b.TextX, b.Below = b.X, true
			rows[row] = append(rows[row], interval{b.X - 3, right + 3})
			rows[row+1] = append(rows[row+1], interval{b.X - 3, b.X + width + 6})
			return row
		}
	}
	b.Text = ""
	for row := range rows {
		if free(rows[row], b.X, right) {
			rows[row] = append(rows[row], interval{b.X - 3, right + 3})
			return row
		}
	}
	return -1
}

func free(taken []interval, from, to float64) bool {
	for _, t := range taken {
		if from < t.to && to > t.from {
			return false
		}
	}
	return true
}

// steps between ticks, of which the first with at most eight of them is taken.
var tickSteps = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
	10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 2 * 24 * time.Hour,
	7 * 24 * time.Hour, 30 * 24 * time.Hour, 365 * 24 * time.Hour,
}

func (s scale) ticks() []drawnTick {
	const most = 8
	step := tickSteps[len(tickSteps)-1]
	for _, d := range tickSteps {
		if s.to.Sub(s.from)/d <= most {
			step = d
			break
		}
	}
	var list []drawnTick
	day := ""
	for at := s.from.UTC().Truncate(step); !at.After(s.to) && len(list) <= most+1; at = at.Add(step) {
		if at.Before(s.from) {
			continue
		}
		tick := drawnTick{X: s.x(at), Text: at.Format("15:04:05"), Anchor: "middle"}
		if step%time.Minute == 0 {
			tick.Text = at.Format("15:04")
		}
		if tick.X < 30 {
			tick.Anchor = "start"
		} else if tick.X > timelineWidth-30 {
			tick.Anchor = "end"
		}
		if date := at.Format("2006-01-02"); date != day {
			day, tick.Date = date, date
		}
		list = append(list, tick)
	}
	return list
}

func (s scale) marks(marks []timelineMark) []drawnMark {
	const most = 6
	var list []drawnMark
	for _, m := range marks[:min(len(marks), most)] {
		d := drawnMark{X: s.x(m.Time), Text: fmt.Sprintf("root cause %d", m.Diagnosis+1), Full: cell(m.Text, maxCell), Anchor: "start"}
		d.TextX = tenth(d.X + 4)
		if d.X > timelineWidth-90 {
			d.Anchor, d.TextX = "end", tenth(d.X-4)
		}
		if slices.ContainsFunc(list, func(o drawnMark) bool { return o.Text != "" && o.TextX > d.TextX-85 && o.TextX < d.TextX+85 }) {
			d.Text = "" // the table and the verdict tell
		}
		list = append(list, d)
	}
	return list
}
