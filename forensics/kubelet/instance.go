// Package kubelet describes the kubelet of a node from bytes and files: its process, flags and configuration, its pods and the leftovers of
// their directories, its metrics and health.
//
//   - [Choose] picks the kubelet among processes, [Instance.Read] adds its command line, its unit and its configuration; without a process
//     it reads the disk of a dead node.
//   - [StaticPods] and [LogDirs] find pods in other places; the Parse functions parse saved answers.
//   - [Leftovers] says what a kubelet of some version does with the leftovers of a pod.
//
// Package kubelet/live examines a running kubelet: it finds it, walks over its pod directories and sends it requests.
//
// Statements about versions are from the sources of Kubernetes 1.10 to 1.36: cmd/kubelet/app (flags, configuration,
// drop-ins since 1.28), pkg/kubelet (kubelet_volumes.go, kubelet_pods.go, config, types), pkg/volume/csi,
// k8s.io/apiserver/pkg/server/healthz; for what starts it, on k3s, rke2, microk8s and k0s, and on systemd.unit(5) and
// systemd.service(5).
//
// Nothing is masked here: flags, paths and what servers say are returned as they are.
package kubelet

import "time"

// An Instance is one running kubelet.
type Instance struct {
	// PID is 0 when no kubelet runs; then only what is on disk is set.
	PID     int        `json:"pid,omitempty"`
	Started *time.Time `json:"started,omitempty"`
	// StartTicks is the start in clock ticks since boot: together with PID it identifies one process until the next boot.
	StartTicks uint64 `json:"start_ticks,omitempty"`
	// Unproven says why it could not be determined whether that process is the node's kubelet; then it gets no credentials. Absent where it
	// is proven.
	Unproven string `json:"unproven,omitempty"`
	// State is the state letter of /proc/PID/stat: "T" is stopped by a signal.
	State string `json:"state,omitempty"`
	// Program is the program that contains it: "kubelet", "k3s", "rke2", "kubelite", "hyperkube", "k0s". Without a process it is the one of a
	// unit file.
	Program string `json:"program,omitempty"`
	// Executable is the link /proc/PID/exe.
	Executable string `json:"executable,omitempty"`
	// Version is "1.34.4", without v ("1.30.4+k3s1" where the distribution adds something); VersionFrom says where it
	// was found ("metrics", "dump", "log", "binary").
	Version     string `json:"version,omitempty"`
	VersionFrom string `json:"version_from,omitempty"`
	// Flags are the kubelet's flags, name without dashes and with "-" for "_", as given: nothing is masked yet. A flag
	// given several times is joined by commas, one without value is "true". Where the kubelet is embedded they come
	// from --kubelet-arg and config.yaml (k3s, rke2) or from an arguments file (microk8s), beside data-dir, log and
	// node-name of the program itself. Without a process they are what its unit and environment files would start it with.
	Flags map[string]string `json:"flags"`
	// ConfigPath is the file of --config, or the first file of --config-dir when there is no other.
	ConfigPath string `json:"config_path,omitempty"`
	// Config is the part of KubeletConfiguration that matters here, drop-ins applied, flags not; absent when no file
	// could be read.
	Config *Config `json:"config,omitempty"`
	// RootDir is the kubelet's root directory as configured, CanonicalRoot with symlinks resolved in its mount
	// namespace (equal when there are none). Both are empty where no kubelet runs and nothing says that one did.
	RootDir       string `json:"root_dir"`
	CanonicalRoot string `json:"canonical_root"`
	// StaticPodPath is where static manifests are; "" if none is configured.
	StaticPodPath string `json:"static_pod_path,omitempty"`
	// MountNS is the inode of its mount namespace, NodeName the node name it was told to use; absent where it takes
	// the host's name or the cloud's.
	MountNS  uint64 `json:"mount_ns,omitempty"`
	NodeName string `json:"node_name,omitempty"`
	// Expected says why a kubelet is expected on this node although none runs ("unit /etc/systemd/system/kubelet.service",
	// "directory /var/lib/kubelet/pods"); empty: no sign of one.
	Expected string `json:"expected,omitempty"`
	// Others are pids of further kubelets (kind nodes on one host, leftovers of a crash, zombies); this instance is
	// the first.
	Others []int `json:"other_pids,omitempty"`
	// Impostors are processes that call themselves kubelet and are not believed: nothing that they say is in here, and no
	// file of theirs was read. They are the first ones by pid; MoreImpostors counts the others.
	Impostors     []Impostor `json:"impostors,omitempty"`
	MoreImpostors int        `json:"more_impostors,omitempty"`
	// Sources are the files that were read for all this, and those that should have been there, with what became of
	// the reading.
	Sources []Source `json:"sources"`
	// ConfigUnread are those of Sources that Flags and Config would be from and that could not be read or understood: with
	// them, both may say something else. Absent where all could.
	ConfigUnread []string `json:"config_unread,omitempty"`
	// Endpoints are what its listening sockets were asked.
	Endpoints []Endpoint `json:"endpoints"`
	// PodsLeftOut counts the pods of a long list of its that are not in the evidence, since nothing else that was seen on the node
	// until then is of them.
	PodsLeftOut int `json:"pods_left_out,omitempty"`
	// Metrics is a subset of /metrics: series name with labels, as exposed, to value.
	Metrics map[string]float64 `json:"metrics,omitempty"`
}

