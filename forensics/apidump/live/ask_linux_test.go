package live

import (
	"context"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

const twoPods = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[
{"metadata":{"name":"web","namespace":"default","uid":"0e1"},"spec":{"nodeName":"node-1"},"status":{"phase":"Running"}},
{"metadata":{"name":"elsewhere","namespace":"default","uid":"0e2"},"spec":{"nodeName":"node-2"},"status":{"phase":"Running"}}]}`

const thatNode = `{"kind":"Node","apiVersion":"v1","metadata":{"name":"node-1"},"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}`

// answers is a handler for the two questions.
func answers(pods, node string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/pods":
			_, _ = fmt.Fprint(w, pods)
		case "/api/v1/nodes/node-1":
			_, _ = fmt.Fprint(w, node)
		default:
			http.NotFound(w, r)
		}
	}
}

func TestThePodsOfTheNode(t *testing.T) {
	ca := newAuthority(t)
	api := serve(t, ca, answers(twoPods, thatNode))
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	dump, server, err := Objects(t.Context(), openFS(t, node(t, ca, api.URL)), theKubelet(), "another-name")
	if err != nil || server != api.URL {
		t.Fatal(server, err)
	}
	if dump.NodeName != "node-1" || len(dump.Pods) != 1 || dump.Pods[0].Name != "web" || dump.Kinds["Pod"] != 1 {
		t.Errorf("node %q, pods %+v, kinds %v", dump.NodeName, dump.Pods, dump.Kinds)
	}
	if len(dump.Nodes) != 1 || dump.Nodes[0].Ready != "Unknown" {
		t.Errorf("nodes %+v", dump.Nodes)
	}
	_, requests := api.seen()
	if len(requests) != 2 || requests[0].URL.RequestURI() != "/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-1" || requests[1].URL.RequestURI() != "/api/v1/nodes/node-1" {
		t.Fatalf("requests %+v", requests)
	}
	for _, r := range requests {
		if r.Method != http.MethodGet || len(r.TLS.PeerCertificates) != 1 || r.TLS.PeerCertificates[0].Subject.CommonName != "system:node:node-1" {
			t.Errorf("%s %s by %+v", r.Method, r.URL, r.TLS.PeerCertificates)
		}
		if r.Header.Get("Authorization") != "" {
			t.Error("a token that nobody gave")
		}
	}
}

// TestWhatTheServerSays: only a whole list of pods names the node.
func TestWhatTheServerSays(t *testing.T) {
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		whole   bool
		pods    int
		err     string
		is      error
	}{
		"no pods":             {handler: answers(`{"kind":"PodList","items":[]}`, thatNode), whole: true},
		"no right to Node":    {handler: answers(twoPods, `{"kind":"Status","status":"Failure"}`), whole: true, pods: 1},
		"cut":                 {handler: answers(twoPods[:len(twoPods)-3], thatNode), pods: 1, err: "unexpected EOF"},
		"cut before a pod":    {handler: answers(`{"kind":"PodList","items":[`, thatNode), err: "unexpected EOF"},
		"another answer":      {handler: answers(`{"kind":"Status","status":"Success"}`, thatNode), err: "a Status instead of a list of pods"},
		"no JSON":             {handler: answers("<html>", thatNode), err: "instead of an object"},
		"forbidden":           {handler: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }, err: "HTTP status 403: no", is: fs.ErrPermission},
		"unauthorized":        {handler: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) }, err: "HTTP status 401", is: fs.ErrPermission},
		"unavailable":         {handler: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusServiceUnavailable) }, err: "HTTP status 503"},
		"longer than is read": {handler: endless, err: "too long", is: nodefs.ErrTruncated},
	} {
		t.Run(name, func(t *testing.T) {
			ca := newAuthority(t)
			api := serve(t, ca, tt.handler)
			dump, _, err := Objects(t.Context(), openFS(t, node(t, ca, api.URL)), theKubelet(), "")
			if (dump.NodeName != "") != tt.whole || len(dump.Pods) != tt.pods {
				t.Errorf("node %q, %d pods", dump.NodeName, len(dump.Pods))
			}
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("%v is not %v", err, tt.is)
			}
		})
	}
}

// endless sends pods of another node until nobody reads them.
func endless(w http.ResponseWriter, _ *http.Request) {
	_, err := fmt.Fprint(w, `{"kind":"PodList","items":[{}`)
	pod := `,{"metadata":{"name":"` + strings.Repeat("x", 1<<20) + `"}}`
	for err == nil {
		_, err = fmt.Fprint(w, pod)
	}
}

