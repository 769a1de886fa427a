package live

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

const (
	// timeout is for each of the two requests.
	timeout = 5 * time.Second

	maxList   = 64 << 20
	maxNode   = 4 << 20
	maxHeader = 64 << 10
	maxError  = 4 << 10
)

// errTruncated says that an answer is longer than is read.
var errTruncated = fmt.Errorf("the answer is too long: %w", nodefs.ErrTruncated)

// Objects asks the API server in the kubelet's kubeconfig for the pods of the kubelet's node and for its Node. The files are those that
// the kubelet sees; called is the name of the node where the kubelet's certificate has none.
//
// Dump.NodeName is set if the list of pods is whole; an error is then about the Node object alone. Without it there may be
// some pods, those before the answer broke off. server is the address that was asked, "" where none was. It returns when ctx ends, or
// after 10 seconds, except from files and the look-up of the server's name: call it under probe.Do.
func Objects(ctx context.Context, fsys nodefs.FS, k *kubelet.Instance, called string) (dump apidump.Dump, server string, err error) {
	dump = apidump.NewDump()
	if k.Unproven != "" {
		return dump, "", fmt.Errorf("process %d is perhaps not the kubelet, so its kubeconfig was not read: it %s: %w", k.PID, k.Unproven, fs.ErrPermission)
	}
	a, err := readAccess(fsys, kubeconfigOf(k))
	if err != nil {
		return dump, "", err
	}
	if a.node == "" {
		a.node = strings.ToLower(called) // pkg/util/node, GetHostname
	}
	if !nodeName.MatchString(a.node) {
		return dump, "", errors.New("the name of the node is not known")
	}
	server = a.server.String()
	pods, err := a.get(ctx, "/api/v1/pods", "fieldSelector="+url.QueryEscape("spec.nodeName="+a.node), maxList)
	dump.Merge(pods)
	dump.Pods = sorting.Delete(dump.Pods, func(p apidump.Pod) bool { return p.Node != a.node })
	dump.Kinds = map[string]int{"Pod": len(dump.Pods)}
	if err != nil {
		return dump, server, err
	}
	for kind := range pods.Kinds {
		if kind != "Pod" {
			return apidump.NewDump(), server, fmt.Errorf("a %.40s instead of a list of pods", kind)
		}
	}
	dump.NodeName = a.node
	node, err := a.get(ctx, "/api/v1/nodes/"+a.node, "", maxNode)
	for _, n := range node.Nodes {
		if n.Name == a.node {
			dump.Nodes, dump.Kinds["Node"] = []apidump.Node{n}, 1
		}
	}
	if err != nil {
		err = fmt.Errorf("the Node object: %w", err)
	}
	return dump, server, err
}

// get asks for objects. With an error come those before it.
func (a access) get(ctx context.Context, path, query string, limit int64) (apidump.Dump, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	dump, err := a.exchange(ctx, path, query, limit)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("no answer in time: %w", ctx.Err())
	}
	return dump, err
}

func (a access) exchange(ctx context.Context, path, query string, limit int64) (apidump.Dump, error) {
	conn, err := a.connect(ctx)
	if err != nil {
		return apidump.NewDump(), err
	}
	// Closed without a goodbye over TLS, which could block; when ctx ends, so does every call on it.
	raw := conn.NetConn()
	defer func() { _ = raw.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	at := a.server.JoinPath(path)
	at.RawQuery = query
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return apidump.NewDump(), err
	}
	request.Close = true
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "nodeforensics")
	if a.token != "" {
		request.Header.Set("Authorization", "Bearer "+a.token)
	}
	if err := request.Write(conn); err != nil {
		return apidump.NewDump(), err
	}
	wire := &io.LimitedReader{R: conn, N: maxHeader}
	response, err := http.ReadResponse(bufio.NewReader(wire), request)
	if err != nil {
		return apidump.NewDump(), err
	}
	wire.N = limit + limit/8 + maxHeader // with room for the sizes of chunks
	if response.StatusCode != http.StatusOK {
		return apidump.NewDump(), refusal(response)
	}
	body := &io.LimitedReader{R: response.Body, N: limit}
	dump, err := apidump.Parse(body)
	if body.N == 0 {
		err = errTruncated
	}
	return dump, err
}

// connect reaches the server, which has proven by its certificate who it is before anything of ours is sent.
func (a access) connect(ctx context.Context) (*tls.Conn, error) {
	port := a.server.Port()
	if port == "" {
		port = "443"
	}
	var d net.Dialer
	raw, err := d.DialContext(ctx, "tcp", net.JoinHostPort(a.server.Hostname(), port))
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: a.roots, ServerName: a.name, MinVersion: tls.VersionTLS12}
	if a.cert != nil {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return a.cert, nil }
	}
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return conn, nil
}

// refusal is what an answer other than 200 means.
func refusal(response *http.Response) error {
	code := response.StatusCode
	if code >= 300 && code < 400 {
		return fmt.Errorf("HTTP status %d: a redirect, not followed", code)
	}
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxError))
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	err := fmt.Errorf("HTTP status %d: %.200s", code, strings.ToValidUTF8(line, "\uFFFD"))
	if code == http.StatusUnauthorized || code == http.StatusForbidden {
		err = fmt.Errorf("%w: %w", err, fs.ErrPermission)
	}
	return err
}
