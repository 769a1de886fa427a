package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// logsView is the logs, without the timeline and the deletions.
type logsView struct {
	Files      []logFileRow
	Facts      []fact
	Orphans    []fact
	Lives      []lifeRow
	Operations []operationRow
	Events     []eventRow
	Total, Cut int // events
	OpsCut     int
	Errors     []errorRow // that are not recognized
	Dropped    []fact
}

type logFileRow struct {
	Path, Origin, Format shown
	Mark                 mark
	Detail               shown
	Lines, Selected      string
	LineCount            int64
	SelectedCount        int64
	Size                 string
	Bytes                int64
	First, Last          *when
}

type lifeRow struct {
	PID            string
	Version        shown
	Started, Last  *when
	Stage, End     shown
	Verbosity      int
	Quote          shown
	ProbablyBefore bool
}

type operationRow struct {
	Name, About, Pod shown
	PodLink          link
	Started, Failed  *when
	Failures         int64
	Retry            string
	Reason           shown
	Quotes           []quoteView
}

type eventRow struct {
	Anchor      string
	Kind        shown
	Text        shown
	About       shown
	Origin      shown
	Count       int64
	First, Last *when
	Order       int64
	Number      string
	Quotes      []quoteView
}

type errorRow struct {
	Origin, Source shown
	Count          int64
	Quote          quoteView
}

type quoteView struct {
	Place shown
	Text  shown
}

// newLogsView is nil where no log was read.
func newLogsView(r Report, places *places) *logsView {
	s := r.Evidence.Logs
	if s == nil {
		return nil
	}
	places.logs = true
	now, room := r.Evidence.Collected, budget(budgetLogs)
	v := &logsView{Facts: loopFacts(s, now), Orphans: orphanFacts(s, now), Total: len(s.Events)}
	for _, f := range s.Files {
		row := newLogFileRow(f, now)
		if room.fits(row, 240) {
			v.Files = append(v.Files, row)
		}
	}
	for _, l := range s.Lives {
		row := newLifeRow(l, now)
		if room.fits(row, 240) {
			v.Lives = append(v.Lives, row)
		}
	}
	for _, o := range s.Operations {
		row := newOperationRow(o, now, places)
		if !room.fits(row, 300) {
			v.OpsCut++
			continue
		}
		v.Operations = append(v.Operations, row)
	}
	v.addEvents(s, now, places)
	for _, e := range s.UnrecognizedErrors {
		row := errorRow{cell(e.Origin, 60), cell(e.Source, maxCell), e.Count, newQuotes([]logs.Quote{e.Quote}, 1)[0]}
		if room.fits(row, 300) {
			v.Errors = append(v.Errors, row)
		}
	}
	for _, kind := range slices.Sorted(keysOf(s.Dropped)) {
		v.Dropped = append(v.Dropped, fact{cell(logs.Words(kind), maxCell), shown(grouped(s.Dropped[kind]))})
	}
	return v
}

func keysOf(m map[logs.Kind]int64) func(func(logs.Kind) bool) {
	return func(yield func(logs.Kind) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// addEvents shows those with the most messages, in the order of time.
func (v *logsView) addEvents(s *logs.Story, now time.Time, places *places) {
	order := make([]int, len(s.Events))
	for i := range order {
		order[i] = i
	}
	sorting.Stable(order, func(a, b int) int { return cmp.Compare(s.Events[b].Count, s.Events[a].Count) })
	room := budget(budgetEvents)
	for n, i := range order {
		row := newEventRow(s.Events[i], i, now)
		if !room.fits(row, 320) {
			v.Cut = len(order) - n
			break
		}
		v.Events = append(v.Events, row)
	}
	sorting.Stable(v.Events, func(a, b eventRow) int { return cmp.Compare(a.Order, b.Order) })
	for i := range v.Events {
		row := &v.Events[i]
		row.Anchor = "event-" + strconv.Itoa(i+1)
		for _, q := range row.Quotes {
			places.putLine(string(q.Place), row.Anchor)
		}
	}
}

func newLogFileRow(f logs.File, now time.Time) logFileRow {
	status := forensics.SourceStatus(f.Status)
	return logFileRow{
		Path: cell(f.Path, maxCell), Origin: cell(f.Origin, 60), Format: cell(f.Format, 60), Mark: mark{sourceTone(status), cell(f.Status, 40)},
		Detail: cell(f.Detail, maxCell), Lines: grouped(f.Lines), Selected: grouped(f.Selected),
		LineCount: f.Lines, SelectedCount: f.Selected, Bytes: f.Bytes, Size: bytesWords(f.Bytes),
		First: newWhen(f.First, now), Last: newWhen(f.Last, now),
	}
}

func newLifeRow(l logs.Life, now time.Time) lifeRow {
	row := lifeRow{
		Version: cell(l.Version, 60), Started: newWhen(l.Started, now), Last: newWhen(l.Last, now), Stage: cell(string(l.Stage), 60),
		End: cell(string(l.End), 60), Verbosity: l.Verbosity, ProbablyBefore: l.Started == nil,
	}
	if l.PID != 0 {
		row.PID = strconv.Itoa(l.PID)
	}
	if l.EndQuote != nil {
		row.Quote = block(l.EndQuote.Text, maxLine)
	}
	return row
}

func newOperationRow(o logs.Operation, now time.Time, places *places) operationRow {
	row := operationRow{
		Name: cell(o.Name, 80), About: cell(cmp.Or(o.Volume, o.UniqueName), maxCell), Started: newWhen(o.Started, now), Failed: newWhen(o.Failed, now),
		Failures: o.Failures, Reason: cell(strings.TrimSpace(o.Code+" "+o.Reason), maxCell),
		PodLink: link{cell(cmp.Or(o.PodName, places.podName(o.PodUID)), maxCell), places.hrefOf(forensics.KindPod, o.PodUID)},
		Quotes:  newQuotes(o.Quotes, 2),
	}
	if o.RetrySeconds > 0 {
		row.Retry = text.Duration(o.RetrySeconds)
	}
	return row
}

func newEventRow(e logs.Event, order int, now time.Time) eventRow {
	row := eventRow{
		Kind: cell(string(e.Kind), 80), Text: cell(logs.Words(e.Kind), maxCell), About: cell(aboutSubject(e.Subject), maxCell),
		Origin: cell(e.Origin, 60), Count: e.Count, First: newWhen(e.First, now), Last: newWhen(e.Last, now), Order: int64(order),
		Quotes: newQuotes(e.Quotes, 3),
	}
	if e.Max > 0 {
		row.Number = strconv.FormatFloat(e.Max, 'g', 6, 64)
	}
	return row
}

// aboutSubject names the subject of a message, and its reason.
func aboutSubject(s logs.Subject) string {
	var parts []string
	for _, part := range []string{
		cmp.Or(s.PodName, s.PodUID), s.Container, cmp.Or(s.Volume, s.UniqueName), s.Driver, s.Image, s.Device, s.Server, s.Process, s.Path,
	} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	text := strings.Join(parts, ", ")
	if why := strings.TrimSpace(s.Code + " " + s.Reason); why != "" {
		text = strings.TrimPrefix(text+": "+why, ": ")
	}
	return text
}

func newQuotes(quotes []logs.Quote, most int) []quoteView {
	var list []quoteView
	for _, q := range quotes[:min(len(quotes), most)] {
		list = append(list, quoteView{cell(forensics.LogPlace(q), maxCell), block(q.Text, maxLine)})
	}
	return list
}
