package forensics

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/sorting"
)

// Analyze judges evidence with the given checks. It is a pure function: no clock, no file system, no network; the same
// evidence and checks give the same analysis.
//
// A check whose needs the evidence does not meet is "not checked"; one that panics is "failed" and takes nothing else
// with it.
func Analyze(e *Evidence, checks []Check) Analysis {
	model := NewModel(e)
	var a Analysis
	for _, c := range checks {
		findings, outcome := runCheck(c, e, model)
		a.Findings = append(a.Findings, findings...)
		a.Outcomes = append(a.Outcomes, outcome)
	}
	sorting.Stable(a.Findings, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(y.Severity.Rank(), x.Severity.Rank()), strings.Compare(x.ID, y.ID),
			compareEntities(x.Subject, y.Subject))
	})
	a.Diagnoses = diagnose(model, a.Findings)
	a.Findings = append([]Finding{}, a.Findings...)
	a.Outcomes = append([]Outcome{}, a.Outcomes...)
	return a
}

func runCheck(c Check, e *Evidence, m *Model) (findings []Finding, outcome Outcome) {
	outcome = Outcome{Check: c.ID, Status: OutcomeClean}
	if lack := c.missing(e); lack != "" {
		return nil, Outcome{c.ID, OutcomeNotChecked, lack}
	}
	defer func() {
		if p := recover(); p != nil {
			findings, outcome = nil, Outcome{c.ID, OutcomeFailed, fmt.Sprint(p)}
		}
	}()
	pass := &Pass{Check: c, Evidence: e, Model: m}
	c.Run(pass)
	if pass.broken != "" {
		return nil, Outcome{c.ID, OutcomeFailed, pass.broken}
	}
	outcome.Reason = strings.Join(pass.partly, "; ")
	if more := len(pass.said) - len(pass.partly); more > 0 {
		outcome.Reason += fmt.Sprintf("; and %d more like these", more)
	}
	switch {
	case len(pass.findings) > 0:
		outcome.Status = OutcomeFound
	case outcome.Reason != "":
		outcome.Status = OutcomeNotChecked
	}
	for i := range pass.findings {
		doubtClaims(e, &pass.findings[i])
	}
	return pass.findings, outcome
}

// doubtClaims lowers the confidence of a finding that rests on lines alone that anybody could have written under the
// name that they bear.
func doubtClaims(e *Evidence, f *Finding) {
	if e.Logs == nil || f.Confidence != Certain || len(f.Refs) == 0 {
		return
	}
	for _, ref := range f.Refs {
		if !slices.ContainsFunc(e.Logs.Files, func(file logs.File) bool { return file.AnyWriter && isPlaceIn(ref.Source, file.Path) }) {
			return
		}
	}
	f.Confidence = Likely
	f.ConfidenceWhy = strings.TrimPrefix(f.ConfidenceWhy+"; the lines are from the syslog, where any local process can write under any name", "; ")
}

// isPlaceIn says whether a reference is to a log, or a line of it.
func isPlaceIn(source, file string) bool {
	rest, ok := strings.CutPrefix(source, SourceLogs+":"+file)
	return ok && (rest == "" || rest[0] == ':')
}
