package checks

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// TestStacks judges a dump for each place in which a kubelet is known to stand still, in the spelling of an old, a
// middle and a current kubelet; and each again as it stands in a journal.
func TestStacks(t *testing.T) {
	each(t, func(t *testing.T, c stackCase) {
		for _, form := range []struct{ name, dump string }{{"file", c.dump}, {"journal", journal(c.dump)}} {
			a := c.judge(t, form.dump)
			if diff := cmp.Diff(sorted(c.wants), sorted(summaries(a))); diff != "" {
				t.Errorf("%s: findings (-want +got):\n%s", form.name, diff)
			}
			for _, text := range c.says {
				if !slices.ContainsFunc(a.Findings, func(f forensics.Finding) bool { return strings.Contains(f.Title+"\n"+f.Detail, text) }) {
					t.Errorf("%s: nothing says %q:\n%s", form.name, text, texts(a))
				}
			}
		}
	})
}

// TestStacksWithoutKeyFrame drops the frames that a verdict rests on: then it must vanish.
func TestStacksWithoutKeyFrame(t *testing.T) {
	each(t, func(t *testing.T, c stackCase) {
		if len(c.wants) > 0 && len(c.keys) == 0 {
			t.Error("a positive without a key frame")
		}
		for _, key := range c.keys {
			changed := dropFrame(c.dump, key.frame)
			if changed == c.dump {
				t.Errorf("no frame contains %s", key.frame)
			}
			for _, f := range c.judge(t, changed).Findings {
				if f.ID == key.check {
					t.Errorf("without %s: %s %s: %s", key.frame, f.ID, f.Severity, f.Title)
				}
			}
		}
	})
}

// TestStacksAggregated gives the same stacks as debug=1 shows them: without states, arguments and durations. What is
// said is then "likely", and never critical.
func TestStacksAggregated(t *testing.T) {
	each(t, func(t *testing.T, c stackCase) {
		a := c.judge(t, aggregate(t, c.dump))
		for _, f := range a.Findings {
			if f.Severity == forensics.Critical || f.Confidence == forensics.Certain {
				t.Errorf("%s is %s and %s, but nothing proves an age: %s", f.ID, f.Severity, f.Confidence, f.Title)
			}
		}
		for _, id := range c.aggregated {
			if !slices.ContainsFunc(a.Findings, func(f forensics.Finding) bool { return f.ID == id }) {
				t.Errorf("no %s:\n%s", id, texts(a))
			}
		}
	})
}

// TestStacksYoung takes the minutes away: without proof of age nothing is said.
func TestStacksYoung(t *testing.T) {
	each(t, func(t *testing.T, c stackCase) {
		if a := c.judge(t, minutes.ReplaceAllString(c.dump, "]:")); len(a.Findings) > 0 {
			t.Errorf("without durations:\n%s", texts(a))
		}
	})
}

// each runs a test for every case of testdata/stacks.
func each(t *testing.T, run func(*testing.T, stackCase)) {
	files, err := filepath.Glob("testdata/stacks/*.txt")
	if err != nil || len(files) < 3 {
		t.Fatalf("files = %q, %v", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			for _, c := range readStacks(t, file) {
				t.Run(c.name, func(t *testing.T) { run(t, c) })
			}
		})
	}
}

func (c stackCase) judge(t *testing.T, dump string) forensics.Analysis {
	t.Helper()
	e := c.evidence(t, dump)
	a := forensics.Analyze(&e, All())
	for _, o := range a.Outcomes {
		if o.Status == forensics.OutcomeFailed {
			t.Errorf("%s failed: %s", o.Check, o.Reason)
		}
	}
	return a
}

// summaries spells findings as the files do.
func summaries(a forensics.Analysis) []string {
	var list []string
	for _, f := range a.Findings {
		s := fmt.Sprintf("%s %s %s", f.ID, f.Severity, f.Subject)
		for i, e := range f.Because {
			s += map[bool]string{true: " because ", false: ", "}[i == 0] + e.String()
		}
		list = append(list, s)
	}
	return list
}

func texts(a forensics.Analysis) string {
	var b strings.Builder
	for _, f := range a.Findings {
		fmt.Fprintf(&b, "%s %s: %s\n  %s\n", f.ID, f.Severity, f.Title, f.Detail)
	}
	return b.String()
}

func sorted(list []string) []string {
	list = append([]string{}, list...)
	slices.Sort(list)
	return list
}
