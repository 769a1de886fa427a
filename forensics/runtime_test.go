package forensics_test

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

func TestRuntimeEntity(t *testing.T) {
	configured := func(endpoint string) *kubelet.Instance {
		return &kubelet.Instance{Config: &kubelet.Config{ContainerRuntimeEndpoint: endpoint}}
	}
	for _, tt := range []struct {
		name      string
		kubelet   *kubelet.Instance
		processes []string // commands
		want      string
		process   bool // is its process known?
	}{
		{"nothing is known", nil, nil, "runtime", false},
		{"endpoint", configured("unix:///run/containerd/containerd.sock"), []string{"containerd"}, "containerd", true},
		{"endpoint without a scheme", configured("/var/run/crio/crio.sock"), nil, "cri-o", false},
		{"k3s", configured("unix:///run/k3s/containerd/containerd.sock"), nil, "containerd", false},
		{"cri-dockerd beside docker and containerd", configured("unix:///var/run/cri-dockerd.sock"), []string{"dockerd", "containerd", "cri-dockerd"}, "cri-dockerd", true},
		{"dockershim", configured("unix:///var/run/dockershim.sock"), []string{"dockerd", "containerd"}, "docker", true},
		{"flags rule", &kubelet.Instance{
			Flags: map[string]string{"container-runtime-endpoint": "unix:///var/run/crio/crio.sock"}, Config: &kubelet.Config{ContainerRuntimeEndpoint: "unix:///run/containerd/containerd.sock"},
		}, nil, "cri-o", false},
		{"the only one that runs", nil, []string{"sh", "crio"}, "cri-o", true},
		{"two run and nothing says which", nil, []string{"dockerd", "containerd"}, "runtime", false},
		{"an endpoint of another kind", configured("tcp://127.0.0.1:9"), []string{"sh"}, "runtime", false},
		{"two processes of it", nil, []string{"containerd", "containerd"}, "runtime", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := forensics.NewEvidence()
			e.Kubelet = tt.kubelet
			for i, comm := range tt.processes {
				e.Processes = append(e.Processes, procs.Process{PID: 100 + i, Comm: comm})
			}
			m := forensics.NewModel(&e)
			if got := m.RuntimeEntity(); got.ID != tt.want || got.Kind != forensics.KindRuntime {
				t.Errorf("RuntimeEntity() = %v, want %s", got, tt.want)
			}
			if _, ok := m.RuntimeProcess(); ok != tt.process {
				t.Errorf("its process is known: %v, want %v", ok, tt.process)
			}
		})
	}
}

// A runtime within a container serves another kubelet.
func TestRuntimeInAContainer(t *testing.T) {
	e := forensics.NewEvidence()
	e.Processes = []procs.Process{{PID: 1, Comm: "containerd"}, {PID: 2, Comm: "containerd", ContainerID: "ab"}}
	if p, ok := forensics.NewModel(&e).RuntimeProcess(); !ok || p.PID != 1 {
		t.Errorf("RuntimeProcess() = %+v, %v; want the host's", p, ok)
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
	if m := forensics.NewModel(&e); m.RuntimeRuns() || m.RuntimeEntity().ID != "runtime" {
		t.Errorf("%v runs: %t; want none", m.RuntimeEntity(), m.RuntimeRuns())
	}
	e.Processes = append(e.Processes, process(3, 0))
	if p, ok := forensics.NewModel(&e).RuntimeProcess(); !ok || p.PID != 3 {
		t.Errorf("RuntimeProcess() = %d, %v; want that of root", p.PID, ok)
	}
}
