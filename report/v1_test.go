package report_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/golden"
	"github.com/nodeforensics/nodeforensics/report"
)

// loadV1 reads a report of v1, in which a remedy's command was one string.
func loadV1(t *testing.T, name string) report.Report {
	t.Helper()
	f, err := os.Open("testdata/v1/" + name + ".json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	r, err := report.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestV1 has reports of v1 shown as they stood: the steps in the golden files are as the program that made the reports wrote them. As
// JSON they are of this version, with all that was said to do as instructions.
func TestV1(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"hung-mount", "kubelet-1.17.4-hung-cephfs"} {
		r := loadV1(t, name)
		golden.Check(t, "v1/"+name+".txt.golden", text(t, r, report.TextOptions{}))
		html, shown := page(t, r), 0
		for _, d := range r.Diagnoses {
			for _, step := range d.Remedies {
				if step.Action != "" || step.Command != nil || step.Instruction == "" || step.Risk == "" {
					t.Errorf("%s: %+v, want an instruction alone", name, step)
				}
				shown++
			}
		}
		if !strings.Contains(html, "<code>kubectl cordon ") || !strings.Contains(html, `<p class="do">`) {
			t.Errorf("%s: a command is no command on the page, or a sentence no sentence", name)
		}
		if shown < 3 {
			t.Errorf("%s: %d steps", name, shown)
		}
		var out bytes.Buffer
		if err := report.JSON(&out, r); err != nil {
			t.Fatal(err)
		}
		again, err := report.Read(&out)
		if err != nil || again.Schema != report.Schema || text(t, again, report.TextOptions{}) != text(t, r, report.TextOptions{}) {
			t.Errorf("%s: written and read again it is another report of %q, %v", name, again.Schema, err)
		}
		if err := schemaOfReports(t).Validate(toJSON(t, r)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	onlyIf := loadV1(t, "hung-mount").Diagnoses[0].Remedies[0].OnlyIf
	if want := "The API server can be reached from where you are."; onlyIf != want {
		t.Errorf("only if %q, want %q", onlyIf, want)
	}
}
