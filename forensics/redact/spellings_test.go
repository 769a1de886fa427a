package redact

import (
	"encoding/base64"
	"strings"
	"testing"
)

// Each prefix in the list of shapes is found, also at the end of a line break that JSON escapes, and not if too little
// follows it.
func TestShapes(t *testing.T) {
	r := New(nil)
	for _, x := range shapes() {
		token := x.prefix + strings.Repeat("a1b2c3d4", 20)
		for _, text := range []string{token, "x " + token + " y", `{"m":"x\n` + token + `"}`, "http://h/?a=%0A" + token} {
			if got := r.Text("x", text); strings.Contains(got, token) || !strings.Contains(got, placeholderStart+x.rule+":") {
				t.Errorf("%s: from %s\n to %s", x.prefix, text, got)
			}
		}
		for _, text := range []string{x.prefix[:len(x.prefix)-1], strings.ToLower(x.prefix) + ".", x.prefix + " x"} {
			if got := r.Text("x", text); x.least > 0 && got != text {
				t.Errorf("%s: from %s\n to %s", x.prefix, text, got)
			}
		}
	}
}

// Each name of a secret is known in all its spellings, and a file that holds it is not masked.
func TestNames(t *testing.T) {
	const secret = "kQ7xZ2mN9pR4sT6vW8yB1dF3gH5jL0aC"
	r := New(nil)
	for _, word := range nameWords() {
		if word == "key" || strings.HasSuffix(word, "id") && !strings.HasPrefix(word, "se") {
			word = "access_" + word // by itself it says too little
		}
		for _, name := range []string{word, strings.ToUpper(word), "my_" + word, "my-" + word, "my." + word, "my" + strings.ToUpper(word[:1]) + word[1:]} {
			if name == "PWD" {
				continue // the shell's
			}
			for _, text := range []string{name + "=" + secret, name + ": " + secret, `{"` + name + `":"` + secret + `"}`} {
				if got := r.Text("x", text); strings.Contains(got, secret) {
					t.Errorf("not masked: %s", text)
				}
			}
			for _, text := range []string{name + "=/etc/x/y.z", name + ": true", name + " of " + secret, name + "x=" + secret, name + "_file=" + secret, name + "=<none>"} {
				if got := r.Text("x", text); got != text {
					t.Errorf("masked: %s", text)
				}
			}
		}
	}
}

// A number behind the name of a secret says that there are several. A letter makes it another word.
func TestNamesThatEndInSecret(t *testing.T) {
	for name, want := range map[string]bool{
		"dbpass": true, "DB_PASS2": true, "bindpw10": true, "psk1": true,
		"passx": false, "bindpwx": false, "DB_PASSX2": false, "compass": false,
	} {
		if got := secretName(name); got != want {
			t.Errorf("%s names a secret: %t, want %t", name, got, want)
		}
	}
}

// Base64 of configurations is opened by how it begins.
func TestEncoded(t *testing.T) {
	r := New(nil)
	for _, text := range []string{
		`{"auth":"` + base64.StdEncoding.EncodeToString([]byte("bob:hunter2horse")) + `"}`,
		"{\n  \"password\": \"hunter2horse\"}", "{\n\t\"password\": \"hunter2horse\"}", "{\n \"password\": \"hunter2horse\"}", "{\r\n\"password\": \"hunter2horse\"}",
		"apiVersion: v1\nkind: Config\nusers:\n- user:\n    token: hunter2horse\n",
		"-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIBdF3gH5jL0aC\n-----END EC PRIVATE KEY-----\n",
	} {
		encoded := base64.StdEncoding.EncodeToString([]byte(text))
		twice := base64.StdEncoding.EncodeToString([]byte(`{"data":"` + encoded + `"}`))
		for _, s := range []string{encoded, twice} {
			if got := r.Text("x", "x "+s+" y"); strings.Contains(got, s[:16]) {
				t.Errorf("%q in base64 is not masked: %s", text, s)
			}
		}
	}
	for _, text := range []string{`{"pool":"p","volume":"v","cluster":"c"}`, "apiVersion: v1\nkind: Config\nusers: []\n", "-----BEGIN CERTIFICATE-----\nMHcCAQEEIBdF3gH5jL0aC"} {
		encoded := base64.StdEncoding.EncodeToString([]byte(text))
		if got := r.Text("x", encoded); got != encoded {
			t.Errorf("%q in base64 is masked", text)
		}
	}
}

// All triggers are found, in any case and inside each other, and nothing else.
func TestMachineFindsAllTriggers(t *testing.T) {
	list := triggers(readPrograms())
	m := newMachine(list)
	for _, x := range list {
		for _, text := range []string{x.word, upper(x.word), "p" + x.word, x.word[:1] + x.word, strings.Repeat(x.word, 2)} {
			found := false
			m.scan(text, func(index, end int) bool {
				if end > len(text) || !strings.EqualFold(text[end-len(list[index].word):end], list[index].word) {
					t.Fatalf("%q is said to end at %d of %q", list[index].word, end, text)
				}
				found = found || list[index].word == x.word
				return true
			})
			if !found {
				t.Errorf("%q is not found in %q", x.word, text)
			}
		}
	}
}

// upper changes letters of ASCII only, as the machine knows them.
func upper(s string) string {
	b := []byte(s)
	for i, c := range b {
		if isLower(c) {
			b[i] = c - 'a' + 'A'
		}
	}
	return string(b)
}

// TestEscapeAtTheEnd takes an escape for one character also where nothing follows it, and one that is cut for none.
func TestEscapeAtTheEnd(t *testing.T) {
	for s, want := range map[string]int{`\u0041`: 6, `\u004`: 1, `\u0041x`: 6, `\x41`: 4, `\x4`: 1, `%41`: 3, `%4`: 1, `\n`: 2, `\`: 1, "a": 1} {
		if got := escape(s, 0); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
}

// TestLastWord finds the last word of a name in camel case, which tells a bypass from a pass.
func TestLastWord(t *testing.T) {
	for name, want := range map[string]string{"monkeyByPass": "pass", "monkeyBypass": "bypass", "compass": "compass", "DB_PASS": "pass", "x": "x", "dbPassX": "x"} {
		if got := lastWord(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestTripleQuotes finds a value of TOML between three quotes, on one line.
func TestTripleQuotes(t *testing.T) {
	for s, want := range map[string]string{`k = """a"b""" x`: `a"b`, `k = '''ab''' x`: "ab", "\nk='''ab'''": "ab", "k = \"\"\"a\nb\"\"\"": "", `k = """`: ""} {
		got := ""
		if v, ok := quotedAt(s, strings.IndexAny(s, `"'`)); ok && v.to > v.from {
			got = s[v.from:v.to]
		}
		if got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}
