package report

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

// The table of containers tells a first process from another one that got its pid, and puts trouble first.
func TestContainersView(t *testing.T) {
	ended, code := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), 137
	task := func(pid int, start uint64) runtimes.Task {
		return runtimes.Task{InitPID: pid, InitStart: start, From: []string{"task"}}
	}
	e := forensics.NewEvidence()
	e.Runtimes = []runtimes.Runtime{{Name: "containerd", Root: "/var/lib/containerd", Answer: &runtimes.Answer{Status: "timeout"}}}
	e.Pods = []kubelet.Pod{{UID: "u1", Namespace: "default", Name: "web", Source: "runtime", Kind: kubelet.KindStatic}}
	e.Sandboxes = []runtimes.Sandbox{{ID: "box", PodUID: "u1", Task: task(10, 100)}}
	e.Containers = []runtimes.Container{
		{ID: "reused", PodUID: "u1", Name: "reused", Task: task(12, 1)},
		{ID: "old", PodUID: "u1", Name: "old", Finished: &ended, ExitCode: &code, Task: runtimes.Task{From: []string{"metadata"}}},
		{ID: "stuck", PodUID: "u1", Name: "<script>", Task: task(11, 200)},
		{ID: "dead", PodUID: "u1", Name: "dead", Task: runtimes.Task{Dead: true}},
	}
	e.Processes = []procs.Process{
		{PID: 10, StartTicks: 100, State: "S", PodUID: "u1"}, {PID: 11, StartTicks: 200, State: "Z", PodUID: "u1"}, {PID: 12, StartTicks: 300, State: "S"},
	}
	e.Cover(forensics.Source{Source: forensics.SourceProcesses, Status: forensics.SourceRead})
	r := Report{Evidence: e}
	places := newPlaces()
	names := podNamesOf(r)
	pods := newPodsView(r, names, places)
	newProcessesView(r, names, places)
	v := newContainersView(r, names, places)
	var got []string
	for _, row := range v.Rows {
		got = append(got, string(row.Name+" "+row.State.Word+" "+row.Ended)+row.Init.Href)
	}
	want := []string{
		"<script> zombie #process-1", "sandbox running #process-3", "dead removal failed ", "reused ended ",
		"old not running ended 2026-11-20 09:00:00 UTC, exit code 137",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if v.Runtimes[0].Answer != (mark{toneBad, "not responding"}) || places.hrefOf(forensics.KindRuntime, "containerd") != "#runtime-1" {
		t.Errorf("runtime %+v", v.Runtimes[0])
	}
	facts := []fact{{"runtime", "static, 4 containers and 1 sandbox, 1 of them running"}, {"process", "2 processes"}}
	if diff := cmp.Diff(facts, pods.Rows[0].Facts); diff != "" || pods.Rows[0].Kind != "static" {
		t.Errorf("kind %q, facts (-want +got):\n%s", pods.Rows[0].Kind, diff)
	}
}
