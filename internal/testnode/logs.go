package testnode

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// eventsOf are kinds of messages that a check or a section of the report looks for.
var eventsOf = []logs.Kind{
	logs.KindOrphan, logs.KindOrphanDetail, "orphan-mounted", logs.KindOrphanRemoveFailed, logs.KindOrphanCleanupFailed, logs.KindCgroupDeleteFailed,
	logs.KindPLEGUnhealthy, logs.KindPodKillFailed, "container-killing", logs.KindContainerStopFailed, logs.KindUnmountBusy, logs.KindDeviceInUse,
	logs.KindUnmountFailed, "mount-failed", logs.KindCSIDriverMissing, logs.KindCSIAborted, logs.KindCSIDeadline, logs.KindCSIUnavailable,
	logs.KindVolumesNotMounted, "image-gc", logs.KindImageRemoved, logs.KindImageGCFailed, logs.KindImagePullFailed, logs.KindEvictionMustEvict,
	"eviction-ranked", logs.KindEvictionEvicted, logs.KindEvictionFailed, logs.KindEvictionNone, logs.KindSandboxCreateFailed, logs.KindSandboxStopFailed,
	logs.KindRuntimeCallFailed, logs.KindRuntimeDown, logs.KindShimFailed, "network-not-ready", logs.KindPodGCTerminated, logs.KindPodGCDeleting,
	logs.KindPodGCOrphaned, logs.KindKernelHungTask, logs.KindKernelNFSDown, logs.KindKernelNFSTimeout, logs.KindKernelCephDown, logs.KindKernelCIFSDown,
	logs.KindKernelIOError, logs.KindKernelFSError, logs.KindKernelFSShutdown, "kernel-oom", "kernel-netdev-held",
}

func logKinds() []Kind {
	return []Kind{
		eventKind(),
		{"deletions", func(e *forensics.Evidence, n int) {
			for i := range n {
				d := logs.Deletion{
					PodUID: UID(i), PodName: fmt.Sprintf("load/worker-%d", i), Stage: "volumes", Waits: "volume data", Since: at(i), Proven: true, Complaints: []logs.Quote{quote(i)},
					Steps: []logs.Step{{Stage: "requested", Time: *at(i), Quote: quote(i)}, {Stage: "volumes", Time: *at(i + 9), Quote: quote(i)}},
				}
				e.Logs.Deletions = append(e.Logs.Deletions, d)
			}
		}},
		{"volume operations", func(e *forensics.Evidence, n int) {
			for i := range n {
				s := logs.Subject{PodUID: UID(i), PodName: fmt.Sprintf("load/worker-%d", i), Volume: fmt.Sprintf("data-%d", i), UniqueName: fmt.Sprintf("kubernetes.io/csi/nfs.csi.k8s.io^%d", i), Driver: "nfs.csi.k8s.io", Reason: "busy", Code: "EBUSY"}
				e.Logs.Operations = append(e.Logs.Operations, logs.Operation{Subject: s, Name: "UnmountVolume", Started: at(i), Failed: at(86_000), Failures: 9, Quotes: []logs.Quote{quote(i)}})
			}
		}},
		{"lives of the kubelet", func(e *forensics.Evidence, n int) {
			for i := range n {
				e.Logs.Lives = append(e.Logs.Lives, logs.Life{PID: 5000 + i, Started: at(i), Last: at(i + 1), Version: "v1.34.4", Stage: "cadvisor", End: "panic"})
			}
		}},
		{"log files", func(e *forensics.Evidence, n int) {
			for i := range n {
				e.Logs.Files = append(e.Logs.Files, logs.File{Path: fmt.Sprintf("/var/log/%d.log", i), Origin: "kubelet", Format: "klog", Status: "read", First: at(i), Last: at(i + 1)})
			}
		}},
	}
}

func eventKind() Kind {
	return Kind{"log events", func(e *forensics.Evidence, n int) {
		for i := range n {
			e.Logs.Events = append(e.Logs.Events, logs.Event{
				Kind: eventsOf[i%len(eventsOf)], Origin: "kubelet", Count: 9, First: at(i), Last: at(i + 900), Number: 130, Max: 130, Quotes: []logs.Quote{quote(i), quote(i + 1)},
				Subject: logs.Subject{
					PodUID: UID(i), PodName: fmt.Sprintf("load/worker-%d", i), Container: fmt.Sprintf("app%d", i), Volume: fmt.Sprintf("data-%d", i), Driver: fmt.Sprintf("csi%d", i),
					Image: fmt.Sprintf("registry/app:%d", i), Path: volumePath(i), Device: fmt.Sprintf("sd%d", i), Server: fmt.Sprintf("10.0.%d.%d", i/250, i%250), Process: fmt.Sprintf("cp (%d)", i), Reason: fmt.Sprintf("no answer %d", i),
				},
			})
		}
	}}
}

func quote(i int) logs.Quote {
	return logs.Quote{File: "/var/log/kubelet.log", Line: int64(i), Time: at(i), Text: fmt.Sprintf("E1120 10:00:00.000000     900 kubelet.go:%d] failed", i)}
}
