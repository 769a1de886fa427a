package runtimes

import (
	"path"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// runtimes are the programs that serve the container runtime interface, by the names of their processes and sockets.
var knownRuntimes = []struct{ name, process, socket string }{
	{"containerd", "containerd", "containerd"},
	{"cri-o", "crio", "crio"},
	{"cri-dockerd", "cri-dockerd", "cri-dockerd"},
	{"docker", "dockerd", "dockershim"},
}

func OfEndpoint(endpoint string) string {
	socket := path.Base(strings.TrimPrefix(endpoint, "unix://"))
	for _, r := range knownRuntimes {
		if strings.HasPrefix(socket, r.socket) {
			return r.name
		}
	}
	return ""
}

func OfProcess(comm string) string {
	for _, r := range knownRuntimes {
		if comm == r.process {
			return r.name
		}
	}
	return ""
}

// runtimesAmong are the container runtimes of this node. One inside a container (kind, docker in docker) serves another
// kubelet, and what is called like a runtime in a pod is none.
func Among(list []procs.Process) []procs.Process {
	var found []procs.Process
	for _, p := range list {
		if OfProcess(p.Comm) != "" && p.ContainerID == "" && p.Daemon(p.Comm, "k3s").Status != procs.Impostor { // older k3s have containerd in them
			found = append(found, p)
		}
	}
	return found
}
