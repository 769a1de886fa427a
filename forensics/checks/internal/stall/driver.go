package stall

import (
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// DriverOf names the CSI driver that a process serves, and says how that is known: "" where it is not.
func DriverOf(p *forensics.Pass, pid int) (name, why string) {
	server, ok := p.Model.Process(pid)
	if !ok {
		return "", ""
	}
	for _, arg := range server.Command {
		flag, value, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch strings.ToLower(flag) {
		case "drivername", "driver-name":
			if strings.Contains(value, ".") {
				return value, "its command line names it"
			}
		}
	}
	if name := pluginOf(server.Command); name != "" {
		return name, "its socket is in the driver's directory"
	}
	if server.PodUID != "" {
		for _, other := range p.Model.ProcessesOf(server.PodUID) {
			if name := pluginOf(other.Command); name != "" {
				return name, "process " + strconv.Itoa(other.PID) + " of its pod registers it"
			}
		}
	}
	if driver := OnlyDriver(p); driver != "" {
		return driver, "it is the only CSI driver of the volumes on this node's disk"
	}
	return "", ""
}

// pluginOf is NAME of …/plugins/NAME/csi.sock in a command line, where NAME can be a driver's: the convention of CSI drivers, which
// node-driver-registrar passes to the kubelet with --kubelet-registration-path. Names of drivers are domain names; a directory that is
// none was named by its operator.
func pluginOf(command []string) string {
	for _, arg := range command {
		_, rest, ok := strings.Cut(arg, "/plugins/")
		if !ok {
			continue
		}
		if name, socket, ok := strings.Cut(rest, "/"); ok && strings.HasSuffix(socket, ".sock") && strings.Contains(name, ".") {
			return name
		}
	}
	return ""
}
