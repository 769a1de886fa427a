package kubelet

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func keepAll(string) bool { return true }

func TestParseMetrics(t *testing.T) {
	long := `long{label="` + strings.Repeat("x", maxMetricLine) + `"} 1`
	for name, tc := range map[string]struct {
		text string
		want map[string]float64
		err  string
	}{
		"empty":             {"", map[string]float64{}, ""},
		"comments":          {"# HELP go_goroutines x\n# TYPE go_goroutines gauge\n\ngo_goroutines 7\n", map[string]float64{"go_goroutines": 7}, ""},
		"no newline at end": {"a 1", map[string]float64{"a": 1}, ""},
		"labels":            {`a{b="c",d="e"} 1.5e3`, map[string]float64{`a{b="c",d="e"}`: 1500}, ""},
		"timestamp":         {"a 1 1395066363000", map[string]float64{"a": 1}, ""},
		"exemplar":          {`a_total{b="c"} 3 # {trace_id="x"} 0.5`, map[string]float64{`a_total{b="c"}`: 3}, ""},
		"blank in a label":  {`a{b="c d"} 1`, map[string]float64{`a{b="c d"}`: 1}, ""},
		"brace in a label":  {`a{b="}"} 1`, map[string]float64{`a{b="}"}`: 1}, ""},
		"escaped quote":     {`a{b="\"} 2"} 1`, map[string]float64{`a{b="\"} 2"}`: 1}, ""},
		"blank behind labels": {
			"a{} \t 1", map[string]float64{"a{}": 1}, "",
		},
		"buckets and quantiles": {
			"a_bucket{le=\"1\"} 1\na{quantile=\"0.5\"} 2\na_sum 3\na_count 4\n",
			map[string]float64{"a_sum": 3, "a_count": 4},
			"",
		},
		"no numbers in JSON":  {"a NaN\nb +Inf\nc -Inf\nd 1e999\ne 1\n", map[string]float64{"e": 1}, ""},
		"windows line ends":   {"a 1\r\nb 2\r\n", map[string]float64{"a": 1, "b": 2}, ""},
		"web page":            {"<html>\n<p>a 1</p>\nb 2\n", map[string]float64{"b": 2}, "line 1 is not a sample"},
		"open brace":          {"a{b=\"c\" 1\nd 2\n", map[string]float64{"d": 2}, "line 1 is not a sample"},
		"no value":            {"a\nb{}\nc 1\n", map[string]float64{"c": 1}, "line 1 is not a sample"},
		"no name":             {`{a="b"} 1`, map[string]float64{}, "line 1 is not a sample"},
		"line without end":    {"a 1\n" + long + "\nb 2\n", map[string]float64{"a": 1, "b": 2}, "line 2 is longer than 65536 bytes"},
		"long line at end":    {"a 1\n" + long, map[string]float64{"a": 1}, "line 2 is longer than 65536 bytes"},
		"series given twice":  {"a 1\na 2\n", map[string]float64{"a": 2}, ""},
		"control characters":  {"a\x00b 1\n", map[string]float64{"a\x00b": 1}, ""},
		"first line is blank": {"\n\n a 1\n", map[string]float64{"a": 1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseMetrics(strings.NewReader(tc.text), keepAll)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("error = %v; want %q", err, tc.err)
			}
		})
	}
}

func TestParseMetricsBound(t *testing.T) {
	var text strings.Builder
	const limit = 5000 // as its comment says
	for i := range limit + 10 {
		text.WriteString("a{i=\"" + strconv.Itoa(i) + "\"} 1\n")
	}
	got, err := parseMetrics(strings.NewReader(text.String()), keepAll)
	if len(got) != limit || !errors.Is(err, ErrMalformed) {
		t.Errorf("%d series, error %v; want %d and an error", len(got), err, limit)
	}
}

