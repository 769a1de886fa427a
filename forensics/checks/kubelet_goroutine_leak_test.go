package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
)

var _ = scenariosOf("kubelet-goroutine-leak", kubeletGoroutineLeakInDumps())

func kubeletGoroutineLeakInDumps() []scenario {
	return []scenario{
		{
			name: "statfs", base: wellNode, change: withStack("kubelet-1.34", "A.6 start goes on although file systems are dead: each costs a thread"),
			want: []string{"warning subsystem cadvisor-statfs"}, says: "2 stuck goroutines",
		},
		{name: "statfs of most threads that there can be", base: wellNode, change: many(8500, "cadvisor"), want: []string{"critical subsystem cadvisor-statfs"}},
		{name: "removals of cgroups pile up", base: wellNode, change: many(6, "cgroup"), want: []string{"warning subsystem cgroup-removal"}},
		{name: "a few removals of cgroups", base: wellNode, change: many(3, "cgroup"), outcome: forensics.OutcomeClean},
		{name: "many that stand still with one stack", base: wellNode, change: many(120, "other"), want: []string{"warning subsystem other"}, says: "120 goroutines with one stack"},
		{name: "many that rest with one stack", base: wellNode, change: many(2000, "resting"), outcome: forensics.OutcomeClean},
		{name: "far too many, though they rest", base: wellNode, change: many(12000, "resting"), want: []string{"warning subsystem pod-worker"}, says: "far more than normal"},
		{
			name: "a group that grew between two dumps", base: wellNode, change: twoDumps(crowd(10, "other", ""), crowd(25, "other", "")),
			want: []string{"warning subsystem other"}, says: "15 more than 5 s before",
		},
		{name: "a group that rests grew", base: wellNode, change: twoDumps(crowd(10, "resting", ""), crowd(80, "resting", "")), outcome: forensics.OutcomeClean},
	}
}
