package checks

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/golden"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// verdictsFile has all that is said of the files in testdata/pasted, but for the words: it shows what else a change of a rule changes.
// Whether it is right is a matter of expected.tsv, and of who reads the difference.
const verdictsFile = "testdata/pasted/verdicts.txt"

// TestPastedVerdictsGolden compares what is said of the pasted files with verdictsFile:
//
//	go test ./forensics/checks -run Golden -update && git diff
func TestPastedVerdictsGolden(t *testing.T) {
	got := map[string]string{}
	for _, s := range pastedFiles(t) {
		got[s.name] = s.typed
	}
	if golden.Update() {
		var all strings.Builder
		for _, name := range slices.Sorted(maps.Keys(got)) {
			fmt.Fprintf(&all, "== %s\n%s", name, got[name])
		}
		if err := os.WriteFile(verdictsFile, []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(verdictsFile)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for part := range strings.SplitSeq("\n"+string(text), "\n== ") {
		if name, verdict, ok := strings.Cut(part, "\n"); ok {
			want[name] = strings.TrimSuffix(verdict, "\n") + "\n"
		}
	}
	const most = 10 // differences that are shown
	differ := 0
	for name := range maps.All(got) {
		if got[name] != want[name] {
			if differ++; differ <= most {
				t.Errorf("%s: before\n%snow\n%s", name, want[name], got[name])
			}
		}
		delete(want, name)
	}
	if differ > most {
		t.Errorf("%d more have changed", differ-most)
	}
	for name := range want {
		t.Errorf("%s has no sample", name)
	}
}

// typed is what an analysis says, without words.
func typed(a forensics.Analysis) string {
	var b strings.Builder
	told := make([]bool, len(a.Findings))
	for _, d := range a.Diagnoses {
		fmt.Fprintf(&b, "%s %s%s", d.Severity, d.Confidence, since(d.Since))
		for _, l := range d.Chain {
			fmt.Fprintf(&b, " > %s:%s %s", l.Kind, l.ID, cmp.Or(l.Confidence, "-"))
		}
		b.WriteByte('\n')
		for _, p := range d.Pods {
			fmt.Fprintf(&b, "  pod %s %s\n", p, p.State)
		}
		for _, r := range d.Remedies {
			fmt.Fprintf(&b, "  %s: %s\n", r.Action, cmp.Or(strings.Join(r.Command, " "), "…"))
		}
		for _, i := range d.Findings {
			told[i] = true
			b.WriteString(typedFinding(a.Findings[i]))
		}
	}
	for i, f := range a.Findings {
		if !told[i] {
			b.WriteString(typedFinding(f))
		}
	}
	return cmp.Or(b.String(), "nothing\n")
}

func typedFinding(f forensics.Finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  = %s %s %s%s", f.ID, f.Severity, f.Confidence, since(f.Since))
	for _, e := range f.About() {
		fmt.Fprintf(&b, " %s:%s", e.Kind, e.ID)
	}
	for _, e := range f.Because {
		fmt.Fprintf(&b, " because %s:%s", e.Kind, e.ID)
	}
	for _, r := range f.Refs {
		fmt.Fprintf(&b, " %s", r.Source)
	}
	fmt.Fprintf(&b, " values %s\n", strings.Join(values.FindAllString(f.Title+" "+f.Detail, -1), " "))
	return b.String()
}

// values are the words of a sentence that have a digit.
var values = pattern.New(`[\w./:@%+-]*\d[\w./:@%+-]*`)

func since(t *time.Time) string {
	if t == nil {
		return ""
	}
	return " since " + t.Format(time.RFC3339)
}
