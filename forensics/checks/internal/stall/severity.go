package stall

import (
	"github.com/nodeforensics/nodeforensics/forensics"
)

// Severity is critical only for what stops more than it itself and is proven; a wait that ends by itself must have
// lasted longer than its own time limit allows. What no age is proven of is a warning, or where it often takes its time
// in a node that is well only worth a look.
func (t Goroutine) Severity() forensics.Severity {
	switch {
	case !t.Known && t.mayTakeTime():
		return forensics.Info
	case !t.Proven, t.Wait.Kind.endsByItself() && t.Seconds < 300:
		return forensics.Warning
	}
	return forensics.Critical
}

// mayTakeTime says whether a wait of some seconds is nothing unusual: for mkfs, for a driver that attaches a disk, for
// the API server.
func (t Goroutine) mayTakeTime() bool {
	switch t.Wait.Kind {
	case WaitChild, WaitCSI, waitDaemon, WaitAPI, WaitSystemd:
		return true
	case WaitRuntime:
		return !AnswersAtOnce(t.Wait.Call)
	}
	return false
}

// NotCritical bounds the severity of a wait that holds up less than the whole node.
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

// AsksWholeRuntime says whether a question concerns the runtime as a whole, not one pod, container or image.
func AsksWholeRuntime(call string) bool {
	switch call {
	case "Version", "Status", "Info", "ListPodSandbox", "ListContainers", "ListImages", "RuntimeConfig", "UpdateRuntimeConfig":
		return true
	}
	return false
}

// AnswersAtOnce says whether a runtime that is well answers a question from memory.
func AnswersAtOnce(call string) bool {
	switch call {
	case "PodSandboxStatus", "ContainerStatus", "InspectContainer", "ImageStatus", "InspectImageByID", "InspectImageByRef",
		"ImageFsInfo", "ContainerStats", "ListContainerStats", "PodSandboxStats", "ListPodSandboxStats", "ListPodSandboxMetrics":
		return true
	}
	return AsksWholeRuntime(call)
}

// TakesLong says whether a question may take as long as it likes in a runtime that is well.
func TakesLong(call string) bool {
	switch call {
	case "PullImage", "StopContainer", "ExecSync", "Exec", "StartExec", "AttachToContainer", "Logs", "CheckpointContainer":
		return true
	}
	return false
}

// endsByItself says whether the wait has a time limit of the kubelet's own: an answer by gRPC or HTTP is waited for 2
// minutes or so, and then tried again.
func (k waitKind) endsByItself() bool {
	switch k {
	case WaitRuntime, WaitCSI, waitDaemon, WaitAPI, WaitSystemd:
		return true
	}
	return false
}

// FewAsking is how many goroutines must ask at the same moment to be more than chance, where a dump has no durations.
const FewAsking = 3
