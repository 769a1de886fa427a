package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/report/internal/frame"
)

// scale turns events into pixels.
type scale struct{ frame.Scale }

// lane packs the events of a lane into rows: first those that matter most, each into the first row in which bar and
// text have room, then the others wherever the bar fits.
func (s scale) lane(lane timelineLane, y int, room *budget) drawnLane {
	d := drawnLane{Title: lane.Title, Y: y, TextY: y + 14}
	order := make([]int, len(lane.Events))
	for i := range order {
		order[i] = i
	}
	sorting.Stable(order, func(a, b int) int { return cmp.Compare(eventWeight(lane.Events[b]), eventWeight(lane.Events[a])) })
	var rows [laneRows][]interval
	used, left := 1, 0
	for _, i := range order {
		bar := s.bar(lane.Events[i])
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
		d.Left = grouped(int64(left)) + " more in the table"
	}
	d.H = laneHead + used*laneRow + 3
	return d
}

func (s scale) bar(m timelineEvent) laneBar {
	b := laneBar{X: s.X(m.From), W: dotWidth}
	if w := s.X(m.To) - b.X; w > dotWidth {
		b.W = frame.Tenth(w)
	}
	b.X = min(b.X, timelineWidth-timelinePad-b.W)
	b.Full = cell(m.Text, maxCell) + shown(" ("+eventSpan(m)+")")
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
			b.TextX = frame.Tenth(right)
			rows[row] = append(rows[row], interval{b.X - 3, right + width + 6})
			return row
		case b.X-5-width > 0 && free(rows[row], b.X-5-width, right):
			b.TextX, b.Anchor = frame.Tenth(b.X-5), "end"
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

func (s scale) marks(marks []timelineMark) []drawnMark {
	const most = 6
	var list []drawnMark
	for _, m := range marks[:min(len(marks), most)] {
		d := drawnMark{X: s.X(m.Time), Text: fmt.Sprintf("root cause %d", m.Diagnosis+1), Full: cell(m.Text, maxCell), Anchor: "start"}
		d.TextX = frame.Tenth(d.X + 4)
		if d.X > timelineWidth-90 {
			d.Anchor, d.TextX = "end", frame.Tenth(d.X-4)
		}
		if slices.ContainsFunc(list, func(o drawnMark) bool { return o.Text != "" && o.TextX > d.TextX-85 && o.TextX < d.TextX+85 }) {
			d.Text = "" // the table and the verdict tell
		}
		list = append(list, d)
	}
	return list
}
