package kubelet

import (
	"encoding/json"
	"errors"
	"net/netip"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/poduid"
)

// managedHosts begins the etc-hosts of a pod with a network of its own (kubelet pkg/kubelet/kubelet_pods.go). A pod in
// the host's network gets a copy of the host's file below another heading.
const managedHosts = "# Kubernetes-managed hosts file."

// ParseHostName returns the host name of a pod from its etc-hosts: the last name of the last line that the kubelet
// wrote itself, "<ip>\t<name>" or "<ip>\t<name>.<subdomain>\t<name>", before the entries of hostAliases. It is "" for
// pods in the host's network and for files that somebody else wrote.
func ParseHostName(text string) string {
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

// ParseVolData reads vol_data.json of a CSI volume, an object of strings (kubelet pkg/volume/csi/csi_mounter.go). Fields
// that are no strings are passed over.
func ParseVolData(data []byte) (*VolData, error) {
	var vol VolData
	err := json.Unmarshal(data, &vol)
	if len(data) == 0 {
		err = errors.New("empty file") // the kubelet died while it wrote
	}
	if err != nil && !isTypeError(err) {
		return nil, err
	}
	if vol == (VolData{}) {
		return nil, errors.New("no field of a CSI volume")
	}
	return &vol, nil
}

// parseLogDir understands the name of a directory of /var/log/pods, "<namespace>_<name>_<uid>" (since 1.14), none of
// which may hold an underscore; before, it was the UID alone.
func parseLogDir(name string) (Pod, bool) {
	switch parts := strings.Split(name, "_"); {
	case len(parts) == 3 && parts[0] != "" && parts[1] != "" && parts[2] != "":
		return Pod{Namespace: parts[0], Name: parts[1], UID: parts[2], Source: fromLogDir}, true
	case len(parts) == 1 && poduid.Valid(name):
		return Pod{UID: name, Source: fromLogDir}, true
	}
	return Pod{}, false
}
