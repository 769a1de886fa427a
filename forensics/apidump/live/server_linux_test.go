package live

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// An authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "cluster"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	cert, err := x509.ParseCertificate(der)
	must(t, err)
	return authority{cert, key, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))}
}

// issue signs a certificate for a server on 127.0.0.1 and for a client; the text has the certificate and the key, as the kubelet keeps them.
func (a authority) issue(t *testing.T, subject pkix.Name) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: subject, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"kubernetes"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	must(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})) + string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))
}

// A fakeAPI is an API server that wants a client certificate of its authority, or a token. It counts what reaches it.
type fakeAPI struct {
	*httptest.Server
	mu       sync.Mutex
	accepted int
	requests []*http.Request
}

func (s *fakeAPI) seen() (accepted int, requests []*http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted, append([]*http.Request{}, s.requests...)
}

func serve(t *testing.T, ca authority, handler http.HandlerFunc) *fakeAPI {
	t.Helper()
	s := &fakeAPI{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r)
		s.mu.Unlock()
		handler(w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.mu.Lock()
			s.accepted++
			s.mu.Unlock()
		}
	}
	text := []byte(ca.issue(t, pkix.Name{CommonName: "kube-apiserver"}))
	pair, err := tls.X509KeyPair(text, text)
	must(t, err)
	clients := x509.NewCertPool()
	clients.AddCert(ca.cert)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: clients}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// node is a root directory with what a kubelet of kubeadm has: its kubeconfig and its certificate.
func node(t *testing.T, ca authority, server string) string {
	t.Helper()
	root := t.TempDir()
	write(t, root, "/etc/kubernetes/kubelet.conf", kubeconfig(server, "client-certificate: /var/lib/kubelet/pki/kubelet-client-current.pem, client-key: /var/lib/kubelet/pki/kubelet-client-current.pem"))
	write(t, root, "/etc/kubernetes/pki/ca.crt", ca.pem)
	write(t, root, "/var/lib/kubelet/pki/kubelet-client-2026.pem", ca.issue(t, pkix.Name{CommonName: "system:node:node-1", Organization: []string{"system:nodes"}}))
	must(t, os.Symlink("/var/lib/kubelet/pki/kubelet-client-2026.pem", filepath.Join(root, "var/lib/kubelet/pki/kubelet-client-current.pem")))
	return root
}

// kubeconfig names its authority by a path below its own directory.
func kubeconfig(server, user string) string {
	return strings.NewReplacer("SERVER", server, "USER", user).Replace(`apiVersion: v1
kind: Config
clusters: [{name: other, cluster: {server: "https://192.0.2.1"}}, {name: c, cluster: {server: "SERVER", certificate-authority: pki/ca.crt}}]
users: [{name: u, user: {USER}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`)
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	name = filepath.Join(root, name)
	must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must(t, os.WriteFile(name, []byte(text), 0o600))
}

func openFS(t *testing.T, root string) *hostfs.FS {
	t.Helper()
	fsys, err := hostfs.Open(root)
	must(t, err)
	t.Cleanup(func() { _ = fsys.Close() })
	return fsys
}

// theKubelet is proven, and runs.
func theKubelet() *kubelet.Instance {
	return &kubelet.Instance{PID: 1, Program: "kubelet", Flags: map[string]string{"kubeconfig": "/etc/kubernetes/kubelet.conf"}}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
