package report

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// timelineView is the events of logs, as a picture and as a table.
type timelineView struct {
	Picture *timelinePicture
	Rows    []timelineRow
	Cut     int
	Lanes   []laneNote
}

// laneNote says what a lane omits.
type laneNote struct {
	Title   string
	Omitted string
}

type timelineRow struct {
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
		for _, m := range lane.Events {
			row := newTimelineRow(m, lane, r.Evidence.Collected)
			if !room.fits(row, 260) {
				v.Cut++
				continue
			}
			v.Rows = append(v.Rows, row)
		}
	}
	sorting.Stable(v.Rows, func(a, b timelineRow) int { return cmp.Compare(a.Order, b.Order) })
	for i := range v.Rows {
		row := &v.Rows[i]
		row.Number, row.Anchor = i+1, "timeline-"+strconv.Itoa(i+1)
		places.putLine(string(row.Place), row.Anchor)
	}
	v.Picture = newTimelinePicture(t, r.Evidence.Collected, &room)
	return v
}

func newTimelineRow(m timelineEvent, lane timelineLane, now time.Time) timelineRow {
	row := timelineRow{
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