// TestARedirectIsNotFollowed: not by the client, and the other server gets no connection.
func TestARedirectIsNotFollowed(t *testing.T) {
	ca := newAuthority(t)
	other := serve(t, ca, answers(twoPods, thatNode))
	api := serve(t, ca, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.RequestURI(), http.StatusTemporaryRedirect)
	})
	_, _, err := Objects(t.Context(), openFS(t, node(t, ca, api.URL)), theKubelet(), "")
	if err == nil || !strings.Contains(err.Error(), "a redirect, not followed") {
		t.Error(err)
	}
	if accepted, _ := other.seen(); accepted != 0 {
		t.Errorf("%d connections to the other server", accepted)
	}
}

func TestAServerThatIsSilent(t *testing.T) {
	ca := newAuthority(t)
	api := serve(t, ca, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for {
			if _, requests := api.seen(); len(requests) > 0 || ctx.Err() != nil {
				cancel()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if _, _, err := Objects(ctx, openFS(t, node(t, ca, api.URL)), theKubelet(), ""); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestAServerOfAnotherAuthorityGetsNothing: neither certificate nor token nor question.
func TestAServerOfAnotherAuthorityGetsNothing(t *testing.T) {
	ca := newAuthority(t)
	stranger := serve(t, newAuthority(t), answers(twoPods, thatNode))
	for name, user := range map[string]string{"certificate": "", "token": "token: secret"} {
		root := node(t, ca, stranger.URL)
		if user != "" {
			write(t, root, "/etc/kubernetes/kubelet.conf", kubeconfig(stranger.URL, user))
		}
		dump, _, err := Objects(t.Context(), openFS(t, root), theKubelet(), "node-1")
		if err == nil || dump.NodeName != "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, requests := stranger.seen(); len(requests) != 0 {
		t.Errorf("requests %+v", requests)
	}
}

// TestAnImpostorGetsNoRequest: of a process that is perhaps not the kubelet, no file is opened and nobody is connected to. Its
// kubeconfig names a server of its own, with an authority of its own, and the real kubelet's certificate and token.
func TestAnImpostorGetsNoRequest(t *testing.T) {
	evil := newAuthority(t)
	trap := serve(t, evil, answers(twoPods, thatNode))
	root := node(t, evil, trap.URL)
	fifo := &countingFS{FS: openFS(t, root)}
	k := theKubelet()
	k.Unproven = "has another executable"
	dump, server, err := Objects(t.Context(), fifo, k, "node-1")
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "perhaps not the kubelet") || server != "" || dump.NodeName != "" {
		t.Errorf("%q: %v", server, err)
	}
	if accepted, _ := trap.seen(); accepted != 0 || fifo.reads != 0 {
		t.Errorf("%d connections, %d files", accepted, fifo.reads)
	}
}

// countingFS counts the files that are read.
type countingFS struct {
	nodefs.FS
	reads int
}

func (c *countingFS) ReadFile(name string, limit int64) ([]byte, error) {
	c.reads++
	return c.FS.ReadFile(name, limit)
}

// TestKubeconfigs: what a kubeconfig may say. Where it is refused, nobody is connected to.
func TestKubeconfigs(t *testing.T) {
	ca := newAuthority(t)
	api := serve(t, ca, answers(twoPods, thatNode))
	ran := filepath.Join(t.TempDir(), "ran")
	program := filepath.Join(t.TempDir(), "program")
	must(t, os.WriteFile(program, []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o755))
	for name, tt := range map[string]struct {
		user   string
		change [2]string // in the kubeconfig
		called string
		err    string
		token  string // that the server got
	}{
		"token":                            {user: "token: secret", called: "NODE-1", token: "secret"},
		"token in a file":                  {user: "tokenFile: token", called: "node-1", token: "of-a-file"},
		"token in a file that is absent":   {user: "token: secret, tokenFile: /absent", called: "node-1", token: "secret"},
		"token, and no name of the node":   {user: "token: secret", err: "the name of the node is not known"},
		"a name that is a path":            {user: "token: secret", called: "../../pods", err: "the name of the node is not known"},
		"token of two lines":               {user: `token: "a\nb: c"`, called: "node-1", err: "not one line of text"},
		"a program":                        {user: `exec: {command: "` + program + `"}`, called: "node-1", err: "a program, which is not run (exec: " + program + ")"},
		"a provider":                       {user: "auth-provider: {name: gcp}", called: "node-1", err: "a program, which is not run (auth-provider: gcp)"},
		"nothing":                          {user: "username: a, password: b", called: "node-1", err: "neither a client certificate nor a token"},
		"certificate that is absent":       {user: "client-certificate: /absent, client-key: /absent", err: "client certificate: "},
		"certificate without its key":      {user: "client-certificate: /var/lib/kubelet/pki/kubelet-client-current.pem", err: "client certificate: "},
		"certificate that leaves the root": {user: "client-certificate: ../../../../../../../etc/passwd, client-key: x", err: "client certificate: "},
		"no TLS":                           {user: "token: secret", change: [2]string{"https://127", "http://127"}, called: "node-1", err: "not a plain https address"},
		"credentials in the address":       {user: "token: secret", change: [2]string{"https://127", "https://a:b@127"}, called: "node-1", err: "not a plain https address"},
		"server is not verified":           {user: "token: secret", change: [2]string{"certificate-authority: pki/ca.crt", "insecure-skip-tls-verify: true"}, called: "node-1", err: "insecure-skip-tls-verify"},
		"no authority":                     {user: "token: secret", change: [2]string{", certificate-authority: pki/ca.crt", ""}, called: "node-1", err: "no certificate authority"},
		"another name of the server":       {user: "token: secret", change: [2]string{"certificate-authority:", "tls-server-name: kubernetes, certificate-authority:"}, called: "node-1", token: "secret"},
		"wrong name of the server":         {user: "token: secret", change: [2]string{"certificate-authority:", "tls-server-name: other, certificate-authority:"}, called: "node-1", err: "certificate is valid for"},
		"no such context":                  {user: "token: secret", change: [2]string{"current-context: x", "current-context: y"}, called: "node-1", err: "names no server and user"},
		"no YAML":                          {user: "token: secret", change: [2]string{"kind: Config", "kind: [secret"}, called: "node-1", err: "kubelet.conf: not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			root := node(t, ca, api.URL)
			text := kubeconfig(api.URL, tt.user)
			if tt.change[0] != "" {
				if !strings.Contains(text, tt.change[0]) {
					t.Fatalf("no %q in %s", tt.change[0], text)
				}
				text = strings.Replace(text, tt.change[0], tt.change[1], 1)
			}
			write(t, root, "/etc/kubernetes/kubelet.conf", text)
			write(t, root, "/etc/kubernetes/token", "of-a-file\n")
			before, asked := api.seen()
			_, _, err := Objects(t.Context(), openFS(t, root), theKubelet(), tt.called)
			after, requests := api.seen()
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Fatalf("error %v, want %q", err, tt.err)
			}
			if tt.err != "" {
				if len(requests) != len(asked) || after != before && !strings.Contains(tt.err, "valid for") {
					t.Errorf("%d connections, %d requests", after-before, len(requests)-len(asked))
				}
				if strings.Contains(err.Error(), "secret") {
					t.Errorf("a secret in %v", err)
				}
				return
			}
			if got := requests[len(asked)].Header.Get("Authorization"); got != "Bearer "+tt.token {
				t.Errorf("authorization %q", got)
			}
		})
	}
	if _, err := os.Stat(ran); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the program was run: %v", err)
	}
}

