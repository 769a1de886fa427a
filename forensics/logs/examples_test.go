package logs

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/golden"
)

const (
	uid1 = "11111111-2222-3333-4444-555555555555"
	uid2 = "99999999-8888-7777-6666-555555555555"
)

// ids puts the UIDs of the tests into a line: U1 and U2 stand for them.
func ids(line string) string {
	return strings.NewReplacer("U1", uid1, "U2", uid2).Replace(line)
}

// testNow is after all lines of the examples.
var testNow = time.Date(2026, 11, 20, 13, 0, 0, 0, time.UTC)

func entryOf(line, origin string) *entry {
	p := &lineParser{origin: origin, latest: testNow, zone: time.UTC}
	e, _ := p.parse(strings.SplitAfter(line, "\n")...)
	e.Line = 1
	return &e
}

// An example is one message of a real shape and the kind that it must be of.
type example struct {
	kind Kind
	// origin is that of the source; "" lets the line tell.
	origin string
	name   string
	line   string
}

// examplesFile has a paragraph for each example: "kind: name" or "kind @origin: name", then its lines behind "> ", and below
// them, by two spaces, what is read from them. The last is written anew by -update; the rest is written by hand.
const examplesFile = "golden/examples.txt"

func allExamples(t testing.TB) []example {
	t.Helper()
	text, err := os.ReadFile("testdata/" + examplesFile)
	if err != nil {
		t.Fatal(err)
	}
	var all []example
	for paragraph := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		header, rest, _ := strings.Cut(paragraph, "\n")
		kind, name, named := strings.Cut(header, ": ")
		kind, origin, _ := strings.Cut(kind, " @")
		var lines []string
		for l := range strings.SplitSeq(rest, "\n") {
			if line, ok := strings.CutPrefix(l, "> "); ok {
				lines = append(lines, line)
			}
		}
		if !named || len(lines) == 0 {
			t.Fatalf("no example: %q", paragraph)
		}
		all = append(all, example{Kind(kind), origin, name, strings.Join(lines, "\n")})
	}
	return all
}

// TestGoldenExamples has all that is read from each line that is known.
func TestGoldenExamples(t *testing.T) {
	var b strings.Builder
	for _, ex := range allExamples(t) {
		e := entryOf(ex.line, ex.origin)
		o, ok := classify(e)
		if !ok {
			t.Fatalf("not known: %s", ex.line)
		}
		if o.Kind != ex.kind {
			t.Errorf("kind %s, want %s\n%s", o.Kind, ex.kind, ex.line)
		}
		subject, err := json.Marshal(o.Subject)
		if err != nil {
			t.Fatal(err)
		}
		header := string(ex.kind)
		if ex.origin != "" {
			header += " @" + ex.origin
		}
		fmt.Fprintf(&b, "%s: %s\n> %s\n", header, ex.name, strings.ReplaceAll(ex.line, "\n", "\n> "))
		fmt.Fprintf(&b, "  -v%d %v %s\n", o.level, o.Number, subject)
		fmt.Fprintf(&b, "  %s %s %q %d %s:%d %q %q\n\n", e.Time.Format(time.RFC3339Nano), e.Origin, e.Severity, e.PID, e.Source, e.SourceLine, e.Message, e.Fields)
	}
	golden.Check(t, examplesFile, strings.TrimSuffix(b.String(), "\n"))
}

func TestEveryKindHasAnExample(t *testing.T) {
	have := map[Kind]bool{}
	for _, ex := range allExamples(t) {
		have[ex.kind] = true
	}
	for _, m := range messages() {
		if !have[m.kind] && m.kind != noiseBeforeStart { // which a later event tells
			t.Errorf("no example of %s", m.kind)
		}
	}
}

// A line that holds no literal is never parsed: each example must hold one, and each literal must be needed.
func TestLiteralsSelectEveryKnownLine(t *testing.T) {
	used := map[string]bool{}
	for _, ex := range allExamples(t) {
		found := false
		for _, l := range literals() {
			if strings.Contains(ex.line, l) {
				found, used[l] = true, true
			}
		}
		if !found {
			t.Errorf("no literal in %s", ex.line)
		}
	}
	for _, l := range literals() {
		if !used[l] {
			t.Errorf("literal %q is in no example", l)
		}
	}
}

func TestEveryRuleHasLiterals(t *testing.T) {
	for _, m := range messages() {
		for _, r := range m.rules {
			if r.start == "" && r.has == "" && r.event == "" {
				t.Errorf("%s: a rule fits every line: %+v", m.kind, r)
			}
			list := r.literals()
			if len(list) == 0 {
				t.Errorf("%s: no text of a rule is long enough, it needs find: %q %q %q", m.kind, r.start, r.has, r.err)
			}
			sought := func(l string) bool { return holdsOne(l, literals()) }
			if !slices.ContainsFunc(list, sought) || r.find != "" && slices.ContainsFunc(list, func(l string) bool { return !sought(l) }) {
				t.Errorf("%s: the search does not look for %q", m.kind, list)
			}
		}
	}
	for _, l := range literals() {
		prose := slices.Contains(solvedWords, l) || slices.Contains(repeatedWords, l) // which nobody writes as JSON
		if len(l) < minLiteral || strings.ContainsFunc(l, escaped) && !prose {
			t.Errorf("%q is short, or written otherwise in JSON or in klog's quotes", l)
		}
	}
}
