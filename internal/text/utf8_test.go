package text_test

import (
	"testing"
	"unicode/utf8"

	"github.com/nodeforensics/nodeforensics/internal/text"
)

func TestToValidUTF8(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "",
		"/var/lib/ü漢\U0001f600":    "/var/lib/ü漢\U0001f600",
		"/a\xff":                   `/a\xff`,
		"\xc3":                     `\xc3`,              // the beginning of a letter
		"\xc3\xc3\xbc\xed\xa0\x80": `\xc3ü\xed\xa0\x80`, // half of a surrogate pair
		"\xe4\xf6\xfc \ufffd":      "\\xe4\\xf6\\xfc \ufffd",
		`a\xff`:                    `a\xff`,
	} {
		got := text.ToValidUTF8(in)
		if back := text.FromValidUTF8(got); back != in && in != `a\xff` {
			t.Errorf("%q is %q and comes back as %q", in, got, back)
		}
		if got != want || !utf8.ValidString(got) || text.ToValidUTF8(got) != got {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
