package forensics_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks"
)

// check is one that needs the mount table.
func check(id string, run func(*forensics.Pass)) forensics.Check {
	return forensics.Check{
		ID: id, Title: "t", Doc: "d", Severity: forensics.Critical, Needs: []forensics.Need{{forensics.SourceMounts}}, Run: run,
	}
}

// report is a check that reports findings.
func report(id string, list ...forensics.Finding) forensics.Check {
	return check(id, func(p *forensics.Pass) {
		for _, f := range list {
			p.Report(f)
		}
	})
}

func clone(t testing.TB, e forensics.Evidence) forensics.Evidence {
	t.Helper()
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var copied forensics.Evidence
	if err := json.Unmarshal(text, &copied); err != nil {
		t.Fatal(err)
	}
	return copied
}

func TestAnalyzeIsPure(t *testing.T) {
	for name, e := range map[string]forensics.Evidence{
		"nothing seen":      forensics.NewEvidence(),
		"every field set":   filled[forensics.Evidence](t),
		"a large sick node": sickNode(t, 50, 50),
	} {
		t.Run(name, func(t *testing.T) {
			before := clone(t, e)
			var first []byte
			for range 3 {
				text, err := json.Marshal(forensics.Analyze(&e, checks.All()))
				if err != nil {
					t.Fatal(err)
				}
				if first == nil {
					first = text
				}
				if string(text) != string(first) {
					t.Errorf("the same evidence gives another analysis:\n%s\n%s", first, text)
				}
			}
			saved := clone(t, e)
			again, err := json.Marshal(forensics.Analyze(&saved, checks.All()))
			if err != nil {
				t.Fatal(err)
			}
			if string(again) != string(first) {
				t.Errorf("saved evidence gives another analysis:\n%s\n%s", first, again)
			}
			if diff := cmp.Diff(before, clone(t, e)); diff != "" {
				t.Errorf("Analyze changes the evidence (-before +after):\n%s", diff)
			}
		})
	}
}

func TestNoCheckFailsOnEvidenceOfAnyShape(t *testing.T) {
	sick, every := sickNode(t, 3, 3), filled[forensics.Evidence](t)
	for i := range every.Coverage {
		every.Coverage[i].Status = forensics.SourceRead
	}
	torn := sickNode(t, 3, 3) // joins that lead nowhere
	torn.Mounts.Mounts = torn.Mounts.Mounts[:1]
	torn.Kubelet = nil
	for name, e := range map[string]forensics.Evidence{"sick": sick, "every field": every, "torn": torn, "nothing": {}} {
		for _, o := range forensics.Analyze(&e, checks.All()).Outcomes {
			if o.Status == forensics.OutcomeFailed {
				t.Errorf("%s: %s: %s", name, o.Check, o.Reason)
			}
		}
	}
}

