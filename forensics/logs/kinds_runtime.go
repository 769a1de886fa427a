package logs

// The container runtime: remote_runtime.go [later log.go], kuberuntime_*.go, and containerd's and CRI-O's own lines.
// Reason, Code (gRPC), Container (id), PodName, PodUID.
const (
	KindSandboxCreateFailed   Kind = "sandbox-create-failed"   // `"RunPodSandbox from runtime service failed"`
	KindSandboxStopFailed     Kind = "sandbox-stop-failed"     // `"StopPodSandbox from runtime service failed"`
	kindSandboxRemoveFailed   Kind = "sandbox-remove-failed"   // `"RemovePodSandbox from runtime service failed"`
	kindContainerCreateFailed Kind = "container-create-failed" // `"CreateContainer in sandbox from runtime service failed"`
	kindContainerStartFailed  Kind = "container-start-failed"  // `"StartContainer from runtime service failed"`
	KindContainerStopFailed   Kind = "container-stop-failed"   // `"StopContainer from runtime service failed"`, dockerd's `failed to exit within … of kill`
	kindContainerRemoveFailed Kind = "container-remove-failed" // `"RemoveContainer from runtime service failed"`
	// kindSandboxChanged is the event of a sandbox that ended, or was never whole, and is made again.
	kindSandboxChanged Kind = "sandbox-changed"
	// kindContainerNameReserved: `failed to reserve container name`, `error reserving ctr name` or `pod name`, `Creation of …
	// not yet finished. Currently at stage …`: an earlier create still runs. PodName, PodUID, Container (its name).
	kindContainerNameReserved Kind = "container-name-reserved"
	// kindExecFailed: `"ExecSync cmd from runtime service failed"`: the command of a probe or a hook failed or took too
	// long. It says little of the runtime.
	kindExecFailed Kind = "exec-failed"
	// KindRuntimeCallFailed is any other call to the runtime that failed (List…, Status, Version, ImageFsInfo).
	// Reason begins with the call.
	KindRuntimeCallFailed Kind = "runtime-call-failed"
	// KindRuntimeDown: the socket refuses or is absent; `"Container runtime sanity check failed"`, `"Container runtime
	// not ready"`. Reason, Path is the socket.
	KindRuntimeDown Kind = "runtime-down"
	// kindRuntimeStarted: `containerd successfully booted`, and systemd's `Started containerd container runtime`.
	kindRuntimeStarted Kind = "runtime-started"
	// kindRuntimeAnswered: the title of the table that `crictl ps` and `crictl pods` print.
	kindRuntimeAnswered Kind = "runtime-answered"
	// KindShimFailed: `failed to delete shim`, `failed to kill container`, `ttrpc: closed`, `failed to create
	// containerd task` and the like. Reason.
	KindShimFailed Kind = "shim-failed"
	// kindShimSilent: containerd's `collecting metrics for C` or `converting task to protobuf` with error="context deadline exceeded": the shim
	// of the container has not answered. Container.
	kindShimSilent Kind = "shim-silent"
	// kindSandboxBegun: containerd's `RunPodSandbox for &PodSandboxMetadata{…}`, before it is known how that ends.
	kindSandboxBegun Kind = "sandbox-begun"
	// kindSandboxMade is that it was created: `RunPodSandbox for &PodSandboxMetadata{…} returns sandbox id`.
	kindSandboxMade Kind = "sandbox-made"
	// kindSandboxSilent: `"PodSandboxStatus of sandbox for pod"` with DeadlineExceeded: the runtime waits for the sandbox. Container.
	kindSandboxSilent Kind = "sandbox-silent"
	// kindSandboxEcho: `"Failed to create sandbox for pod"`, `"CreatePodSandbox for pod failed"`, which follow the former. Reason.
	kindSandboxEcho Kind = "sandbox-create-echo"
	// KindCNIDeleteFailed: `plugin type="x" failed (delete)`, `failed to destroy network for sandbox`. Reason.
	KindCNIDeleteFailed Kind = "cni-delete-failed"
	// kindCNIAddFailed: `plugin type="x" failed (add)`, `failed to setup network for sandbox`. Reason.
	kindCNIAddFailed Kind = "cni-add-failed"
	// kindNetworkNotReady: `"Container runtime network not ready"`. Reason.
	kindNetworkNotReady Kind = "network-not-ready"
)

