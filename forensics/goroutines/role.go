package goroutines

import "strings"

// Role is what a goroutine is for. The zero value means unknown.
type Role struct {
	// ID is stable, for programs: one of the Role constants.
	ID string `json:"id"`
	// Name is for people: "sync loop", "volume manager reconciler".
	Name string `json:"name"`
}

// The IDs of roles. Those of a kubelet hold for 1.10 to 1.36 (created-by lines
// and loop functions of kubernetes/pkg/kubelet, read in the sources).
const (
	roleSyncLoop          = "syncloop"                  // Kubelet.syncLoop: pod changes, housekeeping, PLEG events
	rolePLEG              = "pleg"                      // relists containers
	roleEventedPLEG       = "pleg-evented"              // listens to CRI events
	rolePodWorker         = "pod-worker"                // one a pod
	rolePodKiller         = "pod-killer"                // kills pods that should not be (1.21 and before)
	roleReconciler        = "volume-manager-reconciler" // mounts and unmounts
	rolePopulator         = "volume-manager-populator"  // desired state of world
	roleVolumeManager     = "volume-manager"            // what else the volume manager runs
	roleVolumeOperation   = "volume-operation"          // one mount, unmount, ... under way
	rolePluginOperation   = "plugin-operation"          // one (de)registration of a plugin under way
	rolePluginManager     = "plugin-manager"            // watches the plugin sockets
	roleStatusManager     = "status-manager"            // reports pod status to the API server
	roleEviction          = "eviction-manager"          // the 10 s loop
	roleEvictionNotifier  = "eviction-notifier"         // cgroup memory notifications
	roleContainerGC       = "container-gc"
	roleImageGC           = "image-gc"
	roleGC                = "gc" // one of the two, between runs
	roleImageManager      = "image-manager"
	roleImagePuller       = "image-puller"
	roleContainerDeleter  = "container-deleter"
	roleContainerKiller   = "container-killer" // stops one container
	RoleCgroupRemoval     = "cgroup-removal"   // of one orphaned pod; they pile up when it hangs
	roleCadvisor          = "cadvisor"         // watchers and the rest of cAdvisor
	roleCadvisorContainer = "cadvisor-housekeeping"
	roleCadvisorGlobal    = "cadvisor-global-housekeeping"
	RoleCadvisorDisk      = "cadvisor-disk-usage"
	RoleCadvisorStatfs    = "cadvisor-statfs" // kubelet 1.32 and later: each one left is a hung file system
	RoleVolumeStats       = "volume-stats"    // one a pod
	roleProbeWorker       = "probe-worker"    // one a probe
	roleProbeManager      = "probe-manager"
	roleNodeStatus        = "node-status"
	roleNodeLease         = "node-lease"
	roleRuntimeStatus     = "runtime-status"   // Kubelet.updateRuntimeUp
	roleKubeletPeriodic   = "kubelet-periodic" // one of those that Kubelet.Run starts, between runs
	roleContainerManager  = "container-manager"
	roleDeviceManager     = "device-manager"
	roleDRAManager        = "dra-manager"
	rolePodSource         = "pod-source" // files, HTTP, API server
	rolePodCache          = "object-cache"
	roleLogRotation       = "log-rotation"
	roleOOMWatcher        = "oom-watcher"
	roleShutdownManager   = "shutdown-manager"
	roleWatchdog          = "systemd-watchdog"
	roleCertificates      = "certificates"
	roleHTTPServer        = "http-server"
	roleHTTPClient        = "http-client"
	roleGRPCServer        = "grpc-server"
	roleGRPC              = "grpc-transport"
	roleReflector         = "client-go-reflector"
	roleInformer          = "client-go-informer"
	roleEvents            = "event-recorder"
	roleWorkQueue         = "work-queue"
	roleChildOutput       = "child-output" // copies what a child process writes
	roleFileWatcher       = "file-watcher" // inotify
	roleSignals           = "signal-handler"
	roleLogging           = "logging"
	roleDump              = "dump" // the one that wrote this dump
	roleMain              = "main"
	roleRuntime           = "runtime" // the Go runtime's own
	roleAllocation        = "pod-allocation"
	roleIPTables          = "iptables-monitor"
	roleRequest           = "request" // of a server: Name has the method
	roleExitMonitor       = "exit-monitor"
	roleSnapshotSync      = "snapshot-sync"
	roleCNIConfig         = "cni-config"
	roleContentGC         = "content-gc"
	roleImagePull         = "image-pull"
	roleCRI               = "cri-service"
	roleRestartMonitor    = "restart-monitor"
	roleStreaming         = "streaming-server"
	roleContainerOutput   = "container-output"
	roleShimConnection    = "shim-connection"
	roleFUSE              = "fuse-server"
	rolePeriodic          = "periodic-task" // resting in a helper that does not tell whose
	roleOther             = "other"         // Name is the function that started it
)

