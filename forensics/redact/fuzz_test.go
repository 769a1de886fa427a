package redact_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/redact"
)

var placeholder = regexp.MustCompile(`\[masked:[a-z0-9-]+:([0-9a-f]{6})\]`)

const podUID = "5c948341-c030-4996-b888-f032577d97b0"

func seed(f *testing.F) {
	for _, k := range kinds {
		for _, s := range append(k.texts, k.miss...) {
			f.Add(s)
			f.Add(disguises["JSON"](s))
			f.Add(disguises["URL"](s))
		}
	}
	for _, s := range clean {
		f.Add(s)
	}
}

func FuzzText(f *testing.F) {
	seed(f)
	r := redact.New(nil)
	f.Fuzz(func(t *testing.T, s string) {
		once := r.Text("x", s)
		if twice := r.Text("x", once); twice != once {
			t.Errorf("not idempotent:\n%q\n%q\n%q", s, once, twice)
		}
		if !strings.Contains(once, "[masked:") && once != s {
			t.Errorf("changed without masking:\n%q\n%q", s, once)
		}
		// What is between the placeholders is still there, in its order.
		rest := s
		for _, part := range placeholder.Split(once, -1) {
			i := strings.Index(rest, part)
			if i < 0 {
				t.Fatalf("%q was not in\n%q", part, s)
			}
			rest = rest[i+len(part):]
		}
		// A pod's UID in a line of its own belongs to nothing.
		with := s + "\n" + podUID + "\n" + s
		if got := r.Text("x", with); !strings.Contains(got, "\n"+podUID+"\n") {
			t.Errorf("lost the pod:\n%q\n%q", with, got)
		}
	})
}

func FuzzStructured(f *testing.F) {
	seed(f)
	r := redact.New(nil)
	f.Fuzz(func(t *testing.T, s string) {
		argv := strings.Fields(s)
		masked := r.Args("x", argv)
		if len(masked) != len(argv) {
			t.Errorf("%d arguments became %d: %q", len(argv), len(masked), argv)
		}
		r.URL("x", s)
		if options := r.Options("x", s); options == s && strings.Contains(s, ",password=hunter2secret,") {
			t.Errorf("nothing masked in %q", s)
		}
	})
}

// FuzzSecretNeverSurvives plants a secret between anything.
func FuzzSecretNeverSurvives(f *testing.F) {
	seed(f)
	r := redact.New(nil)
	f.Fuzz(func(t *testing.T, s string) {
		for _, planted := range []string{"\npassword: " + randomKey + "\n", " " + githubKey + " ", "\n" + pemKey} {
			got := r.Text("x", s+planted+s)
			for _, secret := range []string{randomKey, githubKey, pemBody} {
				if strings.Contains(got, secret) && !strings.Contains(s, secret[:8]) {
					t.Errorf("%q leaks from\n%q\n%q", secret, s+planted+s, got)
				}
			}
		}
	})
}
