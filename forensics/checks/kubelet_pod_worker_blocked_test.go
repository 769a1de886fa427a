package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
)

var _ = scenariosOf("kubelet-pod-worker-blocked", kubeletPodWorkerBlockedInDumps())

func kubeletPodWorkerBlockedInDumps() []scenario {
	return []scenario{
		{name: "volume of a terminated pod", base: wellNode, change: withStack("kubelet-1.34", "A.3 the worker of a terminated pod"), want: []string{"warning subsystem pod-worker"}},
		{name: "pulling an image", base: wellNode, change: withStack("kubelet-1.22", "pulling an image takes as long as it takes"), outcome: forensics.OutcomeClean},
	}
}
