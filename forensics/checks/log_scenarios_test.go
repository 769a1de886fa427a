package checks

import (
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// All stories end at 10:12:29, one second before the examination.

// logScenarios are those that rest on what logs say.
func logScenarios() map[string][]scenario {
	return merged(loopScenarios(), podScenarios(), volumeScenarios(), evictionScenarios(), kernelScenarios())
}

func merged(maps ...map[string][]scenario) map[string][]scenario {
	all := map[string][]scenario{}
	for _, m := range maps {
		for id, list := range m {
			all[id] = append(all[id], list...)
		}
	}
	return all
}

func loopScenarios() map[string][]scenario {
	clean, unjudged := forensics.OutcomeClean, forensics.OutcomeNotChecked
	return map[string][]scenario{
		"kubelet-restarting": {
			{
				name: "a panic", base: wellNode, change: lives(life(100, "09:00:00", "10:00:00", "panic", "registered"), life(101, "10:00:10", "10:12:29", "running", "registered")),
				want: []string{"warning kubelet 9825"}, says: "1 by a panic",
			},
			{
				name: "a restart on purpose", base: wellNode, change: lives(life(100, "09:00:00", "10:00:00", "signal", ""), life(101, "10:00:10", "10:12:29", "running", "registered")),
				want: []string{"info kubelet 9825"}, says: "by a signal",
			},
			{
				name: "it does not come up", base: wellNode, change: lives(life(100, "10:00:00", "10:01:00", "fatal", "runtime"), life(101, "10:02:00", "10:03:00", "fatal", "container-manager"),
					life(102, "10:04:00", "10:05:00", "oom", "container-manager"), life(103, "10:06:00", "10:06:30", "running", "container-manager")),
				want: []string{"critical kubelet 9825"}, says: `came as far as "container-manager"; next it waits for the container runtime's socket`,
			},
			{
				name: "hours ago it did not come up", base: wellNode, change: both(lives(life(100, "10:00:00", "10:01:00", "fatal", "runtime"), life(101, "10:02:00", "10:03:00", "fatal", "container-manager"),
					life(102, "10:04:00", "10:05:00", "oom", "container-manager"), life(103, "10:06:00", "10:06:30", "running", "container-manager")), later),
				want: []string{"warning kubelet 9825"}, says: "it may have ended since",
			},
			{
				name: "it recovered from a panic, and its process is there", base: wellNode,
				change:  both(lives(life(9825, "09:00:00", "10:12:29", "panic", "registered")), process(procs.Process{PID: 9825, Comm: "kubelet", State: "S", Command: []string{}})),
				outcome: clean,
			},
			{
				name: "the log ends with its end", base: wellNode, change: lives(life(100, "09:00:00", "10:12:29", "watchdog", "registered")),
				want: []string{"warning kubelet 9825"}, says: "by systemd's watchdog",
			},
			{name: "one life", base: wellNode, outcome: clean},
			{name: "no log of a kubelet", base: wellNode, change: func(_ testing.TB, e *forensics.Evidence) { e.Logs.Lives, e.Logs.Loop = nil, nil }, outcome: unjudged},
		},
		"kubelet-syncloop-stalled": {
			{
				name: "a log alone", base: wellNode, change: both(silentSince("10:00:10", 900), logAlone),
				want: []string{"critical subsystem syncloop"}, says: "has said nothing since 2026-11-20 10:00:10 UTC, for 12 min, while other parts went on",
			},
			{
				name: "a log alone says where", base: wellNode, change: both(silentSince("10:00:10", 900), logAlone),
				want: []string{"critical subsystem syncloop"}, says: "It is the start of a housekeeping, which then did not come back",
			},
			{
				name: "a log alone, of a loop silent for a minute and a half", base: wellNode, change: both(silentSince("10:11:00", 90), logAlone),
				want: []string{"warning subsystem syncloop"},
			},
			{name: "a log that ended hours ago", base: wellNode, change: both(silentSince("10:00:10", 900), func(tb testing.TB, e *forensics.Evidence) {
				logAlone(tb, e)
				e.Collected = at("10:12:30").Add(3 * time.Hour)
			}), want: []string{"warning subsystem syncloop"}, says: "where the log ends, 3 h 0 min before the examination: it may have ended since"},
			{name: "the health check disagrees", base: wellNode, change: silentSince("10:00:10", 900), want: []string{"warning subsystem syncloop"}},
			{
				name: "the dump explains it, the log says since when", base: sickNode, change: silentSince("10:00:10", 900),
				want: []string{"warning subsystem syncloop"}, says: "The loop's last line in the log is of 10:00:10.000",
			},
			{
				name: "it skips, and says so", base: wellNode, change: both(tells(event(logs.KindSyncLoopSkipped, 30, "10:08:00", "10:12:27", down)), logAlone),
				want: []string{"critical subsystem syncloop"}, says: "has skipped all pods since 2026-11-20 10:08:00 UTC, for 4 min: container runtime is down",
			},
			{name: "it skipped until a minute ago", base: wellNode, change: both(tells(event(logs.KindSyncLoopSkipped, 30, "10:08:00", "10:11:20", down)), logAlone), outcome: unjudged},
			{name: "it skipped, and went on", base: wellNode, change: both(tells(event(logs.KindSyncLoopSkipped, 30, "09:50:00", "09:58:00", down)), logAlone), outcome: unjudged},
			{name: "the kubelet has just started", base: wellNode, change: both(lives(life(1, "10:12:00", "10:12:29", "running", "syncloop")),
				tells(event(logs.KindSyncLoopSkipped, 3, "10:12:01", "10:12:20", down)), logAlone), outcome: unjudged},
			{name: "nobody else goes on: the log was cut", base: wellNode, change: both(silentSince("10:00:10", 0), logAlone), outcome: unjudged},
			{name: "at -v 2 silence proves nothing", base: wellNode, change: both(atLowVerbosity, logAlone), outcome: unjudged},
			{
				name: "at -v 2 the health check tells that it stands, and no more", base: wellNode, change: both(atLowVerbosity,
					tells(event(logs.KindSyncLoopHealth, 3, "10:12:00", "10:12:20", logs.Subject{})), logAlone),
				want: []string{"warning subsystem syncloop"}, says: "the log alone proves nothing about a hang of the sync loop",
			},
			{name: "the health check failed once, long ago", base: wellNode, change: both(atLowVerbosity,
				tells(event(logs.KindSyncLoopHealth, 3, "09:40:00", "09:42:20", logs.Subject{})), logAlone), outcome: unjudged},
			{name: "at -v 2 orphans were named, and are no more", base: wellNode, change: both(silentSince("10:00:10", 900), func(_ testing.TB, e *forensics.Evidence) {
				e.Logs.Loop.LastSeen = map[string]time.Time{"orphans": *at("10:00:10")}
			}, logAlone), outcome: unjudged},
			{name: "at -v 2 another source tells", base: wellNode, change: atLowVerbosity, outcome: clean},
			{name: "the kubelet ended", base: wellNode, change: both(silentSince("10:00:10", 900), lives(life(1, "09:00:00", "10:12:29", "signal", "")), logAlone), outcome: unjudged},
		},
		"kubelet-pleg-unhealthy": {
			{
				name: "the log says so", base: wellNode, change: both(tells(numbered(event(logs.KindPLEGUnhealthy, 12, "10:11:00", "10:12:28", pleg), 250)), logAlone),
				want: []string{"critical subsystem pleg"}, says: "since 2026-11-20 10:08:18 UTC",
			},
			{
				name: "it cannot list", base: wellNode, change: tells(event(logs.KindPLEGRelistFailed, 2, "10:09:00", "10:11:00", code(logs.Subject{Reason: "rpc error"}, "DeadlineExceeded"))),
				want: []string{"warning subsystem pleg"},
			},
			{
				name: "it is over", base: wellNode, change: tells(numbered(event(logs.KindPLEGUnhealthy, 12, "09:31:00", "09:40:00", pleg), 400)),
				want: []string{"info subsystem pleg"}, says: "then did",
			},
			{
				name: "a dump and the log", base: wellNode, change: both(withStack("kubelet-1.34", "A.7 PLEG waits for the runtime, and pods for the PLEG"),
					tells(numbered(event(logs.KindPLEGUnhealthy, 12, "10:11:00", "10:12:28", pleg), 250))),
				want: []string{"critical subsystem pleg"}, says: "The log says why, 12 times from 10:11:00.000 to 10:12:28.000: container runtime is down",
			},
			{name: "a kubelet that has just started", base: wellNode, change: both(lives(life(1, "10:12:00", "10:12:29", "running", "syncloop")),
				tells(numbered(event(logs.KindPLEGUnhealthy, 2, "10:12:01", "10:12:10", pleg), 0))), outcome: clean},
		},
		"runtime-unresponsive": {
			{
				name: "the log says so", base: wellNode, change: both(tells(
					event(logs.KindRuntimeCallFailed, 4, "10:10:00", "10:12:20", code(logs.Subject{Reason: "ListPodSandbox with filter: context deadline exceeded"}, "DeadlineExceeded")),
					event(logs.KindSyncLoopSkipped, 9, "10:10:05", "10:12:27", down)), logAlone),
				want: []string{"critical runtime runtime"}, says: "has not answered kubelet 1.17.4 since 2026-11-20 10:08:00 UTC",
			},
			{name: "and its process is stopped", base: wellNode, change: both(tells(event(logs.KindRuntimeDown, 9, "10:10:00", "10:12:20", down)), func(_ testing.TB, e *forensics.Evidence) {
				e.Processes = append(e.Processes, procs.Process{PID: 812, Comm: "containerd", State: "T"})
			}), want: []string{"critical runtime containerd"}, says: "is stopped by a signal"},
			{name: "it answered again", base: wellNode, change: tells(event(logs.KindRuntimeDown, 9, "09:40:00", "09:45:00", down)), want: []string{"info runtime runtime"}, says: "then did"},
			{name: "a container that does not stop", base: wellNode, change: tells(event(logs.KindContainerStopFailed, 9, "10:00:00", "10:12:00", code(logs.Subject{}, "DeadlineExceeded"))), outcome: clean},
			{name: "a call that it refuses", base: wellNode, change: tells(event(logs.KindRuntimeCallFailed, 1, "10:12:00", "10:12:00", code(logs.Subject{Reason: "RuntimeConfig: unknown method"}, "Unimplemented"))), outcome: clean},
		},
	}
}

func podScenarios() map[string][]scenario {
	clean := forensics.OutcomeClean
	return map[string][]scenario{
		"pod-terminating-stuck": {
			{
				name: "an unmount that is refused", base: wellNode, change: both(deleting("volumes", "10:05:00", nil), tells(numbered(event(logs.KindUnmountBusy, 9, "10:05:01", "10:12:00", deadVolume), 122))),
				want: []string{"warning pod " + deadUID}, says: "volume cephfs-data cannot be unmounted, its target is busy",
			},
			{
				name: "an unmount that is refused, seconds after it began", base: wellNode, change: both(deleting("volumes", "10:12:20", nil), tells(numbered(event(logs.KindUnmountBusy, 3, "10:12:21", "10:12:24", deadVolume), 4))),
				want: []string{"warning pod " + deadUID},
			},
			{name: "its mount does not answer", base: sickNode, change: deleting("volumes", "10:05:00", nil), want: []string{"warning pod " + deadUID}, says: "mount 60 at " + deadPoint + " does not answer"},
			{
				name: "an unmount that does not come back", base: wellNode, change: both(deleting("volumes", "10:05:00", nil), operation("UnmountVolume", "10:05:01", "", deadVolume)),
				want: []string{"warning pod " + deadUID}, says: "UnmountVolume of volume cephfs-data was started and has not come back",
			},
			{name: "no unmount was started", base: wellNode, change: deleting("volumes", "10:05:00", nil), want: []string{"warning pod " + deadUID}, says: "no unmount of its volumes was started"},
			{
				name: "its CSI driver is gone", base: wellNode, change: both(deleting("volumes", "10:05:00", nil), tells(event(logs.KindCSIDriverMissing, 9, "10:05:01", "10:12:00", csiVolume))),
				want: []string{"warning pod " + deadUID}, says: "CSI driver nfs.csi.k8s.io does not unmount volume pvc-1",
			},
			{
				name: "mounts that the kubelet does not unmount", base: wellNode, change: both(deleting("volumes", "10:05:00", nil), tells(event(logs.KindPodVolumesLeft, 900, "10:05:00", "10:12:28", logs.Subject{PodUID: deadUID}))),
				want: []string{"warning pod " + deadUID}, says: "1 mount below its directory, which the kubelet does not unmount",
			},
			{
				name: "the runtime cannot stop it", base: wellNode, change: both(deleting("containers", "10:05:00", grace(30)),
					tells(event(logs.KindContainerStopFailed, 3, "10:07:30", "10:12:20", code(logs.Subject{PodUID: deadUID}, "DeadlineExceeded")))),
				want: []string{"warning pod " + deadUID}, says: "the runtime cannot stop its containers: DeadlineExceeded",
			},
			{name: "a process that cannot be killed", base: sickNode, change: both(deleting("containers", "10:05:00", grace(30)), func(_ testing.TB, e *forensics.Evidence) {
				e.Processes = append(e.Processes, procs.Process{PID: 7777, Comm: "postgres", State: "D", PodUID: deadUID})
				t := e.Threads[0]
				t.PID, t.TID, t.Comm, t.Wait.Kill = 7777, 7777, "postgres", "no"
				e.Threads = append(e.Threads, t)
			}), want: []string{"warning pod " + deadUID}, says: "its process 7777 cannot be killed"},
			{name: "the grace period is over", base: wellNode, change: deleting("containers", "10:05:00", grace(30)), want: []string{"warning pod " + deadUID}, says: "its containers have not stopped"},
			{name: "the grace period is not over", base: wellNode, change: deleting("containers", "10:05:00", grace(3600)), outcome: clean},
			{name: "the grace period is not known", base: wellNode, change: deleting("containers", "10:05:00", nil), outcome: forensics.OutcomeNotChecked},
			{
				name: "the sync loop is silent", base: wellNode, change: both(deleting("requested", "10:00:09", nil), silentSince("10:00:10", 900), logAlone),
				want: []string{"warning pod " + deadUID}, says: "the kubelet's sync loop does not come round",
			},
			{
				name: "its start must end first", base: wellNode, change: both(deleting("requested", "10:05:00", nil), tells(event(logs.KindVolumesNotMounted, 4, "10:05:00", "10:12:00", logs.Subject{PodName: "default/db", Reason: "unmounted volumes=[data]"}))),
				want: []string{"warning pod " + deadUID}, says: "its worker is still busy with starting it",
			},
			{
				name: "a cgroup that stays", base: wellNode, change: both(deleting("cgroup", "10:05:00", nil), tells(event(logs.KindPodCgroupLeft, 9, "10:05:00", "10:12:20", code(logs.Subject{PodUID: deadUID}, "EBUSY")))),
				want: []string{"warning pod " + deadUID}, says: "its cgroup cannot be removed: EBUSY",
			},
			{
				name: "the API server is not told", base: wellNode, change: both(deleting("status", "10:05:00", nil), tells(event(logs.KindAPIUnreachable, 50, "10:04:00", "10:12:20", logs.Subject{Reason: "i/o timeout"}))),
				want: []string{"warning pod " + deadUID}, says: "has not told the API server: i/o timeout",
			},
			{
				name: "the API server asked, and the silent loop did not hear it", base: wellNode, change: both(silentSince("10:00:10", 900), overdue),
				want: []string{"warning pod " + deadUID}, says: "The kubelet's sync loop does not come round",
			},
			{
				name: "its log and the API server say the same", base: wellNode, change: both(deleting("volumes", "10:05:00", nil), overdue),
				want: []string{"warning pod " + deadUID}, says: "In the dump of the API: pod default/db should have been gone",
			},
			{name: "gone from the node, and still in the API", base: wellNode, change: deleting("api", "10:05:00", nil), want: []string{"warning pod " + deadUID}, says: "a finalizer keeps the object, not the kubelet"},
			{name: "later stages would not be seen", base: wellNode, change: deleting("volumes", "10:05:00", unproven), outcome: forensics.OutcomeNotChecked},
			{
				name: "later stages would not be seen, but a failure is", base: wellNode, change: both(deleting("volumes", "10:05:00", unproven), tells(event(logs.KindUnmountBusy, 9, "10:05:01", "10:12:00", deadVolume))),
				want: []string{"warning pod " + deadUID},
			},
			{name: "it ended by itself, and nobody deletes it", base: wellNode, change: deleting("api", "10:05:00", func(d *logs.Deletion) { d.Steps = d.Steps[1:] }), outcome: clean},
			{name: "it has just begun", base: wellNode, change: deleting("volumes", "10:12:00", nil), outcome: clean},
			{name: "it ended", base: wellNode, change: deleting("removed", "10:00:40", done), outcome: clean},
			{name: "the unmount succeeded at last", base: wellNode, change: both(deleting("volumes", "10:12:10", nil),
				tells(event(logs.KindUnmountBusy, 9, "10:05:01", "10:12:00", deadVolume), event(logs.KindUnmountDone, 1, "10:12:20", "10:12:20", deadVolume))), outcome: clean},
		},
		"pod-orphaned": {
			{
				name: "the log alone", base: wellNode, change: both(tells(numbered(event(logs.KindOrphan, 900, "09:31:00", "10:12:28", logs.Subject{PodUID: deadUID, Reason: "volume paths are still present on disk"}), 3)), logAlone),
				want: []string{"warning pod " + deadUID}, says: "It is one of 3; each round names the same one first",
			},
			{
				name: "and what the error means", base: wellNode, change: both(tells(numbered(event(logs.KindOrphan, 900, "09:31:00", "10:12:28",
					code(logs.Subject{PodUID: deadUID, Reason: "error occurred when trying to remove the volumes dir: not a directory"}, "ENOTDIR")), 1)), logAlone),
				want: []string{"warning pod " + deadUID}, says: "most often vol_data.json",
			},
			{
				name: "pods that come and go", base: wellNode, change: both(tells(
					numbered(event(logs.KindOrphan, 9, "10:11:00", "10:12:20", logs.Subject{PodUID: deadUID}), 2),
					numbered(event(logs.KindOrphan, 9, "10:12:21", "10:12:28", logs.Subject{PodUID: "11111111-2222-3333-4444-555555555555"}), 2)), logAlone),
				want: []string{"warning pod 11111111-2222-3333-4444-555555555555", "warning pod " + deadUID}, says: "changes (2 pods so far), so that pods come and go",
			},
			{
				name: "the directory and the log", base: sickNode, change: both(unmounted, tells(event(logs.KindOrphan, 9, "09:31:00", "10:12:20", logs.Subject{PodUID: deadUID, Reason: "directory not empty"}))),
				want: []string{"warning pod " + deadUID}, says: "There is data in it",
			},
			{
				name: "said up to where the loop fell silent", base: wellNode, change: both(silentSince("10:00:10", 900), tells(event(logs.KindOrphan, 9, "09:31:00", "10:00:09", logs.Subject{PodUID: deadUID})), logAlone),
				want: []string{"warning pod " + deadUID},
			},
			{
				name: "mounts, and no list of pods", base: sickNode, change: both(tells(event(logs.KindOrphan, 9, "09:31:00", "10:12:28", logs.Subject{PodUID: deadUID, Reason: "volume paths are still present on disk"})), func(_ testing.TB, e *forensics.Evidence) {
					e.Pods = nil
					e.Cover(forensics.Source{Source: forensics.SourceKubeletPods, Status: forensics.SourceTimeout})
				}),
				want: []string{"warning pod " + deadUID}, says: "volume paths are still present on disk",
			},
			{name: "it is over", base: wellNode, change: tells(event(logs.KindOrphan, 9, "09:31:00", "09:40:00", logs.Subject{PodUID: deadUID})), outcome: clean},
			{name: "the pod lives", base: wellNode, change: tells(event(logs.KindOrphan, 9, "09:31:00", "10:12:28", logs.Subject{PodUID: liveUID})), outcome: clean},
		},
		"pod-podgc": {
			{
				name: "an unknown node", base: wellNode, change: tells(event(logs.KindPodGCOrphaned, 1, "10:00:00", "10:00:00", logs.Subject{PodName: "default/web", Server: "node-9"})),
				want: []string{"warning controller pod-garbage-collector"}, says: "the API server does not know their node",
			},
			{name: "finished pods", base: wellNode, change: tells(numbered(event(logs.KindPodGCTerminated, 3, "10:00:00", "10:01:00", logs.Subject{}), 17)), want: []string{"info controller pod-garbage-collector"}, says: "up to 17 at a time"},
			{name: "out of service", base: wellNode, change: tells(numbered(event(logs.KindPodGCOutOfService, 1, "10:00:00", "10:00:00", logs.Subject{}), 4)), want: []string{"warning controller pod-garbage-collector"}},
			{name: "never scheduled", base: wellNode, change: tells(event(logs.KindPodGCUnscheduled, 1, "10:00:00", "10:00:00", logs.Subject{PodName: "default/x"})), want: []string{"info controller pod-garbage-collector"}},
			{name: "nothing", base: wellNode, outcome: clean},
			{name: "no log of the controller", base: wellNode, change: func(_ testing.TB, e *forensics.Evidence) { e.Logs.Files, e.Cluster = e.Logs.Files[:2], nil }, outcome: forensics.OutcomeNotChecked},
		},
	}
}

func volumeScenarios() map[string][]scenario {
	clean := forensics.OutcomeClean
	return map[string][]scenario{
		"csi-driver-missing": {
			{name: "not registered", base: wellNode, change: tells(event(logs.KindCSIDriverMissing, 9, "10:00:00", "10:12:00", csiVolume)), want: []string{"warning csi-driver nfs.csi.k8s.io"}, says: "volume pvc-1"},
			{name: "registered again", base: wellNode, change: tells(event(logs.KindCSIDriverMissing, 9, "09:40:00", "09:45:00", csiVolume)), want: []string{"info csi-driver nfs.csi.k8s.io"}},
			{name: "the kubelet has just started", base: wellNode, change: both(lives(life(1, "10:12:00", "10:12:29", "running", "syncloop")), tells(event(logs.KindCSIDriverMissing, 2, "10:12:03", "10:12:05", csiVolume))), outcome: clean},
		},
		"csi-operation-stuck": {
			{name: "aborted", base: wellNode, change: tells(event(logs.KindCSIAborted, 9, "10:00:00", "10:12:00", code(csiVolume, "Aborted"))), want: []string{"warning csi-driver nfs.csi.k8s.io"}, says: "is stuck in a call"},
			{name: "deadline twice", base: wellNode, change: tells(event(logs.KindCSIDeadline, 2, "10:08:00", "10:12:00", code(csiVolume, "DeadlineExceeded"))), want: []string{"warning csi-driver nfs.csi.k8s.io"}, says: "does not answer in time"},
			{name: "started and never finished", base: wellNode, change: operation("UnmountVolume", "10:05:00", "", csiVolume), want: []string{"warning csi-driver nfs.csi.k8s.io"}, says: "has not come back"},
			{
				name: "a dump and the log", base: wellNode, change: both(withStack("kubelet-1.22", "B.4 two operations, one of them with a driver"), tells(event(logs.KindCSIAborted, 9, "10:00:00", "10:12:00", code(csiVolume, "Aborted")))),
				want: []string{"warning csi-driver nfs.csi.k8s.io"}, says: "In the log: volume pvc-1, 9 times",
			},
			{name: "one deadline", base: wellNode, change: tells(event(logs.KindCSIDeadline, 1, "10:12:00", "10:12:00", csiVolume)), outcome: clean},
			{name: "started just now", base: wellNode, change: operation("UnmountVolume", "10:12:00", "", csiVolume), outcome: clean},
			{name: "it is over", base: wellNode, change: tells(event(logs.KindCSIAborted, 9, "09:40:00", "09:45:00", csiVolume)), outcome: clean},
			{name: "not a CSI volume", base: wellNode, change: operation("UnmountVolume", "10:05:00", "", deadVolume), outcome: clean},
		},
		"unmount-busy": {
			{
				name: "the log and who holds it", base: sickNode, change: both(busy(holders.Holder{PID: 5000, Kind: holders.HoldCwd, Path: deadPoint}), tells(numbered(event(logs.KindUnmountBusy, 9, "10:05:01", "10:12:00", deadVolume), 122))),
				want: []string{"warning mount 60"}, says: "The kubelet was refused 9 times, from 10:05:01.000 to 10:12:00.000, and waits 2 min until its next try",
			},
			{
				name: "the log alone", base: wellNode, change: both(tells(numbered(event(logs.KindUnmountBusy, 9, "10:05:01", "10:12:00", deadVolume), 122)), logAlone),
				want: []string{"warning volume " + deadUID + "/kubernetes.io/cephfs/cephfs-data"}, says: "Who it is was not looked for.",
			},
			{
				name: "who holds it, of a pod that seems to live", base: wellNode, change: both(busy(holders.Holder{PID: 5000, Kind: holders.HoldCwd, Path: deadPoint}), tells(event(logs.KindUnmountBusy, 9, "10:05:01", "10:12:00", deadVolume))),
				want: []string{"warning mount 60"}, says: "process 5000 (nginx) as its working directory",
			},
			{
				name: "what its own pod has left holds it", base: wellNode,
				change: both(busy(holders.Holder{PID: 5002, Kind: holders.HoldCwd, Path: deadPoint}), process(procs.Process{PID: 5002, Comm: "postgres", State: "S", PodUID: deadUID}),
					tells(event(logs.KindUnmountBusy, 9, "10:05:01", "10:12:00", deadVolume))),
				want: []string{"warning mount 60"}, says: "process 5002 (postgres) of pod " + deadUID + " as its working directory",
			},
			{name: "nobody who holds it was found", base: wellNode, change: tells(event(logs.KindUnmountBusy, 9, "10:05:01", "10:12:00", deadVolume)), want: []string{"warning mount 60"}, says: "was found on this node now"},
			{name: "it is over", base: wellNode, change: tells(event(logs.KindUnmountBusy, 9, "09:40:00", "09:45:00", deadVolume)), outcome: clean},
			{name: "it was unmounted after all", base: wellNode, change: tells(event(logs.KindUnmountBusy, 9, "10:05:01", "10:12:00", deadVolume), event(logs.KindUnmountDone, 1, "10:12:10", "10:12:10", deadVolume)), outcome: clean},
		},
	}
}

func evictionScenarios() map[string][]scenario {
	clean := forensics.OutcomeClean
	removed := event(logs.KindImageRemoved, 1, "10:05:20", "10:05:20", logs.Subject{Image: "sha256:4e13ac714925c6eb8b00e6a968f749e64c490f6969ff515b90fdc4cbb3476c55"})
	pull := logs.Subject{PodUID: liveUID, PodName: "default/web", Image: "registry.local/app:1.0", Code: "ErrImageNeverPull", Reason: "image is not present with pull policy of Never"}
	critical := event(logs.KindEvictionCritical, 37, "10:05:20", "10:12:25", logs.Subject{PodName: "default/web"})
	reclaim := event(logs.KindEvictionReclaiming, 40, "10:05:10", "10:12:25", logs.Subject{Reason: "ephemeral-storage"})
	return map[string][]scenario{
		"image-gc-failing": {
			{
				name: "too little to free", base: wellNode, change: tells(event(logs.KindImageGCFailed, 4, "09:50:00", "10:10:00", logs.Subject{Reason: "attempted to free 9 bytes, but only found 0 bytes eligible to free"})),
				want: []string{"warning subsystem image-gc"}, says: "are not what fills the disk",
			},
			{
				name: "the runtime does not answer", base: wellNode, change: tells(event(logs.KindImageGCFailed, 4, "10:09:00", "10:12:00", code(logs.Subject{Reason: "rpc error"}, "DeadlineExceeded")), event(logs.KindRuntimeDown, 9, "10:09:00", "10:12:20", down)),
				want: []string{"warning subsystem image-gc"}, says: "cannot ask the container runtime",
			},
			{name: "once at the start", base: wellNode, change: tells(event(logs.KindImageGCFailed, 1, "10:11:00", "10:11:00", logs.Subject{Code: "once"})), outcome: clean},
			{name: "it is over", base: wellNode, change: tells(event(logs.KindImageGCFailed, 4, "09:31:30", "09:50:00", logs.Subject{})), outcome: clean},
		},
		"image-gc-removed-in-use": {
			{name: "a pod that must not pull", base: wellNode, change: tells(removed, event(logs.KindImagePullFailed, 7, "10:06:00", "10:12:00", pull)), want: []string{"warning subsystem image-gc"}, says: "registry.local/app:1.0 cannot be pulled"},
			{name: "and which pods wait for it", base: wellNode, change: tells(removed, event(logs.KindImagePullFailed, 7, "10:06:00", "10:12:00", pull)), want: []string{"warning subsystem image-gc"}, says: "default/web"},
			{name: "a removal alone", base: wellNode, change: tells(removed), want: []string{"info subsystem image-gc"}, says: "comes back by hand only"},
			{name: "a pull that failed before", base: wellNode, change: tells(removed, event(logs.KindImagePullFailed, 7, "10:01:00", "10:02:00", pull)), want: []string{"info subsystem image-gc"}},
			{name: "a name that the registry does not know", base: wellNode, change: tells(removed, event(logs.KindImagePullFailed, 7, "10:06:00", "10:12:00",
				logs.Subject{Image: "nginx:9.99", Code: "NotFound", Reason: "manifest unknown"})), want: []string{"info subsystem image-gc"}},
			{name: "a registry that does not answer", base: wellNode, change: tells(removed, event(logs.KindImagePullFailed, 7, "10:06:00", "10:12:00",
				logs.Subject{Image: "registry.local/app:1.0", Code: "Unknown", Reason: "dial tcp 10.0.0.9:443: i/o timeout"})), want: []string{"warning subsystem image-gc"}, says: "7 pulls failed"},
			{name: "a pull that fails, and nothing was removed", base: wellNode, change: tells(event(logs.KindImagePullFailed, 7, "10:06:00", "10:12:00", pull)), outcome: clean},
		},
		"eviction-stuck": {
			{name: "only a critical pod", base: wellNode, change: tells(reclaim, critical), want: []string{"warning subsystem eviction"}, says: "the only pods left are critical: default/web"},
			{name: "and the pressure", base: wellNode, change: tells(reclaim, critical, removed), want: []string{"warning subsystem eviction"}, says: "tried to reclaim ephemeral-storage 40 times, from 10:05:10.000 to 10:12:25.000, and has removed 1 image"},
			{name: "a victim that stays", base: wellNode, change: tells(event(logs.KindEvictionCleanupTimeout, 3, "10:05:20", "10:12:00", logs.Subject{PodName: "default/web"})), want: []string{"warning subsystem eviction"}, says: "default/web (" + liveUID + ") did not go away in time"},
			{name: "it is over", base: wellNode, change: tells(event(logs.KindEvictionCritical, 37, "09:35:20", "09:42:25", logs.Subject{PodName: "default/web"})), want: []string{"info subsystem eviction"}},
			{name: "nobody was found twice", base: wellNode, change: tells(event(logs.KindEvictionNone, 2, "10:12:15", "10:12:25", logs.Subject{})), outcome: clean},
			{name: "nobody was found three times", base: wellNode, change: tells(event(logs.KindEvictionNone, 3, "10:12:05", "10:12:25", logs.Subject{})), want: []string{"warning subsystem eviction"}},
			{name: "one pod could not be killed", base: wellNode, change: tells(event(logs.KindEvictionFailed, 1, "10:12:25", "10:12:25", logs.Subject{PodName: "default/web"})), want: []string{"warning subsystem eviction"}},
			{name: "once nobody was found", base: wellNode, change: tells(event(logs.KindEvictionNone, 1, "10:12:25", "10:12:25", logs.Subject{})), outcome: clean},
			{name: "an eviction that helped", base: wellNode, change: tells(reclaim, event(logs.KindEvictionEvicted, 1, "10:05:30", "10:05:30", logs.Subject{PodName: "default/db"})), outcome: clean},
		},
	}
}

func kernelScenarios() map[string][]scenario {
	return map[string][]scenario{
		"log-noise": {
			{name: "a harmless line", base: wellNode, change: tells(event(logs.NoiseConfigPath, 900, "09:31:00", "10:12:20", logs.Subject{})), want: []string{"info kubelet 9825"}, says: "900 times"},
			{name: "a line that means something", base: wellNode, change: tells(event(logs.KindHousekeepingLong, 1, "10:00:00", "10:00:00", logs.Subject{})), outcome: forensics.OutcomeClean},
		},
		"mount-hung": {{
			name: "the kernel says since when", base: sickNode, change: tells(fromKernel(event(logs.KindKernelNFSDown, 4, "09:58:00", "10:10:00", logs.Subject{Server: "10.0.0.5"}))),
			want: []string{"critical superblock 0:47"}, says: "The kernel's log: NFS server does not respond (10.0.0.5), 4 times from 2026-11-20 09:58:00 UTC.",
		}, {
			name: "the kernel names a daemon of the Ceph cluster, not its address", base: sickNode,
			change: both(func(_ testing.TB, e *forensics.Evidence) { e.Mounts.Mounts[2].FSType = "ceph" },
				tells(fromKernel(event(logs.KindKernelCephDown, 4, "09:58:00", "10:10:00", logs.Subject{Server: "mds0"})))),
			want: []string{"critical superblock 0:47"}, says: "4 times from 2026-11-20 09:58:00 UTC.",
		}},
		"mount-io-error": {
			{
				name: "a disk that answers from memory", base: wellNode, change: tells(fromKernel(event(logs.KindKernelFSReadOnly, 1, "10:00:00", "10:00:00", logs.Subject{Device: "vda"}))),
				want: []string{"warning superblock 254:0"}, says: "answer from memory while their disk is dead",
			},
			{name: "errors that were survived", base: wellNode, change: tells(fromKernel(event(logs.KindKernelIOError, 1, "10:00:00", "10:00:00", logs.Subject{Device: "vda"}))), want: []string{"info superblock 254:0"}},
			{
				name: "the machine was started since", base: wellNode,
				change: both(tells(fromKernel(event(logs.KindKernelFSReadOnly, 1, "10:00:00", "10:00:00", logs.Subject{Device: "vda"}))), func(_ testing.TB, e *forensics.Evidence) {
					boot := time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC)
					e.Node.Boot = &boot
				}), outcome: forensics.OutcomeClean,
			},
			{
				name: "another file system has the device since", base: wellNode, change: tells(
					fromKernel(event(logs.KindKernelFSReadOnly, 1, "10:00:00", "10:00:00", logs.Subject{Device: "vda"})),
					fromKernel(event(logs.KindKernelFSMounted, 2, "09:00:00", "10:00:01", logs.Subject{Device: "vda"})),
				), outcome: forensics.OutcomeClean,
			},
			{
				name: "mounted, and then an error", base: wellNode, change: tells(
					fromKernel(event(logs.KindKernelFSReadOnly, 1, "10:00:00", "10:00:00", logs.Subject{Device: "vda"})),
					fromKernel(event(logs.KindKernelFSMounted, 1, "09:00:00", "09:00:00", logs.Subject{Device: "vda"})),
				), want: []string{"warning superblock 254:0"},
			},
			{name: "another disk", base: wellNode, change: tells(fromKernel(event(logs.KindKernelIOError, 9, "10:00:00", "10:00:00", logs.Subject{Device: "vdb"}))), outcome: forensics.OutcomeClean},
		},
		"thread-blocked": {{
			name: "a hung task", base: sickNode, change: tells(fromKernel(numbered(event(logs.KindKernelHungTask, 3, "10:04:00", "10:10:00", logs.Subject{Process: "kubelet (9839)"}), 120))),
			want: []string{"warning thread 9825/9839"}, says: "The kernel reported it as a hung task 3 times, first at 2026-11-20 10:04:00 UTC",
		}},
		"process-unkillable": {{
			name: "a hung task", base: sickNode, change: both(func(_ testing.TB, e *forensics.Evidence) {
				e.Threads[0].Wait.Kill = "no"
			}, tells(fromKernel(event(logs.KindKernelHungTask, 3, "10:04:00", "10:10:00", logs.Subject{Process: "kubelet (9839)"})))),
			want: []string{"warning process 9825"}, says: "hung task 3 times",
		}},
	}
}
