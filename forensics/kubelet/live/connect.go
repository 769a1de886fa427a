package live

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// urlOf returns the address that a question is for, as it is written into the report. The host of an owned port is
// where such a port usually is, until connect knows better.
func (c *Client) urlOf(q question) string {
	if q.explicit {
		base := strings.TrimSuffix(c.URL, "/")
		if !strings.Contains(base, "://") {
			base = "https://" + base
		}
		if u, err := url.Parse(base); err == nil && u.User != nil {
			u.User = nil // credentials belong into Token
			base = u.String()
		}
		return base + q.path
	}
	return ownedURL(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(q.port.Number)), q)
}

func ownedURL(target netip.AddrPort, q question) string {
	scheme := "http://"
	if q.port.TLS {
		scheme = "https://"
	}
	return scheme + target.String() + q.path
}

// A connection is one to a server that may be asked.
type connection struct {
	net.Conn // with TLS, if there is TLS
	socket   net.Conn
	target   netip.AddrPort
	tls      bool
	verified string
	loopback bool
	stop     func() bool // ends watching the context
}

// close closes the socket without saying goodbye over TLS, which could block.
func (c *connection) close() {
	c.stop()
	_ = c.socket.Close()
}

// withholdToken says why a bearer token must not be sent, nil if it may.
func (c *connection) withholdToken() error {
	switch {
	case !c.tls:
		return errors.New("the connection is not encrypted")
	case c.verified == "none" && !c.loopback:
		return errors.New("the server's certificate could not be verified")
	}
	return nil
}

// connect reaches the server of a question, and makes sure that it is the kubelet: its process owns the listening
// socket before the connection is made, and has accepted the connection itself before anything is asked. A listener can
// be replaced in between, be shared (SO_REUSEPORT) or be inherited by a child.
func (c *Client) connect(ctx context.Context, q question, e *kubelet.Endpoint) (*connection, error) {
	var (
		conn     *connection
		explicit string
		err      error
	)
	if q.explicit {
		conn, explicit, err = c.dialURL(ctx, e.URL)
	} else {
		conn, err = c.dialOwned(ctx, q, e)
	}
	if err != nil {
		return nil, err
	}
	socket := conn.Conn
	conn.socket = socket
	conn.stop = context.AfterFunc(ctx, func() { _ = socket.SetDeadline(time.Unix(1, 0)) })
	if conn.tls {
		if err := c.handshake(ctx, conn, explicit, q.explicit || c.proven(), e); err != nil {
			conn.close()
			return nil, err
		}
	}
	if !q.explicit {
		if err := c.accepted(ctx, conn); err != nil {
			conn.close()
			return nil, err
		}
	}
	return conn, nil
}

func (c *Client) dialOwned(ctx context.Context, q question, e *kubelet.Endpoint) (*connection, error) {
	if c.Instance == nil || c.Instance.PID == 0 {
		return nil, fmt.Errorf("%w: no kubelet runs", errNoRequest)
	}
	if c.FS == nil {
		return nil, fmt.Errorf("%w, as far as visible: no /proc", errNotOwned)
	}
	var targets []netip.AddrPort
	err := c.reading(ctx, func() (err error) { targets, err = c.owner().targets(ctx, q.port.Number); return err })
	if err != nil {
		return nil, err
	}
	var raw net.Conn
	var target netip.AddrPort
	for _, target = range targets {
		if raw, err = dial(ctx, target); err == nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	e.URL = ownedURL(target, q)
	return &connection{Conn: raw, target: target, tls: q.port.TLS, loopback: target.Addr().IsLoopback()}, nil
}

func (c *Client) owner() owner {
	return owner{fs: c.FS, group: c.Group, pid: c.Instance.PID, ticks: c.Instance.StartTicks}
}

// accepted waits until the kubelet's process has accepted the connection.
func (c *Client) accepted(ctx context.Context, conn *connection) error {
	local, ok := conn.socket.LocalAddr().(*net.TCPAddr)
	if !ok {
		return fmt.Errorf("%w, as far as visible: no TCP connection", errNotOwned)
	}
	at := local.AddrPort()
	at = netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port())
	return c.owner().accepted(ctx, at, conn.target)
}

