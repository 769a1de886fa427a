package live

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
)

// TestStopped: the kernel accepts connections to a stopped process, and nobody answers.
func TestStopped(t *testing.T) {
	pid, report := startRole(t, roleServe, nil)
	port := strconv.Itoa(report.Port)
	in := &kubelet.Instance{PID: pid, Flags: map[string]string{"port": port, "read-only-port": port, "healthz-port": port}}
	c := &Client{Instance: in, FS: openFS(t, "/"), Timeout: time.Minute}
	if s := statuses(c.Health(t.Context())); s != "error ok ok" { // there is no TLS on the first one
		t.Fatalf("before: %s", s)
	}
	must(t, unix.Kill(pid, unix.SIGSTOP))
	must(t, unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED, nil))
	c.Timeout = 200 * time.Millisecond
	if got := c.Health(t.Context()); statuses(got) != "timeout timeout timeout" {
		t.Errorf("health = %+v", got)
	}
}

// TestSlow has servers that take the request and do not answer, or do not go on.
func TestSlow(t *testing.T) {
	ended := make(chan struct{})
	begin := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, text)
			if text != "" {
				w.(http.Flusher).Flush()
			}
			<-ended
		}
	}
	k := startKubelet(t, begin(""), begin("[+]ping ok\n"), begin("o"))
	defer close(ended)
	c := k.client(t)
	c.Timeout = 100 * time.Millisecond
	if got := c.Health(t.Context()); statuses(got) != "timeout timeout timeout" {
		t.Errorf("health = %+v", got)
	}
}

// TestBrokenOff: what came of a dump is returned and said to be a part.
func TestBrokenOff(t *testing.T) {
	k := startKubelet(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/debug/pprof/goroutine" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, "goroutine 1 [running]:\n")
	}, nil, nil)
	dump, e := askGoroutines(t, k.client(t), 2)
	if string(dump) != "goroutine 1 [running]:\n" || e.Status != "error" || !strings.Contains(e.Detail, "ended early, after 23 bytes") {
		t.Errorf("%q, %+v", dump, e)
	}
}

func TestCut(t *testing.T) {
	k := startKubelet(t, say(200, strings.Repeat("x", 1000)), nil, nil)
	c := k.client(t)
	for limit, cut := range map[int64]bool{999: true, 1000: false, 1001: false} {
		var body []byte
		e := c.ask(t.Context(), c.mainAPI("/", limit, func(r io.Reader) (err error) { body, err = io.ReadAll(r); return err }))
		if (e.Status == "truncated") != cut || int64(len(body)) != min(limit, 1000) || e.Bytes != int64(len(body)) || strings.Contains(e.Detail, "truncated at") != cut {
			t.Errorf("limit %d: %d bytes, %+v", limit, len(body), e)
		}
	}
}

// TestHugeDump has a dump that never ends.
func TestHugeDump(t *testing.T) {
	if testing.Short() {
		t.Skip("64 MiB over TLS")
	}
	line := bytes.Repeat([]byte("x"), 1<<20)
	k := startKubelet(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	}, nil, nil)
	c := k.client(t)
	c.Timeout = time.Minute
	dump, e := askGoroutines(t, c, 1)
	if len(dump) != maxDumpBody || e.Status != "truncated" || !strings.HasPrefix(e.Detail, "truncated at 67108864 bytes") {
		t.Errorf("%d bytes, %+v", len(dump), e)
	}
}

func TestRedirect(t *testing.T) {
	elsewhere := serve(t, "127.0.0.1:0", nil, say(200, "ok"))
	k := startKubelet(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) }, nil, nil)
	c := k.client(t)
	c.Token = "secret"
	dump, e := askGoroutines(t, c, 0)
	if len(dump) != 0 || e.Status != "error" || e.Code != 302 || !strings.Contains(e.Detail, "redirect") {
		t.Errorf("%q, %+v", dump, e)
	}
	if accepted, _ := elsewhere.seen(); accepted != 0 {
		t.Error("the redirect was followed")
	}
}

// TestNotHTTP has servers that answer something else, among it headers without end.
func TestNotHTTP(t *testing.T) {
	for name, text := range map[string]string{
		"SSH":         "SSH-2.0-OpenSSH_9.6\r\n",
		"nothing":     "",
		"long header": "HTTP/1.1 200 OK\r\n" + strings.Repeat("A: "+strings.Repeat("x", 1000)+"\r\n", 1000),
		"long line":   "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			must(t, err)
			defer func() { _ = listener.Close() }()
			go func() {
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					_, _ = io.WriteString(conn, text)
					_ = conn.Close()
				}
			}()
			in := &kubelet.Instance{PID: os.Getpid(), Flags: map[string]string{"port": "1", "read-only-port": "0", "healthz-port": strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)}}
			c := &Client{Instance: in, FS: openFS(t, "/")}
			if got := c.Health(t.Context()); statuses(got) != "refused error" {
				t.Errorf("health = %+v", got)
			}
		})
	}
}
