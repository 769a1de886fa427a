package checks

import (
	"slices"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// TestUnmountBusySaysWhatIsMissing has each of the two things that tell who holds a mount missing, with a log beside it: the
// check runs, but its outcome says so.
func TestUnmountBusySaysWhatIsMissing(t *testing.T) {
	for _, source := range []string{forensics.SourceMounts, forensics.SourceHolders} {
		e := wellNode(t)
		e.Coverage = slices.DeleteFunc(e.Coverage, func(s forensics.Source) bool { return s.Source == source })
		e.Cover(forensics.Source{Source: source, Status: forensics.SourceDenied, Detail: "permission denied"})
		outcome := forensics.Analyze(&e, []forensics.Check{UnmountBusy}).Outcomes[0]
		if outcome.Status != forensics.OutcomeNotChecked || !strings.Contains(outcome.Reason, "who holds a mount was not judged: "+source+" ") {
			t.Errorf("without %s: %+v", source, outcome)
		}
	}
}
