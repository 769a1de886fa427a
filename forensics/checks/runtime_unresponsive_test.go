package checks

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

// pass is a pass over evidence, of no check.
func pass(e *forensics.Evidence) *forensics.Pass {
	return &forensics.Pass{Evidence: e, Model: forensics.NewModel(e)}
}

// The process of a runtime is known where there is one alone of that name.
func TestRuntimeProcess(t *testing.T) {
	configured := func(endpoint string) *kubelet.Instance {
		return &kubelet.Instance{Config: &kubelet.Config{ContainerRuntimeEndpoint: endpoint}}
	}
	for _, tt := range []struct {
		name      string
		kubelet   *kubelet.Instance
		processes []string // commands
		want      bool
	}{
		{"nothing is known", nil, nil, false},
		{"endpoint", configured("unix:///run/containerd/containerd.sock"), []string{"containerd"}, true},
		{"endpoint without a process", configured("/var/run/crio/crio.sock"), nil, false},
		{"cri-dockerd beside docker and containerd", configured("unix:///var/run/cri-dockerd.sock"), []string{"dockerd", "containerd", "cri-dockerd"}, true},
		{"dockershim", configured("unix:///var/run/dockershim.sock"), []string{"dockerd", "containerd"}, true},
		{"the only one that runs", nil, []string{"sh", "crio"}, true},
		{"two run and nothing says which", nil, []string{"dockerd", "containerd"}, false},
		{"an endpoint of another kind", configured("tcp://127.0.0.1:9"), []string{"sh"}, false},
		{"two processes of it", nil, []string{"containerd", "containerd"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := forensics.NewEvidence()
			e.Kubelet = tt.kubelet
			for i, comm := range tt.processes {
				e.Processes = append(e.Processes, procs.Process{PID: 100 + i, Comm: comm})
			}
			if _, ok := runtimeProcess(pass(&e)); ok != tt.want {
				t.Errorf("its process is known: %v, want %v", ok, tt.want)
			}
		})
	}
}

// A runtime within a container serves another kubelet.
func TestRuntimeInAContainer(t *testing.T) {
	e := forensics.NewEvidence()
	e.Processes = []procs.Process{{PID: 1, Comm: "containerd"}, {PID: 2, Comm: "containerd", ContainerID: "ab"}}
	if p, ok := runtimeProcess(pass(&e)); !ok || p.PID != 1 {
		t.Errorf("runtimeProcess() = %+v, %v; want the host's", p, ok)
	}
}

// What is called like a runtime is none if the kernel says so: not in its place, nor beside the real one.
func TestRuntimeImpostor(t *testing.T) {
	process := func(pid, uid int) procs.Process {
		return procs.Process{PID: pid, Comm: "containerd", State: "S", UserNS: 1, Identity: &procs.Identity{
			ReaderUserNS: 1, UIDs: []int{uid, uid, uid}, Capabilities: "000001ffffffffff", Cgroups: []string{"/system.slice"}, Executable: "/usr/bin/containerd",
		}}
	}
	e := forensics.NewEvidence()
	e.Processes = []procs.Process{process(2, 65534)}
	if p := pass(&e); runtimeRuns(p) || p.Model.RuntimeEntity().ID != "runtime" {
		t.Errorf("%v runs: %t; want none", p.Model.RuntimeEntity(), runtimeRuns(p))
	}
	e.Processes = append(e.Processes, process(3, 0))
	if p, ok := runtimeProcess(pass(&e)); !ok || p.PID != 3 {
		t.Errorf("runtimeProcess() = %d, %v; want that of root", p.PID, ok)
	}
}

var _ = scenariosOf("runtime-unresponsive", runtimeUnresponsiveInLogs())

func runtimeUnresponsiveInLogs() []scenario {
	clean := forensics.OutcomeClean
	return []scenario{
		{
			name: "the log says so", base: wellNode, change: both(tells(
				event(logs.KindRuntimeCallFailed, 4, "10:10:00", "10:12:20", code(logs.Subject{Reason: "ListPodSandbox with filter: context deadline exceeded"}, "DeadlineExceeded")),
				event(logs.KindSyncLoopSkipped, 9, "10:10:05", "10:12:27", down)), logAlone),
			want: []string{"critical runtime runtime"}, says: "has not responded since 2026-11-20 10:08:00 UTC",
		},
		{name: "and its process is stopped", base: wellNode, change: both(tells(event(logs.KindRuntimeDown, 9, "10:10:00", "10:12:20", down)), func(_ testing.TB, e *forensics.Evidence) {
			e.Processes = append(e.Processes, procs.Process{PID: 812, Comm: "containerd", State: "T"})
		}), want: []string{"critical runtime containerd"}, says: "is stopped by a signal"},
		{
			name: "the kubelet stood still, and skipped one round", base: withRuntime, change: both(answers("ok"), tells(numbered(event(logs.KindPLEGUnhealthy, 1, "10:12:20", "10:12:20", pleg), 189))),
			want: []string{"info runtime containerd"}, says: "no later line repeats it",
		},
		{
			name: "it skips round after round", base: withRuntime, change: both(answers("ok"), tells(numbered(event(logs.KindPLEGUnhealthy, 4, "10:12:18", "10:12:20", pleg), 189))),
			want: []string{"warning runtime containerd"},
		},
		{name: "it answered again", base: wellNode, change: tells(event(logs.KindRuntimeDown, 9, "09:40:00", "09:45:00", down)), want: []string{"info runtime runtime"}, says: "no later line repeats it"},
		{name: "a container that does not stop", base: wellNode, change: tells(event(logs.KindContainerStopFailed, 9, "10:00:00", "10:12:00", code(logs.Subject{}, "DeadlineExceeded"))), outcome: clean},
		{name: "a call that it refuses", base: wellNode, change: tells(event(logs.KindRuntimeCallFailed, 1, "10:12:00", "10:12:00", code(logs.Subject{Reason: "RuntimeConfig: unknown method"}, "Unimplemented"))), outcome: clean},
	}
}

