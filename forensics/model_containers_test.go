package forensics

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

func TestInit(t *testing.T) {
	e := NewEvidence()
	e.Processes = []procs.Process{
		{PID: 10, StartTicks: 100, State: "S", ContainerID: "a"}, {PID: 11, StartTicks: 100, State: "Z", ContainerID: "a"},
	}
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

func TestPodFacts(t *testing.T) {
	e := NewEvidence()
	e.Pods = []kubelet.Pod{
		{Namespace: "default", Name: "web", Source: "manifest", Kind: kubelet.KindStatic},
		{UID: "h", Source: "runtime", Kind: kubelet.KindStatic},
		{UID: "m", Source: "kubelet", Phase: "Running", MirrorUID: "h", Kind: kubelet.KindMirror},
	}
	e.Containers = []runtimes.Container{{ID: "c", PodUID: "h"}}
	e.Cgroups = []runtimes.PodCgroup{{PodUID: "h", Containers: []string{"c"}, Frozen: []runtimes.FrozenCgroup{{State: "frozen"}}}}
	e.Processes = []procs.Process{{PID: 1}, {PID: 2, PodUID: "h"}, {PID: 3, PodUID: "alone"}}
	e.PodDirs = []kubelet.PodDir{{UID: "h"}}
	e.Cluster = &apidump.Dump{Pods: []apidump.Pod{
		{Object: apidump.Object{UID: "alone"}, Phase: "Failed"}, {Object: apidump.Object{UID: "m"}, Mirror: "h"}, {Object: apidump.Object{UID: "elsewhere"}},
	}}
	m := NewModel(&e)
	want := map[string][]PodFact{
		"h":     {{"runtime", "static, 1 container and 0 sandboxes"}, {"cgroup", "1 container, frozen"}, {"process", "1 process"}, {"pod-dir", "0 volumes"}, {"api-dump", "its mirror pod is m"}},
		"m":     {{"kubelet", "mirror, phase Running, the static pod is h"}, {"api-dump", "mirror"}},
		"alone": {{"process", "1 process"}, {"api-dump", "phase Failed"}},
	}
	if diff := cmp.Diff(want, PodFacts(m)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if PodKind(m, "h") != kubelet.KindStatic || PodKind(m, "m") != kubelet.KindMirror || PodKind(m, "alone") != "" {
		t.Errorf("kinds %q %q %q", PodKind(m, "h"), PodKind(m, "m"), PodKind(m, "alone"))
	}
}
