package forensics_test

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// TestOnlyWhatIsCertainIsMadeACause has a sync loop that stands still, and housekeeping that does so certainly, or by lines of a log
// that anybody can have written.
func TestOnlyWhatIsCertainIsMadeACause(t *testing.T) {
	for sure, want := range map[forensics.Confidence]int{forensics.Certain: 1, forensics.Likely: 2} {
		e := saw(forensics.SourceMounts)
		a := forensics.Analyze(&e, []forensics.Check{{
			ID: "stall", Title: "stall", Doc: "stall", Severity: forensics.Critical, Needs: []forensics.Need{{forensics.SourceMounts}},
			Run: func(p *forensics.Pass) {
				for id, confidence := range map[string]forensics.Confidence{"syncloop": forensics.Certain, "housekeeping": sure} {
					p.Report(forensics.Finding{
						Severity: forensics.Critical, Title: id, Confidence: confidence, Subject: forensics.Entity{Kind: forensics.KindSubsystem, ID: id},
					})
				}
			},
		}})
		if len(a.Diagnoses) != want {
			t.Errorf("housekeeping is %s: %d diagnoses, want %d: %+v", sure, len(a.Diagnoses), want, a.Diagnoses)
		}
	}
}
