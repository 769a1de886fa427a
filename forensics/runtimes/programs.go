package runtimes

import "github.com/nodeforensics/nodeforensics/internal/cri"

// OfEndpoint names the runtime that serves an endpoint ("unix:///run/containerd/containerd.sock"), by the name of its socket;
// "" if that is none that is known. Docker is "cri-dockerd" or "docker", by what serves the kubelet in its place.
func OfEndpoint(endpoint string) string {
	r, _ := cri.OfEndpoint(endpoint)
	return r.Name
}

// OfProcess names the runtime that a process of some name is, as [OfEndpoint] does; "" if it is none.
func OfProcess(comm string) string {
	r, _ := cri.OfProcess(comm)
	return r.Name
}
