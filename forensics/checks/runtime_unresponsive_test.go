package checks

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// pass is a pass over evidence, of no check.
func pass(e *forensics.Evidence) *forensics.Pass {
	return &forensics.Pass{Evidence: e, Model: forensics.NewModel(e)}
}

// The process of a runtime is known where there is one alone of that name.
func TestRuntimeProcess(t *testing.T) {
	configured := func(endpoint string) *kubelet.Instance {
		return &kubelet.Instance{Config: &kubelet.Config{ContainerRuntimeEndpoint: endpoint}}
	}
	for _, tt := range []struct {
		name      string
		kubelet   *kubelet.Instance
		processes []string // commands
		want      bool
	}{
		{"nothing is known", nil, nil, false},
		{"endpoint", configured("unix:///run/containerd/containerd.sock"), []string{"containerd"}, true},
		{"endpoint without a process", configured("/var/run/crio/crio.sock"), nil, false},
		{"cri-dockerd beside docker and containerd", configured("unix:///var/run/cri-dockerd.sock"), []string{"dockerd", "containerd", "cri-dockerd"}, true},
		{"dockershim", configured("unix:///var/run/dockershim.sock"), []string{"dockerd", "containerd"}, true},
		{"the only one that runs", nil, []string{"sh", "crio"}, true},
		{"two run and nothing says which", nil, []string{"dockerd", "containerd"}, false},
		{"an endpoint of another kind", configured("tcp://127.0.0.1:9"), []string{"sh"}, false},
		{"two processes of it", nil, []string{"containerd", "containerd"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := forensics.NewEvidence()
			e.Kubelet = tt.kubelet
			for i, comm := range tt.processes {
				e.Processes = append(e.Processes, procs.Process{PID: 100 + i, Comm: comm})
			}
			if _, ok := runtimeProcess(pass(&e)); ok != tt.want {
				t.Errorf("its process is known: %v, want %v", ok, tt.want)
			}
		})
	}
}

// A runtime within a container serves another kubelet.
func TestRuntimeInAContainer(t *testing.T) {
	e := forensics.NewEvidence()
	e.Processes = []procs.Process{{PID: 1, Comm: "containerd"}, {PID: 2, Comm: "containerd", ContainerID: "ab"}}
	if p, ok := runtimeProcess(pass(&e)); !ok || p.PID != 1 {
		t.Errorf("runtimeProcess() = %+v, %v; want the host's", p, ok)
	}
}

// What is called like a runtime is none if the kernel says so: not in its place, nor beside the real one.
func TestRuntimeImpostor(t *testing.T) {
	process := func(pid, uid int) procs.Process {
		return procs.Process{PID: pid, Comm: "containerd", State: "S", UserNS: 1, Identity: &procs.Identity{
			ReaderUserNS: 1, UIDs: []int{uid, uid, uid}, Capabilities: "000001ffffffffff", Cgroups: []string{"/system.slice"}, Executable: "/usr/bin/containerd",
		}}
	}
	e := forensics.NewEvidence()
	e.Processes = []procs.Process{process(2, 65534)}
	if p := pass(&e); runtimeRuns(p) || p.Model.RuntimeEntity().ID != "runtime" {
		t.Errorf("%v runs: %t; want none", p.Model.RuntimeEntity(), runtimeRuns(p))
	}
	e.Processes = append(e.Processes, process(3, 0))
	if p, ok := runtimeProcess(pass(&e)); !ok || p.PID != 3 {
		t.Errorf("runtimeProcess() = %d, %v; want that of root", p.PID, ok)
	}
}
