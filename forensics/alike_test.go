package forensics_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// alike analyses findings of one check that all have the same key.
func alike(list ...forensics.Finding) forensics.Analysis { return alikeBeside(nil, list...) }

// alikeBeside has other findings of another check beside them.
func alikeBeside(others []forensics.Finding, list ...forensics.Finding) forensics.Analysis {
	e := forensics.NewEvidence()
	e.Cover(forensics.Source{Source: forensics.SourceMounts, Status: forensics.SourceRead})
	return forensics.Analyze(&e, []forensics.Check{check("many", func(p *forensics.Pass) {
		for _, f := range list {
			p.ReportAlike("the same", func(n int) string { return fmt.Sprintf("%d are bad", n) }, f)
		}
	}), report("others", others...)})
}

// badPods are findings about pods that nothing explains.
func badPods(n int) (list []forensics.Finding) {
	for i := range n {
		uid := fmt.Sprintf("u-%03d", i)
		f := because(forensics.Warning, "pod "+uid)
		f.Confidence, f.Pods, f.Detail = forensics.Certain, []string{uid}, "Its directory is /"+uid+"."
		f.Refs = []forensics.Ref{{Source: "pod-dirs:" + uid}, {Source: "pod-dirs"}}
		f.Remedies = []forensics.Remedy{
			{Action: "clean-up", Command: []string{"plan"}, Risk: "none"},
			{Action: "look", Command: []string{"find", uid}, Risk: "none"},
		}
		list = append(list, f)
	}
	return list
}

func TestAlikeIsOneFindingWithAllSubjects(t *testing.T) {
	list := badPods(300)
	early := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	list[7].Since = &early
	a := alike(list...)
	if len(a.Findings) != 1 {
		t.Fatalf("%d findings", len(a.Findings))
	}
	f := a.Findings[0]
	if f.Title != "300 are bad" || f.Subject != entity("pod u-000") || len(f.Subjects) != 300 || f.Subjects[0] != f.Subject || f.Subjects[299] != entity("pod u-299") {
		t.Errorf("%q is about %v and %d more", f.Title, f.Subject, len(f.Subjects))
	}
	if len(f.Pods) != 300 || len(f.Refs) != 301 || f.Since == nil || !f.Since.Equal(early) {
		t.Errorf("%d pods, %d references, since %v; want all, each once, and the earliest", len(f.Pods), len(f.Refs), f.Since)
	}
	if want := "For u-000: Its directory is /u-000. For u-001: Its directory is /u-001. For u-002: Its directory is /u-002. " +
		"Also found for: u-003, u-004, u-005, u-006, u-007, and 292 more."; f.Detail != want {
		t.Errorf("detail %q, want %q", f.Detail, want)
	}
	var steps []string
	for _, r := range f.Remedies {
		steps = append(steps, r.String())
	}
	if want := []string{"find u-000", "find u-001", "find u-002", "plan"}; !slices.Equal(steps, want) {
		t.Errorf("steps %q, want those of the first few, and what is the same once", steps)
	}
}

func TestAlikeHasOneRoot(t *testing.T) {
	info := because(forensics.Info, "pod u-250")
	a := alikeBeside([]forensics.Finding{info}, badPods(300)...)
	if len(a.Diagnoses) != 1 {
		t.Fatalf("%d diagnoses", len(a.Diagnoses))
	}
	d := a.Diagnoses[0]
	if d.Root != entity("pod u-000") || len(d.Pods) != 300 || len(d.Chain) != 1 {
		t.Errorf("root %v, %d pods, chain %v", d.Root, len(d.Pods), d.Chain)
	}
	if !strings.Contains(d.Chain[0].Text, "and 299 other pods: ") {
		t.Errorf("the root does not stand for the others: %q", d.Chain[0].Text)
	}
	if len(d.Remedies) != 4 {
		t.Errorf("%d steps", len(d.Remedies))
	}
}

