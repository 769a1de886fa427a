package checks

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

var appID = strings.Repeat("0123456789abcdef", 4)

// containerScenarios are those that rest on cgroups and on what runtimes leave.
func containerScenarios() map[string][]scenario {
	container := "critical container " + appID
	cgroup := "/sys/fs/cgroup/pids/kubepods/pod" + deadUID
	return map[string][]scenario{
		"container-unkillable": {
			{name: "deleted pod, a thread in a wait that no signal ends", base: stuckNode, want: []string{container}, says: "cannot be killed: thread 5000/5001"},
			{name: "the container has a name", base: stuckNode, change: func(_ testing.TB, e *forensics.Evidence) {
				e.Containers = []runtimes.Container{{ID: appID, Name: "app", PodUID: deadUID}}
			}, want: []string{container}, says: "Container app of pod"},
			{name: "FUSE wait after a signal", base: stuckNode, change: func(_ testing.TB, e *forensics.Evidence) {
				e.Threads[0].Wait, e.Threads[0].State = procs.Wait{Kind: procs.WaitFUSE, FS: "fuse", Function: "request_wait_answer"}, "D"
			}, want: []string{container}},
			{name: "FUSE wait that a signal has not reached", base: stuckNode, change: func(_ testing.TB, e *forensics.Evidence) {
				e.Threads[0].Wait, e.Threads[0].State = procs.Wait{Kind: procs.WaitFUSE, FS: "fuse", Function: "request_wait_answer"}, "S"
			}, outcome: forensics.OutcomeClean},
			{name: "a wait that a kill ends", base: stuckNode, change: func(_ testing.TB, e *forensics.Evidence) {
				e.Threads[0].Wait.Kill = "yes"
			}, outcome: forensics.OutcomeClean},
			{name: "the first process waits for the others of a live pod", base: stuckNode, change: func(_ testing.TB, e *forensics.Evidence) {
				keepAlive(e)
				e.Processes = append(e.Processes, procs.Process{PID: 4999, Comm: "sh", State: "S", PodUID: deadUID, ContainerID: appID})
				e.Threads = append(e.Threads, procs.Thread{
					PID: 4999, TID: 4999, State: "S", WaitSeconds: ptr(90.0),
					Wait: procs.Wait{Kind: procs.WaitExit, Function: "zap_pid_ns_processes", Kill: "no"},
				})
			}, want: []string{container}, says: "first process 4999 has ended"},
			{name: "a process that has ended but for a thread", base: stuckNode, change: func(_ testing.TB, e *forensics.Evidence) {
				keepAlive(e)
				e.Processes[len(e.Processes)-1].State = "Z"
			}, want: []string{container}, says: "Its process 5000 has ended"},
			{name: "ended but for a thread, and no age is proven", base: stuckNode, change: func(_ testing.TB, e *forensics.Evidence) {
				keepAlive(e)
				e.Processes[len(e.Processes)-1].State, e.Threads[0].WaitSeconds = "Z", nil
			}, want: []string{"warning container " + appID}},
			{name: "live pod", base: stuckNode, change: func(_ testing.TB, e *forensics.Evidence) { keepAlive(e) }, outcome: forensics.OutcomeClean},
			{name: "nobody knows whether the pod is being deleted", base: stuckNode, change: func(_ testing.TB, e *forensics.Evidence) {
				e.Pods = nil
				e.Cover(forensics.Source{Source: forensics.SourceKubeletPods, Status: forensics.SourceTimeout})
			}, outcome: forensics.OutcomeNotChecked},
			{name: "shorter than hung-after", base: stuckNode, change: func(_ testing.TB, e *forensics.Evidence) {
				e.Threads[0].WaitSeconds = ptr(3.0)
			}, outcome: forensics.OutcomeClean},
			{name: "throttled by dirty pages", base: stuckNode, change: func(_ testing.TB, e *forensics.Evidence) {
				e.Threads[0].Wait.Kind = procs.WaitWriteback
			}, outcome: forensics.OutcomeClean},
			{name: "v1 frozen container of a deleted pod", base: stuckNode, change: func(_ testing.TB, e *forensics.Evidence) {
				e.Threads = nil
				freeze(e, cgroup+"/"+appID, true)
			}, want: []string{container}, says: "its cgroup is frozen"},
			{name: "v1 frozen pod", base: stuckNode, change: func(_ testing.TB, e *forensics.Evidence) {
				e.Threads = nil
				freeze(e, cgroup, true)
			}, want: []string{"critical pod " + deadUID}},
			{name: "v2 frozen: a kill ends it", base: stuckNode, change: func(_ testing.TB, e *forensics.Evidence) {
				e.Threads = nil
				freeze(e, cgroup+"/"+appID, false)
			}, outcome: forensics.OutcomeClean},
			{name: "v1 frozen and live: somebody paused it", base: stuckNode, change: func(_ testing.TB, e *forensics.Evidence) {
				e.Threads = nil
				keepAlive(e)
				freeze(e, cgroup+"/"+appID, true)
			}, outcome: forensics.OutcomeClean},
		},
		"pod-cgroup-leftover": {
			{name: "with a process that waits", base: stuckNode, change: removeDir, want: []string{"warning path " + cgroup}, says: "5000 (dd), state D"},
			{name: "empty", base: stuckNode, change: func(tb testing.TB, e *forensics.Evidence) {
				removeDir(tb, e)
				e.Processes, e.Threads = e.Processes[:3], nil
			}, want: []string{"info path /sys/fs/cgroup/pids/kubepods"}, says: "remains, empty"},
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
			}, want: []string{"warning path /sys/fs/cgroup"}, says: "61000 of at most 65535"},
			{name: "many memory cgroups", base: wellNode, change: func(_ testing.TB, e *forensics.Evidence) {
				e.CgroupTotals = &runtimes.CgroupTotals{Version: "v1", MemoryCgroups: 20_000}
			}, outcome: forensics.OutcomeClean},
		},
		"runtime-unresponsive": {
			{name: "its socket does not answer", base: withRuntime, change: answers("timeout"), want: []string{"warning runtime containerd"}, says: "does not answer"},
			{name: "stopped by a signal", base: withRuntime, change: func(tb testing.TB, e *forensics.Evidence) {
				answers("timeout")(tb, e)
				e.Processes[len(e.Processes)-1].State = "T"
			}, want: []string{"critical runtime containerd"}, says: "stopped by a signal"},
			{name: "it does not run", base: withRuntime, change: func(tb testing.TB, e *forensics.Evidence) {
				answers("refused")(tb, e)
				e.Processes = e.Processes[:3]
				e.Cover(forensics.Source{Source: forensics.SourceGoroutines, Status: forensics.SourceDenied})
			}, want: []string{"critical runtime containerd"}, says: "does not run"},
			{name: "no goroutines and no answer", base: withRuntime, change: func(tb testing.TB, e *forensics.Evidence) {
				answers("timeout")(tb, e)
				e.Cover(forensics.Source{Source: forensics.SourceGoroutines, Status: forensics.SourceDenied})
			}, want: []string{"warning runtime containerd"}},
			{name: "files of a runtime that the node had once", base: withRuntime, change: func(tb testing.TB, e *forensics.Evidence) {
				answers("refused")(tb, e)
				e.Processes, e.Kubelet.Flags = e.Processes[:3], map[string]string{}
			}, outcome: forensics.OutcomeClean},
			{name: "no endpoint is known, but its containers run", base: withRuntime, change: func(tb testing.TB, e *forensics.Evidence) {
				answers("refused")(tb, e)
				e.Processes, e.Kubelet.Flags = e.Processes[:3], map[string]string{}
				e.Sandboxes = []runtimes.Sandbox{{ID: appID, Runtime: "containerd", PodUID: liveUID, Task: runtimes.Task{InitPID: 4000, InitStart: 7}}}
				e.Processes[1].StartTicks = 7
			}, want: []string{"critical runtime containerd"}, says: "does not run"},
			{name: "it answers", base: withRuntime, change: answers("ok"), outcome: forensics.OutcomeClean},
			{name: "it answers, but nobody knows what the kubelet waits for", base: withRuntime, change: func(tb testing.TB, e *forensics.Evidence) {
				answers("ok")(tb, e)
				e.Cover(forensics.Source{Source: forensics.SourceGoroutines, Status: forensics.SourceDenied})
			}, outcome: forensics.OutcomeNotChecked},
			{name: "it runs, but another process has its socket", base: withRuntime, change: answers("not-owned"), outcome: forensics.OutcomeClean},
			{name: "no kubelet runs either", base: withRuntime, change: func(tb testing.TB, e *forensics.Evidence) {
				answers("refused")(tb, e)
				e.Processes, e.Kubelet.PID = e.Processes[:2], 0
			}, outcome: forensics.OutcomeClean},
		},
	}
}

