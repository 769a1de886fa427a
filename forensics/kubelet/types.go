// Package kubelet says what is known of the kubelet of a node from bytes and files: which process it is, its flags and
// configuration, its pods and what is left of their directories, its metrics and health.
//
//   - [Choose] picks the kubelet among processes, [Instance.Read] adds what its command line, its unit and its configuration
//     say; without a process, what the disk of a dead node says of one.
//   - [StaticPods] and [LogDirs] know pods from other places; the Parse functions understand saved answers.
//   - [Leftovers] says what a kubelet of some version does about what is left of a pod.
//
// Package kubelet/live looks at a running kubelet: it finds it, walks over its pod directories and asks it.
//
// What holds for which version rests on the sources of Kubernetes 1.10 to 1.36: cmd/kubelet/app (flags, configuration,
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
	// StartTicks is the start in clock ticks since boot: with PID it names one process for as long as the machine is up.
	StartTicks uint64 `json:"start_ticks,omitempty"`
	// Unproven says why it could not be found out whether that process is the node's kubelet; it gets no credentials
	// then. Absent where it is known to be.
	Unproven string `json:"unproven,omitempty"`
	// State is the state letter of /proc/PID/stat: "T" is stopped by a signal.
	State string `json:"state,omitempty"`
	// Program is what runs it: "kubelet", "k3s", "rke2", "kubelite", "hyperkube", "k0s". Without a process it is what a
	// unit file says would run it.
	Program string `json:"program,omitempty"`
	// Executable is the link /proc/PID/exe.
	Executable string `json:"executable,omitempty"`
	// Version is "1.34.4", without v ("1.30.4+k3s1" where the distribution adds something); VersionFrom says where it
	// was found ("metrics", "dump", "log", "binary").
	Version     string `json:"version,omitempty"`
	VersionFrom string `json:"version_from,omitempty"`
	// Flags are the kubelet's flags, name without dashes and with "-" for "_", as given: nothing is masked yet. A flag
	// given several times is joined by commas, one without value is "true". Where the kubelet is embedded they come
	// from --kubelet-arg and config.yaml (k3s, rke2) or from an arguments file (microk8s), beside data-dir and node-name
	// of the program itself. Without a process they are what its unit and environment files would start it with.
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
	// Endpoints are what its listening sockets were asked.
	Endpoints []Endpoint `json:"endpoints"`
	// Metrics is a subset of /metrics: series name with labels, as exposed, to value.
	Metrics map[string]float64 `json:"metrics,omitempty"`
}

