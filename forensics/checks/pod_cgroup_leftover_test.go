package checks

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

var _ = scenariosOf("pod-cgroup-leftover", podCgroupLeftoverInContainers())

func podCgroupLeftoverInContainers() []scenario {
	cgroup := "/sys/fs/cgroup/pids/kubepods/pod" + deadUID
	return []scenario{
		{name: "with a process that waits", base: stuckNode, change: removeDir, want: []string{"warning path " + cgroup}, says: "5000 (dd), state D"},
		{name: "empty", base: stuckNode, change: func(tb testing.TB, e *forensics.Evidence) {
			removeDir(tb, e)
			e.Processes, e.Threads = e.Processes[:3], nil
		}, want: []string{"info path /sys/fs/cgroup/pids/kubepods"}, says: "1 empty cgroup of a pod"},
		{name: "the pod still has a directory: it is being deleted", base: stuckNode, outcome: forensics.OutcomeClean},
		{name: "the kubelet lists it", base: stuckNode, change: func(tb testing.TB, e *forensics.Evidence) {
			removeDir(tb, e)
			keepAlive(e)
		}, outcome: forensics.OutcomeClean},
		{name: "the kubelet lists nothing at all", base: stuckNode, change: func(tb testing.TB, e *forensics.Evidence) {
			removeDir(tb, e)
			e.Pods = nil
		}, outcome: forensics.OutcomeNotChecked},
		{name: "its list is cut", base: stuckNode, change: func(tb testing.TB, e *forensics.Evidence) {
			removeDir(tb, e)
			e.Cover(forensics.Source{Source: forensics.SourceKubeletPods, Status: forensics.SourceTruncated})
		}, outcome: forensics.OutcomeNotChecked},
		{name: "a pod of a cluster inside a container", base: stuckNode, change: func(tb testing.TB, e *forensics.Evidence) {
			removeDir(tb, e)
			e.Cgroups[1].Path = "/sys/fs/cgroup/docker/" + appID + "/kubelet/kubepods/pod" + deadUID
		}, outcome: forensics.OutcomeClean},
		{name: "the kernel runs out of memory cgroups", base: wellNode, change: func(_ testing.TB, e *forensics.Evidence) {
			e.CgroupTotals = &runtimes.CgroupTotals{Version: "v1", MemoryCgroups: 61_000}
		}, want: []string{"warning path /sys/fs/cgroup"}, says: "61,000 of at most 65,535"},
		{name: "many memory cgroups", base: wellNode, change: func(_ testing.TB, e *forensics.Evidence) {
			e.CgroupTotals = &runtimes.CgroupTotals{Version: "v1", MemoryCgroups: 20_000}
		}, outcome: forensics.OutcomeClean},
	}
}
