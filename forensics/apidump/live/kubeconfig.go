package live

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// maxFile bounds a kubeconfig, and each file that it names.
const maxFile = 1 << 20

// config is the part of a kubeconfig that is followed.
type config struct {
	Current  string `json:"current-context"`
	Contexts []struct {
		Name    string `json:"name"`
		Context struct {
			Cluster string `json:"cluster"`
			User    string `json:"user"`
		} `json:"context"`
	} `json:"contexts"`
	Clusters []struct {
		Name    string  `json:"name"`
		Cluster cluster `json:"cluster"`
	} `json:"clusters"`
	Users []struct {
		Name string `json:"name"`
		User user   `json:"user"`
	} `json:"users"`
}

type cluster struct {
	Server     string `json:"server"`
	ServerName string `json:"tls-server-name"`
	Insecure   bool   `json:"insecure-skip-tls-verify"`
	CA         string `json:"certificate-authority"`
	CAData     string `json:"certificate-authority-data"`
}

type user struct {
	Cert     string `json:"client-certificate"`
	CertData string `json:"client-certificate-data"`
	Key      string `json:"client-key"`
	KeyData  string `json:"client-key-data"`
	Token    string `json:"token"`
	File     string `json:"tokenFile"`
	Exec     *struct {
		Command string `json:"command"`
	} `json:"exec"`
	Provider *struct {
		Name string `json:"name"`
	} `json:"auth-provider"`
}

// access is how the API server is reached.
type access struct {
	server *url.URL
	name   string // of the server, in its certificate
	roots  *x509.CertPool
	cert   *tls.Certificate // nil with a token
	token  string
	node   string // as the certificate says it; "" where there is none
}

// kubeconfigOf is where the kubelet's kubeconfig is: its flag, or where the programs that contain a kubelet write it (k3s, rke2
// pkg/agent/config; microk8s' args/kubelet; k0s pkg/component/worker). "" where there is none.
func kubeconfigOf(k *kubelet.Instance) string {
	if name := k.Flags["kubeconfig"]; name != "" {
		return name[strings.LastIndex(name, ",/")+1:] // the last one counts
	}
	switch k.Program {
	case "k3s", "rke2":
		dir := k.Flags["data-dir"]
		if dir == "" {
			dir = "/var/lib/rancher/" + k.Program
		}
		return path.Join(dir, "agent/kubelet.kubeconfig")
	case "kubelite":
		return "/var/snap/microk8s/current/credentials/kubelet.config"
	case "k0s":
		return "/var/lib/k0s/kubelet.conf"
	}
	return ""
}

var errStandalone = errors.New("the kubelet has no --kubeconfig: it runs without an API server, or it was not found")

// readAccess reads the kubeconfig, and the files that it names.
func readAccess(fsys nodefs.FS, name string) (access, error) {
	switch {
	case name == "":
		return access{}, errStandalone
	case !path.IsAbs(name):
		return access{}, fmt.Errorf("kubeconfig %s: relative to an unknown working directory", name)
	}
	text, err := fsys.ReadFile(name, maxFile)
	if err != nil {
		return access{}, err
	}
	var c config
	if err := yaml.Unmarshal(text, &c); err != nil {
		return access{}, fmt.Errorf("kubeconfig %s: not valid", name) // its error may quote a key
	}
	at, u, err := c.current()
	if err != nil {
		return access{}, fmt.Errorf("kubeconfig %s: %w", name, err)
	}
	r := reader{fsys, path.Dir(name)}
	a, err := r.cluster(at)
	if err == nil {
		err = r.user(u, &a)
	}
	if err != nil {
		return access{}, fmt.Errorf("kubeconfig %s: %w", name, err)
	}
	return a, nil
}

// current are the server and the user of the current context.
func (c config) current() (cluster, user, error) {
	for _, x := range c.Contexts {
		if x.Name != c.Current {
			continue
		}
		i, j := 0, 0
		for i < len(c.Clusters) && c.Clusters[i].Name != x.Context.Cluster {
			i++
		}
		for j < len(c.Users) && c.Users[j].Name != x.Context.User {
			j++
		}
		if i == len(c.Clusters) || j == len(c.Users) {
			break
		}
		return c.Clusters[i].Cluster, c.Users[j].User, nil
	}
	return cluster{}, user{}, errors.New("its current context names no server and user in it")
}

// reader reads what a kubeconfig names; relative names are below its directory.
type reader struct {
	fsys nodefs.FS
	dir  string
}

// content is a file, or the data in its place, which counts first (client-go).
func (r reader) content(name, data string) ([]byte, error) {
	if data != "" {
		text, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			return nil, errors.New("data that is not base64")
		}
		return text, nil
	}
	if name == "" {
		return nil, nil
	}
	if !path.IsAbs(name) {
		name = path.Join(r.dir, name)
	}
	return r.fsys.ReadFile(name, maxFile)
}

func (r reader) cluster(c cluster) (access, error) {
	server, err := url.Parse(c.Server)
	switch {
	case err != nil || server.Scheme != "https" || server.Hostname() == "" || server.User != nil || server.RawQuery != "" || server.Fragment != "":
		return access{}, errors.New("its server is not a plain https address")
	case c.Insecure:
		return access{}, errors.New("it does not verify the server's certificate (insecure-skip-tls-verify)")
	}
	authorities, err := r.content(c.CA, c.CAData)
	if err != nil {
		return access{}, fmt.Errorf("certificate authority: %w", err)
	}
	a := access{server: server, name: c.ServerName, roots: x509.NewCertPool()}
	if a.name == "" {
		a.name = server.Hostname()
	}
	if !a.roots.AppendCertsFromPEM(authorities) {
		return access{}, errors.New("it has no certificate authority, so the server cannot be verified")
	}
	return a, nil
}

func (r reader) user(u user, a *access) error {
	chain, err := r.content(u.Cert, u.CertData)
	if err != nil {
		return fmt.Errorf("client certificate: %w", err)
	}
	if len(chain) > 0 {
		return r.certificate(u, chain, a)
	}
	token, err := r.content(u.File, "") // client-go takes the token only where that cannot be read
	if err != nil && u.Token == "" {
		return fmt.Errorf("token: %w", err)
	}
	if len(token) == 0 {
		token = []byte(u.Token)
	}
	a.token = strings.TrimSpace(string(token))
	switch {
	case strings.ContainsFunc(a.token, func(c rune) bool { return c <= ' ' || c > '~' }):
		return errors.New("its token is not one line of text")
	case a.token != "":
		return nil
	case u.Exec != nil:
		return fmt.Errorf("its credentials come from a program, which is not run (exec: %.200s)", u.Exec.Command)
	case u.Provider != nil:
		return fmt.Errorf("its credentials come from a program, which is not run (auth-provider: %.200s)", u.Provider.Name)
	}
	return errors.New("it has neither a client certificate nor a token")
}

func (r reader) certificate(u user, chain []byte, a *access) error {
	key, err := r.content(u.Key, u.KeyData)
	if err != nil {
		return fmt.Errorf("client key: %w", err)
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return fmt.Errorf("client certificate: %w", err)
	}
	a.cert = &pair
	if leaf, err := x509.ParseCertificate(pair.Certificate[0]); err == nil && slices.Contains(leaf.Subject.Organization, "system:nodes") {
		a.node, _ = strings.CutPrefix(leaf.Subject.CommonName, "system:node:")
	}
	return nil
}

// nodeName is a name that a Node can have: a DNS subdomain (RFC 1123).
var nodeName = pattern.New(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)
