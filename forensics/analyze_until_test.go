package forensics_test

import (
	"context"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// TestAnalyzeEndsWithItsTime has a check that does not come back between two that do.
func TestAnalyzeEndsWithItsTime(t *testing.T) {
	e := saw(forensics.SourceMounts)
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	defer close(release)
	find := func(p *forensics.Pass) {
		p.Report(forensics.Finding{Severity: forensics.Warning, Title: "found", Subject: forensics.MountEntity(59)})
	}
	checks := []forensics.Check{check("first", find), check("stuck", func(*forensics.Pass) { cancel(); <-release }), check("last", find)}
	a, err := forensics.AnalyzeUntil(ctx, &e, checks)
	if len(a.Findings) != 1 || a.Findings[0].ID != "first" {
		t.Errorf("findings %+v: want that of the first check", a.Findings)
	}
	if len(a.Diagnoses) != 1 || a.Diagnoses[0].Title != "found" || len(a.Diagnoses[0].Findings) != 1 {
		t.Errorf("diagnoses %+v: want the finding as its own cause", a.Diagnoses)
	}
	if len(a.Outcomes) != 3 || a.Outcomes[0].Status != forensics.OutcomeFound ||
		a.Outcomes[1].Status != forensics.OutcomeNotChecked || a.Outcomes[2].Status != forensics.OutcomeNotChecked {
		t.Errorf("outcomes %+v", a.Outcomes)
	}
	if err == nil || !strings.Contains(err.Error(), "2 checks") {
		t.Errorf("error %v: want the number of checks that were not made", err)
	}
}

func TestAnalyzeInTimeIsWhole(t *testing.T) {
	e := sickNode(t, 2, 1)
	want := forensics.Analyze(&e, nil)
	got, err := forensics.AnalyzeUntil(t.Context(), &e, nil)
	if err != nil || len(got.Outcomes) != len(want.Outcomes) || len(got.Diagnoses) != len(want.Diagnoses) {
		t.Errorf("%+v %v, want %+v", got, err, want)
	}
}
