package runtimes

import (
	"path"
	"strings"
)

// programs are those that serve the container runtime interface, by the names of their processes and sockets.
var programs = []struct{ name, process, socket string }{
	{"containerd", "containerd", "containerd"},
	{"cri-o", "crio", "crio"},
	{"cri-dockerd", "cri-dockerd", "cri-dockerd"},
	{"docker", "dockerd", "dockershim"},
}

// OfEndpoint names the runtime that serves an endpoint ("unix:///run/containerd/containerd.sock"), by the name of its socket;
// "" if that is none that is known. Docker is "cri-dockerd" or "docker", by what serves the kubelet in its place.
func OfEndpoint(endpoint string) string {
	socket := path.Base(strings.TrimPrefix(endpoint, "unix://"))
	for _, p := range programs {
		if strings.HasPrefix(socket, p.socket) {
			return p.name
		}
	}
	return ""
}

// OfProcess names the runtime that a process of some name is, as [OfEndpoint] does; "" if it is none.
func OfProcess(comm string) string {
	for _, p := range programs {
		if comm == p.process {
			return p.name
		}
	}
	return ""
}
