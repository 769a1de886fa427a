package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
)

var _ = scenariosOf("kubelet-status-manager-blocked", kubeletStatusManagerBlockedInDumps())

func kubeletStatusManagerBlockedInDumps() []scenario {
	return []scenario{
		{name: "volume of a pod to be deleted", base: wellNode, change: withStack("kubelet-1.13", "A.3 status manager"), want: []string{"critical subsystem status-manager"}},
		{name: "housekeeping is another check", base: wellNode, change: withStack("kubelet-1.13", "A.3 stat of a volume directory"), outcome: forensics.OutcomeClean},
	}
}
