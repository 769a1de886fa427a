package goroutines

import "strings"

// What runtimes, CSI drivers and FUSE servers run, read in their sources:
//
//	program       versions     a request is served below                                          proven by a real dump
//	containerd    1.0 to 1.4   github.com/containerd/cri/pkg/server.(*criService)                  no
//	containerd    1.5 to 1.7   github.com/containerd/containerd/pkg/cri/server.(*criService)       1.6.20, Go 1.19, stripped
//	containerd    1.7          …/pkg/cri/sbserver.(*criService), with ENABLE_CRI_SANDBOXES         no
//	containerd    2.0 and on   …/containerd/v2/internal/cri/server.(*criService)                   no
//	CRI-O         1.10 to 1.34 github.com/cri-o/cri-o/server.(*Server); 1.20 to 1.24 also
//	                           server/cri/{v1,v1alpha2}.(*service) around it                       no
//	cri-dockerd   all          github.com/Mirantis/cri-dockerd/core.(*dockerService)               no
//	dockershim    1.10 to 1.23 in the kubelet, without gRPC in between from 1.20 on                no
//	dockerd       17 and on    api/server/router/{container,image,…}.(*containerRouter).post…      no
//	CSI driver    spec 0.2 on  the driver's own type                                               spec 1.9.0, mount-utils 0.31
//	shim          1.4 to 2.x   runtime/v2/runc/task.(*service), 2.x: cmd/…/task.(*service)         1.6.20
//	k3s, RKE2     all          as containerd (a fork that keeps the import paths), in a process
//	                           of its own; the kubelet is in the process "k3s server"              no
//
// The packages and types change, but all servers of CRI, CSI and of containerd's own services have a function that protoc-gen-go-grpc or
// gogo made, which calls the server: _RuntimeService_CreateContainer_Handler, _Node_NodePublishVolume_Handler. gRPC calls it through a
// pointer, so no compiler inlines it. It is in every gRPC server of Go since 2015, below each interceptor, also for streams. ttrpc has
// closures instead, without names: there the shim's own type counts. dockerd serves HTTP: there its routers do.

// Serves names the request that a goroutine of a server has accepted and not answered: the gRPC service without its version
// ("runtime.RuntimeService", "runtime.ImageService", "csi.Node", "tasks.Tasks", "task.Task" of a shim, "docker.container") and the
// method ("CreateContainer"). Both are "" for a goroutine that serves none, or that the server has started for a part of it.
func (g Goroutine) Serves() (service, method string) {
	for i := len(g.Frames) - 1; i >= 0; i-- {
		name := strings.TrimSuffix(g.Frames[i].Func, ".func1") // which calls the server where there are interceptors
		if strings.HasSuffix(name, "_Handler") {
			if service, method = generated(name); method != "" {
				return service, method
			}
		}
	}
	switch outer := outermost(g); {
	case strings.HasPrefix(outer, "net/http."):
		return dockerRequest(g)
	case strings.HasPrefix(outer, "github.com/containerd/ttrpc."):
		return shimRequest(g)
	}
	if g.State != "" && g.CreatedBy == nil && g.ID > 1 {
		return cutRequest(g)
	}
	return "", ""
}

// cutRequest is the request of a stack whose outer calls were cut off, as when it was pasted: each other has a creator. The server's
// method, which the generated handler calls, is the outermost of a type that serves requests.
func cutRequest(g Goroutine) (service, method string) {
	if service, method = dockerRequest(g); method != "" {
		return service, method
	}
	for i := len(g.Frames) - 1; i >= 0; i-- {
		key, closure := symbolKey(g.Frames[i].Func)
		for _, s := range requestTypes {
			name, ok := strings.CutPrefix(key, s.typ)
			if s.service == dockerContainer && name == "s" && !closure { // docker ps
				return s.service, "Containers"
			}
			if method = dockerInner[key]; method != "" {
				return dockerContainer, method
			}
			if s.typ == "cri-o/server.(*Server)." && (name == "stopPodSandbox" || name == "removePodSandbox" || name == "stopContainer" || name == "removeContainerInPod") { // what the methods of these names do
				name = strings.ToUpper(name[:1]) + name[1:]
			}
			if !ok || closure || name == "" || name[0] < 'A' || name[0] > 'Z' {
				continue
			}
			switch {
			case s.service == dockerContainer:
				return s.service, "Container" + name
			case s.service != "":
				return s.service, name
			}
			if service = criService(name); service != "" {
				return service, name
			}
		}
	}
	return "", ""
}

