package checks

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/wording"
)

var printHeadlines = flag.Bool("headlines", false, "print all headlines")

// TestHeadlines reads what is said of every scenario and every capture: one line of a known pattern for each finding and each
// diagnosis, and sentences that are read once.
func TestHeadlines(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	once := func(place, text string, problems []string) {
		if seen[text] {
			return
		}
		seen[text] = true
		for _, problem := range problems {
			t.Errorf("%s: %s\n\t%s", place, problem, text)
		}
	}
	say := func(place, text string) {
		once(place, text, append(wording.Refused(text), wording.Long(text)...))
	}
	eachAnalysis(t, func(name string, a forensics.Analysis) {
		for _, d := range a.Diagnoses {
			once(name, d.Title, wording.Headline(d.Title))
			say(name, d.Title)
			say(name, d.ConfidenceWhy)
			for _, link := range d.Chain {
				say(name, link.Text)
			}
			if *printHeadlines {
				fmt.Println("diagnosis", d.Title)
			}
		}
		for _, f := range a.Findings {
			once(name, f.Title, wording.Headline(f.Title))
			for _, text := range []string{f.Title, f.Detail, f.Effect, f.ConfidenceWhy} {
				say(name, text)
			}
			for _, r := range f.Remedies {
				for _, text := range []string{r.Instruction, r.Why, r.OnlyIf, r.Risk} {
					say(name, text)
				}
			}
			if *printHeadlines {
				fmt.Println(f.ID, f.Title)
			}
		}
		for _, o := range a.Outcomes {
			say(name+" "+o.Check, o.Reason)
		}
	})
	if len(seen) < 1000 {
		t.Errorf("only %d texts were read", len(seen))
	}
}

// eachAnalysis judges each scenario of each check, and each capture.
func eachAnalysis(t *testing.T, judged func(name string, a forensics.Analysis)) {
	t.Helper()
	for id, list := range scenarios {
		for _, s := range list {
			e := s.base(t)
			if s.change != nil {
				s.change(t, &e)
			}
			judged(id+", "+s.name, forensics.Analyze(&e, All()))
		}
	}
	names, err := filepath.Glob(captures + "/*/goroutine.debug2")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		e := captured(t, filepath.Base(filepath.Dir(name)), text)
		judged(strings.TrimPrefix(name, captures), forensics.Analyze(&e, All()))
	}
	names, err = filepath.Glob(captures + "/*/kubelet.log.gz")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		e := logOf(t, filepath.Base(filepath.Dir(name)))
		judged(strings.TrimPrefix(name, captures), forensics.Analyze(&e, All()))
	}
}
