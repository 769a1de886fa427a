package pattern

import (
	"slices"
	"strings"
	"testing"
)

func TestPattern(t *testing.T) {
	p := New(`^/proc/(\d+)$`)
	if m := p.FindStringSubmatch("/proc/4711"); len(m) != 2 || m[1] != "4711" || p.MatchString("/proc/self") {
		t.Errorf("%q", m)
	}
	defer func() {
		if recover() == nil {
			t.Error("a wrong expression is found only when it is used")
		}
	}()
	New(`(`)
}

// What a text must hold to match, as words of which one of each list is there.
func TestNeed(t *testing.T) {
	for expr, want := range map[string]string{
		`abc`:                                 "abc",
		`^a(?:bc|bd)e+f`:                      "abc|abd",
		`(?:kubectl|oc)\b.*(-n|--space)[ =]x`: "kubectl|oc & -n x|-n=x|--space x|--space=x",
		`x(?:ab)?y`:                           "xy|xaby",
		`(?:ab)*cd`:                           "cd",
		`ab|[0-9]+`:                           "",
		`(?i)abc`:                             "",
		`[a-z]+[.,:]`:                         "",
		`(?:a.*bc|de\d+fg)h`:                  "bc|de & fg",
		`\d+%`:                                "",
		`a{2,3}b?`:                            "aa|aab|aaa|aaab",
		``:                                    "",
	} {
		n := compile(expr).need
		if got := n.String(); got != want {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
}

func (n *need) String() string {
	if n.literal != "" {
		return n.literal
	}
	var all, either []string
	for _, sub := range n.all {
		all = append(all, sub.String())
	}
	for _, sub := range n.any {
		either = append(either, sub.String())
	}
	return strings.Join(all, " & ") + strings.Join(either, "|")
}

// With what a text must begin to match.
func TestFirst(t *testing.T) {
	for expr, want := range map[string]string{
		`^[IWE]\d{4}`:       "EIW",
		`^[> \t]*(?:a|bc)`:  "\t >ab",
		`^(?i)ax`:           "Aa",
		`^(?i)k`:            "Kk…", // U+212A is a K, too
		`^(?:ä|b)`:          "b…",
		`^(?:^a|^b?c)`:      "abc",
		`^\s*$`:             "",
		`a`:                 "",
		`(?m)^a`:            "",
		`^a|b`:              "",
		`^(?:kernel: |\{")`: "k{",
		``:                  "",
	} {
		f, got := compile(expr).first, ""
		for b := range byte(128) {
			if f.known && f.has(b) {
				got += string(rune(b))
			}
		}
		if f.known && f.has(0xc3) {
			got += "…"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
}

// A pattern finds what the expression finds, in texts that have some of what it needs.
func FuzzPattern(f *testing.F) {
	for _, text := range []string{"", "abcd", "xy=ab", "kubectl get po -n x", "x1\nab", "Name:  y", "> K8s", "> \u212a", "\xff"} {
		f.Add(text)
	}
	var all []*Pattern
	for _, expr := range []string{`ab?c`, `^(?:a|b)+[cd]e`, `(?m)^\s*(Name|Node|Namespace):\s*(\S*)`, `(?:kubectl|oc|k)\b.*\s(?:-n|--namespace)[ =]([a-z]+)`, `x(?:ab|c[de])?y|a=\d`, `(?i)ab`, `(?:ab){2,}`, `^[> ]*(?i:k|é)`, `^[^a-z]`, `^\b.`} {
		all = append(all, New(expr))
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range all {
			if re := p.compiled().re; re.MatchString(text) != p.MatchString(text) || !slices.Equal(re.FindStringIndex(text), p.FindStringIndex(text)) {
				t.Errorf("%s: %q", re, text)
			}
		}
	})
}

// A wrong expression ends a test binary as soon as it is made, also if no test uses it.
func TestWrongExpressionsAreFound(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a wrong expression is not noticed until it is used")
		}
	}()
	New("(")
}
