package checks

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
)

var _ = scenariosOf("mount-detached", mountDetachedScenarios())

func mountDetachedScenarios() []scenario {
	detach := func(h holders.Holder) change {
		h.PID, h.Detached = 5000, true
		return holding(func(use *forensics.MountUse) { use.Holders, use.AllProcesses = append(use.Holders, h), true }, process(nginx))
	}
	clean := forensics.OutcomeClean
	return []scenario{
		{
			name: "an open file", base: wellNode, change: detach(holders.Holder{Kind: holders.HoldFD, FD: 3, Path: "/log", MountID: 88}),
			want: []string{"warning mount 88"}, says: "process 5000 (nginx)",
		},
		{
			name: "a mapped file, of which only the superblock is known", base: wellNode,
			change: detach(holders.Holder{Kind: holders.HoldMap, FD: -1, Path: "/lib.so", Device: "0:77"}), want: []string{"warning superblock 0:77"},
		},
		{
			name: "a mount that is being prepared", base: wellNode,
			change: detach(holders.Holder{Kind: holders.HoldFD, FD: 3, Path: "/", MountID: 88}), want: []string{"info mount 88"},
		},
		{
			name: "what nobody has unmounted in a user namespace of his own", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				detach(holders.Holder{Kind: holders.HoldFD, FD: 3, Path: "/log", MountID: 88})(tb, e)
				e.MountUse.UserNS, e.Processes[len(e.Processes)-1].UserNS = hostUserNS, podUserNS
			}, want: []string{"info mount 88"},
		},
		{name: "a hold on a mount of the table", base: wellNode, change: busy(holders.Holder{PID: 5000, Kind: holders.HoldFD}), outcome: clean},
	}
}
