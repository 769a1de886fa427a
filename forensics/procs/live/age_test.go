package live

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseExecStart(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want float64
		ok   bool
	}{
		"6.18": {
			"cat (26385, #threads: 1)\n-------\nse.exec_start                                :        938227.910062\nse.vruntime : 1.0\n",
			938227.910062, true,
		},
		"name like the line":     {"\nse.exec_start: (7, #threads: 1)\nse.exec_start : 5.5\n", 5.5, true},
		"never ran here":         {"se.exec_start : 0.000000\n", 0, true},
		"negative":               {"se.exec_start : -5.0\n", 0, false},
		"not a number":           {"se.exec_start : NaN\n", 0, false},
		"absurd":                 {"se.exec_start : 1e300\n", 0, false},
		"other line":             {"se.exec_start_not : 5.0\n", 0, false},
		"without schedule debug": {"", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := parseExecStart([]byte(tc.text))
			if got != tc.want || ok != tc.ok {
				t.Errorf("parseExecStart = %v, %t; want %v, %t", got, ok, tc.want, tc.ok)
			}
		})
	}
}

func TestParseCPUs(t *testing.T) {
	for list, want := range map[string]map[int]bool{
		"":                 {},
		"3":                {3: true},
		"0-2,8":            {0: true, 1: true, 2: true, 8: true},
		"x,1-,5-x,7":       {7: true},
		"4-2":              {},
		"(null)":           {},
		"70000-4000000000": {},
	} {
		got := map[int]bool{}
		parseCPUs(got, list)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("parseCPUs(%q) (-want +got):\n%s", list, diff)
		}
	}
}

func FuzzSmallFiles(f *testing.F) {
	f.Add([]byte("se.exec_start                                :        938227.910062\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if ms, ok := parseExecStart(text); ms < 0 || !ok && ms != 0 {
			t.Errorf("parseExecStart = %v, %t", ms, ok)
		}
		words := splitCommand(text)
		if joined := strings.Join(words, "\x00"); joined != strings.TrimRight(string(text), "\x00") {
			t.Errorf("splitCommand(%q) = %q", text, words)
		}
		cpus := map[int]bool{}
		parseCPUs(cpus, string(text))
		for cpu := range cpus {
			if cpu < 0 || cpu > maxCPUs {
				t.Errorf("cpu %d", cpu)
			}
		}
	})
}