// An Impostor is a process that calls itself kubelet and is not believed.
type Impostor struct {
	PID int `json:"pid"`
	// Reason continues a sentence about the process: "is in the cgroup of pod …".
	Reason string `json:"reason"`
}

// A Source is one file or directory that was looked into, or should have been.
type Source struct {
	Path string `json:"path"`
	// Status is "read", "absent", "denied", "timeout", "truncated" or "malformed" (there, but of no use).
	Status string `json:"status"`
	Detail string `json:"detail,omitempty"`
}

// Config is a subset of KubeletConfiguration (kubelet.config.k8s.io/v1beta1), decoded leniently.
type Config struct {
	StaticPodPath              string            `json:"staticPodPath,omitempty"`
	Port                       int               `json:"port,omitempty"`
	ReadOnlyPort               int               `json:"readOnlyPort,omitempty"`
	HealthzPort                *int              `json:"healthzPort,omitempty"`
	HealthzBindAddress         string            `json:"healthzBindAddress,omitempty"`
	Address                    string            `json:"address,omitempty"`
	TLSCertFile                string            `json:"tlsCertFile,omitempty"`
	CgroupDriver               string            `json:"cgroupDriver,omitempty"`
	ContainerRuntimeEndpoint   string            `json:"containerRuntimeEndpoint,omitempty"`
	PodLogsDir                 string            `json:"podLogsDir,omitempty"`
	EnableDebuggingHandlers    *bool             `json:"enableDebuggingHandlers,omitempty"`
	EvictionHard               map[string]string `json:"evictionHard,omitzero"` // empty is not the same as absent
	EvictionSoft               map[string]string `json:"evictionSoft,omitempty"`
	EvictionSoftGracePeriod    map[string]string `json:"evictionSoftGracePeriod,omitempty"`
	ImageGCHighThreshold       *int              `json:"imageGCHighThresholdPercent,omitempty"`
	ImageGCLowThreshold        *int              `json:"imageGCLowThresholdPercent,omitempty"`
	ImageMaximumGCAge          string            `json:"imageMaximumGCAge,omitempty"`
	MergeDefaultEviction       *bool             `json:"mergeDefaultEvictionSettings,omitempty"`
	FailCgroupV1               *bool             `json:"failCgroupV1,omitempty"`
	AnonymousAuthEnabled       *bool             `json:"anonymousAuthEnabled,omitempty"`
	AuthorizationMode          string            `json:"authorizationMode,omitempty"`
	ShutdownGracePeriod        string            `json:"shutdownGracePeriod,omitempty"`
	RuntimeRequestTimeout      string            `json:"runtimeRequestTimeout,omitempty"`
	EvictionPressureTransition string            `json:"evictionPressureTransitionPeriod,omitempty"`
}

// An Endpoint is one question to the kubelet's HTTP servers and its answer.
type Endpoint struct {
	URL string `json:"url"`
	// Status is "ok", "unhealthy" (a health check failed), "denied", "refused" (no process listens), "timeout", "not-owned"
	// (another process listens there, so it was not asked), "tls" (the certificate is not the kubelet's),
	// "truncated" (more than is read: what was read is there), "not-asked" (Detail says why) or "error".
	Status string `json:"status"`
	Code   int    `json:"code,omitempty"`
	// Failed are the checks that a health endpoint names as failed ("syncloop").
	Failed []string `json:"failed_checks,omitempty"`
	// Passed are the checks that it names as passed; none where it only says ok.
	Passed  []string `json:"passed_checks,omitempty"`
	Detail  string   `json:"detail,omitempty"`
	Seconds float64  `json:"duration_seconds"`
	Bytes   int64    `json:"bytes,omitempty"`
	// Verified is "pinned" (the certificate is the one on disk), "system" (an explicit URL whose certificate this
	// machine trusts) or "none"; absent without TLS.
	Verified string `json:"tls_verified,omitempty"`
}
