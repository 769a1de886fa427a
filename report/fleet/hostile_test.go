package fleet_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/nodeforensics/nodeforensics/report"
	"github.com/nodeforensics/nodeforensics/report/fleet"
)

const wellReport = `{"schema":"nodeforensics.report/v2","node":{"name":"well"},"diagnoses":[],"findings":[],"outcomes":[{"status":"clean"}]}`

// endless is a text, and then another one again and again.
func endless(head, again string) io.Reader {
	return io.MultiReader(strings.NewReader(head), &repeated{text: strings.Repeat(again, 1+64<<10/len(again))})
}

type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := copy(p, r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	return n, nil
}

func packed(text string) io.Reader {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return &b
}

// A file that is no report costs only itself, and little memory; the reason is said.
func TestHostileFilesCostOnlyThemselves(t *testing.T) {
	report := `{"schema":"nodeforensics.report/v2","node":{"name":"x"},`
	for _, tt := range []struct {
		name string
		in   io.Reader
		want string
	}{
		{"empty", strings.NewReader(""), "an empty file"},
		{"blanks", strings.NewReader(" \n\t"), "an empty file"},
		{"text", strings.NewReader("E1122 10:00:00 kubelet"), "an object expected"},
		{"cut in evidence", strings.NewReader(report + `"evidence":{"mounts":{"mounts":[{"id":1,"source":"a]}"`), "the document is cut"},
		{"cut in a string", strings.NewReader(report + `"evidence":{"a":"x`), "the document is cut"},
		{"cut in an escape", strings.NewReader(report + `"evidence":{"a":"x\`), "the document is cut"},
		{"cut compressed", io.LimitReader(packed(strings.Repeat(wellReport, 50)), 60), "unexpected EOF"},
		{"another schema", strings.NewReader(`{"schema":"nodeforensics.report/v9"}`), `schema "nodeforensics.report/v9", not nodeforensics.report/v2`},
		{"evidence", strings.NewReader(`{"schema":"nodeforensics.evidence/v2","mounts":{}}`), "run nodeforensics analyze"},
		{"pods", strings.NewReader(`{"kind":"PodList","items":[{"kind":"Pod","metadata":{"name":"p"}}]}`), "no nodes in this list"},
		{"another object", strings.NewReader(`{"kind":"ConfigMap","metadata":{"name":"p"},"data":{}}`), `kind "ConfigMap"`},
		{"list", strings.NewReader(`[1,2]`), "an object expected"},
		{"another type", strings.NewReader(report + `"diagnoses":"none"}`), "a list expected"},
		{"bad escape", strings.NewReader(`{"schema":"\x"}`), "an escape expected"},
		{"long number", strings.NewReader(report + `"diagnoses":[{"findings":[` + strings.Repeat("9", 1000) + `]}]}`), "a shorter number"},
		{"endless string", endless(report+`"evidence":{"a":"`, "xxxxxxxx"), "larger than 256 MB"},
		{"endless field", endless(`{"`, "xxxxxxxx"), "larger than 256 MB"},
		{"endless depth of what is skipped", endless(report+`"coverage":`, "["), "larger than 256 MB"},
		{"endless diagnoses", endless(report+`"diagnoses":[{}`, `,{"severity":"critical","title":"`+strings.Repeat("t", 5000)+`"}`), "larger than 256 MB"},
		{"endless nodes", endless(`{"items":[{}`, `,{"metadata":{"name":"`+strings.Repeat("n", 300)+`"}}`), "larger than 256 MB"},
		{"failing disk", io.MultiReader(strings.NewReader(report), iotest.ErrReader(errors.New("input/output error"))), "input/output error"},
		{"second document cut", strings.NewReader(wellReport + `{"schema":"nodeforensics.rep`), "after 1 document: the document is cut"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r fleet.Reader
			if err := r.Read("good.json", "", strings.NewReader(sickWith("good", ""))); err != nil {
				t.Fatal(err)
			}
			err := r.Read("bad.json", "", tt.in)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%v, want %q", err, tt.want)
			}
			s := r.Summary()
			if len(s.Causes) != 1 || s.Sick != 1 {
				t.Errorf("%v", rows(s))
			}
			if len(s.NotExamined) != 1 || s.NotExamined[0].File != "bad.json" || !strings.Contains(s.NotExamined[0].Reason, tt.want) {
				t.Errorf("%v", s.NotExamined)
			}
		})
	}
}

