package goroutines

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestServes knows a request by the same rule in each server. Stacks are innermost first, without a creator.
func TestServes(t *testing.T) {
	const grpc = "google.golang.org/grpc.(*Server).processUnaryRPC"
	for name, tt := range map[string]struct {
		stack []string
		want  string
	}{
		"containerd 1.4":       {[]string{"os.Stat", "github.com/containerd/cri/pkg/server.(*criService).CreateContainer", "k8s.io/cri-api/pkg/apis/runtime/v1alpha2._RuntimeService_CreateContainer_Handler", grpc}, "runtime.RuntimeService CreateContainer"},
		"containerd 2":         {[]string{"os.Stat", "github.com/containerd/containerd/v2/internal/cri/server.(*criService).StopPodSandbox", "k8s.io/cri-api/pkg/apis/runtime/v1._RuntimeService_StopPodSandbox_Handler.func1", "github.com/containerd/containerd/v2/cmd/containerd/server.unaryNamespaceInterceptor", "k8s.io/cri-api/pkg/apis/runtime/v1._RuntimeService_StopPodSandbox_Handler", grpc}, "runtime.RuntimeService StopPodSandbox"},
		"its copy of v1alpha":  {[]string{"github.com/containerd/containerd/third_party/k8s.io/cri-api/pkg/apis/runtime/v1alpha2._ImageService_PullImage_Handler", grpc}, "runtime.ImageService PullImage"},
		"CRI-O":                {[]string{"github.com/cri-o/cri-o/server.(*Server).RemovePodSandbox", "k8s.io/cri-api/pkg/apis/runtime/v1._RuntimeService_RemovePodSandbox_Handler", grpc}, "runtime.RuntimeService RemovePodSandbox"},
		"an old kubelet's API": {[]string{"k8s.io/kubernetes/pkg/kubelet/apis/cri/runtime/v1alpha2._RuntimeService_Version_Handler", grpc}, "runtime.RuntimeService Version"},
		"a stream":             {[]string{"github.com/containerd/containerd/pkg/cri/server.(*criService).GetContainerEvents", "k8s.io/cri-api/pkg/apis/runtime/v1._RuntimeService_GetContainerEvents_Handler", "google.golang.org/grpc.(*Server).processStreamingRPC"}, "runtime.RuntimeService GetContainerEvents"},
		"CSI":                  {[]string{"main.(*node).NodePublishVolume", "github.com/container-storage-interface/spec/lib/go/csi._Node_NodePublishVolume_Handler", grpc}, "csi.Node NodePublishVolume"},
		"CSI 0.3":              {[]string{"github.com/container-storage-interface/spec/lib/go/csi/v0._Node_NodeStageVolume_Handler", grpc}, "csi.Node NodeStageVolume"},
		"a snapshotter":        {[]string{"github.com/containerd/containerd/api/services/snapshots/v1._Snapshots_Prepare_Handler", grpc}, "snapshots.Snapshots Prepare"},
		"a shim":               {[]string{"github.com/containerd/go-runc.(*Runc).Create", "github.com/containerd/containerd/runtime/v2/runc/task.(*service).Create", "github.com/containerd/containerd/runtime/v2/task.RegisterTaskService.func2", "github.com/containerd/ttrpc.(*Server).handle", "github.com/containerd/ttrpc.(*serverConn).run.func2"}, "task.Task Create"},
		"dockerd":              {[]string{"github.com/docker/docker/daemon.(*Daemon).ContainerStart", "github.com/docker/docker/api/server/router/container.(*containerRouter).postContainersStart", "github.com/docker/docker/api/server.(*Server).makeHTTPHandler.func1", "net/http.(*conn).serve"}, "docker.container postContainersStart"},

		"a function of the server's own that ends so": {[]string{"main.request_Handler", "main.my_Handler", "main.main"}, ""},
		"a loop of the shim":                          {[]string{"github.com/containerd/containerd/runtime/v2/runc/task.(*service).processExits"}, ""},
		"an HTTP server":                              {[]string{"net/http.HandlerFunc.ServeHTTP", "net/http.(*conn).serve"}, ""},
		"what a request started":                      {[]string{"github.com/containerd/fifo.openFifo.func2"}, ""},
		"no stack":                                    {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var g Goroutine
			for _, f := range tt.stack {
				g.Frames = append(g.Frames, Frame{Func: f})
			}
			service, method := g.Serves()
			if got := strings.TrimSpace(service + " " + method); got != tt.want {
				t.Errorf("Serves = %q, want %q", got, tt.want)
			}
			if role := RoleOf(g).ID; (role == roleRequest) != (tt.want != "") {
				t.Errorf("its role is %s", role)
			}
		})
	}
}