// An Impostor is a process that calls itself kubelet and is not believed.
type Impostor struct {
	PID int `json:"pid"`
	// Reason goes on a sentence that begins with the process: "is in the cgroup of pod …".
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
	// Status is "ok", "unhealthy" (a health check failed), "denied", "refused" (nobody listens), "timeout", "not-owned"
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

// A Pod is a pod that some source says exists.
type Pod struct {
	UID       string `json:"uid"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Source is "kubelet" (/pods), "manifest" (a static pod's file), "runtime" (a sandbox or container on disk), "cgroup",
	// "process", "log-dir".
	Source string `json:"source"`
	Phase  string `json:"phase,omitempty"`
	// Deleting is the deletionTimestamp; absent when none.
	Deleting *time.Time `json:"deletion_timestamp,omitempty"`
	// MirrorUID is the UID of the mirror pod in the API, or the config hash, where it differs from UID.
	MirrorUID string `json:"mirror_uid,omitempty"`
	// Kind is "static" (from a manifest of this node) or "mirror" (the API's image of a static pod); absent for others,
	// and where the source does not tell.
	Kind string `json:"kind,omitempty"`
	// OwnerKind is the kind of its controller ("DaemonSet", "ReplicaSet"); absent where it has none, or the source does
	// not say.
	OwnerKind string `json:"owner_kind,omitempty"`
	// Priority is spec.priority; absent where the source does not say.
	Priority *int32 `json:"priority,omitempty"`
	// Images are those of its containers, init containers included, each once; absent where the source does not say.
	Images []PodImage `json:"images,omitempty"`
}

// A PodImage is the image of a container as the pod names it.
type PodImage struct {
	Name string `json:"name"`
	// PullPolicy is "Always", "IfNotPresent" or "Never"; absent where the API server would still set the default.
	PullPolicy string `json:"pull_policy,omitempty"`
}

// The kinds of pods that do not come from the API alone.
const (
	KindStatic = "static"
	KindMirror = "mirror"
)

// A PodDir is one directory below <root>/pods.
type PodDir struct {
	UID  string `json:"uid"`
	Path string `json:"path"`
	// HostName is the pod's host name from etc-hosts, usually the pod's name; absent for host network pods.
	HostName string     `json:"host_name,omitempty"`
	Modified *time.Time `json:"modified,omitempty"`
	// Changed is the latest change of the directory itself, of volumes/ and of those of its plugins: mounting and
	// unmounting a volume shows there, what containers do does not. Absent for pods that were not counted.
	Changed *time.Time `json:"changed,omitempty"`
	// Containers are the names of the directories below containers/.
	Containers []string  `json:"containers"`
	Volumes    []Volume  `json:"volumes"`
	Subpaths   []Subpath `json:"subpaths"`
	// Unknown are entries that no kubelet makes, as paths below Path, those in volumes/ and in volume-subpaths/
	// included; bounded.
	Unknown []string `json:"unknown"`
	// Error says why it could not be read to the end.
	Error string `json:"error,omitempty"`
}

// A Volume is one directory below volumes/ or volumeDevices/ of a pod.
type Volume struct {
	// Plugin is unescaped ("kubernetes.io/csi"), Name the directory's name (a PV name, or the volume's name).
	Plugin string `json:"plugin"`
	Name   string `json:"name"`
	Path   string `json:"path"`
	Block  bool   `json:"block,omitempty"`
	// Kind is "dir", "file", "link" or "other", at a mount point that of what is covered; absent where the file system
	// does not say.
	Kind string `json:"kind,omitempty"`
	// MountPoints are the mounts at or below Path, from mountinfo.
	MountPoints []string `json:"mount_points"`
	// Entries counts what lies directly below Path when it is not a mount point, bounded; -1 is not read.
	Entries int `json:"entries"`
	// VolData is what vol_data.json says; absent when there is none. VolDataError: it is there and cannot be read.
	VolData      *VolData `json:"vol_data,omitempty"`
	VolDataError string   `json:"vol_data_error,omitempty"`
	// HasMountDir says that a CSI volume's "mount" entry exists.
	HasMountDir bool `json:"has_mount_dir,omitempty"`
	// Inside is what lies in the volume and is not the kubelet's own: of a CSI volume, what is beside vol_data.json and
	// in or beside the directory "mount". It is absent for mount points, for block volumes, and where it was not counted.
	Inside *Contents `json:"inside,omitempty"`
}

// Contents counts what lies below a directory at any depth, on the same mount, or what a single file is.
type Contents struct {
	Files int `json:"files"`
	Dirs  int `json:"dirs"`
	// Others are symbolic links, sockets, FIFOs and devices, and entries whose type is not known.
	Others int `json:"others"`
	// Bytes is the size of the files.
	Bytes int64 `json:"bytes"`
	// First are names of the uppermost level, bounded.
	First []string `json:"first"`
	// Mounts counts mount points that were come across, and not looked into.
	Mounts int `json:"mounts,omitempty"`
	// Truncated says that there is more: a bound was reached, or something could not be read.
	Truncated bool `json:"truncated,omitempty"`
}

// Empty says that there is nothing, for certain.
func (c Contents) Empty() bool { return c.Files+c.Dirs+c.Others+c.Mounts == 0 && !c.Truncated }

// VolData is vol_data.json of a CSI volume (kubelet pkg/volume/csi).
type VolData struct {
	Driver       string `json:"driverName,omitempty"`
	VolumeHandle string `json:"volumeHandle,omitempty"`
	SpecVolID    string `json:"specVolID,omitempty"`
	AttachmentID string `json:"attachmentID,omitempty"`
	Lifecycle    string `json:"volumeLifecycleMode,omitempty"`
}

// A Subpath is one bind mount target below volume-subpaths/<volume>/<container>/<index>.
type Subpath struct {
	Volume    string `json:"volume"`
	Container string `json:"container"`
	Index     string `json:"index"`
	Path      string `json:"path"`
	// Kind is "dir", "file", "other"; "mount" when it is a mount point, whose type was not asked.
	Kind string `json:"kind"`
	// Inside is what lies in the directory, or how large the file is; absent for mount points and where it was not
	// counted. The kubelet makes such files and directories empty.
	Inside *Contents `json:"inside,omitempty"`
}