func TestWhereTheKubeconfigIs(t *testing.T) {
	for want, k := range map[string]kubelet.Instance{
		"":                  {Program: "kubelet"},
		"/etc/kubernetes/k": {Program: "kubelet", Flags: map[string]string{"kubeconfig": "/a,b,/etc/kubernetes/k"}},
		"/var/lib/rancher/k3s/agent/kubelet.kubeconfig":         {Program: "k3s"},
		"/data/agent/kubelet.kubeconfig":                        {Program: "rke2", Flags: map[string]string{"data-dir": "/data"}},
		"/var/snap/microk8s/current/credentials/kubelet.config": {Program: "kubelite"},
		"/var/lib/k0s/kubelet.conf":                             {Program: "k0s"},
	} {
		if got := kubeconfigOf(&k); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for name, want := range map[string]string{"": "--kubeconfig", "kubelet.conf": "relative", "/absent": "no such file"} {
		if _, err := readAccess(openFS(t, t.TempDir()), name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestTheCertificateNamesTheNode only if it is one of a node.
func TestTheCertificateNamesTheNode(t *testing.T) {
	ca := newAuthority(t)
	api := serve(t, ca, answers(twoPods, thatNode))
	root := node(t, ca, api.URL)
	write(t, root, "/var/lib/kubelet/pki/kubelet-client-2026.pem", ca.issue(t, pkix.Name{CommonName: "system:node:node-7"}))
	dump, _, err := Objects(t.Context(), openFS(t, root), theKubelet(), "node-1")
	if err != nil || dump.NodeName != "node-1" {
		t.Error(dump.NodeName, err)
	}
}