// Many reports with as much text as is kept of one do not fill the memory.
func TestMuchTextIsNotKept(t *testing.T) {
	long := strings.Repeat("x", 290)
	diagnosis := fmt.Sprintf(`{"severity":"critical","title":%q,"identity":{"check":%[1]q,"trouble":%[1]q,"kind":%[1]q,"id":%[1]q,"name":%[1]q}}`, long)
	diagnoses := strings.Repeat(diagnosis+",", 39) + diagnosis
	var r fleet.Reader
	var full error
	for i := 0; full == nil && i < 20_000; i++ {
		full = r.Read("many.json", "", strings.NewReader(fmt.Sprintf(`{"schema":"nodeforensics.report/v2","node":{"name":"n%d"},"diagnoses":[%s]}`, i, diagnoses)))
	}
	if full == nil || !strings.Contains(full.Error(), "too much for one summary") {
		t.Fatal(full)
	}
	var m runtime.MemStats
	runtime.GC()
	if runtime.ReadMemStats(&m); m.HeapAlloc > 150<<20 {
		t.Errorf("%d MB are kept", m.HeapAlloc>>20)
	}
	runtime.KeepAlive(&r)
}

// Names of nodes become neither markup nor control sequences, in any output.
func TestNamesAreShownHarmless(t *testing.T) {
	evil := `<script>alert(1)</script>\u001b[31m\u202e\" onmouseover=\"x`
	document := fmt.Sprintf(`{"schema":"nodeforensics.report/v2","node":{"name":"%s","kernel":"%[1]s"},"diagnoses":[{"severity":"critical","title":"%[1]s",
"identity":{"check":"%[1]s","trouble":"%[1]s","kind":"%[1]s","id":"%[1]s","name":"%[1]s","shared":true},"since":"2026-11-22T10:00:00Z","pods":[]}],"evidence":{"collected":"2026-11-22T10:10:00Z","collector":{"interrupted":"%[1]s"}}}`, evil)
	var r fleet.Reader
	if err := r.Read("\x1b[2J<b>.json", "javascript:alert(1).html", strings.NewReader(document)); err != nil {
		t.Fatal(err)
	}
	r.NotExamined("\x1b]0;<i>", "\x1b<i>", "\x1b<i>\r\n")
	s := r.Summary()
	var page, text, json bytes.Buffer
	if err := errors.Join(fleet.HTML(&page, s), fleet.Text(&text, s, report.TextOptions{Verbose: true}), fleet.JSON(&json, s)); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script>alert", "<b>", "<i>", `" onmouseover="x`, `href="javascript:`} {
		if strings.Contains(page.String(), bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	for name, b := range map[string]*bytes.Buffer{"page": &page, "text": &text, "JSON": &json} {
		if strings.ContainsAny(b.String(), "\x1b\u202e\r") {
			t.Errorf("%s has control characters", name)
		}
	}
	if strings.Contains(json.String(), "null") {
		t.Error("the JSON has null for an empty list")
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(wellReport), 3)
	f.Add([]byte(sickWith("a", `,"identity":{"check":"mount-hung","trouble":"x","kind":"file-system","id":"NFS \u00e4\ud83d\ude00 10.0.0.5","shared":true}`)), 1)
	f.Add([]byte(`{"items":[{"kind":"Node","metadata":{"name":"a","labels":{"topology.kubernetes.io/zone":"b"}},"status":{"nodeInfo":{"kernelVersion":"6"}}}]}`), 7)
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		whole, pieces := fleet.Reader{}, fleet.Reader{}
		err := whole.Read("f", "", bytes.NewReader(text))
		inPieces := pieces.Read("f", "", &chunks{text, 1 + (size&0xff)%17})
		if fmt.Sprint(err) != fmt.Sprint(inPieces) {
			t.Errorf("%v, in pieces %v", err, inPieces)
		}
		s := whole.Summary()
		if s.Sick+s.Well+s.Unclear != len(s.Nodes) || err == nil && len(s.NotExamined) > len(s.Nodes)+strings.Count(string(text), "{") {
			t.Errorf("%d nodes, %d sick, %d well, %d unclear", len(s.Nodes), s.Sick, s.Well, s.Unclear)
		}
		var out bytes.Buffer
		if err := errors.Join(fleet.HTML(&out, s), fleet.Text(&out, s, report.TextOptions{}), fleet.JSON(&out, s)); err != nil {
			t.Error(err)
		}
		if strings.ContainsAny(out.String(), "\x1b\x00\u202e") {
			t.Error("control characters")
		}
	})
}

// chunks gives a text in pieces.
type chunks struct {
	text []byte
	size int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.text) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.text[:min(len(c.text), c.size)])
	c.text = c.text[n:]
	return n, nil
}