// requestTypes are the types of which an exported method serves a request, as [symbolKey] has them; of those without a service, the
// methods of CRI.
var requestTypes = []struct{ typ, service string }{
	{"cri/server.(*criService).", ""},
	{"cri/sbserver.(*criService).", ""},
	{"cri/server.(*instrumentedService).", ""},
	{"pkg/server.(*criService).", ""}, // containerd 1.0 to 1.4
	{"cri-o/server.(*Server).", ""},
	{"cri-dockerd/core.(*dockerService).", ""},
	{"services/tasks.(*local).", "tasks.Tasks"},
	{"services/tasks.(*service).", "tasks.Tasks"},
	{"runc/task.(*service).", "task.Task"}, // of a shim
	{"containerd-shim-runc-v2/task.(*service).", "task.Task"},
	{"docker/daemon.(*Daemon).Container", dockerContainer},
	{"moby/daemon.(*Daemon).Container", dockerContainer},
}

// dockerInner are methods of dockerd by which alone a request of its router for containers does its work.
var dockerInner = map[string]string{
	"docker/daemon.(*Daemon).reduceContainers": "Containers", "docker/daemon.(*Daemon).reducePsContainer": "Containers", // daemon/list.go
	"docker/daemon.(*Daemon).containerInspectCurrent": "ContainerInspect", "docker/daemon.(*Daemon).getInspectData": "ContainerInspect",
}

// dockerContainer is the router of dockerd for containers, as [Goroutine.Serves] calls it.
const dockerContainer = "docker.container"

// criService is the service of CRI that has a method, "" if none has it.
func criService(method string) string {
	switch method {
	case "ListImages", "ImageStatus", "PullImage", "RemoveImage", "ImageFsInfo":
		return "runtime.ImageService"
	case "Version", "RunPodSandbox", "StopPodSandbox", "RemovePodSandbox", "PodSandboxStatus", "ListPodSandbox", "CreateContainer", "StartContainer",
		"StopContainer", "RemoveContainer", "ListContainers", "ContainerStatus", "UpdateContainerResources", "ReopenContainerLog", "ExecSync", "Exec",
		"Attach", "PortForward", "ContainerStats", "ListContainerStats", "PodSandboxStats", "ListPodSandboxStats", "UpdateRuntimeConfig", "Status",
		"CheckpointContainer", "GetContainerEvents", "ListMetricDescriptors", "ListPodSandboxMetrics", "RuntimeConfig":
		return "runtime.RuntimeService"
	}
	return ""
}

func outermost(g Goroutine) string {
	if len(g.Frames) == 0 {
		return ""
	}
	return g.Frames[len(g.Frames)-1].Func
}

// generated takes k8s.io/cri-api/pkg/apis/runtime/v1._RuntimeService_CreateContainer_Handler apart.
func generated(symbol string) (service, method string) {
	slash := strings.LastIndexByte(symbol, '/')
	pkg, name, ok := strings.Cut(symbol[slash+1:], "._")
	if !ok {
		return "", ""
	}
	service, method, ok = strings.Cut(strings.TrimSuffix(name, "_Handler"), "_")
	if !ok || service == "" {
		return "", ""
	}
	if isAPIVersion(pkg) && slash > 0 {
		pkg = symbol[strings.LastIndexByte(symbol[:slash], '/')+1 : slash]
	}
	return pkg + "." + service, method
}

// isAPIVersion knows "v1", "v1alpha2" and "v0".
func isAPIVersion(s string) bool {
	return len(s) >= 2 && s[0] == 'v' && s[1] >= '0' && s[1] <= '9'
}

// dockerRequest is a request that a router of dockerd serves: postContainersCreate.
func dockerRequest(g Goroutine) (service, method string) {
	for i := range g.Frames {
		key, closure := symbolKey(g.Frames[i].Func)
		router, rest, ok := strings.Cut(key, ".(*")
		if _, method, found := strings.Cut(rest, "Router)."); ok && found && !closure && strings.HasPrefix(router, "router/") {
			return "docker." + strings.TrimPrefix(router, "router/"), method
		}
	}
	return "", ""
}

// shimRequest is a request that a shim of containerd serves.
func shimRequest(g Goroutine) (service, method string) {
	for i := range g.Frames {
		key, closure := symbolKey(g.Frames[i].Func)
		if _, method, ok := strings.Cut(key, "/task.(*service)."); ok && !closure && method != "" && method[0] >= 'A' && method[0] <= 'Z' {
			return "task.Task", method
		}
	}
	return "", ""
}

// requestRole is the role of a goroutine that serves a request.
func requestRole(g Goroutine) Role {
	if _, method := g.Serves(); method != "" {
		return Role{roleRequest, "serves " + method}
	}
	return Role{}
}