// stuckNode is a node with a deleted pod: the kubelet no longer lists it, and a thread of its container waits for a disk.
func stuckNode(tb testing.TB) forensics.Evidence {
	tb.Helper()
	e := wellNode(tb)
	path := "/sys/fs/cgroup/pids/kubepods/pod" + deadUID
	e.Cgroups = append(e.Cgroups, runtimes.PodCgroup{PodUID: deadUID, Path: path, Paths: []string{path}, Containers: []string{appID}})
	e.PodDirs = append(e.PodDirs, sickNode(tb).PodDirs[1])
	e.Processes = append(e.Processes, procs.Process{
		PID: 5000, Comm: "dd", State: "D", Command: []string{"dd"}, PodUID: deadUID, ContainerID: appID, Cgroup: "/kubepods/pod" + deadUID + "/" + appID,
	})
	e.Threads = []procs.Thread{{
		PID: 5000, TID: 5001, Comm: "dd", State: "D", WChan: "io_schedule", Stack: []string{"io_schedule"}, WaitSeconds: ptr(100.0), WaitFrom: "sched",
		Wait: procs.Wait{Kind: procs.WaitBlock, Function: "io_schedule", Kill: "no", Meaning: "It waits for a disk."},
	}}
	return e
}

func keepAlive(e *forensics.Evidence) {
	listed := e.Pods[0]
	listed.UID, listed.Name = deadUID, "app-0"
	e.Pods = append(e.Pods, listed)
}

