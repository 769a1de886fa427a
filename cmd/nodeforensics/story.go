package main

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// Bounds of what is printed; --json has all.
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
	// single says that there is one file, which quotes need not name.
	single bool
}

// writeStory prints a story for a person: what a kubelet was and did first, single events last.
func writeStory(b *bytes.Buffer, story *logs.Story, width int) {
	w := storyWriter{b, width, len(story.Files) == 1}
	for _, f := range story.Files {
		w.file(f)
	}
	w.lives(story.Lives)
	w.loop(story.Loop)
	w.orphans(story.Orphans)
	w.deletions(story.Deletions)
	w.operations(story.Operations)
	noise := slices.IndexFunc(story.Events, func(e logs.Event) bool { return e.Kind.IsNoise() }) >= 0
	w.events("Events, in the order of their first line", story.Events, func(e logs.Event) bool { return !e.Kind.IsNoise() })
	if noise {
		w.events("Noise: known lines that are harmless", story.Events, func(e logs.Event) bool { return e.Kind.IsNoise() })
	}
	w.dropped(story.Dropped)
	if len(story.Events) == 0 {
		fmt.Fprintf(w, "\nNo line is of a known kind.\n")
	}
}

func (w storyWriter) file(f logs.File) {
	fmt.Fprintf(w, "%s: %s", printable(f.Path), f.Status)
	if f.Lines > 0 {
		fmt.Fprintf(w, ", %s (%s), %s, %s looked at", f.Origin, cmp.Or(f.Format, "no known format"), text.Plural(int(f.Lines), "line"), text.Plural(int(f.Selected), "line"))
	}
	if f.First != nil && f.Last != nil {
		fmt.Fprintf(w, ", %s to %s UTC", f.First.UTC().Format(time.DateTime), f.Last.UTC().Format(time.DateTime))
	}
	if f.Detail != "" {
		fmt.Fprintf(w, "; %s", printable(f.Detail))
	}
	fmt.Fprintln(w)
}

// section begins a part with a title.
func (w storyWriter) section(title string) { fmt.Fprintf(w, "\n%s\n", title) }

func (w storyWriter) more(n int) {
	if n > 0 {
		fmt.Fprintf(w, "  and %d more (--json lists all)\n", n)
	}
}

func (w storyWriter) lives(lives []logs.Life) {
	if len(lives) == 0 {
		return
	}
	w.section("Kubelet")
	skip := max(len(lives)-mostLives, 0)
	if skip > 0 {
		fmt.Fprintf(w, "  %d earlier runs are left out (--json lists all)\n", skip)
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
			parts = append(parts, fmt.Sprintf("-v %d or more", l.Verbosity))
		}
		if l.Stage != "" {
			parts = append(parts, "start reached "+l.Stage)
		}
		fmt.Fprintf(w, "  %s; end: %s\n", cell(strings.Join(parts, ", ")), l.End)
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
		fmt.Fprintf(w, "  no line of it; at a low verbosity there are none\n")
	} else {
		kinds := make([]string, 0, len(l.LastSeen))
		for kind := range l.LastSeen {
			kinds = append(kinds, kind)
		}
		sorting.Stable(kinds, func(a, b string) int {
			return cmp.Or(l.LastSeen[b].Compare(l.LastSeen[a]), strings.Compare(a, b))
		})
		for _, kind := range kinds {
			fmt.Fprintf(w, "  last %-14s %s\n", cell(kind), stamp(l.LastSeen[kind]))
		}
		w.silence(l)
		if l.Quote != nil {
			w.quote(*l.Quote)
		}
	}
	for _, g := range l.Gaps {
		fmt.Fprintf(w, "  silent for %s from %s, then it went on\n", span(time.Duration(g.Seconds*float64(time.Second))), stamp(g.From))
	}
}

// silence says that the loop has been silent while others went on, and whether that proves anything: only where the
// lines of each round are shown does their absence.
func (w storyWriter) silence(l *logs.Loop) {
	if l.OthersLast == nil || l.OthersLast.Sub(*l.Last) < time.Minute {
		return
	}
	silent, until := span(l.OthersLast.Sub(*l.Last)), stamp(*l.OthersLast)
	if l.Cadence > 0 {
		fmt.Fprintf(w, "  silent for %s, while others go on until %s; before, it showed every %gs\n", silent, until, l.Cadence)
		return
	}
	fmt.Fprintf(w, "  no line for %s, while others go on until %s: at this verbosity that proves nothing\n", silent, until)
}