// reading lets one question after the other read files: package probe refuses to ask the same file twice at once.
func (c *Client) reading(ctx context.Context, read func() error) error {
	c.mu.Lock()
	if c.files == nil {
		c.files = make(chan struct{}, 1)
	}
	c.mu.Unlock()
	select {
	case c.files <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.files }()
	return read()
}

func dial(ctx context.Context, target netip.AddrPort) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", target.String())
}

// dialURL reaches the server of an explicit URL. Its name, if it is one, is returned unless it is this machine.
func (c *Client) dialURL(ctx context.Context, text string) (conn *connection, remote string, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, "", err
	}
	if u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" {
		return nil, "", fmt.Errorf("%s: not a kubelet URL", text)
	}
	portNumber, err := portOf(u)
	if err != nil {
		return nil, "", err
	}
	addrs, err := c.lookUp(ctx, u.Hostname())
	if err != nil {
		return nil, "", err
	}
	var raw net.Conn
	for _, addr := range addrs {
		if raw, err = dial(ctx, netip.AddrPortFrom(addr.Unmap(), portNumber)); err == nil {
			loopback := addr.Unmap().IsLoopback()
			if !loopback {
				remote = u.Hostname()
			}
			return &connection{Conn: raw, tls: u.Scheme == "https", loopback: loopback}, remote, nil
		}
	}
	return nil, "", err
}

func portOf(u *url.URL) (uint16, error) {
	text := u.Port()
	if text == "" {
		text = strconv.Itoa(kubelet.DefaultPort)
	}
	n, err := strconv.ParseUint(text, 10, 16)
	return uint16(n), err
}

// lookUp finds the addresses of a host. A name is looked up in files that may be on a dead mount.
func (c *Client) lookUp(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	addrs, err := probe.Do(ctx, c.Group, "look-up of "+host, func() ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	})
	if err == nil && len(addrs) == 0 {
		err = fmt.Errorf("%s: no address", host)
	}
	return addrs, err
}

// handshake makes the connection a TLS connection, with the client certificate if the server may have it.
func (c *Client) handshake(ctx context.Context, conn *connection, remote string, trusted bool, e *kubelet.Endpoint) error {
	var pins [][]byte
	err := c.reading(ctx, func() (err error) { pins, err = c.pins(ctx); return err })
	if err != nil {
		e.Detail = "the kubelet's certificate could not be read: " + err.Error()
	}
	v := &verifier{pins: pins, explicit: remote, trusted: func(host string, chain []*x509.Certificate) bool {
		ok, err := probe.Do(ctx, c.Group, "certificate authorities", func() (bool, error) { return systemTrusts(host, chain), nil })
		return ok && err == nil
	}}
	config := &tls.Config{
		ServerName:         remote,
		InsecureSkipVerify: true, // verify decides
		VerifyConnection:   v.verify,
		MinVersion:         tls.VersionTLS12,
	}
	if len(c.ClientCert) > 0 && trusted {
		key := c.ClientKey
		if len(key) == 0 {
			key = c.ClientCert
		}
		cert, err := tls.X509KeyPair(c.ClientCert, key)
		if err != nil {
			return fmt.Errorf("client certificate: %w", err)
		}
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &cert, nil }
	}
	secure := tls.Client(conn.Conn, config)
	err = secure.HandshakeContext(ctx)
	e.Verified = v.verified
	if err != nil {
		return err
	}
	conn.Conn, conn.verified = secure, v.verified
	return nil
}

// maxHeader bounds the status line and the headers of an answer.
const maxHeader = 64 << 10

// roundTrip sends the request and reads the answer up to its body. Not being a [http.Transport] it has no proxies,
// redirects, retries or connections to keep.
func (c *connection) roundTrip(request *http.Request, limit int64) (*http.Response, error) {
	if err := request.Write(c.Conn); err != nil {
		return nil, err
	}
	wire := &io.LimitedReader{R: c.Conn, N: maxHeader}
	response, err := http.ReadResponse(bufio.NewReader(wire), request)
	if err != nil {
		return nil, err
	}
	wire.N = limit + limit/8 + maxHeader // with room for the sizes of chunks
	return response, nil
}
