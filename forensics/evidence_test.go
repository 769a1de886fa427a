package forensics_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/backing"
	"github.com/nodeforensics/nodeforensics/forensics/collect"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

func TestEvidenceSurvivesJSON(t *testing.T) {
	want := filled[forensics.Evidence](t)
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got forensics.Evidence
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(logs.Story{}, "Names"), cmpopts.IgnoreFields(apidump.Dump{}, "Events")); diff != "" {
		t.Errorf("a round trip changes it (-before +after):\n%s", diff)
	}
}

func TestOptionsSurviveJSONSoThatAChildCanGetThem(t *testing.T) {
	want := collect.Options{
		Root: "/", KubeletRoot: "/media/ssd1/kubelet", HungAfter: 2 * time.Second, SlowAfter: time.Second, NoProbe: true,
		KubeletURL: "https://127.0.0.1:10250", Token: "t", TokenFile: "f", ClientCert: "c", ClientKey: "k",
		Goroutines: []string{"/a", "/b"}, Version: "1", Command: []string{"nodeforensics"}, RedactKey: []byte{0, 255},
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got collect.Options
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a round trip changes them (-before +after):\n%s", diff)
	}
}

func TestArraysAreNeverNull(t *testing.T) {
	merged := forensics.NewEvidence()
	merged.Merge(forensics.Evidence{})
	for name, v := range map[string]any{
		"evidence": forensics.NewEvidence(), "merged evidence": merged,
		"analysis": forensics.Analyze(&merged, nil),
		"analysis with a finding": forensics.Analyze(&merged, []forensics.Check{check("a-b", func(p *forensics.Pass) {
			p.Report(forensics.Finding{Severity: forensics.Critical, Subject: forensics.Entity{Kind: forensics.KindPod, ID: "p"}, Title: "t"})
		})}),
	} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "null") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestMerge(t *testing.T) {
	early, late := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC), time.Date(2026, 11, 20, 11, 0, 0, 0, time.UTC)
	have := func() forensics.Evidence {
		e := forensics.NewEvidence()
		e.Collected, e.Root, e.Node.Name = early, "/", "node-1"
		e.Mounts = mounts.Table{Namespace: 1, Mounts: []mounts.Mount{{ID: 1}}}
		e.Threads = []procs.Thread{{TID: 1}}
		e.Pods = []kubelet.Pod{{UID: "a"}}
		e.Kubelet = &kubelet.Instance{PID: 1}
		e.Collector.PID = 7
		e.Cover(forensics.Source{Source: forensics.SourceMounts, Status: forensics.SourceTimeout})
		return e
	}
	for _, tt := range []struct {
		name string
		part forensics.Evidence
		want func(*forensics.Evidence)
	}{
		{"nothing changes nothing", forensics.Evidence{}, func(*forensics.Evidence) {}},
		{"a later list replaces", forensics.Evidence{Threads: []procs.Thread{{TID: 2}, {TID: 3}}}, func(e *forensics.Evidence) {
			e.Threads = []procs.Thread{{TID: 2}, {TID: 3}}
		}},
		{"an empty list replaces, too", forensics.Evidence{Threads: []procs.Thread{}}, func(e *forensics.Evidence) {
			e.Threads = []procs.Thread{}
		}},
		{"pods of several sources add up", forensics.Evidence{Pods: []kubelet.Pod{{UID: "b"}}}, func(e *forensics.Evidence) {
			e.Pods = []kubelet.Pod{{UID: "a"}, {UID: "b"}}
		}},
		{"dumps add up", forensics.Evidence{Dumps: []forensics.Dump{{Source: "x"}}}, func(e *forensics.Evidence) {
			e.Dumps = []forensics.Dump{{Source: "x"}}
		}},
		{"namespaces add up", forensics.Evidence{Namespaces: []mounts.Table{{Namespace: 2}}}, func(e *forensics.Evidence) {
			e.Namespaces = []mounts.Table{{Namespace: 2}}
		}},
		{"a mount table replaces as a whole", forensics.Evidence{Mounts: mounts.Table{Mounts: []mounts.Mount{}}}, func(e *forensics.Evidence) {
			e.Mounts = mounts.Table{Mounts: []mounts.Mount{}}
		}},
		{
			"single values replace",
			forensics.Evidence{Collected: late, Root: "/mnt", Node: forensics.Node{Name: "node-2"}, Kubelet: &kubelet.Instance{PID: 2}},
			func(e *forensics.Evidence) {
				e.Collected, e.Root, e.Node.Name, e.Kubelet = late, "/mnt", "node-2", &kubelet.Instance{PID: 2}
			},
		},
		{"a source that is told again replaces", forensics.Evidence{Coverage: []forensics.Source{
			{Source: forensics.SourceMounts, Status: forensics.SourceRead}, {Source: forensics.SourceNode, Status: forensics.SourceRead},
		}}, func(e *forensics.Evidence) {
			e.Coverage = []forensics.Source{
				{Source: forensics.SourceMounts, Status: forensics.SourceRead}, {Source: forensics.SourceNode, Status: forensics.SourceRead},
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want, got := have(), have()
			tt.want(&want)
			got.Merge(tt.part)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestMergeForgetsNothing holds for fields that do not exist yet, too.
func TestMergeForgetsNothing(t *testing.T) {
	want := filled[forensics.Evidence](t)
	want.Schema = forensics.EvidenceSchema
	for i := range want.Coverage { // a source has one entry
		want.Coverage[i].Source += string(rune('a' + i))
	}
	got := forensics.NewEvidence()
	got.Merge(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lost on the way (-told +merged):\n%s", diff)
	}
}

// Data in evidence counts as read; an entry of its source wins, and what is empty was not collected.
func TestSawWithoutCoverage(t *testing.T) {
	kubelets := func(status string) *kubelet.Instance {
		return &kubelet.Instance{Endpoints: []kubelet.Endpoint{{URL: "http://127.0.0.1:10248/healthz?verbose", Status: status}}}
	}
	for source, fill := range map[string]func(*forensics.Evidence){
		forensics.SourceNode:          func(e *forensics.Evidence) { e.Node.Name = "n" },
		forensics.SourceMounts:        func(e *forensics.Evidence) { e.Mounts.Mounts = []mounts.Mount{{ID: 1}} },
		forensics.SourceProcesses:     func(e *forensics.Evidence) { e.Processes = []procs.Process{{PID: 1}} },
		forensics.SourceThreads:       func(e *forensics.Evidence) { e.Threads = []procs.Thread{{PID: 1}} },
		forensics.SourceHealth:        func(e *forensics.Evidence) { e.Probes = []mounts.Probe{{MountID: 1}} },
		forensics.SourceKubelet:       func(e *forensics.Evidence) { e.Kubelet = kubelets("refused") },
		forensics.SourceKubeletHealth: func(e *forensics.Evidence) { e.Kubelet = kubelets("unhealthy") },
		forensics.SourceKubeletPods:   func(e *forensics.Evidence) { e.Pods = []kubelet.Pod{{Source: "kubelet"}} },
		forensics.SourceMetrics: func(e *forensics.Evidence) {
			e.Kubelet = &kubelet.Instance{Metrics: map[string]float64{"go_goroutines": 1}}
		},
		forensics.SourceGoroutines:      func(e *forensics.Evidence) { e.Dumps = []forensics.Dump{{}} },
		forensics.SourceOtherGoroutines: func(e *forensics.Evidence) { e.Dumps = []forensics.Dump{{Program: "containerd"}} },
		forensics.SourceCPUProfile:      func(e *forensics.Evidence) { e.CPUProfile = &goroutines.CPUProfile{} },
		forensics.SourcePodDirs:         func(e *forensics.Evidence) { e.PodDirs = []kubelet.PodDir{{UID: "u"}} },
		forensics.SourceStaticPods:      func(e *forensics.Evidence) { e.Pods = []kubelet.Pod{{Source: "manifest"}} },
		forensics.SourceCgroups:         func(e *forensics.Evidence) { e.Cgroups = []runtimes.PodCgroup{{PodUID: "u"}} },
		forensics.SourcePodLogs:         func(e *forensics.Evidence) { e.Pods = []kubelet.Pod{{Source: "log-dir"}} },
		forensics.SourceHolders:         func(e *forensics.Evidence) { e.MountUse = &forensics.MountUse{} },
		forensics.SourceAPIDump:         func(e *forensics.Evidence) { e.Cluster = &apidump.Dump{} },
		forensics.SourceDisks:           func(e *forensics.Evidence) { e.Disks = &eviction.State{} },
		forensics.SourceRuntime:         func(e *forensics.Evidence) { e.Containers = []runtimes.Container{{ID: "c"}} },
		forensics.SourceRuntimeAnswer:   func(e *forensics.Evidence) { e.Runtimes = []runtimes.Runtime{{Answer: &runtimes.Answer{}}} },
		forensics.SourceBackings:        func(e *forensics.Evidence) { e.Backings = []backing.Backing{{Device: "0:46"}} },
		forensics.SourceLogs:            func(e *forensics.Evidence) { e.Logs = &logs.Story{} },
		forensics.SourceAPI:             func(e *forensics.Evidence) { e.Cluster = &apidump.Dump{NodeName: "node-1"} },
	} {
		empty, filled := forensics.NewEvidence(), forensics.NewEvidence()
		fill(&filled)
		late := filled
		late.Cover(forensics.Source{Source: source, Status: forensics.SourceTimeout})
		for name, c := range map[string]struct {
			e    forensics.Evidence
			want bool
		}{"empty": {empty, false}, "filled": {filled, true}, "filled, and the coverage says otherwise": {late, false}} {
			if ok, reason := c.e.Saw(source); ok != c.want || ok != (reason == "") {
				t.Errorf("%s, %s: %t %q", source, name, ok, reason)
			}
		}
	}
	for name, e := range map[string]forensics.Evidence{ // each is enough
		"a runtime": {Runtimes: []runtimes.Runtime{{Name: "crio"}}}, "a sandbox": {Sandboxes: []runtimes.Sandbox{{ID: "s"}}}, "an image": {Images: []runtimes.Image{{ID: "i"}}},
	} {
		if ok, _ := e.Saw(forensics.SourceRuntime); !ok {
			t.Errorf("%s of a runtime was not read", name)
		}
	}
	others := forensics.NewEvidence() // what one source has is no sign of another
	others.Pods, others.Kubelet = []kubelet.Pod{{Source: "runtime"}}, kubelets("refused")
	others.Runtimes = []runtimes.Runtime{{Name: "containerd"}}
	for _, source := range []string{forensics.SourceKubeletPods, forensics.SourceKubeletHealth, forensics.SourceRuntimeAnswer, forensics.SourceMetrics, "no source"} {
		if ok, _ := others.Saw(source); ok {
			t.Errorf("%s counts as read", source)
		}
	}
}

func TestSaw(t *testing.T) {
	for _, tt := range []struct {
		name     string
		coverage []forensics.Source
		ok       bool
		reason   string
	}{
		{"never tried", nil, false, "not collected"},
		{"read", []forensics.Source{{Source: "goroutines", Status: "read"}}, true, ""},
		{"cut", []forensics.Source{{Source: "goroutines", Status: "truncated", Detail: "at 64 MiB"}}, true, ""},
		{"denied", []forensics.Source{{Source: "goroutines", Status: "denied", Detail: "HTTP 403"}}, false, "denied (HTTP 403)"},
		{"one of several files", []forensics.Source{
			{Source: "goroutines:a", Status: "absent"}, {Source: "goroutines:b", Status: "read"},
		}, true, ""},
		{"none of several files", []forensics.Source{
			{Source: "goroutines:a", Status: "absent"}, {Source: "goroutines:b", Status: "malformed", Detail: "no dump"},
		}, false, "malformed (no dump)"},
		{"another source with the same beginning", []forensics.Source{{Source: "goroutines-of-others", Status: "read"}}, false, "not collected"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := forensics.Evidence{Coverage: tt.coverage}
			if ok, reason := e.Saw("goroutines"); ok != tt.ok || reason != tt.reason {
				t.Errorf("Saw = %v, %q; want %v, %q", ok, reason, tt.ok, tt.reason)
			}
		})
	}
}
