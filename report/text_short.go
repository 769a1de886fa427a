package report

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// The lines of the short text.
const (
	shortText    = 24 // all of it, with one problem
	linesOfNext  = 8  // each further one
	maxChain     = 5
	minChain     = 3  // so much of the chain is shown beside a second step
	leastChain   = 2  // and so much beside a long one
	leastOfFirst = 12 // whatever else is to be said
)

// short writes what fits on one screen.
func (t *textWriter) short(r Report) {
	t.oneLine("", nodeLine(r))
	t.blank()
	listed, notes := others(r), 0
	if len(r.Diagnoses) > 0 { // beside a problem, what is none is a count
		all := len(listed)
		listed = sorting.Delete(listed, func(f forensics.Finding) bool { return f.Severity.Rank() <= forensics.Info.Rank() })
		notes = all - len(listed)
	}
	end := t.lines(func(t *textWriter) { t.unknown(r, notes) })
	room := max(shortText-2-1-len(end)-2, leastOfFirst) // node, blank; blank behind; two files
	if len(r.Diagnoses) == 0 {
		t.calm(r)
		t.blank()
	}
	for i, d := range r.Diagnoses[:min(len(r.Diagnoses), maxTextVerdicts)] {
		if i == 0 {
			t.firstProblem(r, d, room)
		} else {
			t.nextProblem(r, d, linesOfNext-1)
		}
		t.warned = t.warned || leftover(r, d)
		t.blank()
	}
	t.furtherProblems(r)
	t.others(r, listed)
	t.sections(r)
	t.print(end)
}

// lines are what a function writes, each with its line feed.
func (t *textWriter) lines(write func(*textWriter)) []string {
	var b bytes.Buffer
	part := &textWriter{w: bufio.NewWriter(&b), width: t.width, color: t.color, warned: t.warned}
	write(part)
	_ = part.w.Flush()
	return slices.Collect(strings.Lines(b.String()))
}

func (t *textWriter) print(lines []string) {
	for _, line := range lines {
		t.raw(line)
	}
}

// firstProblem writes a diagnosis in so many lines, but its first step and a part of its chain in any case.
func (t *textWriter) firstProblem(r Report, d forensics.Diagnosis, room int) {
	head := t.lines(func(t *textWriter) {
		t.headline(d)
		if d.Since != nil {
			t.field("Since", text.Moment(*d.Since))
		}
		t.affected(d.Pods)
		t.oneField("Confidence", confidence(d))
	})
	warnings := t.lines(func(t *textWriter) { t.warnings(r, d) })
	room -= len(head) + len(warnings) + 1 // the title of the steps
	steps := fixes(d)
	var fix []string
	shown := 0
	for i, step := range steps {
		lines := t.lines(func(t *textWriter) { t.shortStep(fmt.Sprintf("  %d. ", step.number), step.step) })
		if i > 0 && len(fix)+len(lines)+chainLines(d.Chain, i+1) > room {
			break
		}
		fix, shown = append(fix, lines...), i+1
	}
	t.print(head)
	switch {
	case shown == 0:
		t.oneField("Fix", "none known")
	case shown < len(d.Remedies):
		t.strong(fmt.Sprintf("  Fix (%d of %d steps; -v shows all)", shown, len(d.Remedies)))
	default:
		t.strong("  Fix")
	}
	t.print(fix)
	t.print(warnings)
	t.chain(shortChain(d.Chain, max(room-len(fix)-1, leastChain)))
}

// nextProblem writes a diagnosis in so many lines: its first step where that fits.
func (t *textWriter) nextProblem(r Report, d forensics.Diagnosis, room int) {
	head := t.lines(func(t *textWriter) {
		t.headline(d)
		t.affected(d.Pods)
		t.warnings(r, d)
	})
	t.print(head)
	steps := fixes(d)
	if len(steps) == 0 {
		return
	}
	mark := "  Fix: "
	if n := len(d.Remedies); n > 1 {
		mark = fmt.Sprintf("  Fix (1 of %d): ", n)
	}
	step := t.lines(func(t *textWriter) { t.shortStep(mark, steps[0].step) })
	if len(head)+len(step) > room {
		t.oneField("Fix", count(len(d.Remedies), "step")+", see -v")
		return
	}
	t.print(step)
}

func (t *textWriter) headline(d forensics.Diagnosis) {
	t.marked(severityTone(d.Severity), strings.ToUpper(string(d.Severity)), d.Title)
}

// A numbered is a step with its number in a diagnosis, by which -v shows it.
type numbered struct {
	number int
	step   forensics.Remedy
}

// fixes are the steps of a diagnosis that are more than to leave something alone. Those about the cause come first, before settings that
// only limit the damage.
func fixes(d forensics.Diagnosis) (steps []numbered) {
	var settings []numbered
	for i, step := range d.Remedies {
		switch {
		case !isFix(step):
		case step.Action == "configure":
			settings = append(settings, numbered{i + 1, step})
		default:
			steps = append(steps, numbered{i + 1, step})
		}
	}
	return append(steps, settings...)
}

