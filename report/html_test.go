package report_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"html"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nodeforensics/nodeforensics/report"
)

// checkHashes asserts that the policy admits the page's own style and script, and nothing else.
func checkHashes(t testing.TB, page, style, script string) {
	t.Helper()
	_, rest, _ := strings.Cut(page, `http-equiv="Content-Security-Policy" content="`)
	policy, _, _ := strings.Cut(rest, `"`)
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	want := "default-src 'none'; style-src " + hash(style) + "; script-src " + hash(script) +
		"; img-src data:; base-uri 'none'; form-action 'none'"
	if diff := cmp.Diff(want, html.UnescapeString(policy)); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
}

func TestSameReportSameBytes(t *testing.T) {
	for _, name := range []string{"hung-mount", "healthy", "nothing-checked"} {
		a, b := load(t, name), load(t, name)
		if page(t, a) != page(t, b) {
			t.Errorf("%s: two pages differ", name)
		}
	}
}

func TestRenderingDoesNotChangeTheReport(t *testing.T) {
	r := load(t, "hung-mount")
	page(t, r)
	text(t, r, report.TextOptions{})
	if diff := cmp.Diff(load(t, "hung-mount"), r, cmpopts.IgnoreUnexported(report.Report{})); diff != "" {
		t.Errorf("changed (-before +after):\n%s", diff)
	}
}

func TestSmallNodeIsASmallPage(t *testing.T) {
	for _, name := range []string{"hung-mount", "healthy", "nothing-checked"} {
		if n := len(page(t, load(t, name))); n > 300_000 {
			t.Errorf("%s: %d bytes", name, n)
		}
	}
}

type full struct{ room int }

var errFull = errors.New("no space left")

func (f *full) Write(p []byte) (int, error) {
	if len(p) > f.room {
		return 0, errFull
	}
	f.room -= len(p)
	return len(p), nil
}

func TestWriteErrorsAreReturned(t *testing.T) {
	r := load(t, "hung-mount")
	for name, write := range map[string]func(io.Writer) error{
		"html": func(w io.Writer) error { return report.HTML(w, r) },
		"text": func(w io.Writer) error { return report.Text(w, r, report.TextOptions{}) },
		"json": func(w io.Writer) error { return report.JSON(w, r) },
	} {
		for _, room := range []int{0, 70_000} {
			if err := write(&full{room: room}); room == 0 && !errors.Is(err, errFull) || err != nil && !errors.Is(err, errFull) {
				t.Errorf("%s into %d bytes: %v", name, room, err)
			}
		}
	}
}

func TestJSONRoundTrip(t *testing.T) {
	for _, name := range []string{"hung-mount", "healthy", "nothing-checked"} {
		r := load(t, name)
		var b bytes.Buffer
		if err := report.JSON(&b, r); err != nil {
			t.Fatal(err)
		}
		again, err := report.Read(&b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, again, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(report.Report{})); diff != "" { // lists are never null in JSON
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for name, doc := range map[string]string{
		"another schema":    `{"schema":"nodeforensics.evidence/v1"}`,
		"no schema":         `{}`,
		"not an object":     `[]`,
		"cut in the middle": `{"schema":"nodeforensics.report/v2","findings":[`,
		"something behind":  `{"schema":"nodeforensics.report/v2"} {"schema"`,
		"nothing":           ``,
	} {
		if _, err := report.Read(strings.NewReader(doc)); err == nil {
			t.Errorf("%s was read", name)
		}
	}
	if _, err := report.Read(strings.NewReader(`{"schema":"x"}`)); !errors.Is(err, report.ErrSchema) {
		t.Errorf("another schema: %v", err)
	}
}

// The same report gives the same bytes, also after it went through JSON.
func TestSavedReportSameBytes(t *testing.T) {
	for name, r := range map[string]report.Report{"hung-mount": load(t, "hung-mount"), "busy": captured(t, "kubelet-1.34.4-unmount-busy")} {
		var b bytes.Buffer
		if err := report.JSON(&b, r); err != nil {
			t.Fatal(err)
		}
		saved := b.String()
		html := ""
		for i := range 3 {
			again, err := report.Read(strings.NewReader(saved))
			if err != nil {
				t.Fatal(err)
			}
			if i > 0 && page(t, again) != html {
				t.Errorf("%s: another page", name)
			}
			html = page(t, again)
			b.Reset()
			if err := report.JSON(&b, again); err != nil || b.String() != saved {
				t.Errorf("%s: other JSON: %v", name, err)
			}
		}
	}
}
