package live

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
)

func TestTLS(t *testing.T) {
	other, otherFile := newCertificate(t, "node") // the same name is not enough
	_ = other
	broken := filepath.Join(t.TempDir(), "broken.pem")
	must(t, os.WriteFile(broken, []byte("no certificate"), 0o600))
	for name, tc := range map[string]struct {
		file     string // "own" is the server's
		status   string
		verified string
		token    bool
	}{
		"pinned":       {"own", "ok", "pinned", true},
		"another":      {otherFile, "tls", "none", false},
		"none on disk": {"/nonexistent/tls.crt", "ok", "none", true},
		"broken file":  {broken, "ok", "none", true},
	} {
		t.Run(name, func(t *testing.T) {
			k := startKubelet(t, say(200, "ok"), nil, nil)
			c := k.client(t)
			c.Token = "secret"
			if tc.file != "own" {
				k.instance.Flags["tls-cert-file"] = tc.file
			}
			k.instance.Flags["read-only-port"], k.instance.Flags["healthz-port"] = "0", "0"
			e := c.Health(t.Context())[0]
			if e.Status != tc.status || e.Verified != tc.verified {
				t.Errorf("endpoint %+v; want %s, %s", e, tc.status, tc.verified)
			}
			_, requests := k.main.seen()
			if tc.token != (len(requests) == 1) {
				t.Fatalf("%d requests", len(requests))
			}
			if tc.token && requests[0].Header.Get("Authorization") != "Bearer secret" {
				t.Errorf("headers %v; want the token", requests[0].Header)
			}
		})
	}
}

// TestCertificateFiles looks for the certificate where kubelets keep it. The other ones there are of no consequence.
func TestCertificateFiles(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(in *kubelet.Instance, dir string)
		file   string
	}{
		"root directory":    {func(in *kubelet.Instance, dir string) { in.CanonicalRoot = dir }, "pki/kubelet.crt"},
		"signed by cluster": {func(in *kubelet.Instance, dir string) { in.CanonicalRoot = dir }, "pki/kubelet-server-current.pem"},
		"--cert-dir":        {func(in *kubelet.Instance, dir string) { in.Flags["cert-dir"] = dir }, "kubelet.crt"},
		"configuration":     {func(in *kubelet.Instance, dir string) { in.Config = &kubelet.Config{TLSCertFile: dir + "/x.crt"} }, "x.crt"},
		"beside configuration": {func(in *kubelet.Instance, dir string) {
			in.ConfigPath, in.Config = dir+"/c", &kubelet.Config{TLSCertFile: "x.crt"}
		}, "x.crt"},
		"k3s": {func(in *kubelet.Instance, dir string) { in.Program, in.Flags["data-dir"] = "k3s", dir }, "agent/serving-kubelet.crt"},
	} {
		t.Run(name, func(t *testing.T) {
			k := startKubelet(t, say(200, "ok"), nil, nil)
			dir := t.TempDir()
			own, err := os.ReadFile(k.certFile)
			must(t, err)
			writeTree(t, dir, map[string]string{tc.file: string(own)})
			if strings.HasPrefix(tc.file, "pki/") {
				_, stale := newCertificate(t, "stale")
				text, err := os.ReadFile(stale)
				must(t, err)
				for _, file := range []string{"pki/kubelet.crt", "pki/kubelet-server-current.pem"} {
					if file != tc.file {
						writeTree(t, dir, map[string]string{file: string(text)})
					}
				}
			}
			tc.change(k.instance, dir)
			c := &Client{Instance: k.instance, FS: openFS(t, "/")}
			if e := c.Health(t.Context())[0]; e.Status != "ok" || e.Verified != "pinned" {
				t.Errorf("endpoint %+v; want pinned", e)
			}
		})
	}
}

// TestTokenStaysHome: a token leaves over TLS only, and only to a loopback address or a known certificate.
func TestTokenStaysHome(t *testing.T) {
	t.Run("read-only port", func(t *testing.T) {
		k := startKubelet(t, say(401, ""), say(200, `{"kind":"PodList","items":[]}`), say(200, "ok"))
		c := k.client(t)
		c.Token = "secret"
		c.Pods(t.Context())
		c.Health(t.Context())
		for _, s := range []*server{k.readOnly, k.healthz} {
			_, requests := s.seen()
			if len(requests) == 0 {
				t.Error("not asked")
			}
			for _, r := range requests {
				if r.Header.Get("Authorization") != "" {
					t.Errorf("%s: the token was sent without TLS", r.URL)
				}
			}
		}
	})
	address := outerAddress(t)
	for name, explicit := range map[string]bool{"owned": false, "explicit": true} {
		t.Run("unknown certificate, not loopback, "+name, func(t *testing.T) {
			cert, _ := newCertificate(t, "node")
			s := serve(t, net.JoinHostPort(address, "0"), cert, say(200, "ok"))
			in := &kubelet.Instance{PID: os.Getpid(), Flags: map[string]string{"port": strconv.Itoa(s.port()), "tls-cert-file": "/nonexistent", "read-only-port": "0", "healthz-port": "0"}}
			c := &Client{Instance: in, FS: openFS(t, "/"), Token: "secret"}
			if explicit {
				c.URL = s.URL
			}
			e := c.Health(t.Context())[0]
			if e.Status != "ok" || e.Verified != "none" || !strings.Contains(e.Detail, "the token was not sent") {
				t.Errorf("endpoint %+v", e)
			}
			if _, requests := s.seen(); len(requests) != 1 || requests[0].Header.Get("Authorization") != "" {
				t.Errorf("requests %v", requests)
			}
		})
	}
}