// TestAlikeOfSeveralRoots wants each pod below its own cause, and only there.
func TestAlikeOfSeveralRoots(t *testing.T) {
	disk := because(forensics.Warning, "disk 8:0")
	list := badPods(4)
	a := alikeBeside([]forensics.Finding{disk, because(forensics.Warning, "pod u-001", "disk 8:0"), because(forensics.Warning, "pod u-002")}, list...)
	got := map[string][]string{}
	for _, d := range a.Diagnoses {
		for _, p := range d.Pods {
			got[d.Root.String()] = append(got[d.Root.String()], p.UID)
		}
	}
	want := map[string][]string{"disk 8:0": {"u-001"}, "pod u-000": {"u-000", "u-003"}, "pod u-002": {"u-002"}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("pods by root %v, want %v", got, want)
	}
}

// TestTwoFindingsAboutTheSameAreOneRoot has the things in another order.
func TestTwoFindingsAboutTheSameAreOneRoot(t *testing.T) {
	list := badPods(200)
	for _, f := range slices.Backward(badPods(200)) {
		f.Severity = forensics.Critical
		list = append(list, f)
	}
	a := alike(list...)
	if len(a.Findings) != 2 || len(a.Diagnoses) != 1 {
		t.Fatalf("%d findings, %d diagnoses", len(a.Findings), len(a.Diagnoses))
	}
	if d := a.Diagnoses[0]; len(d.Pods) != 200 || len(d.Findings) != 2 || !strings.Contains(d.Chain[0].Text, "and 199 other pods: ") {
		t.Errorf("%d pods, findings %v, %q", len(d.Pods), d.Findings, d.Chain[0].Text)
	}
}

func TestAlikeNearMisses(t *testing.T) {
	for name, change := range map[string]func(*forensics.Finding){
		"another severity":   func(f *forensics.Finding) { f.Severity = forensics.Critical },
		"less confidence":    func(f *forensics.Finding) { f.Confidence = forensics.Likely },
		"another cause":      func(f *forensics.Finding) { f.Because = []forensics.Entity{entity("disk 8:0")} },
		"other steps":        func(f *forensics.Finding) { f.Remedies = f.Remedies[:1] },
		"another kind":       func(f *forensics.Finding) { f.Subject = entity("mount 5") },
		"by mistake, itself": nil,
	} {
		t.Run(name, func(t *testing.T) {
			list, want := badPods(2), 2
			if change == nil {
				list[1], want = list[0], 1
			} else {
				change(&list[1])
			}
			a := alike(list...)
			if len(a.Findings) != want {
				t.Errorf("%d findings, want %d", len(a.Findings), want)
			}
			for _, f := range a.Findings {
				if f.Subjects != nil || strings.HasSuffix(f.Title, "are bad") || strings.HasPrefix(f.Detail, "Of ") {
					t.Errorf("%q is about %v: %s", f.Title, f.Subjects, f.Detail)
				}
			}
		})
	}
}

// TestDoubtedIsNotAlike has the same of two pods, of which one rests on lines that anybody could have written.
func TestDoubtedIsNotAlike(t *testing.T) {
	e := forensics.NewEvidence()
	e.Cover(forensics.Source{Source: forensics.SourceMounts, Status: forensics.SourceRead})
	e.Logs = &logs.Story{Files: []logs.File{{Path: "messages", AnyWriter: true}}}
	list := badPods(2)
	list[1].Refs = []forensics.Ref{{Source: "logs:messages:7"}}
	a := forensics.Analyze(&e, []forensics.Check{check("many", func(p *forensics.Pass) {
		for _, f := range list {
			p.ReportAlike(0, func(int) string { return "" }, f)
		}
	})})
	if len(a.Findings) != 2 || a.Findings[0].Confidence != forensics.Certain || a.Findings[1].Confidence != forensics.Likely {
		t.Errorf("findings %+v, want the second apart and likely", a.Findings)
	}
}
