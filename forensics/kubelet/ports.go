package kubelet

import "strconv"

// DefaultPort is where kubelets listen for the API server (pkg/cluster/ports/ports.go).
const DefaultPort = 10250

// The other ports of a kubelet.
const (
	defaultReadOnlyPort = 10255
	defaultHealthzPort  = 10248
)

// A Port is one that the kubelet may listen on.
type Port struct {
	// Number is 0 where the port is disabled.
	Number int
	TLS    bool
	// Sure is false where it is not known whether the port is enabled.
	Sure bool
}

// ports are those of one kubelet.
type ports struct {
	// Main is the authenticated API, ReadOnly the same without authentication, Healthz the one whose answer proves
	// nothing about the sync loop in any version.
	Main, ReadOnly, Healthz Port
}

// Ports returns the ports that flags and configuration say, or the defaults.
func (in *Instance) Ports() ports {
	p := ports{
		Main:     Port{Number: DefaultPort, TLS: true, Sure: true},
		ReadOnly: in.readOnlyPort(),
		Healthz:  Port{Number: defaultHealthzPort, Sure: true},
	}
	if n, ok := in.flagPort("port"); ok {
		p.Main.Number = n
	} else if in.Config != nil && in.Config.Port != 0 {
		p.Main.Number = in.Config.Port
	}
	if n, ok := in.flagPort("healthz-port"); ok {
		p.Healthz.Number = n
	} else if in.Config != nil && in.Config.HealthzPort != nil {
		p.Healthz.Number = *in.Config.HealthzPort
	}
	return p
}

// readOnlyPort is off by default in a configuration file and on where there are only flags (cmd/kubelet/app/options,
// applyLegacyDefaults); k3s and rke2 switch it off.
func (in *Instance) readOnlyPort() Port {
	p := Port{Number: defaultReadOnlyPort, Sure: true}
	n, given := in.flagPort("read-only-port")
	switch {
	case given:
		p.Number = n
	case in.Config != nil:
		p.Number = in.Config.ReadOnlyPort
	case in.Program == programK3s || in.Program == programRKE2:
		p.Number = 0
	default:
		p.Sure = in.ConfigPath == "" && in.Flags["config"] == ""
	}
	return p
}

// flagPort returns the port that a flag was given last.
func (in *Instance) flagPort(name string) (int, bool) {
	n, err := strconv.ParseUint(in.flag(name), 10, 16)
	return int(n), err == nil
}
