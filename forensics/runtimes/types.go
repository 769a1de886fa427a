// Package runtimes says what container runtimes leave on disk and in cgroups of the sandboxes, containers and images that
// they have for the kubelet. It names containerd, CRI-O and Docker, and parses what can be parsed without a node.
//
//   - [ParseMetadata] reads the database of containerd, whose owner may be writing to it.
//   - [OCIConfig], [ParseRuncState] and [PodOfCgroup] understand what is below the runtimes: bundles, the state of runc and
//     crun, and the names of cgroups.
//   - [OfEndpoint] and [OfProcess] name the runtime of a socket and of a process.
//
// Package runtimes/live reads the files of a host and asks a runtime whether it answers.
//
// The formats are those of containerd (core/metadata/buckets.go, and go.etcd.io/bbolt internal/common, version 2 of the file),
// of the OCI runtime specification (config.md), of runc (libcontainer, BaseState) and crun (status), and of the kubelet
// (pkg/kubelet/cm for cgroups, pkg/kubelet/types for annotations). They were compared with containerd 1.6.20 and bbolt itself.
package runtimes

import "time"

// Stores are what all container runtimes of a node left on disk, each list sorted by runtime and then by id or name.
type Stores struct {
	Runtimes   []Runtime
	Sandboxes  []Sandbox
	Containers []Container
	Images     []Image
	// Unread says why a configuration file, or a directory of them, could not be read or understood, by its path. One that is
	// not where it is by default is not in here, and one that a process was told to use is.
	Unread map[string]error `json:"-"`
}

// A Runtime is a container runtime that this node has, as its directories and configuration tell.
type Runtime struct {
	// Name is "containerd", "cri-o" or "docker"; the last serves the kubelet through cri-dockerd or dockershim.
	Name string `json:"name"`
	// Root is the directory of what outlives a reboot (containerd --root, CRI-O's storage root, docker's data-root), State
	// that of what does not (containerd --state, CRI-O's storage runroot, docker's exec-root). One may be absent on disk.
	Root  string `json:"root"`
	State string `json:"state,omitempty"`
	// Config is the configuration file that was read; absent where there is none.
	Config string `json:"config,omitempty"`
	// Socket is where it serves the kubelet.
	Socket string `json:"socket,omitempty"`
	// SnapshotDir is the directory of the file systems of images and containers: containerd's snapshotter (Snapshotter is
	// its name), the storage driver of the others.
	SnapshotDir string `json:"snapshot_dir,omitempty"`
	Snapshotter string `json:"snapshotter,omitempty"`
	// Version is what it said of itself, so only where it answered.
	Version string `json:"version,omitempty"`
	// Answer is how it answered a question; absent where it was not asked.
	Answer *Answer `json:"answer,omitempty"`
	// Assumed says why it may have other directories and another socket than these, which are its defaults: the configuration
	// that would tell could not be read. Absent where it could.
	Assumed string `json:"assumed,omitempty"`
	// Problems say what of it could not be read: a cut database, a file that is no JSON.
	Problems []string `json:"problems"`
}

// An Answer is what became of the question for the runtime's version (CRI RuntimeService/Version).
type Answer struct {
	// Status is "ok", "timeout" (it took the connection, or did not even do that, and said nothing), "refused" (nobody
	// listens), "not-owned" (another process owns the socket, so it was not asked), "not-asked" (Detail says why: there is
	// none on this machine, or who owns it cannot be seen) or "error" (it answered with one).
	Status string `json:"status"`
	Detail string `json:"detail,omitempty"`
	PID    int    `json:"pid,omitempty"` // of the process that was asked
	// Seconds is how long that took; Ask leaves it to its caller, who has the clock.
	Seconds float64 `json:"duration_seconds"`
}

// A Sandbox is the frame of one pod: its namespaces, and with most runtimes a process that holds them ("pause").
type Sandbox struct {
	ID string `json:"id"`
	// Runtime and Root are those of the Runtime that has it.
	Runtime string `json:"runtime"`
	Root    string `json:"root"`
	// PodUID, Namespace and Name are what the kubelet told the runtime; absent where no file has them.
	PodUID    string `json:"pod_uid,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Static says that its labels name a source other than the API server (kubernetes.io/config.source, as the kubelet's
	// annotations tell); a mirror pod has no sandbox of its own.
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
	// Finished and ExitCode are of one that ended, where the runtime wrote that down.
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
	// InitPID is the first process as the runtime wrote it down when it started; 0 where none is told. InitStart is when
	// it started, in clock ticks since boot: with the pid it names one process. 0 where unknown.
	InitPID   int    `json:"init_pid,omitempty"`
	InitStart uint64 `json:"init_start_ticks,omitempty"`
	// CgroupPath is as the runtime's configuration has it: a path, or "slice:prefix:id" for systemd.
	CgroupPath string `json:"cgroup_path,omitempty"`
	// Bundle is the directory of a task that has been created and not been deleted; "" if there is none.
	Bundle string `json:"bundle,omitempty"`
	// Removing says that the runtime had begun to remove it and did not get to the end, Dead that Docker failed to.
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
	// ID is what the kubelet calls it: the digest of the image's configuration ("sha256:…"), in containerd where a name
	// has it. Digest is that of the manifest or index.
	ID     string `json:"id,omitempty"`
	Digest string `json:"digest,omitempty"`
	// Names are its tags and digests, sorted; empty for one that lost its tag.
	Names []string `json:"names"`
	// Pinned says that the runtime tells the kubelet never to delete it (label io.cri-containerd.pinned of containerd;
	// pinned_images and the pause image of CRI-O).
	Pinned bool `json:"pinned,omitempty"`
	// SizeBytes is what the runtime tells the kubelet: in containerd of the compressed content, in the others of the
	// unpacked layers. Absent where unknown.
	SizeBytes *int64     `json:"size_bytes,omitempty"`
	Created   *time.Time `json:"created,omitempty"` // when it came into the store
	// Containers are the ids of the containers that were made from it, running or not, sorted. The kubelet takes an image
	// for used while one exists.
	Containers []string `json:"containers"`
}
