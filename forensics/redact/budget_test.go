package redact_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/redact"
)

var cutNote = regexp.MustCompile(`…\(cut: ([0-9,]+) bytes not shown\)$`)

// A field over the budget is cut and says so; a secret that straddles any place where it could have been cut is not left.
func TestLongFieldsAreCut(t *testing.T) {
	secrets := map[string]string{
		"assignment": "password=" + simple + simple, "token": githubKey, "JWT": jwt, "key": "PRIVATE KEY", "URL": "https://bob:" + simple + "@h",
		"quoted": `token="a b ` + simple + `"`, "encoded": encode(dockerConfig), "PEM": strings.ReplaceAll(pemKey, "\n", `\n`),
	}
	for name, text := range secrets {
		for _, filler := range []string{"word ", "x"} {
			for at := 26 << 10; at < 33<<10; at += 37 {
				s := strings.Repeat(filler, at/len(filler)) + " " + text + strings.Repeat(filler, (64<<10)/len(filler))
				got := redact.New(nil).Text("x", s)
				if m := cutNote.FindString(got); m == "" || len(got) > 33<<10 {
					t.Fatalf("%s at %d: %d bytes, end in %q", name, at, len(got), got[max(0, len(got)-50):])
				}
				if strings.Contains(got, simple) || strings.Contains(got, githubKey[:12]) || strings.Contains(got, jwt[:12]) || strings.Contains(got, pemBody[:8]) || strings.Contains(got, encode(dockerConfig)[:16]) {
					t.Fatalf("%s at %d is left: …%s", name, at, got[at-100:])
				}
				if again := redact.New(nil).Text("x", got); again != got {
					t.Fatalf("%s at %d: a second time it ends in %q, not %q", name, at, again[len(again)-60:], got[len(got)-60:])
				}
			}
		}
	}
}

func TestLongCommandLinesAreCut(t *testing.T) {
	argv := []string{"java", "-cp"}
	for range 100 {
		argv = append(argv, strings.Repeat("/opt/lib/x.jar:", 64))
	}
	out := redact.New(nil).Args("x", append(argv, "--password", simple))
	last := out[len(out)-1]
	if len(out) != 37+1 || last != "…(cut: 62,489 bytes not shown)" {
		t.Errorf("%d arguments, the last is %.100s", len(out), last)
	}
	long := redact.New(nil).Args("x", []string{"x", "--password", strings.Repeat(simple, 8<<10), "--password=" + strings.Repeat(simple, 8<<10)})
	if text := strings.Join(long, " "); strings.Contains(text, simple) {
		t.Errorf("a long password is left: %.200s", text)
	}
	if one := redact.New(nil).Args("x", []string{"x", strings.Repeat("a", 128<<10)}); len(one) != 2 || one[1][28<<10:] != "…(cut: 102,400 bytes not shown)" {
		t.Errorf("one long argument becomes %d, and ends in %q", len(one), one[1][len(one[1])-60:])
	}
}

// What takes too many steps is cut where they ran out, and what is left of it is masked.
func TestHostileTextIsCutWhereTheStepsRanOut(t *testing.T) {
	s := "password=" + simple + " " + strings.Repeat("a:b@", 7<<10) + " password=" + simple
	got := redact.New(nil).Text("x", s)
	if !cutNote.MatchString(got) || strings.Contains(got, simple) || !strings.HasPrefix(got, "password=[masked:assignment:") {
		t.Errorf("%d bytes: %.60s … %s", len(got), got, got[len(got)-60:])
	}
}
