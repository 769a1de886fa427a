package logview

import (
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// TestSaidAtTheEndOfALog is beside and at the limit. What was said after the kubelet's last line, such as by the kernel,
// stands as well.
func TestSaidAtTheEndOfALog(t *testing.T) {
	end := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	for before, want := range map[time.Duration]bool{
		-time.Hour: true, 0: true, endOfLog: true, endOfLog + time.Nanosecond: false, time.Hour: false,
	} {
		if last := end.Add(-before); Within(&last, &end, endOfLog) != want {
			t.Errorf("%v before the end: %t", before, !want)
		}
	}
	if !Within(nil, &end, endOfLog) {
		t.Error("a line without a time is over")
	}
	if Within(&end, nil, endOfLog) {
		t.Error("a time stands in a log without an end")
	}
}

// A line counts for more where a few were picked, it is at their end, and nothing was collected.
func TestPicked(t *testing.T) {
	end := time.Date(2026, 5, 12, 10, 0, 0, 0, time.UTC)
	before := end.Add(-9 * time.Second)
	for name, c := range map[string]struct {
		lines     int64
		last      *time.Time
		collected time.Time
		want      bool
	}{
		"at the end":     {3, &end, time.Time{}, true},
		"without times":  {3, nil, time.Time{}, true},
		"later lines":    {3, &before, time.Time{}, false},
		"a whole log":    {fewLines + 1, &end, time.Time{}, false},
		"a node":         {3, &end, end, false},
		"no log at all":  {0, nil, time.Time{}, false},
		"as many as few": {fewLines, &end, time.Time{}, true},
	} {
		e := forensics.NewEvidence()
		e.Collected, e.Logs = c.collected, &logs.Story{Files: []logs.File{{Lines: c.lines}}, Last: &end}
		if got := Picked(&forensics.Pass{Evidence: &e, Model: forensics.NewModel(&e)}, c.last); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
