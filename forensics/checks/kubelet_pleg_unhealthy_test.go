package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

var _ = scenariosOf("kubelet-pleg-unhealthy", kubeletPlegUnhealthyInLogs())

func kubeletPlegUnhealthyInLogs() []scenario {
	clean := forensics.OutcomeClean
	return []scenario{
		{
			name: "the log says so", base: wellNode, change: both(tells(numbered(event(logs.KindPLEGUnhealthy, 12, "10:11:00", "10:12:28", pleg), 250)), logAlone),
			want: []string{"critical subsystem pleg"}, says: "since 2026-11-20 10:08:18 UTC",
		},
		{
			name: "it cannot list", base: wellNode, change: tells(event(logs.KindPLEGRelistFailed, 2, "10:09:00", "10:11:00", code(logs.Subject{Reason: "rpc error"}, "DeadlineExceeded"))),
			want: []string{"warning subsystem pleg"},
		},
		{
			name: "it is over", base: wellNode, change: tells(numbered(event(logs.KindPLEGUnhealthy, 12, "09:31:00", "09:40:00", pleg), 400)),
			want: []string{"info subsystem pleg"}, says: "no later line repeats it",
		},
		{
			name: "the kubelet stood still, and skipped one round", base: withRuntime, change: both(answers("ok"), tells(numbered(event(logs.KindPLEGUnhealthy, 1, "10:12:20", "10:12:20", pleg), 189))),
			want: []string{"info subsystem pleg"}, says: "no later line repeats it",
		},
		{
			name: "a dump and the log", base: wellNode, change: both(withStack("kubelet-1.34", "A.7 PLEG waits for the runtime, and pods for the PLEG"),
				tells(numbered(event(logs.KindPLEGUnhealthy, 12, "10:11:00", "10:12:28", pleg), 250))),
			want: []string{"critical subsystem pleg"}, says: "The log gives the reason, 12 times from 10:11:00 UTC to 10:12:28 UTC: container runtime is down",
		},
		{name: "a kubelet that has just started", base: wellNode, change: both(lives(life(1, "10:12:00", "10:12:29", "running", "syncloop")),
			tells(numbered(event(logs.KindPLEGUnhealthy, 2, "10:12:01", "10:12:10", pleg), 0))), outcome: clean},
	}
}

var _ = scenariosOf("kubelet-pleg-unhealthy", kubeletPlegUnhealthyInDumps())

func kubeletPlegUnhealthyInDumps() []scenario {
	return []scenario{
		{
			name: "runtime", base: wellNode, change: withStack("kubelet-1.34", "A.7 PLEG waits for the runtime, and pods for the PLEG"),
			want: []string{"critical subsystem pleg"}, says: "PLEG waits for the container runtime, not for a file system",
		},
		{name: "at rest", base: wellNode, change: withStack("kubelet-1.34", "A.3 the worker of a terminated pod"), outcome: forensics.OutcomeClean},
	}
}
