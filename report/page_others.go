package report

import (
	"cmp"
	"fmt"
)

// otherView is a finding without a root cause, as one line.
type otherView struct {
	Mark  mark
	Title shown
	Href  string
}

// maxOthers is how many of them are listed.
const maxOthers = 20

// addOthers lists the findings that belong to no diagnosis, one line each. Known harmless log messages are only counted.
func (p *page) addOthers(r Report, places *places) {
	explained := make([]bool, len(r.Findings))
	for _, d := range r.Diagnoses {
		for _, i := range d.Findings {
			if i >= 0 && i < len(explained) {
				explained[i] = true
			}
		}
	}
	noise := ""
	for i, f := range r.Findings {
		if explained[i] {
			continue
		}
		href := ""
		if places.shownFindings[i] {
			href = findingID(i, "#")
		}
		if f.ID == noiseID {
			noise = cmp.Or(noise, href)
			continue
		}
		if len(p.Others) == maxOthers {
			p.More++
			continue
		}
		p.Others = append(p.Others, otherView{mark{severityTone(f.Severity), cell(string(f.Severity), 60)}, cell(f.Title, maxLine), href})
	}
	if messages, lines := harmless(r); lines > 0 {
		p.Harmless = &otherView{mark{toneNote, "info"}, shown(fmt.Sprintf("known harmless log lines: %s (%s)", grouped(lines), count(messages, "message"))), noise}
	}
}
