package forensics

import (
	"cmp"
	"fmt"
	"strings"

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
	return pass.findings, outcome
}
