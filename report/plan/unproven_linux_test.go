package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/report"
)

// TestScriptUnproven has a kubelet that gives no list: nothing is removed of a pod that is orphaned for all that is known, with
// whatever confidence. With the list, there is a step for it.
func TestScriptUnproven(t *testing.T) {
	if !alone(t) {
		return
	}
	tr := newTree(t)
	tr.write(uidA, nfs+"/", "")
	tr.write(uidLive, nfs+"/", "")
	for name, tc := range map[string]struct {
		change func(*forensics.Evidence)
		want   forensics.PodState
	}{
		"nothing knows it": {func(*forensics.Evidence) {}, forensics.PodPossiblyOrphaned},
		"the kubelet's log calls it orphaned": {func(e *forensics.Evidence) {
			at := e.Collected.Add(-time.Minute)
			e.Logs.Events = []logs.Event{{Kind: logs.KindOrphan, Origin: "kubelet", Subject: logs.Subject{PodUID: uidA}, First: &at, Last: &at}}
		}, forensics.PodLikelyOrphaned},
		"the kubelet's list is without it": {func(e *forensics.Evidence) {
			e.Cover(forensics.Source{Source: forensics.SourceKubeletPods + ":pods-api", Status: forensics.SourceRead})
			e.Pods = []kubelet.Pod{{UID: uidLive, Source: "kubelet"}}
		}, forensics.PodOrphaned},
	} {
		t.Run(name, func(t *testing.T) {
			e := tr.report("1.31.2").Evidence
			closed(&e)
			tc.change(&e)
			r := report.New(report.Tool{Name: "test"}, e, forensics.Analysis{})
			if got, why := forensics.NewModel(&e).PodState(uidA); got != tc.want {
				t.Fatalf("the pod is %s (%s), want %s", got, why, tc.want)
			}
			script := string(plan(t, r))
			if step := strings.Contains(script, "step pod "+uidA); step != (tc.want == forensics.PodOrphaned) {
				t.Errorf("a step for it: %t\n%s", step, script)
			}
			if tc.want == forensics.PodOrphaned {
				return
			}
			if !strings.Contains(script, "pod directory cannot be distinguished from those of live pods") {
				t.Errorf("the script does not say why there is none:\n%s", script)
			}
			before := links(t, tr.root)
			out, _ := tr.start([]byte(script), "--apply", "--kubelet-root", tr.root)
			if diff := cmp.Diff(before, links(t, tr.root)); diff != "" {
				t.Errorf("something was changed (-before +after):\n%s\n%s", diff, out)
			}
		})
	}
}

// closed makes of the evidence that of a node whose kubelet refuses its list, hours after the last change. One pod runs.
func closed(e *forensics.Evidence) {
	e.Collected = e.Collected.Add(3 * time.Hour)
	started, last := e.Collected.Add(-2*time.Hour), e.Collected.Add(-time.Minute)
	e.Kubelet.State, e.Kubelet.Started, e.Kubelet.Flags = "S", &started, map[string]string{}
	e.Pods = nil
	e.Processes = []procs.Process{{PID: 1, Comm: "kubelet"}, {PID: 800, Comm: "app", PodUID: uidLive}}
	e.Cgroups = []runtimes.PodCgroup{{PodUID: uidLive, Path: "/sys/fs/cgroup/kubepods/pod" + uidLive}}
	e.Logs = &logs.Story{Lives: []logs.Life{{PID: 1, Started: &started, Last: &last}}, Dropped: map[logs.Kind]int64{}}
	for _, source := range []string{forensics.SourceRuntime, forensics.SourcePodLogs, forensics.SourceLogs} {
		e.Cover(forensics.Source{Source: source, Status: forensics.SourceRead})
	}
	e.Cover(forensics.Source{Source: forensics.SourceKubeletPods, Status: forensics.SourceDenied, Detail: "HTTP 401"})
}