// outerAddress returns an address of this machine that is no loopback address.
func outerAddress(t *testing.T) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	must(t, err)
	for _, addr := range addrs {
		if n, ok := addr.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	t.Skip("this machine has loopback addresses only")
	return ""
}

func TestExplicitURL(t *testing.T) {
	for name, tc := range map[string]struct {
		tls    bool
		url    func(port int) string
		status string
		path   string
		token  bool
	}{
		"https":                 {true, func(port int) string { return fmt.Sprintf("https://127.0.0.1:%d", port) }, "ok", "/healthz", true},
		"no scheme":             {true, func(port int) string { return fmt.Sprintf("127.0.0.1:%d/", port) }, "ok", "/healthz", true},
		"by name":               {true, func(port int) string { return fmt.Sprintf("https://localhost:%d", port) }, "ok", "/healthz", true},
		"proxy of kubectl":      {false, func(port int) string { return fmt.Sprintf("http://127.0.0.1:%d/api/v1/nodes/n/proxy", port) }, "ok", "/api/v1/nodes/n/proxy/healthz", false},
		"user and password":     {false, func(port int) string { return fmt.Sprintf("http://u:p@127.0.0.1:%d", port) }, "ok", "/healthz", false},
		"another scheme":        {false, func(port int) string { return fmt.Sprintf("unix://127.0.0.1:%d", port) }, "error", "", false},
		"no host":               {false, func(int) string { return "https://" }, "error", "", false},
		"no URL":                {false, func(int) string { return "https://[" }, "error", "", false},
		"port out of range":     {false, func(int) string { return "https://127.0.0.1:70000" }, "error", "", false},
		"nobody there":          {false, func(int) string { return "https://127.0.0.1:1" }, "refused", "", false},
		"http where TLS is due": {true, func(port int) string { return fmt.Sprintf("http://127.0.0.1:%d", port) }, "error", "", false},
		"TLS where http is due": {false, func(port int) string { return fmt.Sprintf("https://127.0.0.1:%d", port) }, "error", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			cert, _ := newCertificate(t, "localhost")
			if !tc.tls {
				cert = nil
			}
			s := serve(t, "127.0.0.1:0", cert, say(200, "ok"))
			c := &Client{FS: openFS(t, "/"), URL: tc.url(s.port()), Token: "secret"}
			e := c.Health(t.Context())[0]
			if e.Status != tc.status || strings.Contains(e.URL, "u:p@") {
				t.Errorf("endpoint %+v; want %s", e, tc.status)
			}
			_, requests := s.seen()
			if (tc.path != "") != (len(requests) == 1) {
				t.Fatalf("requests %v", requests)
			}
			if tc.path == "" {
				return
			}
			r := requests[0]
			if token := r.Header.Get("Authorization"); r.URL.Path != tc.path || (token == "Bearer secret") != tc.token || !tc.token && token != "" {
				t.Errorf("request for %s with %q; want %s, token %t", r.URL, token, tc.path, tc.token)
			}
		})
	}
}

func TestClientCertificate(t *testing.T) {
	_, file := newCertificate(t, "admin")
	text, err := os.ReadFile(file)
	must(t, err)
	k := startKubelet(t, say(200, "ok"), nil, nil)
	c := k.client(t)
	c.ClientCert = text
	if e := c.Health(t.Context())[0]; e.Status != "ok" {
		t.Fatalf("endpoint %+v", e)
	}
	_, requests := k.main.seen()
	if certs := requests[0].TLS.PeerCertificates; len(certs) != 1 || certs[0].Subject.CommonName != "admin" {
		t.Errorf("client certificates %v", certs)
	}
	c.ClientCert = []byte("nonsense")
	if e := c.Health(t.Context())[0]; e.Status != "error" || !strings.Contains(e.Detail, "client certificate") {
		t.Errorf("endpoint %+v; want an error", e)
	}
}
