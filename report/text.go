package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// TextOptions says how [Text] is laid out. The zero value is 80 columns without colour.
type TextOptions struct {
	// Width is the number of columns; 0 is 80, and less than 40 is 40.
	Width int
	// Color asks for colours; the caller decides it by terminal and NO_COLOR.
	Color bool
	// Files are the files that hold the whole report, named at the end.
	Files []string
}

// The terminal text is bounded; the files have it all.
const (
	maxTextVerdicts = 5    // root causes told at length
	maxTextLines    = 20   // lines of a list
	maxTextBytes    = 1500 // bytes of a sentence
)

// Text writes the summary for a terminal: the verdict first, with its chain and what to do, then the other findings
// in a line each, what was not checked, and where the files are. No control character of the node reaches the terminal.
func Text(w io.Writer, r Report, opt TextOptions) error {
	out := bufio.NewWriter(w)
	t := &textWriter{w: out, width: max(40, cmp.Or(max(opt.Width, 0), 80)), color: opt.Color}
	t.report(r, opt)
	return out.Flush()
}

func (t *textWriter) report(r Report, opt TextOptions) {
	t.line("", headline(r))
	t.blank()
	if len(r.Diagnoses) == 0 {
		t.calm(r)
	}
	for i, d := range r.Diagnoses {
		if i == maxTextVerdicts {
			t.moreCauses(r.Diagnoses[i:])
			break
		}
		t.diagnosis(d)
	}
	if len(r.Diagnoses) > 0 {
		t.item("Never ", "rm -rf below a pod directory: where a volume is still mounted, that deletes its data.")
		t.blank()
	}
	t.others(r)
	t.disks(r)
	t.sections(r)
	t.notChecked(r)
	t.files(opt.Files)
}

// moreCauses gives root causes past the first ones a line each.
func (t *textWriter) moreCauses(rest []forensics.Diagnosis) {
	t.strong("Further root causes")
	for i, d := range rest {
		if i == maxTextLines {
			t.line("  ", fmt.Sprintf("and %d more: see the report.", len(rest)-i))
			break
		}
		t.oneLine(fmt.Sprintf("  %-8s ", cell(string(d.Severity), 8)), d.Title)
	}
	t.blank()
}

// headline names the node and the moment.
func headline(r Report) string {
	parts := []string{cmp.Or(r.Node.Name, "unnamed node")}
	if k := r.Evidence.Kubelet; k != nil && k.Version != "" {
		parts = append(parts, "kubelet "+k.Version)
	}
	if r.Node.Kernel != "" {
		parts = append(parts, cmp.Or(r.Node.OS, "Linux")+" "+r.Node.Kernel)
	}
	if !r.Evidence.Collected.IsZero() {
		parts = append(parts, "examined "+text.Moment(r.Evidence.Collected))
	}
	return strings.Join(parts, ", ")
}

func (t *textWriter) calm(r Report) {
	c := newCalm(r)
	t.marked(c.Mark.Tone, strings.ToUpper(string(c.Mark.Word)), string(c.Title))
	t.line("  ", string(c.Text))
	t.blank()
}

func (t *textWriter) diagnosis(d forensics.Diagnosis) {
	t.marked(severityTone(d.Severity), strings.ToUpper(string(d.Severity)), d.Title)
	if d.Since != nil {
		t.field("since", text.Moment(*d.Since))
	}
	sure := string(d.Confidence)
	if d.ConfidenceWhy != "" {
		sure += ": " + d.ConfidenceWhy
	}
	t.field("sure", sure)
	t.field("suffers", suffers(d.Pods))
	if len(d.Chain) > 0 {
		t.blank()
		t.strong("  Cause, from the root to the symptom")
		for i, link := range d.Chain[:min(len(d.Chain), maxTextLines)] {
			t.item(fmt.Sprintf("  %2d. ", i+1), link.Text)
		}
	}
	if len(d.Remedies) > 0 {
		t.blank()
		t.strong("  What to do, in this order")
		for i, step := range d.Remedies[:min(len(d.Remedies), maxTextLines)] {
			t.remedy(i+1, step)
		}
	}
	t.blank()
}

func suffers(pods []forensics.AffectedPod) string {
	if len(pods) == 0 {
		return "no pod that is known"
	}
	return podNames(pods)
}

func (t *textWriter) remedy(number int, step forensics.Remedy) {
	t.step(fmt.Sprintf("  %2d. ", number), step)
	t.item("        why: ", capital(step.Why))
	if step.OnlyIf != "" {
		t.item("    only if: ", capital(step.OnlyIf))
	}
	t.item("       risk: ", capital(step.Risk))
}

// others lists the findings that no diagnosis above explains, in one line each.
func (t *textWriter) others(r Report) {
	explained := map[int]bool{}
	for _, d := range r.Diagnoses {
		for _, i := range d.Findings {
			explained[i] = true
		}
	}
	var rest []forensics.Finding
	for i, f := range r.Findings {
		if !explained[i] {
			rest = append(rest, f)
		}
	}
	if len(rest) == 0 {
		return
	}
	t.strong("Other findings")
	for i, f := range rest {
		if i == maxTextLines {
			t.line("  ", fmt.Sprintf("and %d more: see the report.", len(rest)-i))
			break
		}
		t.oneLine(fmt.Sprintf("  %-8s %s: ", cell(string(f.Severity), 8), cell(f.ID, 40)), f.Title)
	}
	t.blank()
}

func (t *textWriter) notChecked(r Report) {
	missing := unchecked(r.Outcomes)
	if len(missing) == 0 {
		return
	}
	t.strong(fmt.Sprintf("Not checked: %d of %s", len(missing), count(len(r.Outcomes), "check")))
	for i, group := range byReason(missing) {
		if i == maxTextLines {
			t.line("  ", "and more: see the report.")
			break
		}
		t.item("  - ", strings.Join(group.Checks, ", ")+": "+group.Reason)
	}
	t.blank()
}

func (t *textWriter) files(files []string) {
	if len(files) == 0 {
		return
	}
	t.strong("Files")
	for _, f := range files {
		t.raw("  " + string(see(f)) + "\n")
	}
}
