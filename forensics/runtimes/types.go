// Package runtimes describes the sandboxes, containers and images of container runtimes, from their files and cgroups. It knows containerd,
// CRI-O and Docker, and parses their formats without a node.
//
//   - [ParseMetadata] reads the database of containerd, also while containerd writes to it.
//   - [OCIConfig], [ParseRuncState] and [PodOfCgroup] parse bundles, the state of runc and crun, and the names of cgroups.
//   - [OfEndpoint] and [OfProcess] name the runtime of a socket and of a process.
//
// Package runtimes/live reads the files of a host and calls a runtime over its socket.
//
// The formats are those of containerd (core/metadata/buckets.go, and go.etcd.io/bbolt internal/common, version 2 of the file),
// of the OCI runtime specification (config.md), of runc (libcontainer, BaseState) and crun (status), and of the kubelet
// (pkg/kubelet/cm for cgroups, pkg/kubelet/types for annotations). They were compared with containerd 1.6.20 and bbolt itself.
package runtimes

import "time"

// Stores are the files of all container runtimes of a node, each list sorted by runtime and then by id or name.
type Stores struct {
	Runtimes   []Runtime
	Sandboxes  []Sandbox
	Containers []Container
	Images     []Image
	// Unread says why a configuration file, or a directory of them, could not be read or parsed, by its path. A missing default file is not
	// in here; a missing file that a process was configured to use is.
	Unread map[string]error `json:"-"`
}

// A Runtime is a container runtime of this node, by its directories and configuration.
type Runtime struct {
	// Name is "containerd", "cri-o" or "docker"; the last serves the kubelet through cri-dockerd or dockershim.
	Name string `json:"name"`
	// Root is the directory of persistent data (containerd --root, CRI-O's storage root, docker's data-root), State that of data until the
	// next reboot (containerd --state, CRI-O's storage runroot, docker's exec-root). One may be absent on disk.
	Root  string `json:"root"`
	State string `json:"state,omitempty"`
	// Config is the configuration file that was read; absent where there is none.
	Config string `json:"config,omitempty"`
	// Socket is the socket for the kubelet.
	Socket string `json:"socket,omitempty"`
	// SnapshotDir is the directory of the file systems of images and containers: containerd's snapshotter (Snapshotter is
	// its name), the storage driver of the others.
	SnapshotDir string `json:"snapshot_dir,omitempty"`
	Snapshotter string `json:"snapshotter,omitempty"`
	// Version is the version from its answer; absent where it did not answer.
	Version string `json:"version,omitempty"`
	// Answer is how it answered a Version call; absent where it was not called.
	Answer *Answer `json:"answer,omitempty"`
	// Assumed says why these directories and this socket are only its defaults: its configuration could not be read. Absent where it was
	// read.
	Assumed string `json:"assumed,omitempty"`
	// Problems say which of its files could not be read: a truncated database, invalid JSON.
	Problems []string `json:"problems"`
}

// An Answer is the result of a Version call to the runtime (CRI RuntimeService/Version).
type Answer struct {
	// Status is "ok", "timeout" (no answer, or no connection), "refused" (no process listens), "not-owned" (another process owns the socket,
	// so it was not called), "not-asked" (Detail says why: no socket on this machine, or an unknown owner) or "error" (it answered with one).
	Status string `json:"status"`
	Detail string `json:"detail,omitempty"`
	PID    int    `json:"pid,omitempty"` // of the process that was called
	// Seconds is how long that took. The caller of Ask sets it, because it has the clock.
	Seconds float64 `json:"duration_seconds"`
}

