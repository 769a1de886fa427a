package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/text"
)

type sourceRow struct {
	Source  shown
	Mark    mark
	Detail  shown
	Seconds float64
	Took    string
	Bytes   int64
	Size    string
}

func newCoverage(r Report) []sourceRow {
	room := budget(budgetRest)
	rows := []sourceRow{}
	for _, s := range r.Coverage {
		row := sourceRow{
			Source: cell(s.Source, maxCell), Mark: mark{sourceTone(s.Status), cell(string(s.Status), 40)},
			Detail: cell(s.Detail, maxLine), Seconds: s.Seconds, Took: text.Duration(s.Seconds),
			Bytes: s.Bytes, Size: bytesWords(s.Bytes),
		}
		if room.fits(row, 200) {
			rows = append(rows, row)
		}
	}
	return rows
}

// runView is the run and its overhead.
type runView struct {
	Facts       []fact
	Outstanding []fact
	Redactions  []fact
	Interrupted shown
}

func newRunView(r Report) runView {
	c, facts := r.Evidence.Collector, factList{}
	facts.add("Analyzed by", strings.TrimSpace(r.Tool.Name+" "+r.Tool.Version))
	facts.add("Command", strings.Join(r.Tool.Command, " "))
	facts.add("Collected by", suffix("version ", c.Version, ""))
	if command := strings.Join(c.Command, " "); command != strings.Join(r.Tool.Command, " ") {
		facts.add("Collector command", command)
	}
	if c.Seconds > 0 {
		facts.add("Duration", text.Duration(c.Seconds))
	}
	if c.PeakBytes > 0 {
		facts.add("Peak memory", bytesWords(c.PeakBytes))
	}
	var read int64
	for _, s := range r.Coverage {
		read += s.Bytes
	}
	facts.add("Bytes read", bytesWords(read))
	if c.HungAfterSeconds > 0 {
		facts.add("Hung after", "no response for "+text.Duration(c.HungAfterSeconds))
	}
	facts.add("Calls abandoned", strconv.Itoa(c.GivenUp))
	v := runView{Facts: facts, Interrupted: cell(c.Interrupted, maxLine)}
	room := budget(budgetRest)
	for _, b := range c.Outstanding {
		f := fact{cell(b.Key, maxCell), shown("no response for " + text.Duration(b.Seconds))}
		if b.TID != 0 {
			f.Value += shown(fmt.Sprintf(", thread %d/%d", c.PID, b.TID))
		}
		if room.fits(f, 60) {
			v.Outstanding = append(v.Outstanding, f)
		}
	}
	for _, e := range r.Evidence.Redactions {
		f := fact{cell(e.Where+", "+e.Rule, maxCell), shown(count(e.Count, "place"))}
		if room.fits(f, 60) {
			v.Redactions = append(v.Redactions, f)
		}
	}
	return v
}
