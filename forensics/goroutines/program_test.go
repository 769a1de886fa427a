package goroutines

import "testing"

func TestProgramByFrames(t *testing.T) {
	frame := func(function, file string) Frame { return Frame{Func: function, File: file} }
	for _, tt := range []struct {
		name   string
		frames []Frame
		want   string
	}{
		{"a kubelet", []Frame{frame("k8s.io/kubernetes/pkg/kubelet.(*Kubelet).syncLoop", "")}, "kubelet"},
		{"a kubelet that uses the client of containerd", []Frame{
			frame("github.com/containerd/containerd/cmd/containerd/command.App", ""), frame("k8s.io/kubernetes/pkg/kubelet/pleg.(*GenericPLEG).Relist", ""),
		}, "kubelet"},
		{"containerd 1.7", []Frame{frame("github.com/containerd/containerd/pkg/cri/server.(*criService).StopPodSandbox", "")}, "containerd"},
		{"containerd 2", []Frame{frame("github.com/containerd/containerd/v2/internal/cri/server.(*criService).StopPodSandbox", "")}, "containerd"},
		{"a client of containerd", []Frame{frame("github.com/containerd/containerd/v2/client.(*container).NewTask", "")}, ""},
		{"dockerd", []Frame{frame("github.com/docker/docker/daemon.(*Daemon).containerStop", "")}, "dockerd"},
		{"CRI-O", []Frame{frame("github.com/cri-o/cri-o/server.(*Server).CreateContainer", "")}, "crio"},
		{"another of Kubernetes", []Frame{frame("main.main", "k8s.io/kubernetes/cmd/kube-proxy/proxy.go")}, "kube-proxy"},
		{"a driver", []Frame{frame("github.com/container-storage-interface/spec/lib/go/csi._Node_NodePublishVolume_Handler", "")}, "csi-driver"},
		{"a driver with a name", []Frame{
			frame("github.com/container-storage-interface/spec/lib/go/csi._Node_NodePublishVolume_Handler", ""), frame("main.main", "/src/cmd/hostpathplugin/main.go"),
		}, "hostpathplugin"},
		{"no known one", []Frame{frame("main.main", "/src/main.go"), frame("os.Stat", "/usr/lib/go/src/os/stat.go")}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := (&Dump{Goroutines: []Goroutine{{Frames: tt.frames}}}).ProgramByFrames(); got != tt.want {
				t.Errorf("ProgramByFrames = %q, want %q", got, tt.want)
			}
		})
	}
}
