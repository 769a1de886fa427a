package logs

import (
	"slices"
	"strings"
)

// A Cause is the cause that a message gives, where a check decides by it. It is recognized by the words of the kubelet and the runtime,
// which differ between releases.
type Cause string

const (
	// CauseRuntimeDown: the container runtime does not respond to the kubelet (pkg/kubelet/runtime.go, "container runtime is down").
	CauseRuntimeDown Cause = "runtime-down"
	// CausePressure: a pod was rejected because of a pressure condition of the node (DiskPressure, MemoryPressure, PIDPressure).
	CausePressure Cause = "pressure"
	// CauseNothingToFree: garbage collection found too little that it may delete.
	CauseNothingToFree Cause = "nothing-to-free"
	// CauseNoRegistry: no registry answered. One that answers has the image, or never had it.
	CauseNoRegistry Cause = "no-registry"

	// causeNoAddress: the network plugin has no free address for a pod (the plugins host-local and whereabouts, clouds' own).
	causeNoAddress Cause = "no-address"
	// causeSandboxImage: the image of sandboxes, which each pod needs, is missing and cannot be pulled (containerd, cri-dockerd).
	causeSandboxImage Cause = "sandbox-image"
	// causeNotKilled: the container was killed, and did not end in time.
	causeNotKilled Cause = "not-killed"
	// causeHung: a Ceph daemon has not answered for the session's time of 5 min (fs/ceph/mds_client.c, "mds0 hung").
	causeHung Cause = "hung"
	// causeDisconnected and causeStale: a mount answers with ENOTCONN, since its server has ended, or with ESTALE.
	causeDisconnected Cause = "disconnected"
	causeStale        Cause = "stale"
	// causeLockup and causeMemory: why the kernel has panicked (kernel/watchdog.c, kernel/rcu/tree_stall.h, mm/oom_kill.c).
	causeLockup Cause = "lockup"
	causeMemory Cause = "memory"
	// causeNoConnection: a Ceph client could not connect to a daemon (net/ceph/messenger.c, "connect error"); the API server was not reached,
	// or has a certificate that the kubelet does not trust. A watch that ends, as each does now and then, has another error.
	causeNoConnection Cause = "no-connection"
	// causePLEG and causeNetwork: why the kubelet has set its node to NotReady (pkg/kubelet/nodestatus/setters.go, ReadyCondition).
	causePLEG    Cause = "pleg"
	causeNetwork Cause = "network"
	// causeSilent: the kubelet does not report, says the controller.
	causeSilent Cause = "silent"

	// causeSlowSystemd: systemd has not removed a cgroup within the 30 s for which runc waits (libcontainer/cgroups/systemd, stopUnit).
	causeSlowSystemd Cause = "slow-systemd"
	// causePIDs: the process ids of the node are under pressure (pkg/kubelet/eviction, resource "pids").
	causePIDs Cause = "pids"
	// causeNoThread: the Go or the C runtime cannot make a thread, and ends the program (runtime/cgo, "pthread_create failed"; runtime/os_linux.go).
	causeNoThread Cause = "no-thread"
	// causeThreadLimit: a program of Go has more threads than it allows itself (runtime/proc.go, checkmcount).
	causeThreadLimit Cause = "thread-limit"

	// causeInotify: the kubelet cannot watch a file or a directory of cgroups, because the watches or instances of inotify are used up.
	causeInotify Cause = "inotify"

	// causeCheckpoint, causeCgroupDriver, causeCertificate, causeDiskFull: what a kubelet ends for besides.
	causeCheckpoint   Cause = "checkpoint"
	causeCgroupDriver Cause = "cgroup-driver"
	causeSetting      Cause = "setting" // a flag or a field of the configuration that this version, or this node, does not take
	causeCertificate  Cause = "certificate"
	causeDiskFull     Cause = "disk-full"
	causeIOError      Cause = "io-error" // EIO of a path
	// causeNoBootstrap: its client certificate cannot be used, and nothing is there to get another one with (bootstrap.go, LoadClientCert).
	causeNoBootstrap Cause = "no-bootstrap"

	// What blocks the removal of an orphaned pod directory (kubelet_volumes.go, 1.5 to 1.36).

	CauseSubpathLeft    Cause = "subpath-left"     // a subpath, mounted or not
	CauseVolumeLeft     Cause = "volume-left"      // directories of volumes that are not mounted
	CauseMounted        Cause = "mounted"          // a mount, in this mount namespace or in another one
	CauseFileInVolumes  Cause = "file-in-volumes"  // a file where only directories are expected
	CauseFileOfSubpath  Cause = "file-of-subpath"  // the file that a subpath was bound to
	CauseNotEmpty       Cause = "not-empty"        // data
	CauseServerNotThere Cause = "server-not-there" // a mount that answers with an error, since its server is gone
)

