package report_test

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/report"
)

// TestWithoutEvidence wants what there is no time for in a form that is quick to write, and says what it lacks.
func TestWithoutEvidence(t *testing.T) {
	r := report.WithoutEvidence(monster(""))
	if len(r.Evidence.Mounts.Mounts)+len(r.Evidence.Pods)+len(r.Evidence.Dumps) > 0 || r.Evidence.Logs != nil {
		t.Error("it has evidence")
	}
	if len(r.Findings) == 0 || len(r.Diagnoses) == 0 {
		t.Fatal("the judgement is gone")
	}
	for _, d := range r.Diagnoses {
		for _, i := range d.Findings {
			if i >= len(r.Findings) {
				t.Errorf("%s leads to finding %d of %d", d.Title, i, len(r.Findings))
			}
		}
	}
	html := page(t, r)
	checkPage(t, html)
	if !strings.Contains(html, "the evidence is omitted") || len(html) > maxPage/2 {
		t.Errorf("a page of %d bytes, which does not say what it lacks", len(html))
	}
}