func TestParseMetricsBrokenOff(t *testing.T) {
	broken := errors.New("connection reset")
	got, err := parseMetrics(io.MultiReader(strings.NewReader("a 1\nb 2\nc"), iotest.ErrReader(broken)), keepAll)
	if diff := cmp.Diff(map[string]float64{"a": 1, "b": 2}, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	if !errors.Is(err, broken) || errors.Is(err, ErrMalformed) {
		t.Errorf("error = %v; want the reader's", err)
	}
}

func TestParseMetricsCaptures(t *testing.T) {
	for name, want := range map[string]map[string]float64{
		"kubelet-1.34.4-hung-csi": {
			`kubelet_node_name{node="lab-node-1"}`:  1,
			`kubelet_active_pods{static="true"}`:    1,
			`kubelet_desired_pods{static="true"}`:   1,
			`kubelet_orphan_pod_cleaned_volumes`:    1,
			`kubelet_pleg_relist_duration_seconds_`: -1,
		},
		"kubelet-1.17.4-orphan-leftover": {
			`kubelet_running_pod_count`: 1, // kubelet_running_pods since 1.19
			`kubelet_cgroup_manager_duration_seconds_count{operation_type="create"}`: 4,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseMetrics(strings.NewReader(readTestdata(t, name+"/metrics.txt")))
			if err != nil {
				t.Fatal(err)
			}
			for series, value := range want {
				if have, ok := got[series]; ok != (value >= 0) || ok && have != value {
					t.Errorf("%s = %g, %t; want %g", series, have, ok, value)
				}
			}
			for series := range got {
				if strings.Contains(series, "_bucket") || strings.Contains(series, "quantile=") || strings.Contains(series, "http_requests") {
					t.Errorf("kept %s", series)
				}
			}
		})
	}
}

func TestFromMetrics(t *testing.T) {
	for name, tc := range map[string]struct {
		series, version string
	}{
		"current":       {series: `kubernetes_build_info{build_date="2026",git_commit="x",git_version="v1.34.4",major="1"}`, version: "1.34.4"},
		"1.17":          {series: `kubernetes_build_info{buildDate="2020",gitVersion="v1.17.4",goVersion="go1.13"}`, version: "1.17.4"},
		"k3s":           {series: `kubernetes_build_info{git_version="v1.30.4+k3s1"}`, version: "1.30.4+k3s1"},
		"GKE":           {series: `kubernetes_build_info{git_version="v1.27.3-gke.100"}`, version: "1.27.3-gke.100"},
		"unstamped":     {series: `kubernetes_build_info{git_version="v0.0.0-master+$Format:%H$"}`},
		"no label":      {series: `kubernetes_build_info{x_git_version="v1.2.3"}`},
		"no labels":     {series: `kubernetes_build_info`},
		"another":       {series: `kubernetes_build_info_x{git_version="v1.2.3"}`},
		"hostile value": {series: `kubernetes_build_info{git_version="`},
	} {
		t.Run(name, func(t *testing.T) {
			metrics := map[string]float64{"go_goroutines": 7, tc.series: 1}
			if got := VersionFromMetrics(metrics); got != tc.version {
				t.Errorf("version = %q; want %q", got, tc.version)
			}
		})
	}
}

func FuzzParseMetrics(f *testing.F) {
	seen := map[string]bool{}
	for line := range strings.Lines(readTestdata(f, "kubelet-1.34.4-hung-csi/metrics.txt")) {
		name, _, _ := strings.Cut(line, "{")
		if !seen[name] && len(line) < 150 { // short: the fuzzer makes what is interesting shorter byte by byte
			f.Add(line)
		}
		seen[name] = true
	}
	f.Add("a{b=\"\\\"} 2\"} 1 2\n# x\nb NaN\n{")
	f.Fuzz(func(t *testing.T, text string) {
		metrics, _ := parseMetrics(strings.NewReader(text), keepAll)
		if len(metrics) > strings.Count(text, "\n")+1 {
			t.Errorf("%d series from %d lines", len(metrics), strings.Count(text, "\n")+1)
		}
		if _, err := json.Marshal(metrics); err != nil {
			t.Error(err)
		}
		VersionFromMetrics(metrics)
	})
}

func BenchmarkParseMetrics(b *testing.B) {
	text := strings.Repeat(readTestdata(b, "kubelet-1.34.4-hung-csi/metrics.txt"), 100)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := ParseMetrics(strings.NewReader(text)); err != nil {
			b.Fatal(err)
		}
	}
}