func TestOutcomes(t *testing.T) {
	finding := forensics.Finding{Severity: forensics.Critical, Subject: forensics.Entity{Kind: forensics.KindPod, ID: "p"}}
	for _, tt := range []struct {
		name  string
		check forensics.Check
		want  forensics.Outcome
		found int
	}{
		{"nothing to report", check("a", func(*forensics.Pass) {}), forensics.Outcome{Status: forensics.OutcomeClean}, 0},
		{"a finding", report("a", finding), forensics.Outcome{Status: forensics.OutcomeFound}, 1},
		{
			"a part was not seen", check("a", func(p *forensics.Pass) { p.Unjudged("%d mounts", 3) }),
			forensics.Outcome{Status: forensics.OutcomeNotChecked, Reason: "3 mounts"},
			0,
		},
		{
			"a finding, and a part was not seen", check("a", func(p *forensics.Pass) { p.Report(finding); p.Unjudged("the rest") }),
			forensics.Outcome{Status: forensics.OutcomeFound, Reason: "the rest"},
			1,
		},
		{
			"more parts than a reader reads", check("a", func(p *forensics.Pass) {
				for i := range 50 {
					p.Unjudged("%d", i%25)
				}
			}),
			forensics.Outcome{Status: forensics.OutcomeNotChecked, Reason: "0; 1; 2; 3; 4; 5; 6; 7; 8; 9; 10; 11; 12; 13; 14; 15; 16; 17; 18; 19; and 5 more like these"},
			0,
		},
		{
			"a source is missing",
			forensics.Check{ID: "a", Needs: []forensics.Need{{"mounts"}, {"threads"}}, Run: func(p *forensics.Pass) { p.Report(finding) }},
			forensics.Outcome{Status: forensics.OutcomeNotChecked, Reason: "threads not collected"},
			0,
		},
		{
			"one of two sources will do",
			forensics.Check{ID: "a", Severity: forensics.Critical, Needs: []forensics.Need{{"threads", "mounts"}}, Run: func(p *forensics.Pass) { p.Report(finding) }},
			forensics.Outcome{Status: forensics.OutcomeFound},
			1,
		},
		{
			"a panic after a finding", check("a", func(p *forensics.Pass) { p.Report(finding); panic(errors.New("oops")) }),
			forensics.Outcome{Status: forensics.OutcomeFailed, Reason: "oops"},
			0,
		},
		{
			"a runtime error", check("a", func(p *forensics.Pass) { p.Evidence.Kubelet.PID++ }),
			forensics.Outcome{Status: forensics.OutcomeFailed, Reason: "runtime error: invalid memory address or nil pointer dereference"},
			0,
		},
		{
			"worse than declared",
			forensics.Check{ID: "a", Severity: forensics.Warning, Needs: []forensics.Need{{"mounts"}}, Run: func(p *forensics.Pass) { p.Report(finding) }},
			forensics.Outcome{Status: forensics.OutcomeFailed, Reason: "reports critical, but declares warning"},
			0,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := saw(forensics.SourceMounts)
			tt.want.Check = "a"
			other := report("other", forensics.Finding{Severity: forensics.Info, Subject: finding.Subject})
			a := forensics.Analyze(&e, []forensics.Check{tt.check, other})
			if diff := cmp.Diff(tt.want, a.Outcomes[0]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if n := len(a.Findings) - 1; n != tt.found {
				t.Errorf("%d findings, want %d", n, tt.found)
			}
			if a.Outcomes[1].Status != forensics.OutcomeFound {
				t.Errorf("it took the next check with it: %+v", a.Outcomes[1])
			}
		})
	}
}

func TestFindingsAreOrderedBySeverityIDAndSubject(t *testing.T) {
	pod := func(severity forensics.Severity, id string) forensics.Finding {
		return forensics.Finding{Severity: severity, Subject: forensics.Entity{Kind: forensics.KindPod, ID: id}}
	}
	e := saw(forensics.SourceMounts)
	a := forensics.Analyze(&e, []forensics.Check{
		report("b", pod(forensics.Info, "1"), pod(forensics.Critical, "3"), pod(forensics.Critical, "2")),
		report("a", pod(forensics.Warning, "1"), pod(forensics.Critical, "9"), forensics.Finding{
			Severity: forensics.Critical, Subject: forensics.Entity{Kind: forensics.KindMount, ID: "99"},
		}),
	})
	var got []string
	for _, f := range a.Findings {
		got = append(got, string(f.Severity)+" "+f.ID+" "+f.Subject.String())
	}
	want := []string{"critical a mount 99", "critical a pod 9", "critical b pod 2", "critical b pod 3", "warning a pod 1", "info b pod 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if a.Outcomes[0].Check != "b" || a.Outcomes[1].Check != "a" {
		t.Errorf("outcomes are not in the order of the checks: %+v", a.Outcomes)
	}
}

