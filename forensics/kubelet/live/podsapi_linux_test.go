package live

import (
	"encoding/binary"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
)

// servePodsAPI serves the Pods API below a root directory with a server of the standard library, and answers with a message.
func servePodsAPI(t *testing.T, root string, message []byte) {
	t.Helper()
	socket := filepath.Join(root, podsAPISocket)
	must(t, os.MkdirAll(filepath.Dir(socket), 0o755))
	listener, err := net.Listen("unix", socket)
	must(t, err)
	server := &http.Server{Protocols: new(http.Protocols), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		if r.URL.Path != "/v1alpha1.Pods/ListPods" {
			w.Header().Set("Grpc-Status", "12")
			return
		}
		w.Header().Set("Trailer", "Grpc-Status")
		_, _ = w.Write(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...))
		w.Header().Set("Grpc-Status", "0")
	})}
	server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
}

// podMessage is a list of pods that have nothing but a UID, and annotations of some bytes.
func podMessage(uids []string, padding int) (message []byte) {
	field := func(number byte, value []byte) []byte {
		return append(binary.AppendUvarint([]byte{number<<3 | 2}, uint64(len(value))), value...)
	}
	for _, uid := range uids {
		metadata := append(field(5, []byte(uid)), field(12, append(field(1, []byte("note")), field(2, make([]byte, padding))...))...)
		message = append(message, field(1, field(1, metadata))...)
	}
	return message
}

func TestPodsBySocket(t *testing.T) {
	uids := strings.Split(strings.Repeat("u,", 500)+"v", ",")
	for name, tc := range map[string]struct {
		message []byte
		change  func(*kubelet.Instance)
		status  string
		detail  string
		pods    int
	}{
		"one pod":             {message: podMessage([]string{"u"}, 0), status: "ok", pods: 1},
		"no pods":             {message: nil, status: "ok"},
		"10 MB":               {message: podMessage(uids, 20_000), status: "ok", pods: 501}, // more than a peer sends without being told to
		"more than is read":   {message: podMessage(uids, 40_000), status: "error", detail: "its answer is longer than 16777216 bytes"},
		"not a list of pods":  {message: []byte("pods"), status: "error", detail: "not a protocol buffer"},
		"perhaps no kubelet":  {message: podMessage([]string{"u"}, 0), change: func(k *kubelet.Instance) { k.Unproven = "was not examined" }, status: "not-asked", detail: "the process may be another than the kubelet"},
		"another process":     {message: podMessage([]string{"u"}, 0), change: func(k *kubelet.Instance) { k.PID = 1 }, status: "not-owned", detail: "no process of the kubelet has it open"},
		"a later process":     {message: podMessage([]string{"u"}, 0), change: func(k *kubelet.Instance) { k.StartTicks = 1 }, status: "not-owned", detail: "no process of the kubelet has it open"},
		"the gate is off":     {change: func(k *kubelet.Instance) { k.RootDir += "/none" }, status: "not-asked", detail: "no process listens for the Pods API (feature gate PodsAPI)"},
		"no kubelet":          {change: func(k *kubelet.Instance) { k.PID = 0 }, status: "not-asked", detail: "no kubelet runs"},
		"through a link":      {message: podMessage([]string{"u"}, 0), change: linked, status: "ok", pods: 1},
		"no pods, and no end": {message: make([]byte, 1), status: "error", detail: "not a protocol buffer"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			k := &kubelet.Instance{PID: os.Getpid(), RootDir: root, CanonicalRoot: root}
			if tc.change != nil {
				tc.change(k)
			}
			at := root
			if _, err := os.Lstat(k.RootDir); err == nil {
				at = k.RootDir
			}
			servePodsAPI(t, at, tc.message)
			c := &Client{Instance: k, FS: openFS(t, "/"), Timeout: time.Minute}
			pods, leftOut, e := c.PodsBySocket(t.Context())
			if e.Status != tc.status || e.Detail != tc.detail || len(pods) != tc.pods || leftOut != 0 {
				t.Errorf("%+v, %d pods and %d; want %s, %q, %d pods", e, len(pods), leftOut, tc.status, tc.detail, tc.pods)
			}
		})
	}
}

// linked has the root directory behind a symbolic link: the kubelet binds its socket at the path as configured.
func linked(k *kubelet.Instance) {
	link := k.RootDir + ".link"
	if err := os.Symlink(k.RootDir, link); err == nil {
		k.RootDir = link
	}
}

// TestPodsBySocketSilent has a kubelet that takes the request and does not answer.
func TestPodsBySocketSilent(t *testing.T) {
	root := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(root, "pods-api"), 0o755))
	listener, err := net.Listen("unix", filepath.Join(root, podsAPISocket))
	must(t, err)
	defer func() { _ = listener.Close() }()
	c := &Client{
		Instance: &kubelet.Instance{PID: os.Getpid(), RootDir: root, CanonicalRoot: root}, FS: openFS(t, "/"), Timeout: 100 * time.Millisecond,
	}
	if pods, _, e := c.PodsBySocket(t.Context()); e.Status != "timeout" || len(pods) != 0 {
		t.Errorf("%+v, %d pods; want timeout", e, len(pods))
	}
}
