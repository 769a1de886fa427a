package forensics_test

import (
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

const (
	closedLive   = "11111111-1111-4111-8111-111111111111"
	closedOrphan = "22222222-2222-4222-8222-222222222222"
	closedStatic = "2fa11937efabc40db85278b553e1ceeb"
)

// closedNode is a node whose kubelet refuses its list, with a pod that runs and the directory of one that nothing knows.
func closedNode() *forensics.Evidence {
	e := forensics.NewEvidence()
	e.Collected = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	before := func(d time.Duration) *time.Time { t := e.Collected.Add(-d); return &t }
	e.Collector.PID = 1
	for _, source := range []string{
		forensics.SourceProcesses, forensics.SourceCgroups, forensics.SourcePodDirs, forensics.SourceRuntime, forensics.SourcePodLogs, forensics.SourceLogs,
	} {
		e.Cover(forensics.Source{Source: source, Status: forensics.SourceRead})
	}
	e.Cover(forensics.Source{Source: forensics.SourceKubeletPods, Status: forensics.SourceDenied, Detail: "HTTP 401"})
	e.Kubelet = &kubelet.Instance{
		PID: 700, State: "S", Version: "1.31.2", RootDir: "/var/lib/kubelet", CanonicalRoot: "/var/lib/kubelet",
		Started: before(2 * time.Hour), Flags: map[string]string{},
	}
	e.Processes = []procs.Process{{PID: 1, Comm: "systemd"}, {PID: 700, Comm: "kubelet"}, {PID: 800, Comm: "app", PodUID: closedLive}}
	e.Cgroups = []runtimes.PodCgroup{{PodUID: closedLive, Path: "/sys/fs/cgroup/kubepods/pod" + closedLive}}
	dir := func(uid string, volumes ...kubelet.Volume) kubelet.PodDir {
		return kubelet.PodDir{UID: uid, Path: "/var/lib/kubelet/pods/" + uid, Modified: before(time.Hour), Changed: before(time.Hour), Volumes: volumes}
	}
	e.PodDirs = []kubelet.PodDir{dir(closedLive), dir(closedOrphan, kubelet.Volume{
		Plugin: "kubernetes.io/csi", Name: "pv", Path: "/var/lib/kubelet/pods/" + closedOrphan + "/volumes/kubernetes.io~csi/pv", Kind: "dir",
	})}
	e.Logs = &logs.Story{
		Lives: []logs.Life{{PID: 700, Started: before(2 * time.Hour), Last: before(time.Minute)}}, Dropped: map[logs.Kind]int64{},
	}
	return &e
}

// says adds a message of the kubelet about the pod that nothing else knows, some time before the examination.
func says(kind logs.Kind, before time.Duration) func(*forensics.Evidence) {
	return func(e *forensics.Evidence) {
		at := e.Collected.Add(-before)
		e.Logs.Events = append(e.Logs.Events, logs.Event{Kind: kind, Origin: "kubelet", Subject: logs.Subject{PodUID: closedOrphan}, First: &at, Last: &at})
	}
}

func truncated(source string) func(*forensics.Evidence) {
	return func(e *forensics.Evidence) {
		e.Cover(forensics.Source{Source: source, Status: forensics.SourceTruncated})
	}
}

// knownBy adds a pod that a source names.
func knownBy(uid, source string) func(*forensics.Evidence) {
	return func(e *forensics.Evidence) { e.Pods = append(e.Pods, kubelet.Pod{UID: uid, Source: source}) }
}

func changes(list ...func(*forensics.Evidence)) func(*forensics.Evidence) {
	return func(e *forensics.Evidence) {
		for _, change := range list {
			change(e)
		}
	}
}

// keepsPods is a kubelet of a version that keeps its pods in allocated_pods_state.
func keepsPods(e *forensics.Evidence) {
	e.Kubelet.Version = "1.34.4"
	knownBy(closedLive, "allocation")(e)
}

// beingDeleted has the kubelet's log show the unmount of the volumes of the pod in question.
func beingDeleted(e *forensics.Evidence) {
	at := e.Collected.Add(-time.Minute)
	e.Logs.Deletions = []logs.Deletion{{PodUID: closedOrphan, Stage: logs.StageVolumes, Since: &at, Proven: true, Steps: []logs.Step{{Stage: logs.StageVolumes, Time: at}}}}
}

func TestPodWithoutTheKubeletsList(t *testing.T) {
	const hour = time.Hour
	for _, tt := range []struct {
		name   string
		change func(*forensics.Evidence)
		want   forensics.PodState
	}{
		{"nothing knows it", func(*forensics.Evidence) {}, forensics.PodPossiblyOrphaned},
		{"the log calls it orphaned", says(logs.KindOrphan, time.Minute), forensics.PodLikelyOrphaned},
		{"as a kubelet did that ended", says(logs.KindOrphan, 3*hour), forensics.PodLikelyOrphaned},
		{"at -v 3, while it is mounted", says("orphan-mounted", time.Minute), forensics.PodLikelyOrphaned},
		{"the log calls it orphaned, and a sandbox is left", changes(says(logs.KindOrphan, time.Minute), func(e *forensics.Evidence) {
			e.Sandboxes = []runtimes.Sandbox{{ID: "s", PodUID: closedOrphan}}
		}), forensics.PodLikelyOrphaned},
		{"the log calls it orphaned, but processes were not read", changes(says(logs.KindOrphan, time.Minute), func(e *forensics.Evidence) {
			e.Cover(forensics.Source{Source: forensics.SourceProcesses, Status: forensics.SourceDenied})
		}), forensics.PodUnknown},
		{"the log calls it orphaned, but it has a cgroup", changes(says(logs.KindOrphan, time.Minute), func(e *forensics.Evidence) {
			e.Cgroups = append(e.Cgroups, runtimes.PodCgroup{PodUID: closedOrphan})
		}), forensics.PodLive},

		{"it waits for its first volume: a cgroup", func(e *forensics.Evidence) {
			e.Cgroups = append(e.Cgroups, runtimes.PodCgroup{PodUID: closedOrphan})
		}, forensics.PodLive},
		{"it waits for the network: a message at each attempt", says(logs.KindPodSyncFailed, 2*time.Minute), forensics.PodUnknown},
		{"a message of the kubelet before this one", says(logs.KindPodSyncFailed, 3*hour), forensics.PodPossiblyOrphaned},
		{"a volume is being mounted", func(e *forensics.Evidence) {
			at := e.Collected.Add(-hour)
			e.Logs.Operations = []logs.Operation{{Name: "MountVolume", Subject: logs.Subject{PodUID: closedOrphan}, Started: &at}}
		}, forensics.PodUnknown},
		{"messages about its deletion, which has ended", changes(says("pod-teardown", hour), func(e *forensics.Evidence) {
			e.Logs.Deletions = []logs.Deletion{{PodUID: closedOrphan, Done: true}}
		}), forensics.PodPossiblyOrphaned},
		{"evicted or completed: a directory without volumes", func(e *forensics.Evidence) { e.PodDirs[1].Volumes = nil }, forensics.PodUnknown},
		{"completed: its last sandbox", func(e *forensics.Evidence) { e.Sandboxes = []runtimes.Sandbox{{ID: "s", PodUID: closedOrphan}} }, forensics.PodUnknown},
		{"completed: its log directory", knownBy(closedOrphan, "log-dir"), forensics.PodUnknown},
		{"volumes of completed pods are kept", func(e *forensics.Evidence) { e.Kubelet.Flags["keep-terminated-pod-volumes"] = "true" }, forensics.PodUnknown},
		{"it has exclusive CPUs", knownBy(closedOrphan, "state"), forensics.PodUnknown},
		{"it changed a minute ago", func(e *forensics.Evidence) {
			at := e.Collected.Add(-time.Minute)
			e.PodDirs[1].Changed = &at
		}, forensics.PodUnknown},
		{"its directory was not read", func(e *forensics.Evidence) { e.PodDirs[1].Error = "input/output error" }, forensics.PodUnknown},
		{"a static pod's, which can come back", func(e *forensics.Evidence) {
			e.PodDirs[1].UID, e.PodDirs[1].Path = closedStatic, "/var/lib/kubelet/pods/"+closedStatic
		}, forensics.PodUnknown},

		{"rebooted, and the kubelet hangs at its start", func(e *forensics.Evidence) { e.Processes, e.Cgroups = e.Processes[:2], nil }, forensics.PodUnknown},
		{"rebooted without the API server: static pods run", func(e *forensics.Evidence) {
			e.Processes[2].PodUID, e.Cgroups[0].PodUID, e.PodDirs[0].UID = closedStatic, closedStatic, closedStatic
		}, forensics.PodUnknown},
		{"the kubelet started a minute ago", func(e *forensics.Evidence) {
			at := e.Collected.Add(-time.Minute)
			e.Kubelet.Started = &at
		}, forensics.PodUnknown},
		{"the kubelet is stopped", func(e *forensics.Evidence) { e.Kubelet.State = "T" }, forensics.PodUnknown},
		{"no kubelet runs", func(e *forensics.Evidence) { e.Kubelet.PID = 0 }, forensics.PodUnknown},
		{"no log", func(e *forensics.Evidence) { e.Logs = nil }, forensics.PodUnknown},
		{"the log ends before this kubelet", func(e *forensics.Evidence) {
			at := e.Collected.Add(-3 * hour)
			e.Logs.Lives[0].Last = &at
		}, forensics.PodUnknown},
		{"failures of pods were left out", func(e *forensics.Evidence) { e.Logs.Dropped[logs.KindPodSyncFailed] = 1 }, forensics.PodUnknown},
		{"the runtime's database is cut", truncated(forensics.SourceRuntime), forensics.PodUnknown},
		{"cgroups are cut", truncated(forensics.SourceCgroups), forensics.PodUnknown},
		{"log directories are cut", truncated(forensics.SourcePodLogs), forensics.PodUnknown},
		{"the list is cut", truncated(forensics.SourceKubeletPods), forensics.PodUnknown},
		{"the list was read and is empty", func(e *forensics.Evidence) {
			e.Cover(forensics.Source{Source: forensics.SourceKubeletPods, Status: forensics.SourceRead})
		}, forensics.PodUnknown},

		{"the kubelet keeps all pods but this one", keepsPods, forensics.PodLikelyOrphaned},
		{"even with a sandbox, which it did not remove yet", changes(keepsPods, func(e *forensics.Evidence) {
			e.Sandboxes = []runtimes.Sandbox{{ID: "s", PodUID: closedOrphan}}
		}), forensics.PodLikelyOrphaned},
		{"the kubelet unmounts what it found after its start", changes(keepsPods, beingDeleted), forensics.PodLikelyOrphaned},
		{"a deletion of a pod that it keeps", changes(keepsPods, knownBy(closedOrphan, "allocation"), beingDeleted), forensics.PodTerminating},
		{"a deletion, and no file tells", beingDeleted, forensics.PodTerminating},
		{"the kubelet keeps it", changes(keepsPods, knownBy(closedOrphan, "allocation")), forensics.PodLive},
		{"completed, but kept", changes(keepsPods, knownBy(closedOrphan, "allocation"), func(e *forensics.Evidence) { e.PodDirs[1].Volumes = nil }), forensics.PodLive},
		{"a file from before the gate was closed", changes(func(e *forensics.Evidence) { e.Kubelet.Version = "1.34.4" }, knownBy(closedStatic, "allocation"),
			func(e *forensics.Evidence) { e.PodDirs[1].Volumes = nil }), forensics.PodUnknown},
		{"a kubelet that keeps pods, after a reboot that it did not survive", changes(keepsPods, func(e *forensics.Evidence) {
			e.Processes, e.Cgroups = e.Processes[:2], nil
		}), forensics.PodUnknown},
		{"a directory younger than the examination", changes(keepsPods, func(e *forensics.Evidence) {
			at := e.Collected.Add(time.Second)
			e.PodDirs[1].Modified = &at
		}), forensics.PodUnknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := closedNode()
			tt.change(e)
			uid := e.PodDirs[1].UID
			got, why := forensics.NewModel(e).PodState(uid)
			if got != tt.want {
				t.Errorf("state = %q; want %q (%s)", got, tt.want, why)
			}
			if (got == forensics.PodUnknown) == (got.Orphaned() != "") && got != forensics.PodLive && got != forensics.PodTerminating {
				t.Errorf("%q is orphaned with the confidence %q", got, got.Orphaned())
			}
		})
	}
}

func TestTheKubeletsListIsStrongerThanItsFiles(t *testing.T) {
	e := closedNode()
	keepsPods(e)
	knownBy(closedOrphan, "allocation")(e) // the kubelet has not written the file since
	knownBy(closedLive, "kubelet")(e)
	e.Cover(forensics.Source{Source: forensics.SourceKubeletPods, Status: forensics.SourceRead})
	if got, why := forensics.NewModel(e).PodState(closedOrphan); got != forensics.PodOrphaned || got.Orphaned() != forensics.Certain {
		t.Errorf("state = %q (%s); want orphaned", got, why)
	}
}
