package report

import (
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// verbose writes everything that a terminal can show, in the same order as the short text.
func (t *textWriter) verbose(r Report) {
	t.line("", nodeLine(r))
	t.blank()
	if len(r.Diagnoses) == 0 {
		t.calm(r)
		t.blank()
	}
	for i, d := range r.Diagnoses {
		if i == maxTextVerdicts {
			t.furtherProblems(r)
			break
		}
		t.diagnosis(r, d)
	}
	t.others(r, others(r))
	t.harmlessLines(r)
	t.disks(r)
	t.sections(r)
	t.notChecked(r)
}

func (t *textWriter) diagnosis(r Report, d forensics.Diagnosis) {
	t.headline(d)
	if d.Since != nil {
		t.field("Since", text.Moment(*d.Since))
	}
	t.field("Affected", affected(d.Pods))
	t.field("Confidence", confidence(d))
	if len(d.Remedies) > 0 {
		t.blank()
		t.strong("  Fix, in this order")
		for i, step := range d.Remedies[:min(len(d.Remedies), maxTextLines)] {
			t.remedy(i+1, step)
		}
	}
	if leftover(r, d) {
		t.line("  ", leftoverWarning)
	}
	if len(d.Chain) > 0 {
		t.blank()
		t.strong("  Why we think so, from the cause to the effect")
		for i := range d.Chain[:min(len(d.Chain), maxTextLines)] {
			t.item(fmt.Sprintf("  %2d. ", i+1), linkText(d.Chain, i))
		}
	}
	t.details(r, d)
	t.blank()
}

// details are those of the findings of a diagnosis, each under its check.
func (t *textWriter) details(r Report, d forensics.Diagnosis) {
	lines := 0
	for _, i := range d.Findings {
		if i >= len(r.Findings) || r.Findings[i].Detail == "" {
			continue
		}
		if lines == 0 {
			t.blank()
			t.strong("  Details")
		}
		if lines++; lines > maxTextLines {
			t.more(len(d.Findings) - maxTextLines)
			break
		}
		t.item("  - ", string(cell(r.Findings[i].ID, 40))+": "+r.Findings[i].Detail)
	}
}

func (t *textWriter) remedy(number int, step forensics.Remedy) {
	t.step(fmt.Sprintf("  %2d. ", number), step)
	t.item("      Why: ", sentenceOf(step.Why))
	if step.OnlyIf != "" {
		t.item("      Only if: ", sentenceOf(step.OnlyIf))
	}
	t.item("      Risk: ", sentenceOf(step.Risk))
}

// harmlessLines lists the messages of logs that are known to be no problem.
func (t *textWriter) harmlessLines(r Report) {
	lines := 0
	for _, f := range r.Findings {
		if f.ID != noiseID {
			continue
		}
		if lines == 0 {
			t.strong("Known harmless log lines")
		}
		if lines++; lines > maxTextLines {
			t.line("  ", "More are in the report.")
			break
		}
		t.oneLine("  - ", strings.TrimPrefix(f.Title, "Known harmless log message: "))
	}
	if lines > 0 {
		t.blank()
	}
}

func (t *textWriter) notChecked(r Report) {
	missing := unchecked(r.Outcomes)
	if len(missing) == 0 {
		return
	}
	t.strong(strings.TrimSpace(fmt.Sprintf("Not checked: %d of %s. %s", len(missing), count(len(r.Outcomes), "check"), howToCheck(r))))
	for i, group := range byReason(missing) {
		if i == maxTextLines {
			t.line("  ", "More are in the report.")
			break
		}
		t.item("  - ", strings.Join(group.Checks, ", ")+": "+group.Reason)
	}
	t.blank()
}
