package octal

import "testing"

func TestUnescape(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "plain": "plain", `a\040b\011\012\134c\043`: "a b\t\n\\c#", `\377`: "\xff",
		`\400 \09 \1234`: `\400 \09 S4`, `a\`: `a\`, `\04`: `\04`, `\\040`: `\ `, `\999`: `\999`, `\`: `\`,
	} {
		if got := string(Unescape([]byte(text))); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
