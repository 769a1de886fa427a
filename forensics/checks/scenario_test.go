package checks

import (
	"slices"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// A scenario is evidence made worse or better by one change, and what one check says about it.
type scenario struct {
	name   string
	base   func(testing.TB) forensics.Evidence
	change func(testing.TB, *forensics.Evidence)
	// want is "severity subject" for each finding, or "" for none: a near miss.
	want []string
	// says is text that the first finding's title or detail must contain.
	says string
	// outcome is checked where it is set.
	outcome forensics.OutcomeStatus
}

// scenarios has, for each check, at least one positive and one near miss. What a check says about evidence without its
// sources is tested for all checks alike.
var scenarios = map[string][]scenario{}

// scenariosOf adds to the scenarios of a check. A test file says so beside what it adds, so that a new check needs no list:
//
//	var _ = scenariosOf("mount-slow", []scenario{…})
func scenariosOf(id string, list []scenario) bool {
	scenarios[id] = append(scenarios[id], list...)
	return true
}

func TestScenarios(t *testing.T) {
	t.Parallel()
	for _, check := range All() {
		t.Run(check.ID, func(t *testing.T) {
			for _, s := range scenarios[check.ID] {
				t.Run(s.name, func(t *testing.T) { s.run(t, check) })
			}
		})
	}
}

func (s scenario) run(t *testing.T, check forensics.Check) {
	e := s.base(t)
	if s.change != nil {
		s.change(t, &e)
	}
	a := forensics.Analyze(&e, []forensics.Check{check})
	var got []string
	for _, f := range a.Findings {
		got = append(got, string(f.Severity)+" "+f.Subject.String())
	}
	if !slices.Equal(got, s.want) {
		t.Errorf("findings = %q; want %q (outcome %+v)", got, s.want, a.Outcomes[0])
	}
	if s.says != "" && len(a.Findings) > 0 && !strings.Contains(a.Findings[0].Title+"\n"+a.Findings[0].Detail, s.says) {
		t.Errorf("title and detail do not say %q:\n%s\n%s", s.says, a.Findings[0].Title, a.Findings[0].Detail)
	}
	if s.outcome != "" && a.Outcomes[0].Status != s.outcome {
		t.Errorf("outcome = %+v; want %s", a.Outcomes[0], s.outcome)
	}
	if a.Outcomes[0].Status == forensics.OutcomeFailed {
		t.Errorf("the check panicked: %s", a.Outcomes[0].Reason)
	}
}

// TestEveryCheck holds every check to having a positive and a near miss, to saying "not checked" without its sources,
// and to giving each remedy a reason and a risk.
func TestEveryCheck(t *testing.T) {
	if err := forensics.Validate(All()); err != nil {
		t.Error(err)
	}
	for id := range scenarios {
		if !slices.ContainsFunc(All(), func(c forensics.Check) bool { return c.ID == id }) {
			t.Errorf("scenarios for an unknown check %s", id)
		}
	}
	for _, check := range All() {
		t.Run(check.ID, func(t *testing.T) {
			hits, misses := 0, 0
			for _, s := range scenarios[check.ID] {
				if len(s.want) > 0 {
					hits++
				} else {
					misses++
				}
			}
			if hits == 0 || misses == 0 {
				t.Errorf("%d positives and %d near misses; want at least one of each", hits, misses)
			}
			nothing := forensics.NewEvidence()
			a := forensics.Analyze(&nothing, []forensics.Check{check})
			if len(a.Findings) != 0 || a.Outcomes[0].Status != forensics.OutcomeNotChecked || a.Outcomes[0].Reason == "" {
				t.Errorf("without sources: %d findings, outcome %+v; want not-checked with a reason", len(a.Findings), a.Outcomes[0])
			}
			for _, source := range needed(check) {
				e := sickNode(t)
				e.Cover(forensics.Source{Source: source, Status: forensics.SourceTimeout})
				if a := forensics.Analyze(&e, []forensics.Check{check}); a.Outcomes[0].Status != forensics.OutcomeNotChecked {
					t.Errorf("with %s timed out: outcome %+v; want not-checked", source, a.Outcomes[0])
				}
			}
		})
	}
}

// needed are the sources that a check cannot do without.
func needed(c forensics.Check) []string {
	var sources []string
	for _, n := range c.Needs {
		if len(n) == 1 {
			sources = append(sources, n[0])
		}
	}
	return sources
}

func findingOf(a forensics.Analysis, id string) (forensics.Finding, bool) {
	i := slices.IndexFunc(a.Findings, func(f forensics.Finding) bool { return f.ID == id })
	if i < 0 {
		return forensics.Finding{}, false
	}
	return a.Findings[i], true
}
