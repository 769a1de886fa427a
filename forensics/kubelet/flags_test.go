package kubelet

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseFlags(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want map[string]string
	}{
		"nothing":             {nil, map[string]string{}},
		"program only":        {[]string{"/usr/bin/kubelet"}, map[string]string{}},
		"equals sign":         {[]string{"kubelet", "--root-dir=/data", "--config=/c"}, map[string]string{"root-dir": "/data", "config": "/c"}},
		"separate word":       {[]string{"kubelet", "--root-dir", "/data", "--v", "4"}, map[string]string{"root-dir": "/data", "v": "4"}},
		"underscores":         {[]string{"--root_dir=/a_b"}, map[string]string{"root-dir": "/a_b"}},
		"no value at the end": {[]string{"--register-node"}, map[string]string{"register-node": "true"}},
		"no value before another flag": {
			[]string{"--fail-swap-on", "--port=1"},
			map[string]string{"fail-swap-on": "true", "port": "1"},
		},
		"empty value":                      {[]string{"--node-ip=", "--v=2"}, map[string]string{"node-ip": "", "v": "2"}},
		"value with equals":                {[]string{"--node-labels=a=b,c=d"}, map[string]string{"node-labels": "a=b,c=d"}},
		"given twice":                      {[]string{"--node-labels=a=b", "--node-labels=c=d"}, map[string]string{"node-labels": "a=b,c=d"}},
		"negative number":                  {[]string{"--oom-score-adj", "-999"}, map[string]string{"oom-score-adj": "-999"}},
		"a number that belongs to no flag": {[]string{"kubelet", "--v=2", "-999"}, map[string]string{"v": "2"}},
		"short, joined":                    {[]string{"-v4"}, map[string]string{"v": "4"}},
		"short, separate":                  {[]string{"-v", "4"}, map[string]string{"v": "4"}},
		"one dash":                         {[]string{"-root-dir=/x"}, map[string]string{"root-dir": "/x"}},
		"starts with v":                    {[]string{"--volume-plugin-dir=/x", "-version"}, map[string]string{"volume-plugin-dir": "/x", "version": "true"}},
		"end of flags":                     {[]string{"--v=1", "--", "--root-dir=/x"}, map[string]string{"v": "1"}},
		"hyperkube":                        {[]string{"/hyperkube", "kubelet", "--v=1"}, map[string]string{"v": "1"}},
		"only dashes":                      {[]string{"-", "---", "--="}, map[string]string{"-": "true"}},
		"empty words":                      {[]string{"", "--v", "", ""}, map[string]string{"v": ""}},
		"eviction expressions":             {[]string{"--eviction-hard=memory.available<100Mi,nodefs.available<10%"}, map[string]string{"eviction-hard": "memory.available<100Mi,nodefs.available<10%"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ParseFlags(tc.args)); diff != "" {
				t.Errorf("ParseFlags(%q) (-want +got):\n%s", tc.args, diff)
			}
		})
	}
}

func TestFlagOf(t *testing.T) {
	in := Instance{Flags: ParseFlags([]string{"--v=2", "--v=4", "--root-dir=/a", "--config=/a,b/c", "--cert-dir=/a", "--cert-dir=/b,c"})}
	for name, want := range map[string]string{"v": "4", "port": ""} {
		if got := in.flag(name); got != want {
			t.Errorf("flag %s = %q; want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"root-dir": "/a", "config": "/a,b/c", "cert-dir": "/b,c", "port": ""} {
		if got := in.pathFlag(name); got != want {
			t.Errorf("path flag %s = %q; want %q", name, got, want)
		}
	}
}

func TestSplitWords(t *testing.T) {
	for name, tc := range map[string]struct {
		line string
		want []string
	}{
		"empty":             {"", nil},
		"blanks":            {" \t a  b\n", []string{"a", "b"}},
		"double quotes":     {`--x="a b" c`, []string{"--x=a b", "c"}},
		"single quotes":     {`'--kubelet-arg=root-dir=/a b' \"`, []string{"--kubelet-arg=root-dir=/a b", `"`}},
		"empty word":        {`a "" b`, []string{"a", "", "b"}},
		"escaped blank":     {`a\ b`, []string{"a b"}},
		"quote in quotes":   {`"it's" 'a"b'`, []string{"it's", `a"b`}},
		"open quote":        {`"a b`, []string{"a b"}},
		"backslash at end":  {`a\`, []string{"a"}},
		"literal backslash": {`'a\b'`, []string{`a\b`}},
		"not UTF-8":         {"/a\xff\\\xfe b", []string{"/a\xff\xfe", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, splitWords(tc.line)); diff != "" {
				t.Errorf("splitWords(%q) (-want +got):\n%s", tc.line, diff)
			}
		})
	}
}

func FuzzParseFlags(f *testing.F) {
	f.Add("kubelet --root-dir=/data --v 4 -v4 --a_b 'x y' -- --no")
	f.Add("- -- --- --= = -=")
	f.Fuzz(func(t *testing.T, line string) {
		words := splitWords(line)
		flags := ParseFlags(words)
		size := 0
		for name, value := range flags {
			size += len(name) + len(value)
			if name == "" || strings.Contains(name, "_") || strings.Contains(name, "=") {
				t.Errorf("flag %q of %q", name, words)
			}
		}
		if size > len(line)+len("true,")*len(words) {
			t.Errorf("%d bytes of flags from %d", size, len(line))
		}
	})
}
