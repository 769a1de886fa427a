package kubelet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseHealth(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want health
	}{
		"ok":                    {"ok", health{OK: true, Known: true}},
		"verbose ok":            {"[+]ping ok\n[+]syncloop ok\nhealthz check passed\n", health{OK: true, Known: true, Passed: []string{"ping", "syncloop"}}},
		"syncloop failed":       {"[+]ping ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n", health{Known: true, Failed: []string{"syncloop"}, Passed: []string{"ping"}}},
		"two failed":            {"[-]log failed: reason withheld\n[-]syncloop failed: reason withheld\n", health{Known: true, Failed: []string{"log", "syncloop"}}},
		"single check":          {"internal server error: sync Loop took longer than expected\n", health{Known: true}},
		"another check's path":  {"[+]ping ok\nlivez check passed", health{OK: true, Known: true, Passed: []string{"ping"}}},
		"failed without a name": {"[-]\n", health{Known: true, Failed: []string{""}}},
		"windows line ends":     {"[-]syncloop failed: x\r\nhealthz check failed\r\n", health{Known: true, Failed: []string{"syncloop"}}},
		"empty":                 {"", health{}},
		"authorizer":            {"Authorization error (user=system:anonymous, verb=get, resource=nodes, subresource=proxy)", health{}},
		"web page":              {"<html>ok</html>", health{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ParseHealth(tc.text)); diff != "" {
				t.Errorf("ParseHealth (-want +got):\n%s", diff)
			}
		})
	}
}

// TestParseHealthCaptures reads what real kubelets said on their three ports.
func TestParseHealthCaptures(t *testing.T) {
	ok := health{OK: true, Known: true}
	old := health{Known: true, Failed: []string{"syncloop"}, Passed: []string{"ping", "log"}}
	current := health{Known: true, Failed: []string{"syncloop"}, Passed: []string{"ping", "log", "device-plugin"}}
	for name, want := range map[string][]health{
		"kubelet-1.17.4-hung-cephfs":     {old, old, ok},
		"kubelet-1.34.4-hung-csi":        {current, current, ok},
		"kubelet-1.34.4-runtime-stopped": {ok, ok, ok},
	} {
		t.Run(name, func(t *testing.T) {
			text := readTestdata(t, filepath.Join(name, "healthz.txt"))
			var got []health
			for _, part := range strings.Split(text, "== http")[1:] {
				_, body, _ := strings.Cut(part, "\n")
				got = append(got, ParseHealth(body))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("health of 10250, 10255, 10248 (-want +got):\n%s", diff)
			}
		})
	}
}

func readTestdata(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func FuzzParseHealth(f *testing.F) {
	f.Add(readTestdata(f, "kubelet-1.34.4-hung-csi/healthz.txt"))
	f.Add("[-]\n[+]\nok\n")
	f.Fuzz(func(t *testing.T, text string) {
		h := ParseHealth(text)
		if h.OK && (!h.Known || len(h.Failed) > 0) {
			t.Errorf("healthy without being known, or with failures: %+v", h)
		}
		if len(h.Failed) > strings.Count(text, "[-]") {
			t.Errorf("%d failed checks", len(h.Failed))
		}
	})
}
