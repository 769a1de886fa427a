package checks

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

var _ = scenariosOf("log-noise", logNoiseInLogs())

func logNoiseInLogs() []scenario {
	return []scenario{
		{name: "a harmless line", base: wellNode, change: tells(event("noise-config-path", 900, "09:31:00", "10:12:20", logs.Subject{})), want: []string{"info kubelet 9825"}, says: "900 times"},
		{name: "a line that means something", base: wellNode, change: tells(event("housekeeping-long", 1, "10:00:00", "10:00:00", logs.Subject{})), outcome: forensics.OutcomeClean},
	}
}

// TestNoise names harmless lines, each with its reason.
func TestNoise(t *testing.T) {
	e := wellNode(t)
	tells(event("noise-config-path", 900, "09:31:00", "10:12:20", logs.Subject{}))(t, &e)
	a := forensics.Analyze(&e, []forensics.Check{logNoise})
	if len(a.Findings) != 1 || !strings.Contains(a.Findings[0].Title, "900 times") || len(a.Findings[0].Detail) < 40 || len(a.Diagnoses) != 0 {
		t.Errorf("findings = %+v", a.Findings)
	}
}
