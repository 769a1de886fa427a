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
	}{
		{"nothing is known", nil, nil, "runtime"},
		{"endpoint", configured("unix:///run/containerd/containerd.sock"), []string{"containerd"}, "containerd"},
		{"endpoint without a scheme", configured("/var/run/crio/crio.sock"), nil, "cri-o"},
		{"k3s", configured("unix:///run/k3s/containerd/containerd.sock"), nil, "containerd"},
		{"cri-dockerd beside docker and containerd", configured("unix:///var/run/cri-dockerd.sock"), []string{"dockerd", "containerd", "cri-dockerd"}, "cri-dockerd"},
		{"dockershim", configured("unix:///var/run/dockershim.sock"), []string{"dockerd", "containerd"}, "docker"},
		{"flags rule", &kubelet.Instance{
			Flags: map[string]string{"container-runtime-endpoint": "unix:///var/run/crio/crio.sock"}, Config: &kubelet.Config{ContainerRuntimeEndpoint: "unix:///run/containerd/containerd.sock"},
		}, nil, "cri-o"},
		{"the only one that runs", nil, []string{"sh", "crio"}, "cri-o"},
		{"two run and nothing says which", nil, []string{"dockerd", "containerd"}, "runtime"},
		{"an endpoint of another kind", configured("tcp://127.0.0.1:9"), []string{"sh"}, "runtime"},
		{"two processes of it", nil, []string{"containerd", "containerd"}, "runtime"},
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
		})
	}
}
