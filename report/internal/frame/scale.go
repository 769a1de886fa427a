package frame

import (
	"math"
	"time"
)

// A Scale turns moments into pixels of a picture. What is outside is at its edge.
type Scale struct {
	From, To   time.Time
	Width, Pad float64
}

// X is where a moment is.
func (s Scale) X(t time.Time) float64 {
	share := float64(t.Sub(s.From)) / float64(s.To.Sub(s.From))
	return Tenth(s.Pad + min(max(share, 0), 1)*(s.Width-2*s.Pad))
}

// Tenth rounds to a tenth of a pixel.
func Tenth(x float64) float64 { return math.Round(x*10) / 10 }

// A Tick is a mark of the time axis. It has the date where that is another one than before.
type Tick struct {
	X          float64
	Text, Date string
	Anchor     string
}

// steps between ticks: the first with at most eight ticks is used.
var steps = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
	10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 2 * 24 * time.Hour,
	7 * 24 * time.Hour, 30 * 24 * time.Hour, 365 * 24 * time.Hour,
}

// Ticks are at round times.
func (s Scale) Ticks() (list []Tick) {
	const most = 8
	step := steps[len(steps)-1]
	for _, d := range steps {
		if s.To.Sub(s.From)/d <= most {
			step = d
			break
		}
	}
	day := ""
	for at := s.From.UTC().Truncate(step); !at.After(s.To) && len(list) <= most+1; at = at.Add(step) {
		if at.Before(s.From) {
			continue
		}
		tick := Tick{X: s.X(at), Text: at.Format("15:04:05"), Anchor: "middle"}
		if step%time.Minute == 0 {
			tick.Text = at.Format("15:04")
		}
		if tick.X < 30 {
			tick.Anchor = "start"
		} else if tick.X > s.Width-30 {
			tick.Anchor = "end"
		}
		if date := at.Format("2006-01-02"); date != day {
			day, tick.Date = date, date
		}
		list = append(list, tick)
	}
	return list
}
