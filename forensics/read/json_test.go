package read

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/report"
)

// TestSavedReportIsAReport holds what is read of a report to what package report writes, which this package does not import.
func TestSavedReportIsAReport(t *testing.T) {
	if reportSchema != report.Schema {
		t.Errorf("the schema is %q, want %q", reportSchema, report.Schema)
	}
	evidence := forensics.NewEvidence()
	r := report.New(report.Tool{Name: "n", Version: "v", Command: []string{"c"}}, evidence, forensics.Analysis{})
	want, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var saved savedReport
	dec := json.NewDecoder(bytes.NewReader(want))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&saved); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(saved)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("(-report +read):\n%s", diff)
	}
}
