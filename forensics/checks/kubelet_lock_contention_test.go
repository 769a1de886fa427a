package checks

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
)

var _ = scenariosOf("kubelet-lock-contention", kubeletLockContentionInDumps())

func kubeletLockContentionInDumps() []scenario {
	return []scenario{
		{
			name: "holder blocked elsewhere", base: wellNode, change: withStack("kubelet-1.22", "A.2 lock of the pod workers, held by a worker that waits for a disk"),
			want: []string{"warning goroutine 402"}, says: "most likely has the lock",
		},
		{name: "a lock that was waited for under a minute", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
			addDump(tb, e, minutes.ReplaceAllString(stackNamed(tb, "kubelet-1.22", "A.2 nobody stands out as the holder").dump, "]:"), 9825)
		}, outcome: forensics.OutcomeClean},
	}
}
