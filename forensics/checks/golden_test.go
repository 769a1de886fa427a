package checks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/golden"
)

// TestGolden holds all that checks say of the scenarios to what they said before. That it is right is judged by the other tests, and by
// who reads the difference when it changes:
//
//	go test ./forensics/checks -run TestGolden -update && git diff
func TestGolden(t *testing.T) {
	for _, check := range All() {
		t.Run(check.ID, func(t *testing.T) {
			var b strings.Builder
			list := slices.Clone(scenarios[check.ID])
			slices.SortStableFunc(list, func(a, b scenario) int { return cmp.Compare(a.name, b.name) })
			for _, s := range list {
				e := s.base(t)
				if s.change != nil {
					s.change(t, &e)
				}
				a := forensics.Analyze(&e, []forensics.Check{check})
				fmt.Fprintf(&b, "== %s\n%s %s\n", s.name, a.Outcomes[0].Status, a.Outcomes[0].Reason)
				for _, f := range a.Findings {
					writeFinding(&b, f)
				}
				b.WriteString("\n")
			}
			golden.Check(t, "golden/"+check.ID+".txt", b.String())
		})
	}
}

// writeFinding writes all of a finding, a line for each thing.
func writeFinding(b *strings.Builder, f forensics.Finding) {
	line := func(key, format string, args ...any) {
		if text := fmt.Sprintf(format, args...); text != "" {
			fmt.Fprintf(b, "  %s: %s\n", key, strings.ReplaceAll(text, "\n", "\n      "))
		}
	}
	fmt.Fprintf(b, "%s %s, %s\n", f.Severity, f.Subject, f.Title)
	for _, cause := range f.Because {
		line("because", "%s", cause)
	}
	line("detail", "%s", f.Detail)
	if f.Since != nil {
		line("since", "%s", f.Since.UTC())
	}
	line("confidence", "%s, %s", f.Confidence, f.ConfidenceWhy)
	for _, r := range f.Refs {
		line("ref", "%+v", r)
	}
	for _, r := range f.Remedies {
		line("remedy", "%s: %s", r.Action, r)
		line("  why", "%s", r.Why)
		line("  only if", "%s", r.OnlyIf)
		line("  risk", "%s", r.Risk)
	}
	line("pods", "%s", strings.Join(f.Pods, " "))
}
