package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

func (w storyWriter) deletions(list []logs.Deletion) {
	if len(list) == 0 {
		return
	}
	open := 0
	for _, d := range list {
		if !d.Done {
			open++
		}
	}
	w.section(fmt.Sprintf("Pod deletions: %s, %d not finished", text.Plural(len(list), "pod"), open))
	for _, d := range list[:min(len(list), mostDeletions)] {
		name := strings.TrimSpace(d.PodName + " " + d.PodUID)
		state := "at stage " + string(d.Stage)
		if d.Done {
			state = "done, " + string(d.Stage)
		}
		if d.Since != nil {
			state += " since " + stamp(*d.Since)
		}
		fmt.Fprintf(w, "  %s: %s\n", cellText(name), state)
		if d.Waits != "" {
			fmt.Fprintf(w, "    waits for %s\n", cellText(d.Waits))
		}
		if !d.Done && !d.Proven {
			fmt.Fprintf(w, "    at this verbosity the log may not show its end\n")
		}
		for _, s := range d.Steps {
			fmt.Fprintf(w, "    %-11s %s\n", s.Stage, stamp(s.Time))
		}
		for _, q := range d.Complaints[:min(len(d.Complaints), 2)] {
			w.quote(q)
		}
	}
	w.more(len(list) - mostDeletions)
}

func (w storyWriter) operations(list []logs.Operation) {
	if len(list) == 0 {
		return
	}
	w.section("Volume operations that failed or have not returned")
	for _, o := range list[:min(len(list), mostOperations)] {
		fmt.Fprintf(w, "  %s of %s", o.Name, cellText(cmp.Or(o.Volume, o.UniqueName, "a volume")))
		if pod := cmp.Or(o.PodName, o.PodUID); pod != "" {
			fmt.Fprintf(w, ", pod %s", cellText(pod))
		}
		if o.Started != nil {
			fmt.Fprintf(w, ", started %s", stamp(*o.Started))
		}
		if o.Failed != nil {
			fmt.Fprintf(w, ", failed %s, last %s", text.Plural(int(o.Failures), "time"), stamp(*o.Failed))
		} else {
			fmt.Fprintf(w, ", has not returned")
		}
		if o.RetrySeconds > 0 {
			fmt.Fprintf(w, ", next retry after %g s", o.RetrySeconds)
		}
		fmt.Fprintln(w)
		if o.Reason != "" {
			fmt.Fprintf(w, "    %s\n", fit(lineText(strings.TrimSpace(o.Code+" "+o.Reason)), w.width-4))
		}
	}
	w.more(len(list) - mostOperations)
}

func (w storyWriter) events(title string, list []logs.Event, wanted func(logs.Event) bool) {
	n := 0
	for _, e := range list {
		if !wanted(e) {
			continue
		}
		if n++; n > mostEvents {
			continue
		}
		if n == 1 {
			w.section(title)
		}
		what := lineText(strings.Join(strings.Fields(strings.Join([]string{
			cmp.Or(e.PodName, e.PodUID), e.Container, cmp.Or(e.Volume, e.UniqueName), e.Driver, e.Image, e.Device, e.Server, e.Process, e.Path, e.Code, e.Reason,
		}, " ")), " "))
		fmt.Fprintf(w, "%8d  %s  %s\n", e.Count, moments(e.First, e.Last, "no time"), fit(fmt.Sprintf("%s %s", e.Kind, what), max(w.width-54, 40)))
		if why := logs.NoiseReason(e.Kind); why != "" {
			fmt.Fprintf(w, "          %s\n", why)
		} else if len(e.Quotes) > 0 && e.Kind.Severity() != logs.SeverityRoutine {
			w.quote(e.Quotes[len(e.Quotes)-1])
		}
	}
	w.more(n - mostEvents)
}

// quote prints the place and the text of a line, on one line of the terminal.
func (w storyWriter) quote(q logs.Quote) {
	where := lineText(q.File)
	switch {
	case q.Line > 0 && w.single:
		where = fmt.Sprintf("line %d", q.Line)
	case q.Line > 0:
		where = fmt.Sprintf("%s:%d", where, q.Line)
	}
	fmt.Fprintf(w, "          %s\n", fit(where+": "+lineText(strings.TrimSpace(q.Text)), max(w.width-10, 40)))
}

// errors lists errors that are not recognized.
func (w storyWriter) errors(list []logs.UnrecognizedError) {
	if len(list) == 0 {
		return
	}
	w.section("Errors that are not recognized, the most frequent first")
	for _, e := range list {
		fmt.Fprintf(w, "%8d  %s\n", e.Count, cellText(strings.TrimSpace(e.Origin+" "+e.Source)))
		w.quote(e.Quote)
	}
}

func (w storyWriter) dropped(dropped map[logs.Kind]int64) {
	if len(dropped) == 0 {
		return
	}
	total := int64(0)
	for _, n := range dropped {
		total += n
	}
	fmt.Fprintf(w, "\n%s were only counted, because of limits (the JSON output has their kinds).\n", text.Plural(int(total), "line"))
}
