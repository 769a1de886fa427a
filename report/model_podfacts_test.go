package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

func TestPodFacts(t *testing.T) {
	e := forensics.NewEvidence()
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
	m := forensics.NewModel(&e)
	want := map[string][]podFact{
		"h":     {{"runtime", "static, 1 container and 0 sandboxes"}, {"cgroup", "1 container, frozen"}, {"process", "1 process"}, {"pod-dir", "0 volumes"}, {"api-dump", "mirror pod m"}},
		"m":     {{"kubelet", "mirror, phase Running, static pod h"}, {"api-dump", "mirror"}},
		"alone": {{"process", "1 process"}, {"api-dump", "phase Failed"}},
	}
	if diff := cmp.Diff(want, factsByPod(m)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
