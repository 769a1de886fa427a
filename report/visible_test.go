package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSee(t *testing.T) {
	for name, c := range map[string]struct{ in, line, lines string }{
		"plain":                  {"/var/lib/kubelet", "/var/lib/kubelet", "/var/lib/kubelet"},
		"letters of any script":  {"größe 資料 данные", "größe 資料 данные", "größe 資料 данные"},
		"escape sequence":        {"\x1b[31mred", `\x1b[31mred`, `\x1b[31mred`},
		"8-bit escape":           {"\u009b31m", `\x9b31m`, `\x9b31m`},
		"line feed":              {"a\nb", `a\nb`, "a\nb"},
		"carriage return hides":  {"rm\rls", `rm\rls`, `rm\rls`},
		"lines of Windows":       {"a\r\nb", `a\r\nb`, "a\nb"},
		"tab":                    {"a\tb", `a\tb`, "a    b"},
		"null":                   {"a\x00b", `a\x00b`, `a\x00b`},
		"right-to-left override": {"\u202egnp.exe", `\u202egnp.exe`, `\u202egnp.exe`},
		"bidi isolate":           {"\u2066x\u2069", `\u2066x\u2069`, `\u2066x\u2069`},
		"zero width":             {"a\u200bb\ufeff", `a\u200bb\ufeff`, `a\u200bb\ufeff`},
		"blank that is none":     {"a\u00a0b\u3164c\u2800", `a\xa0b\u3164c\u2800`, `a\xa0b\u3164c\u2800`},
		"line separator":         {"a\u2028b", `a\u2028b`, `a\u2028b`},
		"invalid UTF-8":          {"a\xff\xc3", `a\xff\xc3`, `a\xff\xc3`},
		"half a surrogate":       {"\xed\xa0\x80", `\xed\xa0\x80`, `\xed\xa0\x80`},
		"replacement character":  {"\ufffd", "\ufffd", "\ufffd"},
		"tag characters":         {"a\U000e0041", `a\U000e0041`, `a\U000e0041`},
		"private use":            {"\ue000", `\ue000`, `\ue000`},
		"few marks":              {"a\u0301\u0302", "a\u0301\u0302", "a\u0301\u0302"},
		"heap of marks":          {"a\u0301\u0301\u0301", "a\u0301\u0301" + `\u0301`, "a\u0301\u0301" + `\u0301`},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(shown(c.line), see(c.in)); diff != "" {
				t.Errorf("see (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(shown(c.lines), seeLines(c.in)); diff != "" {
				t.Errorf("seeLines (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCellKeepsHeadAndTail(t *testing.T) {
	s := "/var/lib/kubelet/" + strings.Repeat("é", 2000) + "/mount"
	got := string(cell(s, 300))
	if !strings.HasPrefix(got, "/var/lib/kubelet/") || !strings.HasSuffix(got, "/mount") || !strings.Contains(got, "[cut, 4,023 bytes in all]") {
		t.Errorf("got %q", got)
	}
	if strings.Contains(got, `\x`) {
		t.Errorf("a character was cut in two: %q", got)
	}
	for _, s := range []string{strings.Repeat("\x1b", 299), strings.Repeat("\xff", 5000), strings.Repeat("\x80", 300), ""} {
		if got := cell(s, 300); len(got) > 1300 {
			t.Errorf("%d bytes from %d", len(got), len(s))
		}
	}
}

func TestWrap(t *testing.T) {
	for name, c := range map[string]struct {
		in    string
		width int
		want  []string
	}{
		"nothing":                    {"", 20, []string{""}},
		"only blanks":                {"   ", 20, []string{""}},
		"fits exactly":               {"1234 67890", 10, []string{"1234 67890"}},
		"breaks at blanks":           {"the kubelet waits", 11, []string{"the kubelet", "waits"}},
		"long word breaks at slash":  {"at /var/lib/kubelet/pods", 16, []string{"at /var/lib/", "kubelet/pods"}},
		"long word without slash":    {"aaaaaaaaaaaaaaaaaaaa", 8, []string{"aaaaaaaa", "aaaaaaaa", "aaaa"}},
		"wide characters take two":   {"資料資料資料", 8, []string{"資料資料", "資料"}},
		"a width that is none":       {"abcdefghijk", -1, []string{"abcdefgh", "ijk"}},
		"word behind a long word":    {"aaaaaaaaaa b", 8, []string{"aaaaaaaa", "aa b"}},
		"no room for a wide one":     {"aaaaaa 資資資資資", 8, []string{"aaaaaa", "資資資資", "資"}},
		"lone combining mark":        {"\u0301 00000", 8, []string{"\u0301 00000"}},
		"next line for a small rest": {"1234567 abcdefghij", 8, []string{"1234567", "abcdefgh", "ij"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := wrap(c.in, c.width)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzWrap(f *testing.F) {
	f.Add("at /var/lib/kubelet/pods/資料 x", 12)
	f.Add("\u0301\u0301", 8)
	f.Fuzz(func(t *testing.T, s string, width int) {
		width = 8 + width&127
		s = string(see(s))
		lines := wrap(s, width)
		for _, line := range lines {
			if textWidth(line) > width {
				t.Errorf("%q has %d columns of %d", line, textWidth(line), width)
			}
		}
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if squeeze(strings.Join(lines, "")) != squeeze(s) {
			t.Errorf("%q became %q", s, lines)
		}
	})
}
