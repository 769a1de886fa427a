package live

import (
	"net/netip"
	"strings"
)

// managedHosts begins the etc-hosts of a pod with a network of its own (kubelet pkg/kubelet/kubelet_pods.go). A pod in
// the host's network gets a copy of the host's file below another heading.
const managedHosts = "# Kubernetes-managed hosts file."

// parseHostName returns the host name of a pod from its etc-hosts: the last name of the last line that the kubelet
// wrote itself, "<ip>\t<name>" or "<ip>\t<name>.<subdomain>\t<name>", before the entries of hostAliases. It is "" for
// pods in the host's network and for files that somebody else wrote.
func parseHostName(text string) string {
	heading, rest, _ := strings.Cut(text, "\n")
	if strings.TrimSpace(heading) != managedHosts {
		return ""
	}
	name := ""
	for line := range strings.Lines(rest) {
		if strings.HasPrefix(line, "# Entries added by HostAliases") {
			break
		}
		fields := strings.Fields(line)
		if len(fields) < 2 || !isPodAddress(fields[0]) {
			continue
		}
		name = fields[len(fields)-1]
	}
	return name
}

// isPodAddress tells the pod's addresses from those of localhost and the multicast names that precede them (fe00::0
// to fe00::2, which no pod has).
func isPodAddress(text string) bool {
	addr, err := netip.ParseAddr(text)
	return err == nil && !addr.IsLoopback() && !strings.HasPrefix(text, "fe00::")
}
