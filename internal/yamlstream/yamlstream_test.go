package yamlstream

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func toYAML(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
	err := Write(&b, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return b.String()
}

func TestWrite(t *testing.T) {
	const text = `{"schema": "x/v1", "m": 1.50, "on": true, "none": null, "empty": {}, "list": [], "text": "one\ntwo\n\n  three", "yes": "no",
		"number": "12", "time": "2026-11-22T10:00:00Z", "nested": [[1, [2]], {"a": [{"b": "c d", "e": {"f": "g: h"}}]}]}`
	const want = `schema: x/v1
m: 1.50
"on": true
none: null
empty: {}
list: []
text: |-
  one
  two

    three
"yes": "no"
number: "12"
time: "2026-11-22T10:00:00Z"
nested:
  - - 1
    - - 2
  - a:
      - b: c d
        e:
          f: "g: h"
`
	if diff := cmp.Diff(want, toYAML(t, text)); diff != "" {
		t.Error(diff)
	}
}

// TestStrings wants each string back, and nothing hidden in between.
func TestStrings(t *testing.T) {
	strs := []string{
		"", " ", "a", "a b", "a  b", "a b ", "- a", "a: b", "a #b", "#", "~", "null", "Null", "yes", "y", "N", "true", "1", "1e5", "e5", "0x1f", ".inf", "inf", "nan",
		"2026-11-22", "12:30:45", "<<", "=", "a=b", "a,b", "a, b", "a,", "[a]", "{a}", "*a", "&a", "!a", "%a", "@a", "`a", "|", ">", "'a'", `"a"`, `\`, "a\tb", "\ta", "a\n", "\na",
		"a\nb", "a\n b", " a\nb", "a\n\tb", "a\n---\nb", "a\r\nb", "a\x1b[31mb", "a\u009bb", "a\u202eb", "a\nb\u202e", "\U000e0041", "é", "\u2028", "\ufeff", "a\n\n", "a \nb", "a\n  \nb", "/", "/a b/c", "C:\\x",
		"...", "---", "a:", "a-", "-", "--a", "?", "? a", strings.Repeat("x ", 5000),
	}
	for _, s := range strs {
		for _, v := range []any{s, []string{s}, map[string]string{"k": s}, map[string]any{s: []any{s, map[string]string{s: s}}}} {
			text, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			got := toYAML(t, string(text))
			if strings.ContainsFunc(got, func(r rune) bool { return r != '\n' && r != '\t' && hidden(r) }) {
				t.Errorf("%q has something hidden", got)
			}
			back, err := yaml.YAMLToJSON([]byte(got))
			if err != nil {
				t.Errorf("%v of %.80q in %.200q", err, s, got)
				continue
			}
			var want, have any
			if err := errors.Join(json.Unmarshal(text, &want), json.Unmarshal(back, &have)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("%q: %s", got, diff)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	for _, text := range []string{"", "{", `{"a"`, `{"a":`, "[1", "[1] 2"} {
		if err := convert(io.Discard, strings.NewReader(text)); err == nil {
			t.Errorf("%q is no error", text)
		}
	}
	refused := errors.New("refused")
	if err := Write(io.Discard, func(io.Writer) error { return refused }); !errors.Is(err, refused) {
		t.Error(err)
	}
	if err := Write(failing{}, func(w io.Writer) error { _, err := w.Write([]byte(`"a b"`)); return err }); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// FuzzConvert wants strings back, as values and as keys.
func FuzzConvert(f *testing.F) {
	f.Add("a: b", "c")
	f.Add("a\n  b", "- d")
	f.Fuzz(func(t *testing.T, a, b string) {
		text, err := json.Marshal(map[string]any{a: []any{b, map[string]string{b: a}}})
		if err != nil || strings.Contains(a+b, "\x00") {
			return
		}
		got := toYAML(t, string(text))
		back, err := yaml.YAMLToJSON([]byte(got))
		if err != nil {
			t.Fatalf("%v of %q", err, got)
		}
		var want, have any
		if err := errors.Join(json.Unmarshal(text, &want), json.Unmarshal(back, &have)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("%q: %s", got, diff)
		}
	})
}
