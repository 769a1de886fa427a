package stall

import (
	"github.com/nodeforensics/nodeforensics/forensics"
)

// Severity is critical only where the wait is proven; a wait with a time limit must have lasted longer than 5 minutes. A wait without a
// proven age is a warning, or information where such waits often take long on a healthy node.
func (t Goroutine) Severity() forensics.Severity {
	switch {
	case !t.Known && t.mayTakeTime():
		return forensics.Info
	case !t.Proven, t.Wait.Kind.endsByItself() && t.Seconds < 300:
		return forensics.Warning
	}
	return forensics.Critical
}

// mayTakeTime says whether a wait of some seconds is usual: for mkfs, for a driver that attaches a disk, for the API server.
func (t Goroutine) mayTakeTime() bool {
	switch t.Wait.Kind {
	case WaitChild, WaitCSI, waitDaemon, WaitAPI, WaitSystemd:
		return true
	case WaitRuntime:
		return !AnswersAtOnce(t.Wait.Call)
	}
	return false
}

// NotCritical limits the severity of a wait that blocks less than the whole node to a warning.
func NotCritical(s forensics.Severity) forensics.Severity {
	if s == forensics.Critical {
		return forensics.Warning
	}
	return s
}

// Confidence is certain where it is proven that the goroutine is stuck.
func (t Goroutine) Confidence() forensics.Confidence {
	if t.Proven {
		return forensics.Certain
	}
	return forensics.Likely
}

// AsksWholeRuntime says whether a call concerns the runtime as a whole, not one pod, container or image.
func AsksWholeRuntime(call string) bool {
	switch call {
	case "Version", "Status", "Info", "ListPodSandbox", "ListContainers", "ListImages", "RuntimeConfig", "UpdateRuntimeConfig":
		return true
	}
	return false
}

// AnswersAtOnce says whether a healthy runtime answers a call from memory.
func AnswersAtOnce(call string) bool {
	switch call {
	case "PodSandboxStatus", "ContainerStatus", "InspectContainer", "ImageStatus", "InspectImageByID", "InspectImageByRef",
		"ImageFsInfo", "ContainerStats", "ListContainerStats", "PodSandboxStats", "ListPodSandboxStats", "ListPodSandboxMetrics":
		return true
	}
	return AsksWholeRuntime(call)
}

// TakesLong says whether a call may take any time in a healthy runtime.
func TakesLong(call string) bool {
	switch call {
	case pullImage, "StopContainer", "ExecSync", "Exec", "StartExec", "AttachToContainer", "Logs", "CheckpointContainer",
		"Attach", "PortForward", "GetContainerEvents", "Wait", "Subscribe":
		return true
	}
	return false
}

// pullImage has no time limit, but the pods of the node wait behind one that takes an hour (serializeImagePulls).
const pullImage, longPull = "PullImage", 3600

// MayTakeLong says whether a goroutine waits for a call that a healthy runtime may still be working on.
func (t Goroutine) MayTakeLong() bool {
	return t.Wait.Kind == WaitRuntime && TakesLong(t.Wait.Call) && (t.Wait.Call != pullImage || t.Seconds < longPull)
}

// endsByItself says whether the kubelet limits the wait: a call by gRPC or HTTP times out after about 2 minutes and is retried.
func (k waitKind) endsByItself() bool {
	switch k {
	case WaitRuntime, WaitCSI, waitDaemon, WaitAPI, WaitSystemd:
		return true
	}
	return false
}

// FewAsking is how many goroutines must be in a call at the same moment to be more than chance, where a dump has no durations.
const FewAsking = 3
