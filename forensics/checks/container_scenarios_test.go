package checks

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

var appID = strings.Repeat("0123456789abcdef", 4)

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
