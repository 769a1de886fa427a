package live

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	cryptorand "crypto/rand"
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
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
)

// A fakeKubelet serves the three ports of a kubelet in the process of the test.
type fakeKubelet struct {
	main, readOnly, healthz *server
	certFile                string // the certificate of main; not a flag of the instance yet
	instance                *kubelet.Instance
}

// A server counts what reaches it.
type server struct {
	*httptest.Server
	tcp      net.Listener // below TLS
	mu       sync.Mutex
	accepted int
	requests []*http.Request
}

func (s *server) port() int { return s.Listener.Addr().(*net.TCPAddr).Port }

func (s *server) seen() (accepted int, requests []*http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted, append([]*http.Request{}, s.requests...)
}

// A countingListener counts connections, whether or not anything is sent.
type countingListener struct {
	net.Listener
	server *server
}

func (l countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.server.mu.Lock()
		l.server.accepted++
		l.server.mu.Unlock()
	}
	return conn, err
}

// serve starts a server on an address, with TLS if it is given a certificate.
func serve(t *testing.T, addr string, cert *tls.Certificate, handler http.HandlerFunc) *server {
	t.Helper()
	s := &server{}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		t.Skipf("cannot listen on %s: %v", addr, err)
	}
	if handler == nil {
		handler = http.NotFound
	}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r)
		s.mu.Unlock()
		handler(w, r)
	}))
	_ = s.Listener.Close()
	s.tcp, s.Listener = listener, countingListener{listener, s}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	if cert != nil {
		s.TLS = &tls.Config{Certificates: []tls.Certificate{*cert}, ClientAuth: tls.RequestClientCert}
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// newCertificate makes a self-signed certificate and writes it to a file, with its key behind it.
func newCertificate(t *testing.T, name string) (*tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), cryptorand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(cryptorand.Reader, template, template, key.Public(), key)
	must(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
	text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	file := filepath.Join(t.TempDir(), "cert.pem")
	must(t, os.WriteFile(file, text, 0o600))
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

// startKubelet starts the servers with one handler each.
func startKubelet(t *testing.T, main, readOnly, healthz http.HandlerFunc) *fakeKubelet {
	t.Helper()
	cert, file := newCertificate(t, "node")
	k := &fakeKubelet{
		main:     serve(t, "127.0.0.1:0", cert, main),
		readOnly: serve(t, "127.0.0.1:0", nil, readOnly),
		healthz:  serve(t, "127.0.0.1:0", nil, healthz),
		certFile: file,
	}
	k.instance = &kubelet.Instance{PID: os.Getpid(), CanonicalRoot: "/nonexistent", Flags: map[string]string{
		"port":           strconv.Itoa(k.main.port()),
		"read-only-port": strconv.Itoa(k.readOnly.port()),
		"healthz-port":   strconv.Itoa(k.healthz.port()),
		"cert-dir":       "/nonexistent",
	}}
	return k
}

// client returns a client for it that knows the certificate.
func (k *fakeKubelet) client(t *testing.T) *Client {
	k.instance.Flags["tls-cert-file"] = k.certFile
	return &Client{Instance: k.instance, FS: openFS(t, "/"), Timeout: time.Minute}
}