// chainLines is how many lines a chain of causes takes at least, where so many steps stand before it: for the second step a part of the
// chain gives way, for further ones none.
func chainLines(chain []forensics.Link, steps int) int {
	switch n := min(len(chain), maxChain); {
	case n == 0:
		return 0
	case steps <= 2:
		return 1 + min(n, minChain)
	default:
		return 1 + n
	}
}

// shortStep is a step with what must hold and what it risks, which always stand with it.
func (t *textWriter) shortStep(mark string, step forensics.Remedy) {
	t.step(mark, step)
	indent := strings.Repeat(" ", min(len(mark), 7))
	note := "Risk: " + sentenceOf(step.Risk)
	if step.OnlyIf != "" {
		note = "Only if: " + sentenceOf(step.OnlyIf) + " " + note
	}
	t.line(indent, note)
}

// warnings are what not to do about a problem.
func (t *textWriter) warnings(r Report, d forensics.Diagnosis) {
	for _, step := range d.Remedies {
		if step.Action == "no-restart" {
			t.oneLine("  ", sentenceOf(step.String()))
			break
		}
	}
	if leftover(r, d) && !t.warned {
		t.line("  ", leftoverWarning)
	}
}

// sentenceOf is a text that ends as a sentence does.
func sentenceOf(s string) string {
	if s = capital(s); s == "" || strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

// shortChain leaves links out of a chain that has more than so many: first those that say least beside the others. The root stays.
func shortChain(chain []forensics.Link, most int) []forensics.Link {
	most = min(most, maxChain)
	chain = slices.Clone(chain)
	drop := func(least func(i int) bool) {
		for i := len(chain) - 1; i > 0 && len(chain) > most; i-- {
			if least(i) {
				chain = slices.Delete(chain, i, i+1)
			}
		}
	}
	drop(func(i int) bool { return chain[i].Kind == forensics.KindMount })
	drop(func(i int) bool { return chain[i].Kind == forensics.KindKubelet })
	drop(func(i int) bool { // the first part of the kubelet is the one that is blocked
		return chain[i].Kind == forensics.KindSubsystem && chain[i-1].Kind == forensics.KindSubsystem
	})
	drop(func(i int) bool {
		return chain[i].Kind == forensics.KindGoroutine && chain[i-1].Kind == forensics.KindThread
	})
	drop(func(i int) bool { return i < len(chain)-1 })
	return chain
}

// chain writes links, a line each.
func (t *textWriter) chain(chain []forensics.Link) {
	if len(chain) > 0 {
		t.strong("  Why we think so")
	}
	for i := range chain {
		t.oneLine(fmt.Sprintf("  %d. ", i+1), linkText(chain, i))
	}
}

// linkText is a link of a chain: what the link before it does to it, what it is, and its confidence. Names alone do not say why
// one link follows from another.
func linkText(chain []forensics.Link, i int) string {
	s := chain[i].Text
	if i > 0 {
		s = linkWords(chain[i-1], chain[i]) + ": " + s
	}
	if chain[i].Confidence == "" {
		return s
	}
	return s + " [" + string(chain[i].Confidence) + "]"
}

// furtherProblems gives diagnoses past the first ones a line each.
func (t *textWriter) furtherProblems(r Report) {
	if len(r.Diagnoses) <= maxTextVerdicts {
		return
	}
	rest := r.Diagnoses[maxTextVerdicts:]
	t.strong("Further problems")
	for i, d := range rest {
		if i == maxTextLines {
			t.more(len(rest) - i)
			break
		}
		t.oneLine(fmt.Sprintf("  %-9s ", strings.ToUpper(string(cell(string(d.Severity), 9)))), d.Title)
	}
	t.blank()
}

// unknown says in a line each how many findings are no problem, what was not checked and how that can be, and how many log lines are
// known to be harmless.
func (t *textWriter) unknown(r Report, notes int) {
	if notes > 0 {
		t.oneLine("Notes: ", count(notes, "finding")+" without a problem. -v lists them.")
	}
	if n := len(unchecked(r.Outcomes)); n > 0 {
		t.oneLine("Not checked: ", fmt.Sprintf("%d of %s. %s", n, count(len(r.Outcomes), "check"), cmp.Or(howToCheck(r), "-v lists the reasons.")))
	}
	if messages, lines := harmless(r); lines > 0 {
		t.oneLine("Known harmless log lines: ", fmt.Sprintf("%s (%s)", grouped(lines), count(messages, "message")))
	}
}

// harmless counts the lines of logs that are known to be no problem, and how many different ones they are.
func harmless(r Report) (messages int, lines int64) {
	if r.Evidence.Logs == nil {
		return 0, 0
	}
	for _, e := range r.Evidence.Logs.Events {
		if e.Kind.Severity() == logs.SeverityNoise {
			messages, lines = messages+1, lines+e.Count
		}
	}
	return messages, lines
}
