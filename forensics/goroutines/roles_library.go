package goroutines

import "strings"

// libraryRole knows the goroutines of libraries that kubelets, runtimes and
// drivers share.
func libraryRole(key string) Role {
	switch key {
	case "runtime/pprof.writeGoroutineStacks", "runtime/pprof.writeRuntimeProfile", "runtime/pprof.runtime_goroutineProfileWithLabels":
		return Role{roleDump, "writer of this dump"}
	case "net/http.(*Server).Serve", "net/http.(*Server).ListenAndServe", "net/http.(*Server).ListenAndServeTLS",
		"net/http.(*Server).ServeTLS", "net/http.(*conn).serve", "net/http.(*connReader).startBackgroundRead",
		"net/http.(*http2serverConn).serve", "net/http.(*http2serverConn).readFrames",
		"net/http.(*http2serverConn).scheduleHandler",
		"net/http.(*http2serverConn).startFrameWrite", "net/http.(*http2serverConn).runHandler",
		"net/http2.(*serverConn).serve", "net/http2.(*serverConn).readFrames",
		"net/http2.(*serverConn).runHandler", "net/http2.(*serverConn).scheduleHandler",
		"pkg/kubelet.(*Kubelet).ListenAndServe", "pkg/kubelet.(*Kubelet).ListenAndServeReadOnly":
		return Role{roleHTTPServer, "HTTP server"}
	case "pkg/kubelet.(*Kubelet).ListenAndServePodResources", "google.golang.org/grpc.(*Server).Serve",
		"google.golang.org/grpc.(*Server).handleRawConn", "google.golang.org/grpc.(*Server).serveStreams",
		"google.golang.org/grpc.(*Server).initServerWorkers":
		return Role{roleGRPCServer, "gRPC server"}
	case "net/http.(*Transport).dialConn", "net/http.(*Transport).dialConnFor", "net/http.(*Transport).queueForDial",
		"net/http.(*Transport).startDialConnForLocked", "net/http.(*persistConn).readLoop",
		"net/http.(*persistConn).writeLoop", "net/http.(*http2Transport).newClientConn",
		"net/http.(*http2ClientConn).readLoop", "net/http2.(*Transport).newClientConn", "net/http2.(*ClientConn).readLoop":
		return Role{roleHTTPClient, "HTTP client connection"}
	case "tools/cache.(*Reflector).Run", "tools/cache.(*Reflector).RunWithContext", "tools/cache.(*Reflector).ListAndWatch",
		"tools/cache.(*Reflector).ListAndWatchWithContext", "tools/cache.(*Reflector).startResync",
		"tools/cache.(*Reflector).list", "pkg/watch.NewStreamWatcher", "pkg/watch.(*StreamWatcher).receive":
		return Role{roleReflector, "client-go reflector"}
	case "tools/cache.(*controller).Run", "tools/cache.(*controller).RunWithContext", "tools/cache.(*controller).processLoop",
		"tools/cache.(*sharedIndexInformer).Run", "tools/cache.(*sharedIndexInformer).RunWithContext",
		"tools/cache.(*sharedProcessor).run", "tools/cache.(*processorListener).run",
		"tools/cache.(*processorListener).pop", "client-go/informers.(*sharedInformerFactory).Start",
		"client-go/informers.(*sharedInformerFactory).StartWithContext":
		return Role{roleInformer, "client-go informer"}
	case "tools/record.(*eventBroadcasterImpl).StartEventWatcher", "tools/record.NewBroadcaster",
		"pkg/watch.NewBroadcaster", "pkg/watch.NewLongQueueBroadcaster", "pkg/watch.(*Broadcaster).loop":
		return Role{roleEvents, "event recorder"}
	case "os/exec.(*Cmd).Start", "os/exec.(*Cmd).watchCtx":
		return Role{roleChildOutput, "output of a child process"}
	case "fsnotify/fsnotify.(*Watcher).readEvents", "fsnotify/fsnotify.NewWatcher", "fsnotify/fsnotify.newBackend",
		"fsnotify/fsnotify.(*inotify).readEvents", "utils/inotify.NewWatcher", "utils/inotify.(*Watcher).readEvents",
		"exp/inotify.NewWatcher", "util/filesystem.(*fsnotifyWatcher).Run":
		return Role{roleFileWatcher, "file watcher"}
	case "os/signal.loop", "os/signal.Notify", "os/signal.NotifyContext", "pkg/server.SetupSignalContext",
		"pkg/server.SetupSignalHandler", "signal.init":
		return Role{roleSignals, "signal handler"}
	case "k8s.io/klog.(*flushDaemon).run", "k8s.io/klog.(*loggingT).flushDaemon", "golang/glog.(*loggingT).flushDaemon",
		"golang/glog.init", "k8s.io/klog.init", "component-base/logs.InitLogs", "component-base/logs.FlushLogs",
		"server/healthz.(*log).Check", "stats/view.(*worker).start":
		return Role{roleLogging, "logging and metrics"}
	}
	return Role{}
}

// roleOfPackage decides by the package of the outermost call and of the creator.
func roleOfPackage(g Goroutine) Role {
	outer, creator := "", ""
	if n := len(g.Frames); n > 0 {
		outer = g.Frames[n-1].Func
	}
	if g.CreatedBy != nil {
		creator = g.CreatedBy.Func
	}
	for _, name := range []string{creator, outer} {
		if r := packageRole(name); r.ID != "" {
			return r
		}
	}
	if (outer == "" || isRuntimeFunc(outer)) && (creator == "" || isRuntimeFunc(creator)) {
		return Role{roleRuntime, "Go runtime"}
	}
	if creator == "" {
		creator = outer
	}
	if strings.HasPrefix(creator, "k8s.io/apimachinery/pkg/util/wait.") || strings.HasPrefix(creator, "k8s.io/kubernetes/pkg/util/wait.") {
		return Role{rolePeriodic, "periodic task"}
	}
	key, _ := symbolKey(creator)
	return Role{roleOther, key}
}

func packageRole(name string) Role {
	for _, p := range [...]struct {
		prefix string
		role   Role
	}{
		{"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager", Role{roleDeviceManager, "device manager"}},
		{"k8s.io/kubernetes/pkg/kubelet/cm/dra", Role{roleDRAManager, "DRA manager"}},
		{"k8s.io/kubernetes/pkg/kubelet/cm", Role{roleContainerManager, "container manager"}},
		{"k8s.io/client-go/util/workqueue", Role{roleWorkQueue, "work queue"}},
		{"k8s.io/client-go/tools/cache", Role{roleInformer, "client-go informer"}},
		{"github.com/google/cadvisor/", Role{roleCadvisor, "cAdvisor"}},
		{"google.golang.org/grpc", Role{roleGRPC, "gRPC transport"}},
		{"golang.org/x/net/http2.", Role{roleHTTPClient, "HTTP client connection"}},
	} {
		if strings.HasPrefix(name, p.prefix) {
			return p.role
		}
	}
	return Role{}
}