// denied says whether the kernel has denied that a container is killed.
func (e Event) denied() bool {
	return e.Kind == KindContainerStopFailed && e.Origin == "kernel" && e.Code == "EACCES"
}

// Cause is the cause that an event gives; "" where it gives no known one. It is computed from Kind, Reason and Code, so that evidence of
// every version has it.
func (e Event) Cause() Cause {
	says := func(words ...string) bool { return containsAny(e.Reason, words) }
	if e.refused() {
		return CauseRuntimeDown
	}
	switch e.Kind {
	case KindPLEGRelistFailed, KindRuntimeCallFailed:
		if says("Cannot connect to the Docker daemon") { // dockershim gives it no code
			return CauseRuntimeDown
		}
	case KindSyncLoopSkipped, KindPLEGUnhealthy:
		if says("runtime is down") {
			return CauseRuntimeDown
		}
	case kindNodeNotReady:
		switch {
		case says("runtime is down", "runtime not ready"):
			return CauseRuntimeDown
		case says("PLEG is not healthy"):
			return causePLEG
		case says("network not ready", "NetworkPluginNotReady", "network plugin is not ready"):
			return causeNetwork
		case says("topped posting node status"):
			return causeSilent
		}
	case kindKubeletFatal:
		if says("inotify_add_watch", "inotify_init", "fsnotify watcher") && says("no space left on device", "too many open files") {
			return causeInotify
		}
		switch {
		case says("state checkpoint policy", "checkpoint is corrupted", "restore state from checkpoint", "state checkpoint", "state file",
			"expected machine state", "machine state can not be empty", "with CPUs in state ", "present in defaultCpuSet"): // pkg/kubelet/cm, validateState
			return causeCheckpoint
		case says("is different from docker cgroup driver"):
			return causeCgroupDriver
		case says("unknown flag: ", "unknown shorthand flag: ", "unknown field \"", "invalid configuration: ", "unrecognized feature gate: ", // cmd/kubelet/app/server.go
			"failed to load Kubelet config", "failed to load kubelet config", "failed to validate kubelet ", "unning with swap on is not supported",
			"unable to determine reserved CPU resources for static policy", "determined by Node Allocatable feature", // pkg/kubelet/cm
			"grace period must be specified for the soft eviction threshold"): // pkg/kubelet/eviction
			return causeSetting
		case says("validate service connection", "validate CRI v1 ", "get remote runtime typed version failed") && says(".sock: connect: "): // cmd/kubelet/app/server.go, PreInitRuntimeService, since 1.26
			return CauseRuntimeDown
		case says("certificate has expired or is not yet valid", "is expired"):
			return causeCertificate
		case says("unable to load bootstrap kubeconfig"):
			return causeNoBootstrap
		case says("no space left on device"):
			return causeDiskFull
		}
	case KindPodSyncFailed:
		switch {
		case says("network is not ready"): // pkg/kubelet/kubelet.go, NetworkNotReadyErrorMsg: pods without hostNetwork wait
			return causeNetwork
		case says("failed to get sandbox image"):
			return causeSandboxImage
		}
	case KindCgroupDeleteFailed:
		if says("waiting for systemd to remove") {
			return causeSlowSystemd
		}
	case KindEvictionReclaiming, KindEvictionMustEvict, kindEvictionRelieved:
		if e.Reason == "pids" {
			return causePIDs
		}
	case kindKernelPanic:
		switch {
		case says("softlockup: ", "ard LOCKUP", "RCU Stall"):
			return causeLockup
		case says("ut of memory", "deadlocked on memory"):
			return causeMemory
		}
	case KindAPIUnreachable:
		if says("write tcp ", "read tcp ") && says("/api/v1/nodes/", "/kube-node-lease/") {
			return causeNoConnection
		}
		if says("dial tcp", "x509: ", "exceeds retry count") { // the last one comes after five tries (pkg/kubelet/kubelet_node_status.go)
			return causeNoConnection
		}
	case kindProcessLimit:
		switch {
		case says("pthread_create failed", "failed to create new OS thread"):
			return causeNoThread
		case says("program exceeds 10000-thread limit"):
			return causeThreadLimit
		}
	case KindKernelCephDown:
		switch {
		case says(" hung"):
			return causeHung
		case says("connect error"), says("socket closed (con state ") && !says("(con state OPEN)"): // before it was open (net/ceph/messenger.c)
			return causeNoConnection
		}
	case KindContainerStopFailed, KindSandboxStopFailed: // a sandbox also waits for its network
		if e.Code == "DeadlineExceeded" && e.Kind == KindContainerStopFailed || e.denied() || says("to be killed: wait container", "did not receive an exit event", "of kill - trying", "operation timeout") {
			return causeNotKilled
		}
	case KindSandboxCreateFailed, kindSandboxEcho:
		if says("failed to get sandbox image", "nable to pull sandbox image", "failed pulling image \"") {
			return causeSandboxImage
		}
		if says("etup network for sandbox", "failed (add)", " to CNI network ") {
			return causeNetwork
		}
	case kindCNIAddFailed:
		if says("no IP addresses available", "failed to allocate for range", "no available IP", "InsufficientFreeAddresses", "assign an IP address", "o more IPs", "address pool exhausted", "ould not allocate IP", "o available address",
			"range is full", "Assigned 0 out of", "IpNotEnough", "IPNotEnough", "no free IP") {
			return causeNoAddress
		}
	case KindAdmissionRefused:
		if says("Pressure") {
			return CausePressure
		}
	case KindImageGCFailed, KindContainerGCFailed, kindImageFSCapacity:
		switch {
		case says("eligible to free", "required amount of images"):
			return CauseNothingToFree
		case says("Cannot connect to the Docker daemon", "docker.sock: read: connection reset by peer", ".sock: connect: connection refused"):
			return CauseRuntimeDown
		}
	case KindImagePullFailed:
		if e.Code == "DeadlineExceeded" || says("dial tcp", "i/o timeout", "no such host", "connection refused", "no route to host",
			"network is unreachable", "server misbehaving", "TLS handshake timeout", "deadline exceeded") {
			return CauseNoRegistry
		}
	case KindOrphan, KindOrphanDetail, KindOrphanRemoveFailed, KindOrphanCleanupFailed:
		return e.orphanCause(says)
	}
	switch {
	case e.Kind == kindPathIOError, e.Kind == kindKubeletFatal && e.Code == "EIO":
		return causeIOError
	case e.Code == "ENOTCONN", e.Code == "EHOSTDOWN" && e.Kind == kindMountDead, says("ransport endpoint is not connected"),
		says(": host is down") && !says(": connect: host is down"): // as Go writes EHOSTDOWN of a file; mount.cifs writes another one when it cannot mount
		return causeDisconnected
	case e.Code == "ESTALE", says("tale file handle", "tale NFS file handle"):
		return causeStale
	}
	return ""
}

