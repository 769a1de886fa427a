package kubelet

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"sigs.k8s.io/yaml"
)

// configFile is the layout of KubeletConfiguration where it is not that of Config.
type configFile struct {
	Kind           string `json:"kind"`
	Authentication struct {
		Anonymous struct {
			Enabled *bool `json:"enabled"`
		} `json:"anonymous"`
	} `json:"authentication"`
	Authorization struct {
		Mode string `json:"mode"`
	} `json:"authorization"`
}

// errNotConfiguration says that a file holds something else, such as the kubeconfig that kubeadm calls kubelet.conf.
var errNotConfiguration = errors.New("not a KubeletConfiguration")

// applyConfig decodes a KubeletConfiguration in YAML or JSON over c, as drop-ins are applied: what the file does not
// mention stays, maps are merged by key (RFC 7386, as the kubelet does since 1.30). Fields of the wrong type are
// skipped and reported together with what could be used.
func applyConfig(c *Config, data []byte) error {
	text, err := yaml.YAMLToJSON(data)
	if err != nil {
		return err
	}
	var file configFile
	wrongType := json.Unmarshal(text, &file)
	if wrongType != nil && !isTypeError(wrongType) {
		return wrongType
	}
	if file.Kind != "KubeletConfiguration" {
		return fmt.Errorf("kind %.40q: %w", file.Kind, errNotConfiguration)
	}
	if err := json.Unmarshal(text, c); err != nil {
		wrongType = err
	}
	if enabled := file.Authentication.Anonymous.Enabled; enabled != nil {
		c.AnonymousAuthEnabled = enabled
	}
	if file.Authorization.Mode != "" {
		c.AuthorizationMode = file.Authorization.Mode
	}
	return wrongType
}

// flagPort returns the port that a flag was given last.
func (in *Instance) flagPort(name string) (int, bool) {
	n, err := strconv.ParseUint(in.flag(name), 10, 16)
	return int(n), err == nil
}

// A port is one that the kubelet may listen on.
type port struct {
	number int
	tls    bool
	// sure is false where it is not known whether the port is enabled.
	sure bool
}

// The ports of a kubelet (pkg/cluster/ports/ports.go).
const (
	defaultPort         = 10250
	defaultReadOnlyPort = 10255
	defaultHealthzPort  = 10248
)

// mainPort is the authenticated API.
func (in *Instance) mainPort() port {
	p := port{number: defaultPort, tls: true, sure: true}
	if n, ok := in.flagPort("port"); ok {
		p.number = n
	} else if in.Config != nil && in.Config.Port != 0 {
		p.number = in.Config.Port
	}
	return p
}

// readOnlyPort is off by default in a configuration file and on where there are only flags (cmd/kubelet/app/options,
// applyLegacyDefaults); k3s and rke2 switch it off.
func (in *Instance) readOnlyPort() port {
	p := port{number: defaultReadOnlyPort, sure: true}
	n, given := in.flagPort("read-only-port")
	switch {
	case given:
		p.number = n
	case in.Config != nil:
		p.number = in.Config.ReadOnlyPort
	case in.Program == programK3s || in.Program == programRKE2:
		p.number = 0
	default:
		p.sure = in.ConfigPath == "" && in.Flags["config"] == ""
	}
	return p
}

// healthzPort is the one whose answer proves nothing about the sync loop in any version.
func (in *Instance) healthzPort() port {
	p := port{number: defaultHealthzPort, sure: true}
	if n, ok := in.flagPort("healthz-port"); ok {
		p.number = n
	} else if in.Config != nil && in.Config.HealthzPort != nil {
		p.number = *in.Config.HealthzPort
	}
	return p
}
