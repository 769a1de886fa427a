package checks

import (
	"reflect"
	"slices"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// TestSayingNothing holds the exact words for a log that cannot tell whether the sync loop hangs.
func TestSayingNothing(t *testing.T) {
	e := wellNode(t)
	both(atLowVerbosity, logAlone)(t, &e)
	a := forensics.Analyze(&e, []forensics.Check{kubeletSyncloopStalled})
	want := "no endpoint with the syncloop check answered, and no goroutine dump shows the sync loop; the log alone does not show whether the sync loop is stalled: " +
		"at this verbosity (at least -v 2) the kubelet logs no housekeeping lines, and an idle loop logs as little as a blocked one"
	if a.Outcomes[0].Reason != want || a.Outcomes[0].Status != forensics.OutcomeNotChecked {
		t.Errorf("outcome = %+v; want not checked: %s", a.Outcomes[0], want)
	}
}

// TestFindingsQuoteTheirLines: what rests on a log, so that without it there is another finding or none, names file and line.
func TestFindingsQuoteTheirLines(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, check := range All() {
		for _, s := range scenarios[check.ID] {
			e := s.base(t)
			if s.change != nil {
				s.change(t, &e)
			}
			findings := forensics.Analyze(&e, []forensics.Check{check}).Findings
			e.Logs = nil
			without := forensics.Analyze(&e, []forensics.Check{check}).Findings
			for _, f := range findings {
				if slices.ContainsFunc(without, func(o forensics.Finding) bool { return reflect.DeepEqual(o, f) }) {
					continue
				}
				seen++
				quoted := slices.ContainsFunc(f.Refs, func(r forensics.Ref) bool {
					return r.Excerpt != "" && (len(r.Source) > len("logs:") && r.Source[:5] == "logs:")
				})
				if !quoted {
					t.Errorf("%s, %s: no line of a log is quoted: %+v", check.ID, s.name, f.Refs)
				}
				if f.ConfidenceWhy == "" {
					t.Errorf("%s, %s: no reason for its confidence", check.ID, s.name)
				}
				for _, r := range f.Remedies {
					if r.String() == "" || r.Why == "" || r.Risk == "" {
						t.Errorf("%s, %s: remedy without command, reason or risk: %+v", check.ID, s.name, r)
					}
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no finding rests on a log")
	}
}

// TestNoKubeletLog: a log of the kernel alone tells nothing about the kubelet, which is not the same as "clean".
func TestNoKubeletLog(t *testing.T) {
	e := wellNode(t)
	logAlone(t, &e)
	e.Logs.Lives, e.Logs.Loop = nil, nil
	for _, id := range []string{
		"kubelet-restarting", "kubelet-pleg-unhealthy", "runtime-unresponsive", "csi-driver-missing", "csi-operation-stuck",
		"pod-terminating-stuck", "image-gc-failing", "image-gc-removed-in-use", "eviction-stuck", "kubelet-syncloop-stalled",
	} {
		check := All()[slices.IndexFunc(All(), func(c forensics.Check) bool { return c.ID == id })]
		if o := forensics.Analyze(&e, []forensics.Check{check}).Outcomes[0]; o.Status != forensics.OutcomeNotChecked || o.Reason == "" {
			t.Errorf("outcome = %+v; want not-checked with a reason", o)
		}
	}
}

// TestLogJoinsTheChain has a dump, the mounts and the log of one trouble: they must tell one story from one root.
func TestLogJoinsTheChain(t *testing.T) {
	for _, tt := range []struct {
		name   string
		base   func(testing.TB) forensics.Evidence
		change func(testing.TB, *forensics.Evidence)
		want   []string
		since  string
	}{
		{
			"the dead mount, the silent loop, the pod that stays", sickNode,
			both(silentSince("10:00:10", 900), deleting("volumes", "10:00:05", nil),
				tells(fromKernel(event(logs.KindKernelNFSDown, 4, "09:59:30", "10:10:00", logs.Subject{Server: "10.0.0.5"})))),
			[]string{"superblock 0:47", "mount 60", "thread 9825/9839", "goroutine 117", "subsystem housekeeping", "subsystem syncloop", "kubelet 9825"},
			"09:59:30",
		},
		{
			"who holds the mount, the refused unmount, the pod, the eviction that frees nothing", wellNode,
			both(deleting("volumes", "10:05:00", nil), busy(holders.Holder{PID: 5000, Kind: holders.HoldCwd, Path: deadPoint}),
				tells(numbered(event(logs.KindUnmountBusy, 9, "10:05:01", "10:12:00", deadVolume), 122),
					event(logs.KindEvictionCleanupTimeout, 3, "10:05:40", "10:12:00", logs.Subject{PodUID: deadUID, PodName: "default/db"})),
				func(_ testing.TB, e *forensics.Evidence) {
					e.PodDirs = append(e.PodDirs, kubelet.PodDir{UID: deadUID, Path: kubeletRoot + "/pods/" + deadUID, Containers: []string{}, Subpaths: []kubelet.Subpath{}, Volumes: []kubelet.Volume{}})
					e.Cgroups[0].PodUID = deadUID // it terminates
				}),
			[]string{"process 5000", "mount 60", "pod " + deadUID, "subsystem eviction"},
			"10:00:00",
		},
		{
			"the stopped runtime, the PLEG, the loop that skips", wellNode,
			both(tells(event(logs.KindRuntimeDown, 9, "10:05:00", "10:12:20", down), numbered(event(logs.KindPLEGUnhealthy, 12, "10:08:00", "10:12:28", pleg), 420)),
				process(procs.Process{PID: 812, Comm: "containerd", State: "T"}), func(_ testing.TB, e *forensics.Evidence) { e.Kubelet.Endpoints = nil }),
			[]string{"process 812", "runtime containerd", "subsystem pleg", "subsystem syncloop", "kubelet 9825"},
			"10:05:00",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := tt.base(t)
			tt.change(t, &e)
			a := forensics.Analyze(&e, All())
			if len(a.Diagnoses) != 1 {
				for _, d := range a.Diagnoses {
					t.Logf("root %v: %s", d.Root, d.Title)
				}
				t.Fatalf("%d diagnoses; want 1; findings %v", len(a.Diagnoses), summaries(a))
			}
			d := a.Diagnoses[0]
			var chain []string
			for _, link := range d.Chain {
				chain = append(chain, string(link.Kind)+" "+link.ID)
			}
			if !slices.Equal(chain, tt.want) {
				t.Errorf("chain = %q, want %q; findings %v", chain, tt.want, summaries(a))
			}
			if d.Since == nil || !d.Since.Equal(*at(tt.since)) {
				t.Errorf("since %v; want %s", d.Since, tt.since)
			}
		})
	}
}