func (w storyWriter) orphans(o *logs.Orphans) {
	if o == nil {
		return
	}
	w.section("Orphaned pods")
	if o.Max > 0 {
		fmt.Fprintf(w, "  %d at last, %d at most\n", o.Last, o.Max)
	}
	if o.Named > 0 {
		fmt.Fprintf(w, "  %s named", text.Plural(int(o.Named), "pod"))
		if o.Rotates {
			fmt.Fprint(w, ", one after the other: pods come and go")
		}
		if o.PodUID != "" {
			fmt.Fprintf(w, "; last %s, %s", cell(o.PodUID), moments(o.Since, o.Until, "no time"))
		}
		fmt.Fprintln(w)
	}
	if o.Mounted > 0 {
		fmt.Fprintf(w, "  %s whose volumes were still mounted\n", text.Plural(int(o.Mounted), "pod"))
	}
}

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
	w.section(fmt.Sprintf("Pod deletions: %s, %d of them not finished", text.Plural(len(list), "pod"), open))
	for _, d := range list[:min(len(list), mostDeletions)] {
		name := strings.TrimSpace(d.PodName + " " + d.PodUID)
		state := "stands at " + d.Stage
		if d.Done {
			state = "done, " + d.Stage
		}
		if d.Since != nil {
			state += " since " + stamp(*d.Since)
		}
		fmt.Fprintf(w, "  %s: %s\n", cell(name), state)
		if d.Waits != "" {
			fmt.Fprintf(w, "    waits for %s\n", cell(d.Waits))
		}
		if !d.Done && !d.Proven {
			fmt.Fprintf(w, "    at this verbosity the end would not be seen\n")
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
	w.section("Volume operations that have not ended well")
	for _, o := range list[:min(len(list), mostOperations)] {
		fmt.Fprintf(w, "  %s of %s", o.Name, cell(cmp.Or(o.Volume, o.UniqueName, "a volume")))
		if pod := cmp.Or(o.PodName, o.PodUID); pod != "" {
			fmt.Fprintf(w, ", pod %s", cell(pod))
		}
		if o.Started != nil {
			fmt.Fprintf(w, ", started %s", stamp(*o.Started))
		}
		if o.Failed != nil {
			fmt.Fprintf(w, ", failed %s, last %s", text.Plural(int(o.Failures), "time"), stamp(*o.Failed))
		} else {
			fmt.Fprintf(w, ", has not come back")
		}
		if o.RetrySeconds > 0 {
			fmt.Fprintf(w, ", next try after %gs", o.RetrySeconds)
		}
		fmt.Fprintln(w)
		if o.Reason != "" {
			fmt.Fprintf(w, "    %s\n", clip(printable(strings.TrimSpace(o.Code+" "+o.Reason)), w.width-4))
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
		what := printable(strings.Join(strings.Fields(strings.Join([]string{
			cmp.Or(e.PodName, e.PodUID), e.Container, cmp.Or(e.Volume, e.UniqueName), e.Driver, e.Image, e.Device, e.Server, e.Process, e.Path, e.Code, e.Reason,
		}, " ")), " "))
		fmt.Fprintf(w, "%8d  %s  %s\n", e.Count, moments(e.First, e.Last, "no time"), clip(fmt.Sprintf("%s %s", e.Kind, what), max(w.width-44, 40)))
		if why := logs.NoiseReason(e.Kind); why != "" {
			fmt.Fprintf(w, "          %s\n", why)
		} else if len(e.Quotes) > 0 && !routine(e.Kind) {
			w.quote(e.Quotes[len(e.Quotes)-1])
		}
	}
	w.more(n - mostEvents)
}

// routine says whether events of a kind belong to the daily work of a kubelet, so that nobody wants to see a line.
func routine(k logs.Kind) bool {
	switch k {
	case logs.KindKubeletStage, logs.KindKubeletVersion, logs.KindKubeletVerbosity, logs.KindSyncLoopAdd, logs.KindSyncLoopUpdate, logs.KindSyncLoopReconcile,
		logs.KindSyncLoopPLEG, logs.KindSyncLoopSync, logs.KindSyncLoopStarted, logs.KindAttachVerifyStarted, logs.KindMountStarted,
		logs.KindMountDone, logs.KindUnmountStarted, logs.KindUnmountDone, logs.KindVolumeDetached:
		return true
	}
	return strings.HasPrefix(string(k), "syncloop-housekeeping")
}

// quote prints where a line stands and what it says, on one line of the terminal.
func (w storyWriter) quote(q logs.Quote) {
	where := printable(q.File)
	switch {
	case q.Line > 0 && w.single:
		where = fmt.Sprintf("line %d", q.Line)
	case q.Line > 0:
		where = fmt.Sprintf("%s:%d", where, q.Line)
	}
	fmt.Fprintf(w, "          %s\n", clip(where+": "+printable(strings.TrimSpace(q.Text)), max(w.width-10, 40)))
}

func (w storyWriter) dropped(dropped map[logs.Kind]int64) {
	if len(dropped) == 0 {
		return
	}
	total := int64(0)
	for _, n := range dropped {
		total += n
	}
	fmt.Fprintf(w, "\n%s found no room and were only counted (--json says of which kind).\n", text.Plural(int(total), "line"))
}

func stamp(t time.Time) string { return t.UTC().Format("01-02 15:04:05") }

// moments is "from – to", once where both are the same second.
func moments(first, last *time.Time, unknown string) string {
	from, to := unknown, ""
	if first != nil {
		from = stamp(*first)
	}
	if last != nil {
		to = stamp(*last)
	}
	if to == "" || to == from {
		return from
	}
	return from + " – " + to
}

func span(d time.Duration) string { return d.Round(time.Second).String() }
