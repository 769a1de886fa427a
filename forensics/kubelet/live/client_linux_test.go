package live

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
)

// say answers every question with a status and a body.
func say(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

const syncloopFailed = "[+]ping ok\n[+]log ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n"

// capture returns a file of a captured node.
func capture(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../testdata", name))
	must(t, err)
	return string(data)
}

func statuses(endpoints []kubelet.Endpoint) string {
	var out []string
	for _, e := range endpoints {
		out = append(out, e.Status)
	}
	return strings.Join(out, " ")
}

func TestHealth(t *testing.T) {
	for name, tc := range map[string]struct {
		main, readOnly, healthz http.HandlerFunc
		want                    string
		failed                  []string // of the first
	}{
		"healthy":                     {say(200, "[+]ping ok\nhealthz check passed\n"), say(200, "ok"), say(200, "ok"), "ok ok ok", nil},
		"hung":                        {say(500, syncloopFailed), say(500, syncloopFailed), say(200, "ok"), "unhealthy unhealthy ok", []string{"syncloop"}},
		"denied":                      {say(401, "Unauthorized"), say(200, "ok"), say(200, "ok"), "denied ok ok", nil},
		"forbids":                     {say(403, "Forbidden (user=system:anonymous, verb=get, resource=nodes, subresource=proxy)"), say(200, "ok"), say(200, "ok"), "denied ok ok", nil},
		"API down":                    {say(500, "Authorization error (user=x, verb=get, resource=nodes, subresource=proxy)"), say(200, "ok"), say(200, "ok"), "error ok ok", nil},
		"web page":                    {say(200, "<html>"), say(404, "no"), say(200, ""), "error error error", nil},
		"failed, but with status 200": {say(200, syncloopFailed), say(200, "ok"), say(200, "ok"), "unhealthy ok ok", []string{"syncloop"}},
	} {
		t.Run(name, func(t *testing.T) {
			k := startKubelet(t, tc.main, tc.readOnly, tc.healthz)
			got := k.client(t).Health(t.Context())
			if s := statuses(got); s != tc.want {
				t.Errorf("statuses = %s; want %s; %+v", s, tc.want, got)
			}
			if diff := cmp.Diff(tc.failed, got[0].Failed); diff != "" {
				t.Errorf("failed checks (-want +got):\n%s", diff)
			}
			if want := fmt.Sprintf("https://127.0.0.1:%d/healthz?verbose", k.main.port()); got[0].URL != want || got[0].Verified != "pinned" || got[0].Code == 0 || got[0].Bytes == 0 && tc.want != "error error error" {
				t.Errorf("first endpoint %+v; want URL %s, pinned", got[0], want)
			}
			if got[1].Verified != "" {
				t.Errorf("%s: verified %q without TLS", got[1].URL, got[1].Verified)
			}
		})
	}
}

// TestHealthPorts: a port that is disabled is not asked, one of which that is not known is not reported as refused.
func TestHealthPorts(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*kubelet.Instance)
		want   string
	}{
		"disabled":     {func(in *kubelet.Instance) { in.Flags["read-only-port"], in.Flags["healthz-port"] = "0", "0" }, "ok"},
		"not known":    {func(in *kubelet.Instance) { delete(in.Flags, "read-only-port"); in.Flags["config"] = "/unreadable" }, "ok ok"},
		"nobody there": {func(in *kubelet.Instance) { in.Flags["healthz-port"] = "1" }, "ok ok refused"},
	} {
		t.Run(name, func(t *testing.T) {
			k := startKubelet(t, say(200, "ok"), say(200, "ok"), say(200, "ok"))
			c := k.client(t)
			tc.change(k.instance)
			if got := c.Health(t.Context()); statuses(got) != tc.want {
				t.Errorf("health = %+v; want %s", got, tc.want)
			}
		})
	}
}

func TestPods(t *testing.T) {
	list := capture(t, "kubelet-1.34.4-hung-csi/pods.json")
	want := []kubelet.Pod{{
		UID: "2fa11937efabc40db85278b553e1ceeb", Namespace: "default", Name: "web-lab-node-1", Source: "kubelet", Phase: "Running",
		Kind: kubelet.KindStatic, Images: []kubelet.PodImage{{Name: "docker.io/library/busybox:lab", PullPolicy: "Never"}},
	}}
	for name, tc := range map[string]struct {
		main, readOnly http.HandlerFunc
		want           []kubelet.Pod
		status         string
		verified       string // of the answer
		detail         string
	}{
		"API":                   {say(200, list), nil, want, "ok", "pinned", ""},
		"empty":                 {say(200, `{"kind":"PodList","items":null}`), nil, []kubelet.Pod{}, "ok", "pinned", ""},
		"read-only port":        {say(401, "Unauthorized"), say(200, list), want, "ok", "", "denied (HTTP status 401: Unauthorized"},
		"both refuse":           {say(403, "Forbidden"), say(404, "404"), []kubelet.Pod{}, "denied", "pinned", "nodes/proxy"},
		"handlers are disabled": {say(405, "Debug endpoints are disabled."), nil, []kubelet.Pod{}, "denied", "pinned", "enableDebuggingHandlers"},
		"list breaks off":       {say(200, list[:len(list)/2]), say(404, ""), []kubelet.Pod{}, "error", "pinned", "unexpected EOF"},
		"not a list":            {say(200, "ok"), say(200, list), want, "ok", "", "error ("},
	} {
		t.Run(name, func(t *testing.T) {
			pods, _, e := startKubelet(t, tc.main, tc.readOnly, nil).client(t).Pods(t.Context())
			if diff := cmp.Diff(tc.want, pods); diff != "" {
				t.Errorf("pods (-want +got):\n%s", diff)
			}
			if e.Status != tc.status || e.Verified != tc.verified || !strings.Contains(e.Detail, tc.detail) || tc.detail == "" && e.Detail != "" {
				t.Errorf("endpoint %+v; want %s, %s, %q", e, tc.status, tc.verified, tc.detail)
			}
		})
	}
}

