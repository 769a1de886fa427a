package logs

import "strings"

// runtimeRules know the calls to the container runtime that failed, and what runtimes say of their shims and networks.
func runtimeRules() []rule {
	return []rule{
		{start: "RunPodSandbox from runtime service failed", kind: KindSandboxCreateFailed, fill: runtimeCall},
		{start: "StopPodSandbox ", has: "from runtime service failed", kind: KindSandboxStopFailed, fill: runtimeCall},
		{start: "RemovePodSandbox ", has: "from runtime service failed", kind: KindSandboxRemoveFailed, fill: runtimeCall},
		{start: "CreateContainer in sandbox ", has: "from runtime service failed", kind: KindContainerCreateFailed, fill: runtimeCall},
		{start: "StartContainer ", has: "from runtime service failed", kind: KindContainerStartFailed, fill: runtimeCall},
		{start: "StopContainer ", has: "from runtime service failed", kind: KindContainerStopFailed, fill: runtimeCall},
		{start: "RemoveContainer ", has: "from runtime service failed", kind: KindContainerRemoveFailed, fill: runtimeCall},
		{start: "Container termination failed with gracePeriod", kind: KindContainerStopFailed, fill: runtimeCall},
		{start: "Container \"", has: " termination failed with gracePeriod ", kind: KindContainerStopFailed, fill: terminationFailed},
		{has: "Cannot connect to the Docker daemon", kind: KindRuntimeDown, fill: runtimeDown},
		{start: "ExecSync ", has: "from runtime service failed", kind: kindExecFailed, fill: execFailed},
		{start: "Failed to stop sandbox {", kind: KindSandboxStopFailed, fill: stopSandbox},
		{start: "Failed to stop sandbox", kind: KindSandboxStopFailed, fill: runtimeCall},
		{has: " from runtime service failed", kind: KindRuntimeCallFailed, fill: otherCall},
		{has: " from image service failed", kind: KindRuntimeCallFailed, fill: otherCall},
		{start: "Container runtime sanity check failed", kind: KindRuntimeDown, fill: runtimeDown},
		{start: "Container runtime not ready", kind: KindRuntimeDown, fill: runtimeDown},
		{start: "Container runtime network not ready", kind: KindNetworkNotReady, fill: networkNotReady},
		{has: "failed to reserve container name", kind: KindContainerNameReserved, fill: wholeMessage},
		{has: "failed (delete)", kind: KindCNIDeleteFailed, fill: wholeMessage},
		{has: "failed to destroy network for sandbox", kind: KindCNIDeleteFailed, fill: wholeMessage},
		{has: "failed (add)", kind: KindCNIAddFailed, fill: wholeMessage},
		{has: "failed to setup network for sandbox", kind: KindCNIAddFailed, fill: wholeMessage},
		{has: "failed to delete shim", kind: KindShimFailed, fill: wholeMessage},
		{has: "failed to kill container", kind: KindShimFailed, fill: wholeMessage},
		{has: "failed to create containerd task", kind: KindShimFailed, fill: wholeMessage},
		{has: "failed to create shim", kind: KindShimFailed, fill: wholeMessage},
		{has: "ttrpc: closed", kind: KindShimFailed, fill: wholeMessage},
		{has: "shim disconnected", kind: KindShimFailed, fill: wholeMessage},
	}
}

// runtimeCall reads the container or sandbox from the old spelling: `StopContainer "ID" from runtime service failed`.
func runtimeCall(e *entry, o *occurrence) bool {
	if id := e.Get("containerID"); id != "" {
		o.Container = cut(containerID(id), maxName)
	}
	if o.Container == "" && e.Fields == nil {
		o.Container = cut(between(e.Message, `"`, `"`), maxName)
	}
	text := errorOf(e)
	switch {
	case o.Kind != KindSandboxStopFailed && o.Kind != KindSandboxCreateFailed:
		if strings.Contains(text, "failed to reserve container name") {
			o.Kind = KindContainerNameReserved
		}
	case strings.Contains(text, "failed (delete)"), strings.Contains(text, "failed to destroy network"):
		o.Kind = KindCNIDeleteFailed
	case strings.Contains(text, "failed (add)"), strings.Contains(text, "failed to setup network"):
		o.Kind = KindCNIAddFailed
	}
	if o.Reason == "" {
		o.Reason, o.Code = cut(text, maxReason), code(text)
	}
	return true
}

// execFailed reads `ExecSync ID 'cmd' from runtime service failed: …`.
func execFailed(e *entry, o *occurrence) bool {
	if o.Container == "" && e.Fields == nil {
		o.Container = cut(word(e.Message, "ExecSync ", " "), maxName)
	}
	return true
}

// stopSandbox reads `Failed to stop sandbox {"containerd" "ID"}`.
func stopSandbox(e *entry, o *occurrence) bool {
	o.Container = cut(between(e.Message, `" "`, `"`), maxName)
	return true
}

// terminationFailed reads `Container "docker://ID" termination failed with gracePeriod 30: …`.
func terminationFailed(e *entry, o *occurrence) bool {
	_, text, _ := strings.Cut(e.Message, "gracePeriod ")
	_, text, _ = strings.Cut(text, ": ")
	o.Container = cut(containerID(between(e.Message, `"`, `"`)), maxName)
	o.Reason, o.Code = cut(text, maxReason), code(text)
	return true
}

// otherCall puts the call's name before the error.
func otherCall(e *entry, o *occurrence) bool {
	call := firstWord(e.Message)
	text := errorOf(e)
	if text == e.Message {
		_, text, _ = strings.Cut(e.Message, "service failed: ")
	}
	switch grpcCode(text) {
	case "NotFound":
		o.Kind = noiseAlreadyGone
	case "Unimplemented":
		o.Kind = noiseUnimplemented
	}
	if !strings.Contains(text, "connection refused") && !strings.Contains(text, "no such file") {
		o.Reason, o.Code = cut(call+": "+text, maxReason), code(text)
		return true
	}
	o.Kind, o.Reason, o.Code, o.Path = KindRuntimeDown, cut(call+": "+text, maxReason), code(text), socketIn(text)
	return true
}

func runtimeDown(e *entry, o *occurrence) bool {
	text := errorOf(e)
	if v := e.Get("runtimeReady"); v != "" {
		text = v
	}
	o.Reason, o.Code, o.Path = cut(text, maxReason), code(text), socketIn(text)
	return true
}

// socketIn is the path of the runtime's socket in an error of gRPC, "dial unix /run/…".
func socketIn(text string) string {
	return cut(strings.Trim(word(text, "dial unix ", " \n"), `:"`), maxName)
}

func networkNotReady(e *entry, o *occurrence) bool {
	text := e.Get("networkReady")
	if text == "" {
		_, text, _ = strings.Cut(e.Message, ": ")
	}
	o.Reason, o.Code = cut(text, maxReason), ""
	return true
}

// wholeMessage takes the message, or its error, as the cause. Echoes of an error as an event of the API are passed
// over: the line before said it.
func wholeMessage(e *entry, o *occurrence) bool {
	if strings.HasPrefix(e.Message, "Event") {
		return false
	}
	text := errorOf(e)
	o.Reason, o.Code = cut(text, maxReason), code(text)
	if o.Container == "" {
		o.Container = cut(strings.Trim(word(text, "for sandbox ", " :"), `\"`), maxName)
	}
	return true
}
