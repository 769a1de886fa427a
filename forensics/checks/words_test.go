//go:build rebuild

package checks

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
)

var verdictsTo = flag.String("verdicts", "", "only write the verdicts about all scenarios to this file, for TestWordsDecideNothing")

// TestWordsDecideNothing changes every sentence of the code, and every one that evidence quotes of ours, and wants the same
// verdicts. It builds these tests twice more from other sources: with other words, and without any.
//
// It fails if something is decided by a title, a reason or any other text that this program has written: a word that is
// looked for is not there any more, and an explanation that is asked whether it is empty is.
func TestWordsDecideNothing(t *testing.T) {
	if *verdictsTo != "" {
		writeVerdicts(t)
		return
	}
	want := verdicts(t, false)
	for name, change := range map[string]rewording{"other words": otherWords, "no words": noWords} {
		t.Run(name, func(t *testing.T) {
			overlay, changed := reword(t, "../..", change)
			if changed < 1000 {
				t.Fatalf("%d sentences were found", changed)
			}
			got := verdictsOf(t, overlay)
			for _, scenario := range slices.Sorted(maps.Keys(want)) {
				if diff := cmp.Diff(want[scenario], got[scenario]); diff != "" {
					t.Errorf("%s: a sentence decides (-ours +%s):\n%s", scenario, name, diff)
				}
			}
		})
	}
}

// verdictsOf are the verdicts of the program with other sources.
func verdictsOf(t *testing.T, overlay string) (got map[string][]string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "verdicts.json")
	cmd := exec.Command("go", "test", "-tags=rebuild", "-vet=off", "-count=1", "-overlay", overlay, // and compiled as quickly as can be
		"-gcflags=github.com/nodeforensics/nodeforensics/...=-N -l -dwarf=false", "-ldflags=-s -w",
		"-run", "^TestWordsDecideNothing$", ".", "-args", "-verdicts", out)
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

func writeVerdicts(t *testing.T) {
	text, err := json.Marshal(verdicts(t, true))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(*verdictsTo, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// verdicts are all that is decided about each scenario and each capture, a line for each decision.
func verdicts(t *testing.T, reworded bool) map[string][]string {
	all := map[string][]string{}
	judge := func(name string, e forensics.Evidence) {
		if reworded {
			rewordEvidence(reflect.ValueOf(&e).Elem())
		}
		if all[name] != nil {
			t.Errorf("two scenarios are called %q", name)
		}
		all[name] = verdict(t, forensics.Analyze(&e, All()))
	}
	for more, scenarios := range []map[string][]scenario{scenarios, moreRemedies()} {
		for id, list := range scenarios {
			for i, s := range list {
				e := s.base(t)
				if s.change != nil {
					s.change(t, &e)
				}
				judge(fmt.Sprintf("%s %d.%d, %s", id, more, i, s.name), e)
			}
		}
	}
	dumps, err := filepath.Glob(captures + "/*/goroutine.debug*")
	if err != nil || len(dumps) == 0 {
		t.Fatal(dumps, err)
	}
	for _, name := range dumps {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		judge(name, captured(t, filepath.Base(filepath.Dir(name)), text))
	}
	written, err := filepath.Glob(captures + "/*/kubelet.log.gz")
	if err != nil || len(written) == 0 {
		t.Fatal(written, err)
	}
	for _, name := range written {
		judge(name, logOf(t, filepath.Base(filepath.Dir(name))))
	}
	return all
}

// verdict is what an analysis decides, without its words: of the JSON of outcomes, findings and diagnoses the values that
// programs read.
func verdict(t *testing.T, a forensics.Analysis) (lines []string) {
	for kind, list := range map[string]any{"outcome": a.Outcomes, "finding": a.Findings, "diagnosis": a.Diagnoses} {
		text, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		var values []any
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		if err := decoder.Decode(&values); err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			v := v.(map[string]any)
			if kind == "diagnosis" {
				delete(v, "remedies") // those of its findings, of which equal texts are one
			}
			bare, err := json.Marshal(withoutWords(v))
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, fmt.Sprintf("%s %d %s", kind, i, bare))
		}
	}
	slices.Sort(lines)
	return lines
}

// words are the keys of what is written for people: texts, and references, which quote them.
var words = []string{
	"title", "detail", "effect", "text", "paragraph", "reason", "confidence_why", "excerpt", "source", "trouble",
	"command", "instruction", "why", "precondition", "only_if", "risk",
}

func withoutWords(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if slices.Contains(words, key) {
				delete(v, key)
			} else {
				v[key] = withoutWords(value)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutWords(v[i])
		}
	}
	return v
}

// rewordEvidence changes what evidence says in words of ours: explanations of a measurement. What others have said, in logs,
// dumps, objects of the API and answers of the kubelet, stays.
func rewordEvidence(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			rewordEvidence(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			rewordEvidence(v.Index(i))
		}
	case reflect.Struct:
		switch pkg := path.Base(v.Type().PkgPath()); {
		case pkg == "logs" || pkg == "apidump" || pkg == "goroutines" || v.Type().String() == "kubelet.Endpoint" || !strings.Contains(v.Type().PkgPath(), "nodeforensics"):
			return
		}
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if f := v.Field(i); f.Kind() != reflect.String {
				rewordEvidence(f)
			} else if slices.Contains([]string{"Why", "Reason", "Detail", "Error", "Meaning"}, name) && f.String() != "" {
				f.SetString(otherText(f.String(), v.Type().String()+"."+name))
			}
		}
	}
}