// TestManyPods keeps of a very long list what something else is known of, what is being deleted, and examples.
func TestManyPods(t *testing.T) {
	const deleting = maxExamples + 100
	var list strings.Builder
	list.WriteString(`{"kind":"PodList","items":[`)
	for i := range 3 * maxExamples {
		if i > 0 {
			list.WriteString(",")
		}
		stamp := ""
		if i == deleting {
			stamp = `,"deletionTimestamp":"2026-11-22T10:00:00Z"`
		}
		fmt.Fprintf(&list, `{"metadata":{"uid":"%d","annotations":{"kubernetes.io/config.hash":"hash-%d"}%s}}`, i, i, stamp)
	}
	list.WriteString("]}")
	known := []string{strconv.Itoa(2*maxExamples + 1), fmt.Sprint("hash-", 2*maxExamples+2)}
	c := startKubelet(t, say(401, ""), say(200, list.String()), nil).client(t)
	c.KnownPod = func(uid string) bool { return slices.Contains(known, uid) }
	pods, leftOut, e := c.Pods(t.Context())
	if e.Status != "ok" || len(pods) != maxExamples+3 || leftOut != 2*maxExamples-3 {
		t.Fatalf("%d pods, %d left out, %+v", len(pods), leftOut, e)
	}
	for i, want := range []int{deleting, 2*maxExamples + 1, 2*maxExamples + 2} {
		if pods[maxExamples+i].UID != strconv.Itoa(want) {
			t.Errorf("pod %s is kept; want %d", pods[maxExamples+i].UID, want)
		}
	}
	c.KnownPod = nil
	if pods, leftOut, _ := c.Pods(t.Context()); len(pods) != 3*maxExamples || leftOut != 0 {
		t.Errorf("%d pods and %d left out where all are known", len(pods), leftOut)
	}
}

func TestMetrics(t *testing.T) {
	text := capture(t, "kubelet-1.34.4-hung-csi/metrics.txt") + `kubernetes_build_info{git_version="v1.34.4"} 1` + "\nnonsense\n"
	got, e := startKubelet(t, say(200, text), nil, nil).client(t).Metrics(t.Context())
	if e.Status != "ok" || kubelet.VersionFromMetrics(got) != "1.34.4" || got[`kubelet_node_name{node="lab-node-1"}`] != 1 || !strings.Contains(e.Detail, "not a sample") {
		t.Errorf("%v, %+v", got, e)
	}
}

// askGoroutines keeps what a kubelet answers.
func askGoroutines(t *testing.T, c *Client, debug int) (text []byte, e kubelet.Endpoint) {
	t.Helper()
	e = c.Goroutines(t.Context(), debug, func(r io.Reader) { text, _ = io.ReadAll(r) })
	return text, e
}

// TestGoroutines: the number of goroutines is looked at before the kubelet is stopped for a dump.
func TestGoroutines(t *testing.T) {
	for name, tc := range map[string]struct {
		metrics string
		debug   int
		want    string
		paths   []string
	}{
		"few":        {"go_goroutines 300\n", 2, "ok", []string{"/metrics", "/debug/pprof/goroutine"}},
		"too many":   {"go_goroutines 100001\n", 2, "not-asked", []string{"/metrics"}},
		"unknown":    {"x 1\n", 2, "ok", []string{"/metrics", "/debug/pprof/goroutine"}},
		"only sums":  {"go_goroutines 100001\n", 1, "ok", []string{"/debug/pprof/goroutine"}},
		"as profile": {"go_goroutines 100001\n", 0, "ok", []string{"/debug/pprof/goroutine"}},
	} {
		t.Run(name, func(t *testing.T) {
			k := startKubelet(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/metrics" {
					_, _ = io.WriteString(w, tc.metrics)
					return
				}
				_, _ = io.WriteString(w, "debug="+r.URL.Query().Get("debug"))
			}, nil, nil)
			dump, e := askGoroutines(t, k.client(t), tc.debug)
			if e.Status != tc.want || (tc.want == "ok") != (string(dump) == "debug="+strconv.Itoa(tc.debug)) {
				t.Errorf("%q, %+v; want %s", dump, e, tc.want)
			}
			var paths []string
			_, requests := k.main.seen()
			for _, r := range requests {
				paths = append(paths, r.URL.Path)
			}
			if diff := cmp.Diff(tc.paths, paths); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}
