package checks

import (
	"slices"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

const apiUID = "8d1f0a53-66b7-4d60-9f0c-2f0a8f1c0b11"

// closed is a node whose kubelet refuses its list of pods (HTTP 401), as by default.
func closed(tb testing.TB, e *forensics.Evidence) {
	tb.Helper()
	e.Pods, e.Cluster = nil, nil
	for _, s := range []forensics.Source{
		{Source: forensics.SourceKubeletPods, Status: forensics.SourceDenied, Detail: "HTTP status 401: Unauthorized"},
		{Source: forensics.SourceAPIDump, Status: forensics.SourceAbsent},
		{Source: forensics.SourceThreads, Status: forensics.SourceRead},
		{Source: forensics.SourcePodLogs, Status: forensics.SourceRead},
	} {
		e.Cover(s)
	}
	e.Kubelet.Version = "1.31.2"
	e.Kubelet.Endpoints = []kubelet.Endpoint{{URL: "http://127.0.0.1:10248/healthz?verbose", Status: "ok", Passed: []string{"ping"}}}
	e.Kubelet.Started = at("09:30:00")
	e.Processes = append(e.Processes, procs.Process{PID: 4100, Comm: "nginx", State: "S", PodUID: apiUID})
	e.Cgroups = append(e.Cgroups, runtimes.PodCgroup{PodUID: apiUID, Path: "/sys/fs/cgroup/kubepods/pod" + apiUID})
	e.PodDirs = append(e.PodDirs, kubelet.PodDir{UID: apiUID, Path: kubeletRoot + "/pods/" + apiUID})
	for i := range e.PodDirs {
		if e.PodDirs[i].UID == deadUID {
			e.PodDirs[i].Changed, e.PodDirs[i].Modified = at("09:00:00"), at("09:00:00")
		}
	}
}

// closedKeeps is a closed node with a kubelet that keeps its pods in allocated_pods_state.
func closedKeeps(tb testing.TB, e *forensics.Evidence) {
	closed(tb, e)
	e.Kubelet.Version = "1.34.4"
	e.Pods = []kubelet.Pod{{UID: liveUID, Source: "allocation"}, {UID: apiUID, Source: "allocation"}}
}

// mountResponds makes the file server of the orphan's volume respond again.
func mountResponds(_ testing.TB, e *forensics.Evidence) { e.Probes = e.Probes[:1] }

func leftData(tb testing.TB, e *forensics.Evidence) { left("1.31.2", withVolume(dataLeft()))(tb, e) }

func leftVolData(tb testing.TB, e *forensics.Evidence) {
	left("1.31.2", withVolume(volDataOnly()))(tb, e)
}

var _ = scenariosOf("pod-orphaned", []scenario{
	{
		name: "closed: nothing knows the pod", base: sickNode, change: both(leftData, closed),
		want: []string{"info pod " + deadUID}, says: "it is not proven that pod " + deadUID + " no longer exists",
	},
	{
		name: "closed: the kubelet's file lacks the pod", base: sickNode, change: both(leftData, closedKeeps),
		want: []string{"warning pod " + deadUID}, says: "Likely orphaned pod directory",
	},
	{
		name: "closed: the log calls it orphaned", base: sickNode, change: both(leftData, closed, tells(event(logs.KindOrphan, 9, "10:00:00", "10:12:28",
			logs.Subject{PodUID: deadUID, Reason: "directory not empty"}))),
		want: []string{"warning pod " + deadUID}, says: "The directory contains data",
	},
	{
		name: "closed: the pod has completed", base: sickNode, change: both(left("1.31.2", func(*kubelet.PodDir) {}), closed),
		outcome: forensics.OutcomeNotChecked,
	},
	{
		name: "closed: the network is not ready", base: sickNode, change: both(leftData, closed, tells(event(logs.KindPodSyncFailed, 9, "10:00:00", "10:12:28",
			logs.Subject{PodUID: deadUID, Reason: "network is not ready"}))),
		outcome: forensics.OutcomeNotChecked,
	},
	{name: "closed and well", base: wellNode, change: closed, outcome: forensics.OutcomeClean},
})

var _ = scenariosOf("pod-orphaned-mounted", []scenario{
	{name: "closed: nothing knows the pod", base: sickNode, change: both(closed, mountResponds), want: []string{"info pod " + deadUID}, says: "Possibly orphaned pod directory"},
	{name: "closed: the kubelet's file lacks the pod", base: sickNode, change: both(closedKeeps, mountResponds), want: []string{"warning pod " + deadUID}},
	{
		name: "closed: the log calls it orphaned", base: sickNode, change: both(closed, mountResponds, tells(event(logs.KindOrphan, 9, "10:00:00", "10:12:28",
			logs.Subject{PodUID: deadUID, Reason: "volume paths are still present on disk"}))),
		want: []string{"warning pod " + deadUID},
	},
	{name: "closed: the pod waits for this volume", base: sickNode, change: both(closed, mountResponds, func(_ testing.TB, e *forensics.Evidence) {
		e.Cgroups = append(e.Cgroups, runtimes.PodCgroup{PodUID: deadUID, Path: "/sys/fs/cgroup/kubepods/pod" + deadUID})
	}), outcome: forensics.OutcomeClean},
})

var _ = scenariosOf("pod-orphaned-vol-data", []scenario{
	{name: "closed: nothing knows the pod", base: sickNode, change: both(leftVolData, closed), want: []string{"info pod " + deadUID}},
	{name: "closed: the kubelet's file lacks the pod", base: sickNode, change: both(leftVolData, closedKeeps), want: []string{"warning pod " + deadUID}},
	{name: "closed and well", base: wellNode, change: closed, outcome: forensics.OutcomeClean},
})

var _ = scenariosOf("mount-orphaned", []scenario{
	{name: "closed: nothing knows the pod", base: sickNode, change: both(closed, mountResponds), want: []string{"info mount 60"}, says: "possibly orphaned pod"},
	{name: "closed and well", base: wellNode, change: closed, outcome: forensics.OutcomeClean},
})

var _ = scenariosOf("pod-cgroup-leftover", []scenario{
	{name: "closed and well", base: wellNode, change: closed, outcome: forensics.OutcomeClean},
	{
		name: "closed: a process of a pod without a directory", base: stuckNode, change: both(removeDir, closed, runsSince("09:00:00")),
		want: []string{"info path /sys/fs/cgroup/pids/kubepods/pod" + deadUID}, says: "the pod may no longer exist",
	},
	{name: "closed: the pod is starting", base: stuckNode, change: both(removeDir, closed, runsSince("10:12:00")), outcome: forensics.OutcomeNotChecked},
	{name: "closed: the cgroup has no process yet", base: stuckNode, change: both(removeDir, closed, func(_ testing.TB, e *forensics.Evidence) {
		e.Processes = slices.DeleteFunc(e.Processes, func(p procs.Process) bool { return p.PodUID == deadUID })
	}), outcome: forensics.OutcomeNotChecked},
	{name: "closed: empty, and the kubelet's file lacks the pod", base: stuckNode, change: both(removeDir, closedKeeps, func(_ testing.TB, e *forensics.Evidence) {
		e.Processes = slices.DeleteFunc(e.Processes, func(p procs.Process) bool { return p.PodUID == deadUID })
	}), want: []string{"info path /sys/fs/cgroup/pids/kubepods"}},
})

// runsSince has the processes of the dead pod run since a time of day.
func runsSince(clock string) func(testing.TB, *forensics.Evidence) {
	return func(_ testing.TB, e *forensics.Evidence) {
		for i := range e.Processes {
			if e.Processes[i].PodUID == deadUID {
				e.Processes[i].Started = *at(clock)
			}
		}
	}
}

// TestUnprovenOrphansAreOnlyLookedAt: nothing may be changed before somebody has asked whether the pod exists.
func TestUnprovenOrphansAreOnlyLookedAt(t *testing.T) {
	for _, node := range []func(testing.TB, *forensics.Evidence){closed, closedKeeps} {
		for _, has := range []func(testing.TB, *forensics.Evidence){leftData, leftVolData, mountResponds} {
			e := sickNode(t)
			both(has, node)(t, &e)
			found := 0
			for _, f := range forensics.Analyze(&e, All()).Findings {
				if f.ID != "pod-orphaned" && f.ID != "pod-orphaned-mounted" && f.ID != "pod-orphaned-vol-data" && f.ID != "mount-orphaned" && f.ID != "unmount-busy" {
					continue
				}
				found++
				if f.Confidence == forensics.Certain {
					t.Errorf("%s is certain: %s", f.ID, f.ConfidenceWhy)
				}
				for _, r := range f.Remedies {
					if r.Action != remedy.ActionLook {
						t.Errorf("%s: %s: %s", f.ID, r.Action, r)
					}
				}
			}
			if found == 0 {
				t.Error("the orphan was not found")
			}
		}
	}
}

// TestClosedNodeIsJudged: what a healthy node with default settings leaves unchecked needs the API server.
func TestClosedNodeIsJudged(t *testing.T) {
	for _, node := range []func(testing.TB, *forensics.Evidence){closed, closedKeeps} {
		e := wellNode(t)
		node(t, &e)
		e.Cover(forensics.Source{Source: forensics.SourceLogs, Status: forensics.SourceRead})
		e.Kubelet.Endpoints = wellNode(t).Kubelet.Endpoints // on a real one, the goroutines in its memory show the sync loop
		e.Logs.Files = e.Logs.Files[:2]                     // without that of the controller manager
		var open []string
		for _, o := range forensics.Analyze(&e, All()).Outcomes {
			if o.Status != forensics.OutcomeClean {
				open = append(open, o.Check)
			}
		}
		slices.Sort(open)
		if want := []string{"pod-podgc", "pod-unschedulable", "pvc-terminating-held"}; !slices.Equal(open, want) {
			t.Errorf("not clean: %q; want %q", open, want)
		}
	}
}
