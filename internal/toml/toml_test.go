package toml_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/internal/toml"
)

func FuzzParse(f *testing.F) {
	f.Add("root = \"/a\"\n[grpc]\naddress = '/b'\nx = [\n \"a\",\n # c\n 'd' ]\n")
	f.Add("k = \"\"\"\nroot = 1\n\"\"\"\n[a.\"b.c\"]\nd=\"\\u00e4\"")
	f.Fuzz(func(t *testing.T, text string) {
		total := 0
		values, _ := toml.Parse(text)
		for name, list := range values {
			if strings.ContainsAny(name, "\"'") {
				t.Errorf("name %q", name)
			}
			for _, s := range list {
				total += len(s)
			}
		}
		if total > 4*len(text) {
			t.Errorf("%d bytes out of %d", total, len(text))
		}
	})
}

func TestParse(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want toml.Values
		err  string
	}{
		"top level":                {"root = \"/a\"\nversion = 2\nok = true\n", toml.Values{"root": {"/a"}}, ""},
		"comment":                  {"# root = \"/a\"\nroot = \"/b\" # not /c\n", toml.Values{"root": {"/b"}}, ""},
		"literal":                  {`root = 'C:\x'`, toml.Values{"root": {`C:\x`}}, ""},
		"escapes":                  {`root = "a\tb\u0041"`, toml.Values{"root": {"a\tbA"}}, ""},
		"quoted table":             {"[plugins.\"io.containerd.grpc.v1.cri\".containerd]\n  snapshotter = \"zfs\"", toml.Values{"plugins.io.containerd.grpc.v1.cri.containerd.snapshotter": {"zfs"}}, ""},
		"literal table":            {"[plugins.'io.containerd.cri.v1.images']\nsnapshotter='zfs'", toml.Values{"plugins.io.containerd.cri.v1.images.snapshotter": {"zfs"}}, ""},
		"array of tables":          {"[[a]]\nb = \"c\"", toml.Values{"a.b": {"c"}}, ""},
		"array":                    {`p = ["a", 'b']`, toml.Values{"p": {"a", "b"}}, ""},
		"array over several lines": {"p = [\n  \"a\",\n  # \"x\",\n  \"b\",\n]\nq = \"c\"", toml.Values{"p": {"a", "b"}, "q": {"c"}}, ""},
		"empty array":              {"p = []", toml.Values{"p": {}}, ""},
		"string of several lines":  {"a = \"\"\"\nroot = \"/wrong\"\n\"\"\"\nroot = \"/right\"", toml.Values{"root": {"/right"}, "a": {""}}, ""},
		"arrays in an array":       {"p = [ [\"a]\", 1],\n # ]\n [\"b\"] ] # c\nq = 'c'", toml.Values{"p": {}, "q": {"c"}}, ""},
		"comments in an array":     {"p = [ # \"x\"\n 'a', # ]\n 'b']", toml.Values{"p": {"a", "b"}}, ""},
		"inline table":             {"p = { a = \"b\" }\nq = 1979-05-27", toml.Values{}, ""},
		"string without an end":    {"p = \"a\nq = 'c'", toml.Values{"q": {"c"}}, "line 1: unterminated string"},
		"lines without an end":     {"p = 'a'\nq = '''\nr = 's'\n", toml.Values{"p": {"a"}, "q": {""}}, "line 2: unterminated string"},
		"table without an end":     {"p = 'a'\n[t\nq = 'b'", toml.Values{"p": {"a"}, "t.q": {"b"}}, "line 2: unterminated table"},
		"a key without a value":    {"p =\nq = 'b'", toml.Values{"q": {"b"}}, "line 1: neither"},
		"array without an end":     {"p = [\n\"a\",\nq = \"b\"", toml.Values{"p": {"a"}}, "line 1: unterminated array"},
		"no TOML":                  {"{\"root\": 1}\n=\n[\n\"", toml.Values{}, "line 1: neither"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := toml.Parse(tc.text)
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("error %v; want %q", err, tc.err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
