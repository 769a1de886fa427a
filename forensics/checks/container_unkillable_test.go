package checks

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

var _ = scenariosOf("container-unkillable", containerUnkillableInContainers())

func containerUnkillableInContainers() []scenario {
	container := "critical container " + appID
	cgroup := "/sys/fs/cgroup/pids/kubepods/pod" + deadUID
	return []scenario{
		{name: "deleted pod, a thread in a wait that no signal ends", base: stuckNode, want: []string{container}, says: "cannot be killed: dd (pid 5000) blocked in the kernel for 100 s"},
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
		}, want: []string{container}, says: "The container's process 5000 has ended"},
		{name: "ended but for a thread, and no age is proven", base: stuckNode, change: func(_ testing.TB, e *forensics.Evidence) {
			keepAlive(e)
			e.Processes[len(e.Processes)-1].State, e.Threads[0].WaitSeconds = "Z", nil
		}, want: []string{"warning container " + appID}},
		{name: "live pod", base: stuckNode, change: func(_ testing.TB, e *forensics.Evidence) { keepAlive(e) }, outcome: forensics.OutcomeClean},
		{name: "it is not known whether the pod is being deleted", base: stuckNode, change: func(_ testing.TB, e *forensics.Evidence) {
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
		{name: "v1 frozen and live: it was paused", base: stuckNode, change: func(_ testing.TB, e *forensics.Evidence) {
			e.Threads = nil
			keepAlive(e)
			freeze(e, cgroup+"/"+appID, true)
		}, outcome: forensics.OutcomeClean},
	}
}