func TestValidateRejectsBadDeclarations(t *testing.T) {
	good := check("mount-hung", func(*forensics.Pass) {})
	with := func(change func(*forensics.Check)) forensics.Check {
		c := good
		change(&c)
		return c
	}
	for _, tt := range []struct {
		name   string
		checks []forensics.Check
		want   string // "" is good
	}{
		{"good", []forensics.Check{good}, ""},
		{"none", nil, ""},
		{"declared twice", []forensics.Check{good, good}, "twice"},
		{"no id", []forensics.Check{with(func(c *forensics.Check) { c.ID = "" })}, "bad id"},
		{"an id in capitals", []forensics.Check{with(func(c *forensics.Check) { c.ID = "Mount-hung" })}, "bad id"},
		{"an id with an underscore", []forensics.Check{with(func(c *forensics.Check) { c.ID = "mount_hung" })}, "bad id"},
		{"an id that ends in a dash", []forensics.Check{with(func(c *forensics.Check) { c.ID = "mount-" })}, "bad id"},
		{"no title", []forensics.Check{with(func(c *forensics.Check) { c.Title = "" })}, "title"},
		{"no documentation", []forensics.Check{with(func(c *forensics.Check) { c.Doc = "" })}, "documentation"},
		{"no severity", []forensics.Check{with(func(c *forensics.Check) { c.Severity = "" })}, "severity"},
		{"an unknown severity", []forensics.Check{with(func(c *forensics.Check) { c.Severity = "fatal" })}, "severity"},
		{"nothing to run", []forensics.Check{with(func(c *forensics.Check) { c.Run = nil })}, "Run"},
		{"no needs", []forensics.Check{with(func(c *forensics.Check) { c.Needs = nil })}, "needs nothing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := forensics.Validate(tt.checks)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("Validate: %v, want %q", err, tt.want)
			}
		})
	}
	if err := forensics.Validate(checks.All()); err != nil {
		t.Error(err)
	}
}

// TestNothingAboveInfoWithoutProof runs all checks on a node where nothing answered and whose kubelet lists nothing.
func TestNothingAboveInfoWithoutProof(t *testing.T) {
	e := sickNode(t, 5, 5)
	e.Threads = nil
	e.Dumps = nil
	for i := range e.Probes {
		e.Probes[i].Pending, e.Probes[i].Seconds, e.Probes[i].Awake = true, 3, 3
	}
	for i := range e.Kubelet.Endpoints {
		e.Kubelet.Endpoints[i].Status, e.Kubelet.Endpoints[i].Failed = "timeout", nil
	}
	e.Pods = slices.DeleteFunc(e.Pods, func(kubeletPod) bool { return true })
	for _, f := range forensics.Analyze(&e, checks.All()).Findings {
		if f.Severity.Rank() > forensics.Info.Rank() {
			t.Errorf("%s %s: %s", f.Severity, f.ID, f.Title)
		}
	}
}

// Who does not say how sure a finding is has not said that it is certain, and a diagnosis is as sure as the least of the
// findings that make it.
func TestConfidenceThatNobodyStates(t *testing.T) {
	subject := forensics.Entity{Kind: forensics.KindPod, ID: "p"}
	for _, c := range []struct{ first, second, found, diagnosed forensics.Confidence }{
		{"", forensics.Certain, forensics.Possible, forensics.Possible},
		{forensics.Certain, "", forensics.Certain, forensics.Possible},
		{forensics.Likely, "", forensics.Likely, forensics.Possible},
		{forensics.Certain, forensics.Likely, forensics.Certain, forensics.Likely},
	} {
		e := saw(forensics.SourceMounts)
		a := forensics.Analyze(&e, []forensics.Check{
			report("a", forensics.Finding{Severity: forensics.Warning, Subject: subject, Confidence: c.first}),
			report("b", forensics.Finding{Severity: forensics.Warning, Subject: subject, Confidence: c.second}),
		})
		if len(a.Findings) != 2 || a.Findings[0].Confidence != c.found || len(a.Diagnoses) != 1 || a.Diagnoses[0].Confidence != c.diagnosed {
			t.Errorf("%q and %q: found %v, diagnosed %v", c.first, c.second, a.Findings, a.Diagnoses)
		}
	}
}
