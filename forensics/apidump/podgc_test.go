package apidump

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func at(minutes int) *time.Time {
	t := noon.Add(time.Duration(minutes) * time.Minute)
	return &t
}

func pod(name, phase string, created int, edit ...func(*Pod)) Pod {
	p := Pod{Object: Object{Kind: "Pod", Namespace: "shop", Name: name, UID: "u-" + name, Created: at(created)}, Node: "node-1", Phase: phase}
	for _, f := range edit {
		f(&p)
	}
	return p
}

func evicted(p *Pod)     { p.Phase, p.Reason = "Failed", "Evicted" }
func terminating(p *Pod) { p.Deleting = at(0) }
func on(node string) func(*Pod) {
	return func(p *Pod) { p.Node = node }
}

func victims(d Dump, r Replay) (names []string) {
	for _, v := range r.Victims {
		names = append(names, string(v.Rule)+" "+d.Pods[v.Pod].Name)
	}
	return names
}

func TestPodGC(t *testing.T) {
	threshold := func(n int) *int { return &n }
	ready := Node{Object: Object{Name: "node-1"}, Ready: "True"}
	out := func(name, ready string) Node {
		return Node{Object: Object{Name: name}, Ready: ready, Taints: []Taint{{Key: taintOutOfService, Value: "nodeshutdown", Effect: "NoExecute"}}}
	}
	old := pod("b-old", "Succeeded", -60)
	young := pod("a-young", "Failed", -1)
	thrown := pod("c-thrown", "", -10, evicted)
	for name, tc := range map[string]struct {
		dump    Dump
		version string
		want    []string
	}{
		"at the threshold nobody goes":                  {Dump{Pods: []Pod{old, young}, TerminatedPodGCThreshold: threshold(2)}, "", nil},
		"the oldest goes up to 1.26":                    {Dump{Pods: []Pod{young, thrown, old}, TerminatedPodGCThreshold: threshold(2)}, "1.26.15", []string{"terminated b-old"}},
		"the evicted one goes since 1.27":               {Dump{Pods: []Pod{young, thrown, old}, TerminatedPodGCThreshold: threshold(2)}, "1.27.0", []string{"terminated c-thrown"}},
		"then the oldest":                               {Dump{Pods: []Pod{young, thrown, old}, TerminatedPodGCThreshold: threshold(1)}, "1.34.4", []string{"terminated c-thrown", "terminated b-old"}},
		"of one age the first by name, not namespace":   {Dump{Pods: []Pod{pod("z", "Failed", 0, func(p *Pod) { p.Namespace = "a" }), pod("y", "Failed", 0, func(p *Pod) { p.Namespace = "b" })}, TerminatedPodGCThreshold: threshold(1)}, "", []string{"terminated y"}},
		"a threshold of 0 turns it off":                 {Dump{Pods: []Pod{old, young}, TerminatedPodGCThreshold: threshold(0)}, "", nil},
		"unknown and running pods do not count":         {Dump{Pods: []Pod{old, pod("r", "Running", 0), pod("u", "Unknown", 0), pod("p", "Pending", 0)}, TerminatedPodGCThreshold: threshold(1)}, "", nil},
		"a terminated one that is being deleted counts": {Dump{Pods: []Pod{old, pod("y", "Failed", 0, terminating)}, TerminatedPodGCThreshold: threshold(1)}, "", []string{"terminated b-old"}},
		"out of service":                                {Dump{Pods: []Pod{pod("x", "Running", 0, terminating)}, Nodes: []Node{out("node-1", "Unknown")}}, "1.28.0", []string{"out-of-service x"}},
		"out of service, unknown before 1.24":           {Dump{Pods: []Pod{pod("x", "Running", 0, terminating)}, Nodes: []Node{out("node-1", "Unknown")}}, "1.23.17", nil},
		"out of service but ready":                      {Dump{Pods: []Pod{pod("x", "Running", 0, terminating)}, Nodes: []Node{out("node-1", "True")}}, "", nil},
		"out of service, not being deleted":             {Dump{Pods: []Pod{pod("x", "Running", 0)}, Nodes: []Node{out("node-1", "False")}}, "", nil},
		"out of service without a Ready condition":      {Dump{Pods: []Pod{pod("x", "Running", 0, terminating)}, Nodes: []Node{out("node-1", "")}}, "", []string{"out-of-service x"}},
		"a node that is gone":                           {Dump{Pods: []Pod{pod("x", "Running", 0, on("node-9"))}, Nodes: []Node{ready}}, "", []string{"orphaned x"}},
		"a dump without nodes proves no node gone":      {Dump{Pods: []Pod{pod("x", "Running", 0, on("node-9"))}}, "", nil},
		"terminating without a node":                    {Dump{Pods: []Pod{pod("x", "Pending", 0, terminating, on(""))}}, "", []string{"unscheduled x"}},
		"terminating on a ready node is never helped":   {Dump{Pods: []Pod{pod("x", "Running", 0, terminating)}, Nodes: []Node{ready}}, "", nil},
		"one pod, two rules: the first":                 {Dump{Pods: []Pod{pod("x", "Failed", 0, on("node-9")), young}, Nodes: []Node{ready}, TerminatedPodGCThreshold: threshold(1)}, "", []string{"terminated a-young", "orphaned x"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := victims(tc.dump, tc.dump.PodGC(tc.version)); !slices.Equal(got, tc.want) {
				t.Errorf("victims %q, want %q", got, tc.want)
			}
		})
	}
}

