package logs

import (
	"cmp"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/cri"
	"github.com/nodeforensics/nodeforensics/internal/errno"
)

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
		if strings.Contains(text, "failed to reserve container name") || strings.Contains(text, "error reserving ctr name") {
			o.Kind = kindContainerNameReserved
			reservedFor(text, o)
		}
	case strings.Contains(text, "failed (delete)"), strings.Contains(text, "failed to destroy network"):
		o.Kind = KindCNIDeleteFailed
	case strings.Contains(text, "failed (add)"), strings.Contains(text, "failed to setup network"):
		o.Kind = kindCNIAddFailed
	}
	if o.Reason == "" {
		o.Reason, o.Code = cut(text, maxReason), code(text)
	}
	if o.Kind == kindContainerCreateFailed && o.Code == "NotFound" && strings.Contains(text, "failed to find sandbox id ") { // whose pod gets another one
		o.Kind = noiseAlreadyGone
	}
	if os := errno.Of(text); o.Path == "" && (os == "ENOTCONN" || os == "ESTALE") {
		o.Path, o.Code = pathIn(text), os
		o.PodUID = cmp.Or(o.PodUID, podOfPath(o.Path))
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

// terminationFailed reads `Container "docker://ID" termination failed with gracePeriod 30: …`, and of kubelets up to 1.5
// `Container "ID name namespace/pod" termination failed after 2m0s: …`.
func terminationFailed(e *entry, o *occurrence) bool {
	_, text, _ := strings.Cut(e.Message, "termination failed ")
	_, text, _ = strings.Cut(text, ": ")
	subject := strings.Fields(between(e.Message, `"`, `"`))
	if len(subject) > 0 {
		o.Container = cut(containerID(subject[0]), maxName)
	}
	if len(subject) == 3 && strings.Contains(subject[2], "/") {
		o.PodName = cut(subject[2], maxName)
	}
	o.Reason, o.Code = cut(text, maxReason), code(text)
	return true
}

// criCall reads containerd's own line about a call that it refuses or ends: `StopContainer for "ID" failed`, `RunPodSandbox for
// &PodSandboxMetadata{Name:p,Uid:u,Namespace:n,Attempt:0,} failed, error`; the error is a field. What is not there is removed.
func criCall(e *entry, o *occurrence) bool {
	id := between(e.Message, `"`, `"`)
	if o.Kind != kindContainerCreateFailed { // which names the sandbox
		o.Container = cut(id, maxName)
	}
	if name, namespace := word(e.Message, "{Name:", ",}"), word(e.Message, "Namespace:", ",}"); name != "" && namespace != "" {
		o.PodName = cut(namespace+"/"+name, maxName)
		if uid := word(e.Message, "Uid:", ",}"); isUID(uid) {
			o.PodUID = uid
		}
	}
	if !runtimeCall(e, o) {
		return false
	}
	switch text := errorOf(e); {
	case o.Code == "NotFound":
		o.Kind = noiseAlreadyGone
	case strings.Contains(text, "failed to reserve sandbox name"):
		o.Kind = kindContainerNameReserved
		reservedFor(text, o)
	}
	return true
}

// notKilled reads containerd's `An error occurs during waiting for container "ID" to be killed`, as later releases have it in the error of the call.
func notKilled(e *entry, o *occurrence) bool {
	o.Container = cut(between(e.Message, `"`, `"`), maxName)
	o.Reason, o.Code = cut("to be killed: "+errorOf(e), maxReason), code(errorOf(e))
	return true
}

// crioStop reads `Stopping container ID with stop signal timed out: …`. CRI-O kills the container then.
func crioStop(e *entry, o *occurrence) bool {
	_, text, _ := strings.Cut(e.Message, " timed out: ")
	o.Container = cut(word(e.Message, "Stopping container ", " "), maxName)
	o.Reason, o.Code = cut(text, maxReason), ""
	return true
}

// dockerStop reads `Container ID failed to exit within 10 seconds of kill - trying direct SIGKILL`, and of later ones `Container failed
// to exit within 10s of kill …` container=ID.
func dockerStop(e *entry, o *occurrence) bool {
	if o.Container = cut(e.Get("container"), maxName); o.Container == "" {
		o.Container = cut(word(e.Message, "Container ", " "), maxName)
	}
	o.Reason, o.Code = cut(e.Message, maxReason), ""
	return strings.Contains(e.Message, "failed to exit within ")
}

// dockerHandler reads `Handler for POST /v1.41/containers/ID/stop returned error: …`. Errors of requests that ask for nothing possible
// are passed over.
func dockerHandler(e *entry, o *occurrence) bool {
	request, text, _ := strings.Cut(e.Message, " returned error: ")
	_, rest, ok := strings.Cut(request, "/containers/")
	if !ok {
		return false
	}
	id, action, _ := strings.Cut(rest, "/")
	for _, usual := range []string{"o such container", "is not running", "already in progress", "is already", "onflict", "running container"} {
		if strings.Contains(text, usual) {
			return false
		}
	}
	switch {
	case strings.HasPrefix(request, "Handler for DELETE "):
		o.Kind = kindContainerRemoveFailed
	case strings.HasPrefix(action, "stop"), strings.HasPrefix(action, "kill"), strings.HasPrefix(action, "restart"):
		o.Kind = KindContainerStopFailed
	case strings.HasPrefix(action, "start"):
		o.Kind = kindContainerStartFailed
	default:
		return false
	}
	if strings.Contains(text, "did not receive an exit event") {
		o.Kind = KindContainerStopFailed
	}
	o.Container = cut(id, maxName)
	o.Reason, o.Code = cut(text, maxReason), osCode(text)
	return true
}

// dockerCLI reads what docker(1) prints: `Error response from daemon: driver "overlay2" failed to remove root filesystem for ID: …`.
func dockerCLI(e *entry, o *occurrence) bool {
	_, text, _ := strings.Cut(e.Message, "daemon: ")
	for _, before := range []string{"filesystem for ", "root filesystem ", "ontainer: ", "ontainer "} {
		if id := strings.Trim(word(text, before, " :,"), `"`); len(id) >= 12 {
			o.Container = cut(id, maxName)
			reservedFor(id, o) // if somebody has given its name: that has the same form
			break
		}
	}
	o.Reason, o.Code = cut(text, maxReason), osCode(text)
	return true
}

// crictl reads `stopping the container "ID": rpc error: …`.
func crictl(e *entry, o *occurrence) bool {
	_, text, _ := strings.Cut(e.Message, ": ")
	o.Container = cut(between(e.Message, `"`, `"`), maxName)
	o.Reason, o.Code = cut(text, maxReason), code(text)
	return o.Code != "NotFound"
}

// ofCrictl is who has written what somebody saw in a terminal.
const ofCrictl = "crictl"

// crictlCall reads `listing containers: rpc error: …`. A socket that refuses belongs to no runtime that runs; one that is missing may be of a
// runtime that the node does not have, since crictl tries those of several.
func crictlCall(call string) func(*entry, *occurrence) bool {
	return func(e *entry, o *occurrence) bool {
		_, text, _ := strings.Cut(e.Message, ": ")
		o.Reason, o.Code = cut(call+": "+text, maxReason), grpcCode(text)
		if o.Code == "Unavailable" && strings.Contains(text, "connection refused") {
			o.Kind, o.Path = KindRuntimeDown, socketIn(text)
		} else if o.Code != "DeadlineExceeded" {
			return false
		}
		e.Origin = ofCrictl
		return true
	}
}

// crictlLost reads what crictl up to 1.18 says of a socket behind which nobody answers.
func crictlLost(e *entry, o *occurrence) bool {
	o.Reason, o.Code, e.Origin = "Version: context deadline exceeded", "DeadlineExceeded", ofCrictl
	return true
}

// scopeStop reads `docker-ID.scope stopping timed out. Killing.` of systemd, whose scopes of others are no containers.
func scopeStop(e *entry, o *occurrence) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(e.Message, "Unit "), ".scope")
	for _, runtime := range []string{"docker-", "cri-containerd-", "crio-", "libpod-"} {
		if id, ok := strings.CutPrefix(name, runtime); ok {
			o.Container, o.Reason = cut(id, maxName), "systemd stopped it, and it did not end in time"
			return true
		}
	}
	return false
}