func (e Event) orphanCause(says func(...string) bool) Cause {
	noDirectory := e.Code == "ENOTDIR" || says("not a directory")
	switch {
	case says("subpaths are still present"):
		return CauseSubpathLeft
	case says("still present on disk"):
		return CauseVolumeLeft
	case e.Code == "EBUSY", says("mount point"):
		return CauseMounted
	case noDirectory && says("volumes dir"):
		return CauseFileInVolumes
	case noDirectory && says("subpath"):
		return CauseFileOfSubpath
	case e.Code == "ENOTEMPTY", says("not empty"):
		return CauseNotEmpty
	}
	switch e.Code {
	case "ESTALE", "ENOTCONN", "EHOSTDOWN", "EIO", "EACCES":
		return CauseServerNotThere
	}
	return ""
}

// Call is the call to the runtime that an event of [KindRuntimeCallFailed] is about ("ListPodSandbox"); "" for others.
func (e Event) Call() string {
	if e.Kind != KindRuntimeCallFailed {
		return ""
	}
	return strings.TrimSuffix(firstWord(e.Reason), ":")
}

// NamesDriver says whether a message names a CSI driver, if only in the path of a socket or within an error.
func (e Event) NamesDriver(driver string) bool {
	return e.Driver == driver || strings.Contains(e.Path, driver) || strings.Contains(e.Reason, driver)
}

// refused says of a failed call about a container or sandbox that the runtime's own socket refused it, or was not there: a network plugin
// has a socket, too, but its errors come through the runtime, which gives them another code.
func (e Event) refused() bool {
	switch e.Kind {
	case KindSandboxCreateFailed, KindSandboxStopFailed, kindSandboxRemoveFailed, kindContainerCreateFailed, kindContainerStartFailed, KindContainerStopFailed, kindContainerRemoveFailed, KindPodKillFailed:
		return e.Code == "Unavailable" && strings.Contains(e.Reason, "dial unix ") && strings.Contains(e.Reason, ".sock: connect: ")
	}
	return false
}

// containsAny says whether a text has one of these words. It is not inlined: there would be dozens of copies of it.
//
//go:noinline
func containsAny(text string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}
