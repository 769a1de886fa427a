package report_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/report"
)

// Of a kubelet that has started often, the text says how many runs it leaves out, and nothing of the kind where it shows all.
func TestTextOfLogsCountsTheRunsThatAreNotShown(t *testing.T) {
	for runs, says := range map[int]string{1: "", 20: "", 23: "3 earlier runs are not shown"} {
		story := &logs.Story{}
		for i := range runs {
			story.Lives = append(story.Lives, logs.Life{PID: 1000 + i, End: "running"})
		}
		var b bytes.Buffer
		if err := report.WriteLogs(&b, story, 100); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "pid 10") || !strings.Contains(b.String(), says) || strings.Contains(b.String(), "not shown") != (says != "") {
			t.Errorf("%d runs; want %q:\n%s", runs, says, b.String())
		}
	}
}