// RoleOf says what g is for. The outermost call that is known decides, then the
// creator: so a pod worker stays one, whatever it is doing. Aggregated dumps
// have no creators; there a goroutine that rests in a shared helper such as
// wait.Until may be "other" that is known from a debug=2 dump.
func RoleOf(g Goroutine) Role {
	if r := libraryRole(innermostKey(g.Frames)); r.ID == roleDump {
		return r
	}
	if r := requestRole(g); r.ID != "" {
		return r
	}
	weak := Role{}
	for i := len(g.Frames) - 1; i >= 0; i-- {
		key, closure := symbolKey(g.Frames[i].Func)
		if r, ok := roleOfLoop(key, closure); ok {
			return r
		}
		if weak.ID == "" {
			weak = roleOfStarter(key)
		}
	}
	if g.CreatedBy != nil {
		key, _ := symbolKey(g.CreatedBy.Func)
		if r, ok := roleOfLoop(key, true); ok {
			return r
		}
		if weak.ID == "" && key != "main.main" {
			weak = roleOfStarter(key)
		}
	}
	if weak.ID != "" {
		return weak
	}
	return roleOfPackage(g)
}

func innermostKey(frames []Frame) string {
	if len(frames) == 0 {
		return ""
	}
	key, _ := symbolKey(frames[0].Func)
	return key
}

// symbolKey cuts a normalised symbol down to what versions and builds agree on:
// the last two elements of the import path without a major version, the type,
// and the method or function. closure tells whether the symbol is a function
// literal in it, or the wrapper of a go statement.
//
//	k8s.io/kubernetes/pkg/kubelet/pleg.(*GenericPLEG).Relist-fm  kubelet/pleg.(*GenericPLEG).Relist
//	k8s.io/klog/v2.(*flushDaemon).run.func1                      k8s.io/klog.(*flushDaemon).run, closure
func symbolKey(symbol string) (key string, closure bool) {
	pathEnd := len(symbol)
	if i := strings.IndexAny(symbol, "(["); i >= 0 {
		pathEnd = i
	}
	slash := strings.LastIndexByte(symbol[:pathEnd], '/')
	dot := strings.IndexByte(symbol[slash+1:], '.')
	if dot < 0 {
		return symbol, false
	}
	dot += slash + 1
	end := nameEnd(symbol, dot+1)
	path, name, rest := symbol[:dot], symbol[dot:end], symbol[end:]
	closure = strings.Contains(rest, ".func") || strings.Contains(rest, ".gowrap")
	whole := path
	if i := strings.LastIndexByte(path, '/'); i >= 0 && isMajorVersion(path[i+1:]) {
		path = path[:i]
	}
	start := lastTwo(path)
	if len(path) == len(whole) && !strings.Contains(name, "[...]") {
		return symbol[start:end], closure
	}
	return path[start:] + strings.ReplaceAll(name, "[...]", ""), closure
}

// nameEnd returns where the method or function that starts at i ends.
func nameEnd(s string, i int) int {
	if i < len(s) && s[i] == '(' {
		c := strings.IndexByte(s[i:], ')')
		if c < 0 || i+c+1 >= len(s) {
			return len(s)
		}
		i += c + 2 // behind ")."
	}
	if n := strings.IndexAny(s[min(i, len(s)):], ".-["); n >= 0 {
		return i + n
	}
	return len(s)
}

// lastTwo returns where the last two elements of a path start.
func lastTwo(path string) int {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return 0
	}
	return strings.LastIndexByte(path[:i], '/') + 1
}

// isMajorVersion knows "v2", not "v1beta1".
func isMajorVersion(s string) bool {
	return len(s) >= 2 && s[0] == 'v' && digits([]byte(s[1:]))
}
