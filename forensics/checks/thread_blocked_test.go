package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

var _ = scenariosOf("thread-blocked", threadBlockedInLogs())

func threadBlockedInLogs() []scenario {
	return []scenario{{
		name: "a hung task", base: sickNode, change: tells(fromKernel(numbered(event(logs.KindKernelHungTask, 3, "10:04:00", "10:10:00", logs.Subject{Process: "kubelet (9839)"}), 120))),
		want: []string{"warning thread 9825/9839"}, says: "The kernel reported this thread as a hung task 3 times, first at 2026-11-20 10:04:00 UTC",
	}}
}
