package forensics

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

func TestInit(t *testing.T) {
	e := NewEvidence()
	e.Processes = []procs.Process{
		{PID: 10, StartTicks: 100, State: "S", ContainerID: "a"}, {PID: 11, StartTicks: 100, State: "Z", ContainerID: "a"},
	}
	e.Cover(Source{Source: SourceProcesses, Status: SourceTimeout})
	unread := NewModel(&e)
	if _, got := unread.Init("a", runtimes.Task{InitPID: 10, InitStart: 100}); got != InitUnknown {
		t.Errorf("processes not read: %s", got)
	}
	e.Cover(Source{Source: SourceProcesses, Status: SourceRead})
	m := NewModel(&e)
	for name, tc := range map[string]struct {
		id   string
		task runtimes.Task
		want InitState
	}{
		"same start":                     {"a", runtimes.Task{InitPID: 10, InitStart: 100}, InitRunning},
		"the pid belongs to another one": {"a", runtimes.Task{InitPID: 10, InitStart: 99}, InitGone},
		"no start, its cgroup":           {"a", runtimes.Task{InitPID: 10}, InitRunning},
		"no start, another cgroup":       {"b", runtimes.Task{InitPID: 10}, InitUnknown},
		"zombie":                         {"a", runtimes.Task{InitPID: 11, InitStart: 100}, InitZombie},
		"no such process":                {"a", runtimes.Task{InitPID: 12, InitStart: 100}, InitGone},
		"no pid":                         {"a", runtimes.Task{}, InitUnknown},
	} {
		if _, got := m.Init(tc.id, tc.task); got != tc.want {
			t.Errorf("%s: %s; want %s", name, got, tc.want)
		}
	}
}

// TestRuntimeIsNoProofOfLife: records of a sandbox outlive the pod, its first process does not.
func TestRuntimeIsNoProofOfLife(t *testing.T) {
	e := NewEvidence()
	e.Pods = []kubelet.Pod{{UID: "live", Source: "kubelet"}, {UID: "u", Namespace: "default", Name: "web", Source: "runtime"}}
	e.Sandboxes = []runtimes.Sandbox{{ID: "box", PodUID: "u", Task: runtimes.Task{InitPID: 10, InitStart: 100}}}
	for _, s := range []string{SourceProcesses, SourceCgroups, SourceKubeletPods} {
		e.Cover(Source{Source: s, Status: SourceRead})
	}
	if state, why := NewModel(&e).PodState("u"); state != PodOrphaned {
		t.Errorf("%s (%s); want orphaned", state, why)
	}
	e.Processes = []procs.Process{{PID: 10, StartTicks: 100, State: "S"}}
	m := NewModel(&e)
	if state, why := m.PodState("u"); state != PodTerminating {
		t.Errorf("with its first process: %s (%s); want terminating", state, why)
	}
	if ns, name := m.PodName("u"); ns+"/"+name != "default/web" {
		t.Errorf("name %s/%s", ns, name)
	}
}

func TestPodKind(t *testing.T) {
	e := NewEvidence()
	e.Pods = []kubelet.Pod{
		{UID: "h", Source: "runtime", Kind: kubelet.KindStatic},
		{UID: "m", Source: "kubelet", MirrorUID: "h", Kind: kubelet.KindMirror},
	}
	m := NewModel(&e)
	if PodKind(m, "h") != kubelet.KindStatic || PodKind(m, "m") != kubelet.KindMirror || PodKind(m, "alone") != "" {
		t.Errorf("kinds %q %q %q", PodKind(m, "h"), PodKind(m, "m"), PodKind(m, "alone"))
	}
}