// TestPodGCOf12600 has 12,600 terminated pods, the 50 youngest of them evicted.
func TestPodGCOf12600(t *testing.T) {
	var d Dump
	for i := range 12_600 {
		p := pod(fmt.Sprintf("p-%05d", i), "Succeeded", i)
		if i >= 12_550 {
			evicted(&p)
		}
		d.Pods = append(d.Pods, p)
	}
	slices.Reverse(d.Pods)
	for version, want := range map[string][2]string{
		"1.26.0": {"p-00000", "p-00099"},
		"1.27.0": {"p-12550", "p-00049"},
	} {
		r := d.PodGC(version)
		if len(r.Victims) != 100 || r.Terminated != 12_600 || r.Threshold != defaultThreshold {
			t.Fatalf("%s: %d victims of %d, threshold %d; want 100", version, len(r.Victims), r.Terminated, r.Threshold)
		}
		if got := [2]string{d.Pods[r.Victims[0].Pod].Name, d.Pods[r.Victims[99].Pod].Name}; got != want {
			t.Errorf("%s: first and last victim %v, want %v", version, got, want)
		}
	}
}

func TestDeleters(t *testing.T) {
	seconds := func(n int64) *int64 { return &n }
	owned := func(kind, uid string) func(*Pod) {
		return func(p *Pod) { p.Owners = []Owner{{Kind: kind, Name: "o", UID: uid}} }
	}
	d := Dump{
		Kinds: map[string]int{"Job": 2, "Workflow": 1},
		Owners: []Object{
			{Kind: "Job", Namespace: "shop", Name: "o", UID: "ttl", Removal: "ttlSecondsAfterFinished 60"},
			{Kind: "Job", Namespace: "shop", Name: "o", UID: "kept"},
			{Kind: "Workflow", Namespace: "shop", Name: "flow", UID: "flow", Removal: "podGC OnPodCompletion"},
			{Kind: "ReplicaSet", Namespace: "shop", Name: "rs", UID: "rs", Deleting: at(3)},
		},
		Nodes: []Node{{Object: Object{Name: "node-1"}, Taints: []Taint{{Key: "node.kubernetes.io/unreachable", Effect: "NoExecute", Added: at(0)}, {Key: "busy", Effect: "NoSchedule"}}}},
	}
	tolerant := func(s *int64) func(*Pod) {
		return func(p *Pod) {
			p.Tolerations = []Toleration{{Key: "node.kubernetes.io/unreachable", Operator: "Exists", Seconds: s}}
		}
	}
	for name, tc := range map[string]struct {
		pod  Pod
		who  []string
		when *time.Time
	}{
		"preempted":                     {pod("x", "Failed", 0, func(p *Pod) { p.Disrupted = &Condition{Reason: "PreemptionByScheduler", Since: at(1)} }), []string{"scheduler preemption"}, at(1)},
		"evicted before 1.26":           {pod("x", "", 0, evicted), []string{"kubelet"}, nil},
		"Job with a TTL":                {pod("x", "Succeeded", 0, owned("Job", "ttl")), []string{"Job TTL"}, nil},
		"Job that keeps its pods":       {pod("x", "Succeeded", 0, owned("Job", "kept")), nil, nil},
		"Workflow":                      {pod("x", "Succeeded", 0, owned("Workflow", "flow")), []string{"Argo Workflow"}, nil},
		"owner is being deleted":        {pod("x", "Succeeded", 0, owned("ReplicaSet", "rs")), []string{"garbage collector"}, at(3)},
		"owner is gone":                 {pod("x", "Succeeded", 0, owned("Job", "gone")), []string{"garbage collector"}, nil},
		"owner's kind was not dumped":   {pod("x", "Succeeded", 0, owned("Rollout", "gone")), nil, nil},
		"taint, not tolerated":          {pod("x", "Running", 0), []string{"taint eviction"}, at(0)},
		"taint, tolerated for a while":  {pod("x", "Running", 0, tolerant(seconds(300))), []string{"taint eviction"}, at(5)},
		"taint, tolerated for ever":     {pod("x", "Running", 0, tolerant(nil)), nil, nil},
		"taint, all tolerated":          {pod("x", "Running", 0, func(p *Pod) { p.Tolerations = []Toleration{{Operator: "Exists"}} }), nil, nil},
		"taint, mirror pods are spared": {pod("x", "Running", 0, func(p *Pod) { p.Mirror = "hash" }), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := d.Index().Deleters(tc.pod)
			var who []string
			for _, g := range got {
				who = append(who, g.Who)
			}
			if !slices.Equal(who, tc.who) {
				t.Fatalf("deleters %+v, want %v", got, tc.who)
			}
			if tc.when != nil && (got[0].When == nil || !got[0].When.Equal(*tc.when)) {
				t.Errorf("when %v, want %v", got[0].When, tc.when)
			}
		})
	}
	if got := d.Index().VanishedBy("shop", "flow-step-1234"); len(got) != 1 || got[0].Who != "Argo Workflow" {
		t.Errorf("vanished step: %+v", got)
	}
	for _, id := range [][2]string{{"other", "flow-step"}, {"shop", "flower"}, {"shop", "flow"}} {
		if got := d.Index().VanishedBy(id[0], id[1]); len(got) != 0 {
			t.Errorf("%v: %+v", id, got)
		}
	}
}

