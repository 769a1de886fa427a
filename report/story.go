package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// logsSchema names the layout of what [WriteLogsJSON] writes.
const logsSchema = "nodeforensics.logs/v1"

// WriteLogsJSON writes the contents of logs as JSON, with the schema "nodeforensics.logs/v1".
func WriteLogsJSON(w io.Writer, story *logs.Story) error {
	return WriteJSON(w, struct {
		Schema string `json:"schema"`
		*logs.Story
	}{logsSchema, story})
}

// Limits of what is printed; the JSON has all.
const (
	mostDeletions  = 30
	mostOperations = 30
	mostEvents     = 120
	mostLives      = 20
)

// storyWriter prints a story.
type storyWriter struct {
	*bytes.Buffer
	width int
	// single says that there is only one file, so quotes do not name it.
	single bool
}

// WriteLogs writes the contents of logs as text, in lines of about width columns: the kubelet runs first, single events last. Long
// lists are cut, with a note; [WriteLogsJSON] has all.
func WriteLogs(out io.Writer, story *logs.Story, width int) error {
	var b bytes.Buffer
	w := storyWriter{&b, width, len(story.Files) == 1}
	for _, f := range story.Files {
		w.file(f)
	}
	w.lives(story.Lives)
	w.loop(story.Loop)
	w.orphans(story.Orphans)
	w.deletions(story.Deletions)
	w.operations(story.Operations)
	noise := func(e logs.Event) bool { return e.Kind.Severity() == logs.SeverityNoise }
	w.events("Events, ordered by their first message", story.Events, func(e logs.Event) bool { return !noise(e) })
	w.events("Known harmless log messages", story.Events, noise)
	w.errors(story.UnrecognizedErrors)
	w.dropped(story.Dropped)
	if len(story.Events) == 0 {
		fmt.Fprintf(w, "\nNo known log message was found.\n")
	}
	_, err := out.Write(b.Bytes())
	return err
}

func (w storyWriter) file(f logs.File) {
	fmt.Fprintf(w, "%s: %s", lineText(f.Path), f.Status)
	if f.Lines > 0 {
		fmt.Fprintf(w, ", %s (%s), %s, %s examined", f.Origin, cmp.Or(f.Format, "unrecognized format"), lineCount(f.Lines), grouped(f.Selected))
	}
	if f.First != nil && f.Last != nil {
		fmt.Fprintf(w, ", %s to %s UTC", f.First.UTC().Format(time.DateTime), f.Last.UTC().Format(time.DateTime))
	}
	if f.Detail != "" {
		fmt.Fprintf(w, "; %s", lineText(f.Detail))
	}
	fmt.Fprintln(w)
}

// lineCount spells a number of lines with commas.
func lineCount(n int64) string {
	if n == 1 {
		return "1 line"
	}
	return grouped(n) + " lines"
}

// section begins a part with a title.
func (w storyWriter) section(title string) { fmt.Fprintf(w, "\n%s\n", title) }

func (w storyWriter) more(n int) {
	if n > 0 {
		fmt.Fprintf(w, "  and %d more (the JSON output lists all)\n", n)
	}
}

func (w storyWriter) lives(lives []logs.Life) {
	if len(lives) == 0 {
		return
	}
	w.section("Kubelet runs")
	skip := max(len(lives)-mostLives, 0)
	if skip > 0 {
		fmt.Fprintf(w, "  %d earlier runs are not shown (the JSON output lists all)\n", skip)
	}
	for _, l := range lives[skip:] {
		parts := []string{moments(l.Started, l.Last, "before the log")}
		if l.PID != 0 {
			parts = append(parts, fmt.Sprintf("pid %d", l.PID))
		}
		if l.Version != "" {
			parts = append(parts, "version "+l.Version)
		}
		if l.Verbosity > 0 {
			parts = append(parts, fmt.Sprintf("-v %d or higher", l.Verbosity))
		}
		if l.Stage != "" {
			parts = append(parts, "start-up reached "+string(l.Stage))
		}
		end := "end: " + string(l.End)
		if l.End == logs.EndRunning {
			end = "still running when the log ends"
		}
		fmt.Fprintf(w, "  %s; %s\n", cellText(strings.Join(parts, ", ")), end)
		if l.EndQuote != nil {
			w.quote(*l.EndQuote)
		}
	}
}

func (w storyWriter) loop(l *logs.Loop) {
	if l == nil {
		return
	}
	w.section("Sync loop")
	if l.Last == nil {
		fmt.Fprintf(w, "  no message; at a low verbosity it writes none\n")
	} else {
		kinds := make([]string, 0, len(l.LastSeen))
		for kind := range l.LastSeen {
			kinds = append(kinds, kind)
		}
		sorting.Stable(kinds, func(a, b string) int {
			return cmp.Or(l.LastSeen[b].Compare(l.LastSeen[a]), strings.Compare(a, b))
		})
		for _, kind := range kinds {
			fmt.Fprintf(w, "  last %-16s %s\n", cellText(kind), stamp(l.LastSeen[kind]))
		}
		w.silence(l)
		if l.Quote != nil {
			w.quote(*l.Quote)
		}
	}
	for _, g := range l.Gaps {
		fmt.Fprintf(w, "  no message for %s from %s, then it continued\n", seconds(time.Duration(g.Seconds*float64(time.Second))), stamp(g.From))
	}
}

// silence says that the loop wrote no messages while other parts did, and whether that proves a hang: only if the verbosity shows the
// messages of each round.
func (w storyWriter) silence(l *logs.Loop) {
	if l.OthersLast == nil || l.OthersLast.Sub(*l.Last) < time.Minute {
		return
	}
	silent, until := seconds(l.OthersLast.Sub(*l.Last)), stamp(*l.OthersLast)
	if l.Cadence > 0 {
		fmt.Fprintf(w, "  no message for %s, while other parts wrote until %s; before, one every %.3g s\n", silent, until, l.Cadence)
		return
	}
	fmt.Fprintf(w, "  no message for %s, while other parts wrote until %s: at this verbosity that proves nothing\n", silent, until)
}

func (w storyWriter) orphans(o *logs.Orphans) {
	if o == nil {
		return
	}
	w.section("Orphaned pod directories")
	if o.Max > 0 {
		fmt.Fprintf(w, "  %d in the last round, %d at most\n", o.Last, o.Max)
	}
	if o.Named > 0 {
		fmt.Fprintf(w, "  %s named", text.Plural(int(o.Named), "pod"))
		if o.Rotates {
			fmt.Fprint(w, ", in turn: orphaned pods come and go")
		}
		if o.PodUID != "" {
			fmt.Fprintf(w, "; last %s, %s", cellText(o.PodUID), moments(o.Since, o.Until, "no time"))
		}
		fmt.Fprintln(w)
	}
	if o.Mounted > 0 {
		fmt.Fprintf(w, "  %s with volumes still mounted\n", text.Plural(int(o.Mounted), "pod"))
	}
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// moments is "from – to", once where both are the same second.
func moments(first, last *time.Time, unknown string) string {
	from, to := unknown, ""
	if first != nil {
		from = stamp(*first)
	}
	if last != nil {
		to = stamp(*last)
	}
	switch {
	case to == "" || to == from:
		return from
	case first != nil && first.UTC().Format(time.DateOnly) == last.UTC().Format(time.DateOnly):
		return first.UTC().Format(time.DateTime) + " – " + last.UTC().Format("15:04:05 UTC")
	}
	return from + " – " + to
}

func seconds(d time.Duration) string { return text.Duration(d.Seconds()) }
