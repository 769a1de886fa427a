package logs

import "strings"

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
			o.Kind = kindContainerNameReserved
		}
	case strings.Contains(text, "failed (delete)"), strings.Contains(text, "failed to destroy network"):
		o.Kind = KindCNIDeleteFailed
	case strings.Contains(text, "failed (add)"), strings.Contains(text, "failed to setup network"):
		o.Kind = kindCNIAddFailed
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