func removeDir(_ testing.TB, e *forensics.Evidence) { e.PodDirs = e.PodDirs[:1] }

func freeze(e *forensics.Evidence, path string, v1 bool) {
	e.Cgroups[1].Frozen = []runtimes.FrozenCgroup{{Path: path, State: "frozen", V1: v1}}
}

// withRuntime is a well node of which the runtime is known.
func withRuntime(tb testing.TB) forensics.Evidence {
	tb.Helper()
	e := wellNode(tb)
	e.Processes = append(e.Processes, procs.Process{PID: 700, Comm: "containerd", State: "S", Command: []string{"/usr/bin/containerd"}})
	e.Runtimes = []runtimes.Runtime{{Name: "containerd", Root: "/var/lib/containerd", Socket: "/run/containerd/containerd.sock", Problems: []string{}}}
	e.Kubelet.Flags["container-runtime-endpoint"] = "unix:///run/containerd/containerd.sock"
	e.Cover(forensics.Source{Source: forensics.SourceRuntimeAnswer, Status: forensics.SourceRead})
	return e
}

func answers(status string) func(testing.TB, *forensics.Evidence) {
	return func(_ testing.TB, e *forensics.Evidence) { e.Runtimes[0].Answer = &runtimes.Answer{Status: status} }
}
