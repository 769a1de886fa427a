package kubelet

import (
	"encoding/json"
	"errors"
	"fmt"

	"sigs.k8s.io/yaml"
)

// configFile is the layout of KubeletConfiguration where it is not that of Config.
type configFile struct {
	// Served is what /configz has instead of all else.
	Served         json.RawMessage `json:"kubeletconfig"`
	Kind           string          `json:"kind"`
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

// Apply decodes a KubeletConfiguration in YAML or JSON, or what /configz serves, over c, as drop-ins are applied: what the file does
// not mention stays, maps are merged by key (RFC 7386, as the kubelet does since 1.30). Fields of the wrong type are
// skipped and reported together with what could be used.
func (c *Config) Apply(data []byte) error {
	text, err := yaml.YAMLToJSON(data)
	if err != nil {
		return err
	}
	var file configFile
	wrongType := json.Unmarshal(text, &file)
	if wrongType != nil && !isTypeError(wrongType) {
		return wrongType
	}
	if len(file.Served) > 0 {
		text, file = file.Served, configFile{Kind: "KubeletConfiguration"}
		if err := json.Unmarshal(text, &file); err != nil {
			wrongType = err
		}
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