func TestTrimKeepsWhatIsAskedFor(t *testing.T) {
	full := pod("x", "Running", 0, func(p *Pod) {
		p.Tolerations, p.Selector = []Toleration{{Key: "a"}}, map[string]string{"a": "b"}
		p.Images = []Image{{Name: "there", PullPolicy: "Always"}, {Name: "never", PullPolicy: "Never"}, {Name: "waits", Waiting: "ErrImagePull"}}
	})
	d := Dump{Pods: []Pod{full, full}, Nodes: []Node{{Object: Object{Name: "node-1"}}, {Object: Object{Name: "node-2"}, Taints: []Taint{{Key: "k", Effect: "NoExecute"}}}}}
	d.Pods[1].Node, d.Pods[1].Unscheduled = "node-2", &Condition{}
	d.Pods[1].Images = slices.Clone(full.Images)
	d.Trim()
	if p := d.Pods[0]; p.Tolerations != nil || p.Selector != nil || len(p.Images) != 2 || p.Images[0].Name != "never" || p.Images[1].Name != "waits" {
		t.Errorf("trimmed to %+v", p)
	}
	if p := d.Pods[1]; len(p.Tolerations) != 1 || len(p.Selector) != 1 {
		t.Errorf("trimmed to %+v", p)
	}
}

func TestClaims(t *testing.T) {
	claim := Claim{Object: Object{Namespace: "shop", Name: "data"}, Volume: "pv-1", Phase: "Bound"}
	user := pod("x", "Running", 0, func(p *Pod) { p.Claims = []string{"data"} })
	stranger := pod("y", "Running", 0, func(p *Pod) { p.Namespace, p.Claims = "other", []string{"data"} })
	d := Dump{Pods: []Pod{stranger, user}}
	if got := d.Index().UsersOf(claim); !slices.Equal(got, []int{1}) {
		t.Errorf("users %v, want the pod of the same namespace", got)
	}
	local := Volume{Object: Object{Name: "pv-1"}, Source: "local", Nodes: []string{"node-9"}}
	for name, tc := range map[string]struct {
		dump Dump
		lost bool
	}{
		"no volumes in the dump":  {Dump{}, false},
		"the volume is gone":      {Dump{Kinds: map[string]int{"PersistentVolume": 3}}, true},
		"on a node that is gone":  {Dump{Volumes: []Volume{local}, Nodes: []Node{{Object: Object{Name: "node-1"}}}}, true},
		"no nodes in the dump":    {Dump{Volumes: []Volume{local}}, false},
		"on a node that is there": {Dump{Volumes: []Volume{local}, Nodes: []Node{{Object: Object{Name: "node-9"}}}}, false},
		"a volume of every node":  {Dump{Volumes: []Volume{{Object: Object{Name: "pv-1"}}}, Nodes: []Node{{}}}, false},
	} {
		if got := tc.dump.Index().Lost(claim); (got != "") != tc.lost {
			t.Errorf("%s: %q", name, got)
		}
	}
}