// unlisted reads the error of statistics for which the runtime has not listed its containers.
func unlisted(e *entry, o *occurrence) bool {
	o.Reason, o.Code = cut("ListContainers: "+errorOf(e), maxReason), "DeadlineExceeded"
	return true
}

// unansweredByHand reads what internal/kubectl has made of a client of the runtime that timeout(1) has killed.
func unansweredByHand(e *entry, o *occurrence) bool {
	o.Subject = Subject{Reason: cut("ListContainers: "+e.Message, maxReason), Code: "DeadlineExceeded"}
	o.Number = number(word(e.Message, ": no answer within ", " ")) // seconds
	return true
}

// reserved reads the pod and the container from the name that an earlier call has reserved: of CRI-O k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT
// and k8s_POD_NAMESPACE_UID_ATTEMPT, of containerd CONTAINER_POD_NAMESPACE_UID_ATTEMPT, POD_NAMESPACE_UID_ATTEMPT.
func reserved(e *entry, o *occurrence) bool {
	if !wholeMessage(e, o) {
		return false
	}
	reservedFor(errorOf(e), o)
	return true
}

func reservedFor(text string, o *occurrence) {
	for field := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \"\\:,;", r) }) {
		parts := strings.Split(strings.TrimPrefix(field, "k8s_"), "_")
		n := len(parts)
		if n == 3 && isUID(parts[1]) { // POD_UID_ATTEMPT, where CRI-O says at which stage it is
			o.PodUID = parts[1]
			return
		}
		if n != 4 && n != 5 || !isUID(parts[n-2]) && (!strings.HasPrefix(field, "k8s_") || parts[n-2] == "") {
			continue
		}
		o.PodName = cut(parts[n-3]+"/"+parts[n-4], maxName)
		if isUID(parts[n-2]) {
			o.PodUID = parts[n-2]
		}
		if n == 5 {
			o.Container = cut(parts[0], maxName)
		}
		return
	}
}