// runtimeRole knows the background loops of runtimes and drivers.
func runtimeRole(key string) Role {
	switch key {
	case "cri/server.(*eventMonitor).start", "cri/sbserver.(*eventMonitor).start", "server/events.(*EventMonitor).Start",
		"cri/server.(*eventMonitor).startContainerExitMonitor", "cri/sbserver.(*eventMonitor).startContainerExitMonitor",
		"cri/server.(*eventMonitor).startSandboxExitMonitor", "cri/sbserver.(*eventMonitor).startSandboxExitMonitor",
		"cri/server.(*criService).startContainerExitMonitor", "cri/server.(*criService).startSandboxExitMonitor",
		"pkg/server.(*eventMonitor).start", "pkg/server.(*eventMonitor).startExitMonitor",
		"cri-o/server.(*Server).StartExitMonitor", "cri-o/server.(*Server).monitorExits",
		"containerd/containerd.(*task).Wait", "containerd/client.(*task).Wait", "libcontainerd/remote.(*client).processEventStream", "libcontainerd/queue.(*Queue).Append":
		return Role{roleExitMonitor, "container exit monitor"}
	case "cri/server.(*snapshotsSyncer).start", "cri/sbserver.(*snapshotsSyncer).start", "server/images.(*snapshotsSyncer).start",
		"pkg/server.(*snapshotsSyncer).start":
		return Role{roleSnapshotSync, "snapshot statistics"}
	case "cri/server.(*cniNetConfSyncer).syncLoop", "cri/sbserver.(*cniNetConfSyncer).syncLoop", "pkg/server.(*cniNetConfSyncer).syncLoop",
		"ocicni/ocicni.(*cniNetworkPlugin).monitorConfDir":
		return Role{roleCNIConfig, "CNI configuration watcher"}
	case "gc/scheduler.(*gcScheduler).run", "plugins/gc.(*gcScheduler).run", "containerd/metadata.(*DB).GarbageCollect",
		"core/metadata.(*DB).GarbageCollect":
		return Role{roleContentGC, "image content GC"}
	case "containerd/containerd.(*unpacker).unpack", "containerd/containerd.(*unpacker).fetch", "pkg/unpack.(*Unpacker).unpack", "pkg/unpack.(*Unpacker).fetch",
		"pkg/unpack.(*Unpacker).Unpack", "core/unpack.(*Unpacker).unpack", "core/unpack.(*Unpacker).fetch", "core/unpack.(*Unpacker).Unpack",
		"containerd/images.Dispatch", "core/images.Dispatch", "distribution/xfer.(*transferManager).transfer",
		"distribution/xfer.(*LayerDownloadManager).makeDownloadFunc", "distribution/xfer.(*transfer).watch":
		return Role{roleImagePull, "image pull"}
	case "events/exchange.(*Exchange).Subscribe", "events/proxy.(*eventRemote).Subscribe", "docker/go-events.(*Queue).run", "docker/go-events.NewQueue",
		"docker/go-events.(*Broadcaster).run", "docker/go-events.NewBroadcaster":
		return Role{roleEvents, "event subscription"}
	case "containerd/command.handleSignals":
		return Role{roleSignals, "signal handler"}
	case "metrics/cgroups.newOOMCollector", "cgroups/v1.(*oomCollector).start":
		return Role{roleOOMWatcher, "OOM watcher"}
	case "restart/monitor.init", "restart/monitor.(*monitor).run", "plugins/restart.init", "plugins/restart.(*monitor).run":
		return Role{roleRestartMonitor, "container restart monitor"}
	case "cri/streaming.(*server).Start", "server/streaming.(*server).Start":
		return Role{roleStreaming, "exec and attach server"}
	case "containerd/fifo.openFifo", "cri/io.(*ContainerIO).Pipe", "cri/io.(*ContainerIO).Attach", "cri/io.NewCRILogger", "cri/io.redirectLogs",
		"cri/server.(*criService).createContainerLoggers", "cri/sbserver.(*criService).createContainerLoggers",
		"runc/task.(*service).forward", "containerd/console.(*Epoller).Wait":
		return Role{roleContainerOutput, "output of a container"}
	case "containerd/ttrpc.(*Client).run", "containerd/ttrpc.NewClient", "containerd/ttrpc.(*Client).receiveLoop":
		return Role{roleShimConnection, "connection to a shim"}
	case "containerd/ttrpc.(*serverConn).run", "containerd/ttrpc.(*Server).Serve", "v2/shim.serve", "pkg/shim.serve":
		return Role{roleGRPCServer, "ttrpc server"}
	case "runc/task.(*service).processExits", "v2/shim.reap", "pkg/shim.reap", "v2/shim.handleExitSignals", "pkg/shim.handleExitSignals",
		"runc/task.NewTaskService":
		return Role{roleExitMonitor, "shim's process monitor"}
	case "go-fuse/fuse.(*Server).loop", "v2/fuse.(*Server).loop", "jacobsa/fuse.(*Connection).ReadOp", "fuse/fuseutil.(*fileSystemServer).ServeOps",
		"fuse/fuseutil.(*fileSystemServer).handleOp", "fuse/fs.(*Server).Serve", "fuse/fs.(*Server).serve":
		return Role{roleFUSE, "FUSE server"}
	}
	return Role{}
}
