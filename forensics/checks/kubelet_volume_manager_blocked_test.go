package checks

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

var _ = scenariosOf("kubelet-volume-manager-blocked", kubeletVolumeManagerBlockedInDumps())

func kubeletVolumeManagerBlockedInDumps() []scenario {
	return []scenario{
		{
			name: "reconstruction", base: wellNode, change: withStack("kubelet-1.34", "B.2 reconstruction before the loop"),
			want: []string{"critical subsystem volume-manager"},
		},
		{name: "an operation and its child", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
			withStack("kubelet-1.13", "B.4 umount waits in the kernel")(tb, e)
			e.Processes = append(e.Processes, procs.Process{PID: 12081, PPID: 9825, Comm: "umount", State: "D", Command: []string{"umount", "/x"}})
		}, want: []string{"warning subsystem volume-manager"}, says: "its child process 12081 (umount), state D"},
		{
			name: "a child that is gone is still named", base: wellNode, change: withStack("kubelet-1.13", "B.4 umount waits in the kernel"),
			want: []string{"warning subsystem volume-manager"}, says: "its child process 12081",
		},
		{
			name: "what determines the volumes is named as that, not as an operation", base: wellNode, change: withStack("kubelet-1.34", "B.4 the populator waits for the API server"),
			want: []string{"warning subsystem volume-manager"}, says: "1 volume operation: desired state blocked",
		},
		{name: "slow is not hung", base: wellNode, change: withStack("kubelet-1.22", "B.4 deleting the files of an emptyDir is slow, not hung"), outcome: forensics.OutcomeClean},
	}
}
