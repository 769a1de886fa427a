package logs

import (
	"strings"
	"testing"
	"time"
)

const (
	uid1 = "11111111-2222-3333-4444-555555555555"
	uid2 = "99999999-8888-7777-6666-555555555555"
)

// An example is one line of a real shape with what it must mean.
type example struct {
	name string
	line string
	kind Kind
	want Subject
	// number is compared where it is not zero.
	number float64
	// origin is that of the source; "" lets the line tell.
	origin string
}

// testNow is after all lines of the examples.
var testNow = time.Date(2026, 11, 20, 13, 0, 0, 0, time.UTC)

func entryOf(line, origin string) *entry {
	p := &lineParser{origin: origin, latest: testNow, zone: time.UTC}
	e, _ := p.parse(strings.SplitAfter(line, "\n")...)
	e.Line = 1
	return &e
}

func TestRulesKnowTheirLines(t *testing.T) {
	for _, ex := range allExamples() {
		t.Run(string(ex.kind)+"/"+ex.name, func(t *testing.T) {
			e := entryOf(ex.line, ex.origin)
			o, ok := classify(e)
			if !ok {
				t.Fatalf("not known:\n%s\nmessage %q", ex.line, e.Message)
			}
			if o.Kind != ex.kind {
				t.Fatalf("kind %s, want %s\n%s", o.Kind, ex.kind, ex.line)
			}
			for _, f := range []struct{ name, got, want string }{
				{"pod_uid", o.PodUID, ex.want.PodUID},
				{"pod", o.PodName, ex.want.PodName},
				{"container", o.Container, ex.want.Container},
				{"volume", o.Volume, ex.want.Volume},
				{"unique_name", o.UniqueName, ex.want.UniqueName},
				{"driver", o.Driver, ex.want.Driver},
				{"image", o.Image, ex.want.Image},
				{"path", o.Path, ex.want.Path},
				{"device", o.Device, ex.want.Device},
				{"server", o.Server, ex.want.Server},
				{"process", o.Process, ex.want.Process},
				{"code", o.Code, ex.want.Code},
			} {
				if f.want != "" && f.got != f.want {
					t.Errorf("%s %q, want %q\n%s", f.name, f.got, f.want, ex.line)
				}
			}
			if ex.want.Reason != "" && !strings.Contains(o.Reason, ex.want.Reason) {
				t.Errorf("reason %q, want %q in it\n%s", o.Reason, ex.want.Reason, ex.line)
			}
			if ex.number != 0 && o.Number != ex.number {
				t.Errorf("number %v, want %v\n%s", o.Number, ex.number, ex.line)
			}
		})
	}
}

// A line that holds no literal is never parsed: each example must hold one, and each literal must be needed.
func TestLiteralsSelectEveryKnownLine(t *testing.T) {
	used := map[string]bool{}
	for _, ex := range allExamples() {
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
		if len(l) < 10 {
			t.Errorf("literal %q is too short to skip by", l)
		}
		if strings.ContainsAny(l, "\"\\\n\t") {
			t.Errorf("literal %q is written in another way in JSON", l)
		}
	}
}

func TestEveryKindHasAnExample(t *testing.T) {
	have := map[Kind]bool{}
	for _, ex := range allExamples() {
		have[ex.kind] = true
	}
	for _, k := range declaredKinds(t) {
		if !have[k] {
			t.Errorf("no example of %s", k)
		}
	}
}
