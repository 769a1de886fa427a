package report_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strings"
	"testing"
	"unicode"

	"github.com/nodeforensics/nodeforensics/report"
)

// TestWriteJSON wants that what is written says the same and holds nothing that a terminal acts on.
func TestWriteJSON(t *testing.T) {
	for _, s := range []string{
		"", "plain <b> & é 漢", payload, "\x7f\u0080\u009b31m", "\u202e\ufeff\u200b\u2028", "\U000e0041\U0001f600", `\u009b`, "\xff\xc2", "x\u009b",
		strings.Repeat("\u009b", 1000),
	} {
		var b bytes.Buffer
		if err := report.WriteJSON(&b, map[string]string{s: s}); err != nil {
			t.Fatal(err)
		}
		if i := strings.IndexFunc(b.String(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("%q holds a character to hide at %d: %q", s, i, b.String())
		}
		plain, err := json.Marshal(map[string]string{s: s})
		if err != nil {
			t.Fatal(err)
		}
		var want, got map[string]string
		if err := json.Unmarshal(plain, &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatalf("%q: %v", b.String(), err)
		}
		for key, value := range want {
			if got[key] != value || len(got) != 1 {
				t.Errorf("%q comes back as %q", want, got)
			}
		}
	}
}

// What JSON cannot say is an error, and no document that looks whole.
func TestWriteJSONFails(t *testing.T) {
	if err := report.WriteJSON(io.Discard, struct{ Age float64 }{math.NaN()}); err == nil {
		t.Error("wrote not-a-number without an error")
	}
}
