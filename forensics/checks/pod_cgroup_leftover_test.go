package checks

import (
	"slices"
	"strings"
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
		{name: "the API server does not list it", base: stuckNode, change: func(tb testing.TB, e *forensics.Evidence) {
			removeDir(tb, e)
			byAPIServer(tb, e)
		}, want: []string{"warning path " + cgroup}, says: "5000 (dd), state D"},
		{name: "a static pod, which the API server may not know", base: stuckNode, change: func(tb testing.TB, e *forensics.Evidence) {
			removeDir(tb, e)
			byAPIServer(tb, e)
			e.Cgroups[1].PodUID = "0123456789abcdef0123456789abcdef"
		}, outcome: forensics.OutcomeClean},
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

// byAPIServer makes the list of pods that of the API server: the kubelet refuses its own.
func byAPIServer(_ testing.TB, e *forensics.Evidence) {
	e.Pods = nil
	e.Cover(forensics.Source{Source: forensics.SourceKubeletPods, Status: forensics.SourceDenied})
	e.Cover(forensics.Source{Source: forensics.SourceKubeletPods + ":api", Status: forensics.SourceRead})
	e.Cover(forensics.Source{Source: forensics.SourceAPI, Status: forensics.SourceRead})
	e.Coverage = slices.DeleteFunc(e.Coverage, func(s forensics.Source) bool { return strings.HasPrefix(s.Source, forensics.SourceAPIDump) })
	e.Cover(forensics.Source{Source: forensics.SourceAPIDump, Status: forensics.SourceAbsent, Detail: "no file was given (--api-dump FILE)"})
	d := *e.Cluster
	d.NodeName = "node-1"
	e.Cluster = &d
}
