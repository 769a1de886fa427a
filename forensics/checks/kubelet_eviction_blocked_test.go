package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
)

var _ = scenariosOf("kubelet-eviction-blocked", kubeletEvictionBlockedInDumps())

func kubeletEvictionBlockedInDumps() []scenario {
	return []scenario{
		{name: "size of a dead file system", base: wellNode, change: withStack("kubelet-1.22", "A.6 eviction manager asks for the size of a dead file system"), want: []string{"warning subsystem eviction"}},
		{name: "grace period", base: wellNode, change: withStack("kubelet-1.22", "an evicted pod has its grace period"), outcome: forensics.OutcomeClean},
	}
}
