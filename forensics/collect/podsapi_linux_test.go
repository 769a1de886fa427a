package collect

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
)

// TestPodsFromTheSocket has a kubelet that refuses its list over HTTP or gives it, with and without the Pods API.
func TestPodsFromTheSocket(t *testing.T) {
	for name, tc := range map[string]struct {
		code     int
		message  string // of the Pods API; "-" is no such API
		unproven string
		pods     []string
		saw      bool
	}{
		"refused, with the API":       {code: 401, message: "\x0a\x05\x0a\x03\x2a\x01s", pods: []string{"s"}, saw: true},
		"refused, an empty list":      {code: 401, message: "", saw: false},
		"refused, a broken list":      {code: 401, message: "\x0a\x05", saw: false},
		"refused, without the API":    {code: 401, message: "-", saw: false},
		"given: the API is not asked": {code: 200, message: "\x0a\x05\x0a\x03\x2a\x01s", pods: []string{"h"}, saw: true},
		"perhaps not the kubelet":     {code: 401, message: "\x0a\x05\x0a\x03\x2a\x01s", unproven: "was not examined", saw: false},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if tc.message != "-" {
				servePods(t, root, tc.message)
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/pods" {
					w.WriteHeader(http.StatusNotFound)
					return
				}
				w.WriteHeader(tc.code)
				_, _ = w.Write([]byte(`{"kind":"PodList","items":[{"metadata":{"uid":"h"}}]}`))
			}))
			t.Cleanup(server.Close)
			c, err := newCollector(t.Context(), Options{KubeletURL: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.fs.Close() }()
			c.evidence.Kubelet = &kubelet.Instance{PID: os.Getpid(), RootDir: root, CanonicalRoot: root, Unproven: tc.unproven}
			client, err := c.client(t.Context(), c.evidence.Kubelet)
			if err != nil {
				t.Fatal(err)
			}
			pods, _, answers := c.kubeletPods(t.Context(), client)
			var uids []string
			for _, p := range pods {
				if !p.FromKubelet() {
					t.Errorf("pod %+v is not the kubelet's", p)
				}
				uids = append(uids, p.UID)
			}
			e := forensics.NewEvidence()
			e.Collector.PID = 1
			for _, s := range answers.cover {
				e.Cover(s)
			}
			if saw, why := e.Saw(forensics.SourceKubeletPods); saw != tc.saw || !slices.Equal(uids, tc.pods) {
				t.Errorf("pods %q, seen: %t (%s); want %q, %t", uids, saw, why, tc.pods, tc.saw)
			}
		})
	}
}

// servePods serves the kubelet's Pods API below a root directory.
func servePods(t *testing.T, root, message string) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(root, "pods-api"), 0o755); err != nil {
		t.Fatal(err)
	}
	// The kubelet 1.36.3 binds a name of digits and renames it; /proc/net/unix keeps that name.
	bound := filepath.Join(root, "pods-api/3048745325")
	listener, err := net.Listen("unix", bound)
	if err == nil {
		err = os.Rename(bound, filepath.Join(root, "pods-api/pods-api.sock"))
	}
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Protocols: new(http.Protocols), Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		_, _ = w.Write(append([]byte{0, 0, 0, 0, byte(len(message))}, message...))
	})}
	server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
}