// shimFailed reads the container that a shim of containerd is of: id=ID, or container_id:"ID" or ContainerID:ID in the event.
func shimFailed(e *entry, o *occurrence) bool {
	if !wholeMessage(e, o) {
		return false
	}
	if id := e.Get("id"); id != "" {
		o.Container = cut(id, maxName)
	} else if id := strings.Trim(word(e.Message, "container_id:", " ,}"), `"\`); id != "" {
		o.Container = cut(id, maxName)
	} else if id := cmp.Or(word(e.Message, "ContainerID:", " ,}"), word(e.Message, "get state for ", " "), word(e.Message, "collecting metrics for ", " ")); id != "" {
		o.Container = cut(id, maxName)
	}
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
	if e.Host == "" && strings.Contains(text, "dockershim.sock: connect: no such file") { // crictl looks there first; it writes as the kubelet does
		return false
	}
	if !strings.Contains(text, "connection refused") && !strings.Contains(text, "no such file") {
		o.Reason, o.Code = cut(call+": "+text, maxReason), code(text)
		return true
	}
	o.Kind, o.Reason, o.Code, o.Path = KindRuntimeDown, cut(call+": "+text, maxReason), code(text), socketIn(text)
	return true
}

// ownCall reads containerd's line about a call that it answers with an error, `ContainerStatus for "ID" failed`. It does answer: no file that
// is missing there is its socket, and what is late is the shim of the container. So the call is not named, as one that the kubelet waits for is.
func ownCall(e *entry, o *occurrence) bool {
	text := errorOf(e)
	o.Container = cut(between(e.Message, `"`, `"`), maxName)
	o.Reason, o.Code = cut(text, maxReason), code(text)
	switch o.Code {
	case "NotFound":
		o.Kind = noiseAlreadyGone
	case "Unimplemented":
		o.Kind = noiseUnimplemented
	}
	return true
}

// cniPod reads the pod and the sandbox in `Error adding NAMESPACE_POD/SANDBOX to network …`, and the pod in `error adding pod NAMESPACE_POD to CNI
// network …`.
func cniPod(e *entry, o *occurrence) bool {
	words := strings.Fields(e.Message)
	subject := words[2]
	if subject == "pod" && len(words) > 3 {
		subject = words[3]
	}
	pod, id, _ := strings.Cut(subject, "/")
	if namespace, name, ok := strings.Cut(pod, "_"); ok {
		o.PodName, o.Container = cut(namespace+"/"+name, maxName), cut(id, maxName)
	}
	return wholeMessage(e, o)
}

func runtimeDown(e *entry, o *occurrence) bool {
	text := errorOf(e)
	if v := e.Get("runtimeReady"); v != "" {
		text = v
	}
	o.Reason, o.Code, o.Path = cut(text, maxReason), code(text), socketIn(text)
	return kubeletOrigin(e.Origin) || !strings.Contains(text, "daemon at tcp://") // of a build's own
}

// sandboxBegun tells the beginning of a call from its end.
func sandboxBegun(e *entry, o *occurrence) bool {
	o.Reason, o.Code = "", ""
	if strings.Contains(e.Message, " returns sandbox id ") {
		o.Kind = kindSandboxMade
	}
	return !strings.Contains(e.Message, " failed")
}

// signalDenied reads what AppArmor says of a SIGKILL that the runtime sends to a container: `apparmor="DENIED" operation="signal" …
// profile="P" … denied_mask="receive" signal=kill peer="runc"`. P is the container's profile, and peer the sender's, which a process cannot choose as
// it can its name; a process of the container has P, too.
func signalDenied(e *entry, o *occurrence) bool {
	peer := word(e.Message, `peer="`, `"`)
	o.Reason, o.Code = "AppArmor profile "+cut(word(e.Message, `profile="`, `"`), maxName)+" denies SIGKILL by "+cut(peer, maxName), "EACCES"
	return strings.Contains(e.Message, `denied_mask="receive"`) && (peer == "runc" || peer == "crun" || peer == "unconfined")
}

// dockerRemove reads `msg="error removing container" container=ID error="unable to remove filesystem for ID: …"`.
func dockerRemove(e *entry, o *occurrence) bool {
	o.Container, o.Reason, o.Code = cut(e.Get("container"), maxName), cut(errorOf(e), maxReason), osCode(errorOf(e))
	return o.Container != ""
}

// dialFailed reads what gRPC up to 1.38 says of a connection: "… to {/run/containerd/containerd.sock  <nil> 0 <nil>}. Err :connection error: …".
func dialFailed(e *entry, o *occurrence) bool {
	o.Path = word(e.Message, "connect to {", " }")
	_, reason, ok := strings.Cut(e.Message, "rr :")
	o.Reason, o.Code = cut(reason, maxReason), ""
	return ok && strings.HasPrefix(o.Path, "/")
}

// networkOfPod takes the event of a pod that waits for its network, which may stand without the name of the pod.
func networkOfPod(_ *entry, o *occurrence) bool {
	o.Code = "pod"
	return true
}

// runtimeCrashed reads `containerd.service: Main process exited, code=exited, status=2/INVALIDARGUMENT`, with which Go ends a panic, and
// code=dumped.
func runtimeCrashed(e *entry, o *occurrence) bool {
	unit, _, _ := strings.Cut(firstWord(e.Message), ".service")
	o.Reason, o.Code = cut(e.Message, maxReason), ""
	return (cri.IsLogName(unit) || unit == "docker") && (strings.Contains(e.Message, "code=exited, status=2/") || strings.Contains(e.Message, "code=dumped"))
}

// taskFailed reads why the task of a new container was not created.
func taskFailed(e *entry, o *occurrence) bool { return shimFailed(e, o) && eventOfContainer(e, o) }

// quotedOfStart is the message of an event about a container that did not start. Why it did not is the program's own, but for a limit.
func quotedOfStart(e *entry, o *occurrence) bool {
	return e.Bare && eventOfContainer(e, o) && runtimeCall(e, o)
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