// runtimeMessages are those of failed calls to the container runtime, and those of runtimes about their shims and networks.
var runtimeMessages = []message{
	{
		kind: KindSandboxCreateFailed, lane: LaneRuntime, words: "sandbox could not be created",
		rules: []rule{
			{start: "RunPodSandbox from runtime service failed", fill: runtimeCall},
			{event: "FailedCreatePodSandBox", fill: eventOfSandbox},
			{start: "Failed to create pod sandbox: ", fill: eventOfSandbox}, // the event's message alone
			{start: "Failed create pod sandbox: ", fill: eventOfSandbox},
			{start: "RunPodSandbox for ", has: " failed", fill: criCall},
			{start: "failed to start sandbox container for pod ", fill: eventOfSandbox},
			{start: "unable to pull sandbox image", fill: eventOfSandbox},
			{start: "run pod sandbox", has: ": rpc error: code = ", fill: eventOfSandbox}, // crictl
		},
	},
	{
		kind: kindSandboxSilent, lane: LaneRuntime, words: "the state of a sandbox is not known in time",
		rules: []rule{{start: "PodSandboxStatus of sandbox for pod", err: "code = DeadlineExceeded", fill: runtimeCall}},
	},
	{
		kind: kindSandboxEcho, lane: LaneRuntime, words: "sandbox could not be created, said again",
		rules: []rule{
			{start: "Failed to create sandbox for pod"},
			{start: "CreatePodSandbox for pod"},
		},
	},
	{
		kind: KindSandboxStopFailed, lane: LaneRuntime, words: "sandbox could not be stopped",
		rules: []rule{
			{start: "StopPodSandbox ", has: "from runtime service failed", fill: runtimeCall},
			{start: "Failed to stop sandbox {", fill: stopSandbox},
			{start: "Failed to stop sandbox", fill: runtimeCall},
			{start: "StopPodSandbox for ", has: " failed", fill: criCall},
		},
	},
	{
		kind: kindSandboxChanged, severity: SeverityRoutine,
		rules: []rule{{event: "SandboxChanged"}},
	},
	{
		kind: kindSandboxRemoveFailed, lane: LaneRuntime, words: "sandbox could not be removed",
		rules: []rule{
			{start: "RemovePodSandbox ", has: "from runtime service failed", fill: runtimeCall},
			{start: "RemovePodSandbox for ", has: " failed", fill: criCall},
		},
	},
	{
		kind: kindContainerCreateFailed, lane: LaneRuntime, words: "container could not be created",
		rules: []rule{
			{start: "CreateContainer in sandbox ", has: "from runtime service failed", fill: runtimeCall},
			{event: "FailedCreatePodContainer", fill: eventOfContainer},
			{start: "unable to ensure pod container exists: failed to create container for ", fill: eventOfContainer},
			{event: "Failed", fill: eventOfContainer},
			{start: "Error: failed to start container ", has: "OCI runtime create failed", fill: eventOfContainer}, // its message alone
			{start: "Error: failed to create containerd task: ", has: "OCI runtime create failed", fill: eventOfContainer},
			{start: "Error: container create failed: ", fill: eventOfContainer}, // CRI-O
			{start: "container create failed: ", fill: eventOfContainer},
			{start: "Error response from daemon: error while creating mount source path ", fill: eventOfContainer},
			{start: "Error response from daemon: mkdir /", has: ": file exists", fill: eventOfContainer}, // of a dead mount, too
			{start: "Error: failed to get sandbox container task: ", fill: wholeMessage},
			{start: "creating container", has: ": rpc error: code = ", fill: eventOfContainer}, // crictl
			{start: "CreateContainer within sandbox ", has: " failed", fill: criCall},
			{has: "failed to create shim task: ", fill: taskFailed},                                        // ctr, nerdctl and docker
			{has: "failed to create shim: OCI runtime", fill: taskFailed},                                  // containerd 1.4 and 1.5
			{start: "Error response from daemon: failed to create task for container: ", fill: taskFailed}, // dockerd since 23
			{has: "failed to create task for container: ", fill: taskFailed},
			{has: "failed to create containerd task: ", fill: taskFailed},
		},
	},
	{
		kind: kindContainerStartFailed, lane: LaneRuntime, words: "container could not be started",
		rules: []rule{
			{start: "StartContainer ", has: "from runtime service failed", fill: runtimeCall},
			{start: "StartContainer for ", has: " failed", fill: criCall},
			{start: "Error: failed to start container \"", fill: quotedOfStart},        // of an event, which people quote alone
			{start: "container start failed: PreStartHookError: ", fill: wholeMessage}, // kuberuntime_manager.go, up to 1.15
		},
	},
	{
		kind: KindContainerStopFailed, lane: LaneRuntime, words: "a container could not be stopped",
		rules: []rule{
			{start: "StopContainer ", has: "from runtime service failed", fill: runtimeCall},
			{event: "StopSilent", fill: wholeMessage},
			{has: ".scope stopping timed out. Killing.", fill: scopeStop}, // systemd
			{has: ".scope: Stopping timed out. Killing.", fill: scopeStop},
			{start: "Container termination failed with gracePeriod", fill: runtimeCall},
			{start: "Container \"", has: " termination failed with gracePeriod ", fill: terminationFailed},
			{start: "Container \"", has: " termination failed after ", fill: terminationFailed},
			{start: "Kill container failed", fill: runtimeCall},
			{start: "killContainer for pod failed", fill: runtimeCall},
			{start: "StopContainer for ", has: " failed", fill: criCall},
			{start: "An error occurs during waiting for container ", has: "to be killed", fill: notKilled},
			{start: "an error occurs during waiting for container ", has: "to be killed", fill: notKilled},
			{start: "Stopping container ", has: " timed out: ", find: "Stopping container ", fill: crioStop},
			{start: "Container ", has: " of kill - trying direct SIGKILL", fill: dockerStop},
			{has: "apparmor=\"DENIED\" operation=\"signal\"", err: "signal=kill", kernel: true, fill: signalDenied},
			{start: "Handler for ", has: " returned error: ", fill: dockerHandler},
			{start: "Error response from daemon: ", has: "did not receive an exit event", fill: dockerCLI},
			{start: "Error response from daemon: ", has: "s zombie and can not be killed", fill: dockerCLI},
			{start: "stopping the container ", has: "code = DeadlineExceeded", fill: crictl}, // crictl
			{start: "stopping the pod sandbox ", has: "code = ", find: "stopping the pod sandbox", fill: crictl},
		},
	},
	{
		kind: kindContainerRemoveFailed, lane: LaneRuntime, words: "container could not be removed",
		rules: []rule{
			{start: "RemoveContainer ", has: "from runtime service failed", fill: runtimeCall},
			{start: "RemoveContainer for ", has: " failed", fill: criCall},
			{start: "Error response from daemon: ", has: "emove root filesystem", fill: dockerCLI},
			{start: "failed to unmount target /run/", has: "device or resource busy", fill: wholeMessage},
			{start: "unlinkat /var/lib/docker/", has: "device or resource busy", fill: dockerCLI},
			{start: "Error response from daemon: ", has: "emove filesystem for", fill: dockerCLI},
			{start: "error removing container", err: "device or resource busy", fill: dockerRemove}, // dockerd itself
			{start: "removing the container ", has: "code = ", find: "removing the container", fill: crictl},
			{start: "removing the pod sandbox ", has: "code = ", find: "removing the pod sandbox", fill: crictl},
		},
	},
	{
		kind: KindRuntimeDown, lane: LaneRuntime, words: "the container runtime is down",
		rules: []rule{
			{has: "Cannot connect to the Docker daemon", fill: runtimeDown},
			{start: "Container runtime sanity check failed", fill: runtimeDown},
			{start: "grpc: addrConn.createTransport failed to connect to {", has: "containerd.sock ", fill: dialFailed},
			{start: "grpc: addrConn.createTransport failed to connect to {", has: "crio.sock ", fill: dialFailed},
			{start: "Container runtime not ready", fill: runtimeDown},
			{start: "Failed to create existing container: ", err: "containerd.sock: connect: connection refused", fill: runtimeDown}, // cAdvisor
			{start: "Failed to create existing container: ", err: "crio.sock: connect: connection refused", fill: runtimeDown},
			{start: "failed to clean up after shim disconnected", err: "containerd.sock.ttrpc: connect: connection refused", fill: runtimeDown}, // by a containerd that has ended
			{event: "RuntimeStopped", fill: wholeMessage},                                                                                       // a row that internal/kubectl has read of systemctl status
			{start: "Failed to run CRI service", err: "failed to recover state", runtime: true, fill: runtimeDown},                              // containerd, which ends then
			{start: "panic: assertion failed: Page expected to be: ", runtime: true, fill: runtimeDown},                                         // bbolt, of containerd's metadata
			{start: "panic: invalid page type: ", runtime: true, fill: runtimeDown},
			{start: "panic: freepages: failed to get all reachable pages", runtime: true, fill: runtimeDown},
			{start: "Create container failed with error: grpc: the connection is unavailable", fill: runtimeDown}, // dockerd 1.11 to 17.05
			{start: "Error response from daemon: grpc: the connection is unavailable", fill: runtimeDown},
			{start: "containerd: exit status ", fill: runtimeDown},                               // k3s up to 1.17
			{start: "containerd exited: exit status ", fill: runtimeDown},                        // k3s and RKE2 run it, and end with it
			{start: "Failed to start ", has: "containerd container runtime", fill: wholeMessage}, // systemd
			{start: "Failed to start ", has: "Docker Application Container Engine", fill: wholeMessage},
			{has: ".service: main process exited, code=", fill: runtimeCrashed},
			{has: ".service: Main process exited, code=", fill: runtimeCrashed},
		},
	},
	{
		kind: kindRuntimeStarted, severity: SeverityRoutine,
		rules: []rule{
			{start: "containerd successfully booted in ", fill: noCause},
			{start: "Daemon has completed initialization", fill: noCause}, // dockerd
			{start: "Started containerd container runtime", fill: noCause},
			{start: "Started ", has: ".service - containerd container runtime", fill: noCause}, // systemd 250 on
			{start: "Started ", has: ".service - Container Runtime Interface for OCI (CRI-O)", fill: noCause},
			{start: "Started ", has: ".service - Docker Application Container Engine", fill: noCause},
			{start: "Started Container Runtime Interface for OCI (CRI-O)", fill: noCause},
			{start: "Started Docker Application Container Engine", fill: noCause},
		},
	},
	{
		kind: kindSandboxBegun, severity: SeverityRoutine,
		rules: []rule{{start: "RunPodSandbox for &Pod", fill: sandboxBegun}, {start: "RunPodsandbox for &Pod", fill: sandboxBegun}}, // up to containerd 1.3
	},
	{kind: kindSandboxMade, severity: SeverityRoutine},
	{
		kind: kindRuntimeAnswered, severity: SeverityRoutine,
		rules: []rule{
			{start: "CONTAINER ", has: " CREATED      ", fill: noCause},
			{start: "POD ID ", has: " CREATED      ", fill: noCause},
		},
	},
	{
		kind: kindExecFailed, words: "command of a probe or hook failed",
		rules: []rule{
			{start: "ExecSync ", has: "from runtime service failed", fill: execFailed},
			{start: "ExecSync for ", has: " failed", find: "ExecSync for ", fill: criCall},
			{event: "Unhealthy"},
			{event: "FailedPreStopHook"},
			{event: "FailedPostStartHook"},
		},
	},
	{
		kind: KindRuntimeCallFailed, lane: LaneRuntime, byReason: true, words: "a call to the container runtime failed",
		rules: []rule{
			{start: "listing containers", has: "rpc error: code = ", fill: crictlCall("ListContainers")}, // crictl from here on
			{start: "listing pod sandboxes", has: "rpc error: code = ", fill: crictlCall("ListPodSandbox")},
			{start: "getting status of runtime", has: "rpc error: code = ", fill: crictlCall("Status")},
			{start: "getting the runtime version", has: "rpc error: code = ", fill: crictlCall("Version")},
			{start: "validate service connection: ", has: "rpc error: code = ", fill: crictlCall("Version")},
			{start: "failed to connect: failed to connect: context deadline exceeded", fill: crictlLost},
			{event: "RuntimeSilent", fill: unansweredByHand},
			{start: "Error getting summary for resourceMetric prometheus endpoint", err: "failed to list all containers: rpc error: code = DeadlineExceeded", fill: unlisted},
			{has: " from runtime service failed", fill: otherCall},
			{has: " from image service failed", fill: otherCall},
			{start: "ContainerStatus for ", has: " failed", fill: ownCall}, // containerd's own lines from here on
			{start: "PodSandboxStatus for ", has: " failed", fill: ownCall},
			{start: "ListContainers with filter &", has: " failed", fill: ownCall},
			{start: "ListPodSandbox with filter &", has: " failed", fill: ownCall},
			{start: "UpdateContainerResources for ", has: " failed", fill: ownCall},
			{start: "ContainerStats for ", has: " failed", fill: ownCall},
			{start: "ListContainerStats failed", fill: ownCall},
			{start: "ListPodSandboxStats failed", fill: ownCall},
			{start: "ImageFsInfo failed", fill: ownCall},
		},
	},
	{
		kind: kindNetworkNotReady, lane: LaneRuntime, byReason: true, words: "the network of the runtime is not ready",
		rules: []rule{
			{start: "Container runtime network not ready", fill: networkNotReady},
			{start: "runtime network not ready: NetworkReady=false", fill: wholeMessage},
			{start: "container runtime network not ready: NetworkReady=false", fill: wholeMessage},
			{start: "message:docker: network plugin is not ready", fill: wholeMessage},
			{event: "NetworkNotReady", fill: networkOfPod},
			{start: "Unable to update cni config", fill: wholeMessage},              // dockershim
			{start: "failed to load cni during init", fill: wholeMessage},           // containerd
			{start: "failed to reload cni configuration after", fill: wholeMessage}, // containerd
		},
	},
	{
		kind: kindContainerNameReserved, lane: LaneRuntime, words: "container name is still reserved",
		rules: []rule{
			{has: "failed to reserve container name", fill: reserved},
			{has: "failed to reserve sandbox name", fill: reserved},
			{has: "error reserving ctr name", fill: reserved},
			{start: "Error: kubelet may be retrying requests that are timing out in CRI-O", fill: reserved},
			{has: "error reserving pod name", fill: reserved},
			{has: "not yet finished. Currently at stage", fill: reserved},
		},
	},
	{
		kind: KindCNIDeleteFailed, lane: LaneRuntime, words: "network plugin cannot tear down a sandbox",
		rules: []rule{
			{has: "failed (delete)", fill: wholeMessage},
			{has: "ailed to destroy network for sandbox", fill: wholeMessage},
			{start: "Error deleting ", has: " from network ", fill: cniPod}, // the kubelet with dockershim
			{start: "Error deleting network: ", fill: wholeMessage},
			{start: "error removing pod ", has: " from CNI network ", fill: cniPod}, // CRI-O
		},
	},
	{
		kind: kindCNIAddFailed, lane: LaneRuntime, words: "network plugin cannot set up a sandbox",
		rules: []rule{
			{has: "failed (add)", fill: wholeMessage},
			{has: "ailed to setup network for sandbox", fill: wholeMessage},
			{start: "failed to allocate for range ", has: "no IP addresses available", fill: wholeMessage}, // of host-local
			{start: "Failed CNI request: ", has: "failed to assign an IP address", fill: wholeMessage},
			{start: "add cmd: failed to assign an IP address", fill: wholeMessage}, // of aws-cni
			{start: "\"aws-cni\" failed (add): ", fill: wholeMessage},              // without its beginning
			{has: "open /run/flannel/subnet.env: no such file", fill: wholeMessage},
			{has: "unable to allocate IP address: Post http://127.0.0.1:6784/ip/", prose: true, fill: wholeMessage}, // of Weave Net
			{start: "flannel exited: ", fill: wholeMessage},                                                         // within k3s
			{start: "Error adding ", has: " to network ", fill: cniPod},                                             // the kubelet with dockershim
			{start: "Error adding network: ", fill: wholeMessage},
			{start: "error adding pod ", has: " to CNI network ", fill: cniPod}, // CRI-O
		},
	},
	{
		kind: KindShimFailed, lane: LaneRuntime, words: "container shim failed",
		rules: []rule{
			{has: "failed to delete shim", fill: shimFailed},
			{has: "failed to kill container", fill: shimFailed},
			{has: "failed to create containerd task", fill: shimFailed},
			{has: "failed to create shim", fill: shimFailed},
			{has: "ttrpc: closed", fill: shimFailed},
			{has: "failed to delete task", fill: shimFailed},
			{has: "failed to handle container TaskExit event", fill: shimFailed},
			{has: "failed to handle sandbox TaskExit", fill: shimFailed},
			{start: "Failed to handle backOff event ", fill: shimFailed},
			{start: "failed to handle backOff event ", fill: shimFailed},
			{start: "failed to shutdown shim task", fill: shimFailed},
		},
	},
	{
		kind: kindShimSilent, lane: LaneRuntime, words: "container shim does not respond",
		rules: []rule{
			{start: "get state for ", err: "context deadline exceeded", fill: shimFailed, runtime: true},
			{start: "collecting metrics for ", err: "context deadline exceeded", fill: shimFailed, runtime: true},
			{start: "converting task to protobuf", err: "context deadline exceeded", fill: shimFailed, runtime: true},
		},
	},
}