// A Sandbox has the namespaces of one pod, and with most runtimes a process that keeps them ("pause").
type Sandbox struct {
	ID string `json:"id"`
	// Runtime and Root are those of the Runtime that has it.
	Runtime string `json:"runtime"`
	Root    string `json:"root"`
	// PodUID, Namespace and Name are from the kubelet's labels; absent where no file has them.
	PodUID    string `json:"pod_uid,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Static says that its labels name a source other than the API server (kubernetes.io/config.source); a mirror pod has no sandbox of its
	// own.
	Static bool `json:"static,omitempty"`
	// Attempt counts the sandboxes of this pod before it; -1 unknown.
	Attempt int        `json:"attempt"`
	Created *time.Time `json:"created,omitempty"`
	Task
}

// A Container is a container of a pod, not its sandbox.
type Container struct {
	ID        string `json:"id"`
	Runtime   string `json:"runtime"`
	Root      string `json:"root"`
	SandboxID string `json:"sandbox_id,omitempty"`
	PodUID    string `json:"pod_uid,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	PodName   string `json:"pod_name,omitempty"`
	// Name is the container's name in the pod.
	Name string `json:"name,omitempty"`
	// Image is the name that it was created from, ImageID the image's id ("sha256:…") where known.
	Image   string `json:"image,omitempty"`
	ImageID string `json:"image_id,omitempty"`
	// Attempt counts the containers of this name before it; -1 unknown.
	Attempt int        `json:"attempt"`
	Created *time.Time `json:"created,omitempty"`
	// Finished and ExitCode are those of an ended container, where the runtime recorded them.
	Finished *time.Time `json:"finished,omitempty"`
	ExitCode *int       `json:"exit_code,omitempty"`
	// Snapshotter and SnapshotKey name its writable layer in containerd; for the others SnapshotKey is the layer's id.
	Snapshotter string `json:"snapshotter,omitempty"`
	SnapshotKey string `json:"snapshot_key,omitempty"`
	// LogPath is where its output goes.
	LogPath string `json:"log_path,omitempty"`
	Task
}

// A Task is the process side of a sandbox or container.
type Task struct {
	// InitPID is the first process, as the runtime recorded it at the start; 0 where unknown. InitStart is its start in clock ticks since
	// boot: together with the pid it identifies one process. 0 where unknown.
	InitPID   int    `json:"init_pid,omitempty"`
	InitStart uint64 `json:"init_start_ticks,omitempty"`
	// CgroupPath is as the runtime's configuration has it: a path, or "slice:prefix:id" for systemd.
	CgroupPath string `json:"cgroup_path,omitempty"`
	// Bundle is the directory of a task that has been created and not been deleted; "" if there is none.
	Bundle string `json:"bundle,omitempty"`
	// Removing says that the runtime began to remove it and did not finish, Dead that Docker failed to remove it.
	Removing bool `json:"removing,omitempty"`
	Dead     bool `json:"dead,omitempty"`
	// From says where it was found: "task" (the state directory: it was created since the boot), "metadata" (the
	// runtime's database or files).
	From []string `json:"from"`
}

// An Image is one image in the store of a runtime.
type Image struct {
	Runtime string `json:"runtime"`
	Root    string `json:"root"`
	// ID is the kubelet's id of it: the digest of the image's configuration ("sha256:…"), in containerd where a name has it. Digest is that of
	// the manifest or index.
	ID     string `json:"id,omitempty"`
	Digest string `json:"digest,omitempty"`
	// Names are its tags and digests, sorted; empty for one that lost its tag.
	Names []string `json:"names"`
	// Pinned says that the kubelet must never delete it (label io.cri-containerd.pinned of containerd; pinned_images and the pause image of
	// CRI-O).
	Pinned bool `json:"pinned,omitempty"`
	// SizeBytes is the size that the runtime reports to the kubelet: in containerd that of the compressed content, in the others that of the
	// unpacked layers. Absent where unknown.
	SizeBytes *int64     `json:"size_bytes,omitempty"`
	Created   *time.Time `json:"created,omitempty"` // when it came into the store
	// Containers are the ids of the containers that were created from it, running or not, sorted. For the kubelet an image is in use while
	// one exists.
	Containers []string `json:"containers"`
}