// TestServesCut knows the request of a stack whose outer calls are cut off, and takes no background work for one.
func TestServesCut(t *testing.T) {
	for name, tt := range map[string]struct {
		stack   []string
		creator string
		want    string
	}{
		"containerd 1.6":        {[]string{"github.com/containerd/containerd/runtime/v2/task.(*taskClient).Kill", "github.com/containerd/containerd/services/tasks.(*local).Kill", "github.com/containerd/containerd/pkg/cri/server.(*criService).stopContainer", "github.com/containerd/containerd/pkg/cri/server.(*criService).StopPodSandbox"}, "", "runtime.RuntimeService StopPodSandbox"},
		"containerd 2":          {[]string{"os.Stat", "github.com/containerd/containerd/v2/internal/cri/server.(*criService).CreateContainer"}, "", "runtime.RuntimeService CreateContainer"},
		"containerd, task only": {[]string{"github.com/containerd/containerd/services/tasks.(*local).Kill"}, "", "tasks.Tasks Kill"},
		"CRI-O":                 {[]string{"sync.(*Mutex).Lock", "github.com/cri-o/cri-o/server.(*Server).ListImages"}, "", "runtime.ImageService ListImages"},
		"CRI-O, inner":          {[]string{"golang.org/x/sys/unix.Unmount", "github.com/cri-o/cri-o/server.(*Server).removePodSandbox"}, "", "runtime.RuntimeService RemovePodSandbox"},
		"dockerd, router":       {[]string{"sync.(*Mutex).Lock", "github.com/docker/docker/daemon.(*Daemon).ContainerInspectCurrent", "github.com/docker/docker/api/server/router/container.(*containerRouter).getContainersByName"}, "", "docker.container getContainersByName"},
		"dockerd":               {[]string{"sync.(*Mutex).Lock", "github.com/docker/docker/daemon.(*Daemon).ContainerInspectCurrent"}, "", "docker.container ContainerInspectCurrent"},

		"CRI-O's own work":           {[]string{"github.com/cri-o/cri-o/server.(*Server).StartExitMonitor"}, "", ""},
		"containerd's own work":      {[]string{"github.com/containerd/containerd/pkg/cri/server.(*criService).recover", "github.com/containerd/containerd/pkg/cri/server.(*criService).Run"}, "", ""},
		"what a request has started": {[]string{"github.com/cri-o/cri-o/server.(*Server).ListImages"}, "github.com/cri-o/cri-o/server.New", ""},
		"dockerd's health check":     {[]string{"github.com/docker/docker/daemon.(*Daemon).ContainerStop"}, "github.com/docker/docker/daemon.(*Daemon).shutdown", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := Goroutine{ID: 77, State: "semacquire"}
			for _, f := range tt.stack {
				g.Frames = append(g.Frames, Frame{Func: f})
			}
			if tt.creator != "" {
				g.CreatedBy = &Frame{Func: tt.creator}
			}
			service, method := g.Serves()
			if got := strings.TrimSpace(service + " " + method); got != tt.want {
				t.Errorf("Serves = %q, want %q", got, tt.want)
			}
			g.State = "" // of a profile, which has whole stacks without creators
			if _, method := g.Serves(); method != "" && tt.creator == "" {
				t.Errorf("without a state it serves %s", method)
			}
		})
	}
}

// TestRolesOfServers names what real servers run, as read from their memory.
func TestRolesOfServers(t *testing.T) {
	for file, want := range map[string][]string{
		"containerd-1.6.20": {"exit-monitor", "request", "snapshot-sync", "cni-config", "content-gc", "container-output", "shim-connection"},
		"shim-1.6.20":       {"exit-monitor", "request", "container-output"},
		"csi-1.9.0":         {"request", "grpc-server", "grpc-transport"},
	} {
		t.Run(file, func(t *testing.T) {
			f, err := os.Open("../checks/testdata/servers/" + file + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }()
			dumps, _, err := Parse(f)
			if err != nil || len(dumps) != 1 {
				t.Fatalf("%d dumps, %v", len(dumps), err)
			}
			var roles []string
			for _, g := range dumps[0].Goroutines {
				role := RoleOf(g)
				roles = append(roles, role.ID)
				if role.ID == roleOther {
					t.Logf("goroutine %d is %s", g.ID, role.Name)
				}
			}
			for _, id := range want {
				if !slices.Contains(roles, id) {
					t.Errorf("none is %s: %q", id, roles)
				}
			}
		})
	}
}
