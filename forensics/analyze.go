package forensics

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// Analyze judges evidence with the given checks. It is a pure function: no clock, no file system, no network; the same
// evidence and checks give the same analysis.
//
// A check whose needs the evidence does not meet is "not checked"; one that panics is "failed", and the others still run.
func Analyze(e *Evidence, checks []Check) Analysis {
	var j judgement
	j.judge(context.Background(), e, checks)
	return j.analysis
}

// AnalyzeUntil is [Analyze] with a deadline. A check that has not finished when the context ends is "not checked", and each finding is its own
// root cause; the error says so. A check that has not returned continues to read the evidence, which must not change.
func AnalyzeUntil(ctx context.Context, e *Evidence, checks []Check) (Analysis, error) {
	var j judgement
	done := make(chan struct{})
	go func() {
		defer close(done)
		j.judge(ctx, e, checks)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	return j.result(checks)
}

// A judgement is an analysis that is running.
type judgement struct {
	mu       sync.Mutex
	analysis Analysis
	whole    bool
}

func (j *judgement) judge(ctx context.Context, e *Evidence, checks []Check) {
	model := NewModel(e)
	a := Analysis{Model: model, MountHealth: model.MountHealth()}
	j.put(a, false)
	for _, c := range checks {
		findings, outcome := runCheck(c, e, model)
		if ctx.Err() != nil {
			return
		}
		a.Findings = append(a.Findings, findings...)
		a.Outcomes = append(a.Outcomes, outcome)
		j.put(a, false)
	}
	raiseLone(a.Findings)
	a = a.sorted()
	a.Diagnoses = diagnose(model, a.Findings)
	identify(model, a.Findings, a.Diagnoses, checks)
	j.put(a, true)
}

// raiseLone makes warnings of what is told once or twice in a text, where nothing worse is found in it: see [Finding].
func raiseLone(list []Finding) {
	if slices.ContainsFunc(list, func(f Finding) bool { return f.Severity.Rank() > Info.Rank() }) {
		return
	}
	for i := range list {
		if f := &list[i]; f.Lone {
			if f.Severity = Warning; f.Confidence != Possible { // which has a reason of its own
				f.Confidence, f.ConfidenceWhy = Possible, "only a few lines were given, which do not show whether it is repeated"
			}
		}
	}
}

func (j *judgement) put(a Analysis, whole bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.analysis, j.whole = a, whole
}

// result is the analysis so far.
func (j *judgement) result(checks []Check) (Analysis, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.whole {
		return j.analysis, nil
	}
	a := j.analysis
	left := checks[len(a.Outcomes):]
	a.Outcomes = slices.Clone(a.Outcomes)
	for _, c := range left {
		a.Outcomes = append(a.Outcomes, Outcome{c.ID, OutcomeNotChecked, "timed out"})
	}
	a = a.sorted()
	a.Diagnoses = diagnoseSingly(a.Findings)
	identify(nil, a.Findings, a.Diagnoses, checks)
	return a, fmt.Errorf("timed out: %s not run, and findings not grouped by cause", text.Plural(len(left), "check"))
}

// sorted has findings in the order of their severity, and lists that are never nil.
func (a Analysis) sorted() Analysis {
	a.Findings = append([]Finding{}, a.Findings...)
	a.Outcomes = append([]Outcome{}, a.Outcomes...)
	a.MountHealth = append([]mounts.Health{}, a.MountHealth...)
	sorting.Stable(a.Findings, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(y.Severity.Rank(), x.Severity.Rank()), strings.Compare(x.ID, y.ID),
			compareEntities(x.Subject, y.Subject))
	})
	return a
}

// diagnoseSingly takes the worst findings, each as its own root cause.
func diagnoseSingly(findings []Finding) []Diagnosis {
	list := []Diagnosis{}
	for i, f := range findings[:min(len(findings), maxRoots)] {
		if f.Severity.Rank() <= Info.Rank() {
			break
		}
		list = append(list, Diagnosis{
			Severity: f.Severity, Confidence: f.Confidence, ConfidenceWhy: f.ConfidenceWhy, Title: f.Title, Since: f.Since, Root: f.Subject,
			Chain: []Link{{Kind: f.Subject.Kind, ID: f.Subject.ID, Text: f.Subject.String(), Confidence: f.Confidence}}, Pods: []AffectedPod{}, Paragraph: f.Title + ". " + f.Detail,
			Findings: []int{i}, Remedies: f.Remedies,
		})
	}
	return list
}

func runCheck(c Check, e *Evidence, m *Model) (findings []Finding, outcome Outcome) {
	outcome = Outcome{Check: c.ID, Status: OutcomeClean}
	if lacks := c.missing(e); len(lacks) > 0 {
		return nil, Outcome{c.ID, OutcomeNotChecked, strings.Join(lacks, "; ")}
	}
	defer func() {
		if p := recover(); p != nil {
			findings, outcome = nil, Outcome{c.ID, OutcomeFailed, fmt.Sprint(p)}
		}
	}()
	pass := &Pass{Check: c, Evidence: e, Model: m}
	c.Run(pass)
	if pass.broken != nil {
		return nil, Outcome{c.ID, OutcomeFailed, pass.broken.Error()}
	}
	outcome.Reason = strings.Join(pass.partly, "; ")
	if more := len(pass.said) - len(pass.partly); more > 0 {
		outcome.Reason += fmt.Sprintf("; and %d more like these", more)
	}
	switch {
	case len(pass.findings) > 0:
		outcome.Status = OutcomeFound
	case len(pass.partly) > 0:
		outcome.Status = OutcomeNotChecked
	}
	pass.finish()
	return pass.findings, outcome
}

// doubtClaims lowers the confidence of a finding that rests only on log lines which any local process could have written.
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
	f.ConfidenceWhy = strings.TrimPrefix(f.ConfidenceWhy+"; the lines are from the syslog, and any local process can write there under any name", "; ")
}

// isPlaceIn says whether a reference is to a log file or one of its lines.
func isPlaceIn(source, file string) bool {
	rest, ok := strings.CutPrefix(source, SourceLogs+":"+file)
	return ok && (rest == "" || rest[0] == ':')
}