var _ = scenariosOf("runtime-unresponsive", runtimeUnresponsiveInContainers())

func runtimeUnresponsiveInContainers() []scenario {
	return []scenario{
		{name: "its socket does not answer", base: withRuntime, change: answers("timeout"), want: []string{"warning runtime containerd"}, says: "is not responding"},
		{name: "stopped by a signal", base: withRuntime, change: func(tb testing.TB, e *forensics.Evidence) {
			answers("timeout")(tb, e)
			e.Processes[len(e.Processes)-1].State = "T"
		}, want: []string{"critical runtime containerd"}, says: "stopped by a signal"},
		{name: "it does not run", base: withRuntime, change: func(tb testing.TB, e *forensics.Evidence) {
			answers("refused")(tb, e)
			e.Processes = e.Processes[:3]
			e.Cover(forensics.Source{Source: forensics.SourceGoroutines, Status: forensics.SourceDenied})
		}, want: []string{"critical runtime containerd"}, says: "is not running; pods cannot start or stop"},
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
		}, want: []string{"critical runtime containerd"}, says: "is not running; pods cannot start or stop"},
		{name: "it answers", base: withRuntime, change: answers("ok"), outcome: forensics.OutcomeClean},
		{name: "it answers, but it is not known what the kubelet waits for", base: withRuntime, change: func(tb testing.TB, e *forensics.Evidence) {
			answers("ok")(tb, e)
			e.Cover(forensics.Source{Source: forensics.SourceGoroutines, Status: forensics.SourceDenied})
		}, outcome: forensics.OutcomeNotChecked},
		{name: "it runs, but another process has its socket", base: withRuntime, change: answers("not-owned"), outcome: forensics.OutcomeClean},
		{name: "no kubelet runs either", base: withRuntime, change: func(tb testing.TB, e *forensics.Evidence) {
			answers("refused")(tb, e)
			e.Processes, e.Kubelet.PID = e.Processes[:2], 0
		}, outcome: forensics.OutcomeClean},
	}
}

var _ = scenariosOf("runtime-unresponsive", runtimeUnresponsiveInDumps())

func runtimeUnresponsiveInDumps() []scenario {
	return []scenario{
		{name: "configured endpoint", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
			withStack("kubelet-1.34", "A.7 PLEG waits for the runtime, and pods for the PLEG")(tb, e)
			e.Kubelet.Config = &kubelet.Config{ContainerRuntimeEndpoint: "unix:///run/containerd/containerd.sock"}
		}, want: []string{"critical runtime containerd"}, says: "containerd has not answered ListPodSandbox for at least 3 min; pods cannot start or stop"},
		{name: "its process is stopped", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
			withStack("kubelet-1.34", "a runtime that does not answer at once, of no proven age")(tb, e)
			e.Processes = append(e.Processes, procs.Process{PID: 812, Comm: "containerd", State: "T"})
		}, want: []string{"critical runtime containerd"}, says: "Its process 812 is stopped by a signal (state T)"},
		{name: "its thread waits in a file system", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
			withStack("kubelet-1.34", "a runtime that does not answer at once, of no proven age")(tb, e)
			e.Processes = append(e.Processes, procs.Process{PID: 812, Comm: "containerd", State: "S"})
			e.Threads[0].PID, e.Threads[0].TID = 812, 820
		}, want: []string{"warning runtime containerd"}, says: "Its thread 820 is in newfstatat"},
		{name: "pulling an image", base: wellNode, change: withStack("kubelet-1.22", "pulling an image takes as long as it takes"), outcome: forensics.OutcomeClean},
		{name: "two questions under way in a dump without states", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
			addDump(tb, e, aggregate(tb, stackNamed(tb, "kubelet-1.34", "A.7 PLEG waits for the runtime, and pods for the PLEG").dump), 9825)
		}, outcome: forensics.OutcomeClean},
	}
}
