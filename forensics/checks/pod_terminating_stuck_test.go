package checks

import (
	"slices"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

var _ = scenariosOf("pod-terminating-stuck", podTerminatingStuckInLogs())

func podTerminatingStuckInLogs() []scenario {
	clean := forensics.OutcomeClean
	return []scenario{
		{
			name: "an unmount that is refused", base: wellNode, change: both(deleting("volumes", "10:05:00", nil), tells(numbered(event(logs.KindUnmountBusy, 9, "10:05:01", "10:12:00", deadVolume), 122))),
			want: []string{"warning pod " + deadUID}, says: "volume cephfs-data cannot be unmounted: target is busy",
		},
		{
			name: "an unmount that is refused, and which process uses the volume", base: wellNode,
			change: both(deleting("volumes", "10:05:00", nil), tells(numbered(event(logs.KindUnmountBusy, 9, "10:05:01", "10:12:00", deadVolume), 122)),
				busy(holders.Holder{PID: 4711, Kind: holders.HoldCwd, Path: deadPoint}), process(procs.Process{PID: 4711, Comm: "postgres", State: "S"})),
			want: []string{"warning pod " + deadUID}, says: "Pod default/db stuck in Terminating for 12 min: volume cephfs-data in use by postgres (pid 4711)",
		},
		{
			name: "an unmount that is refused, seconds after it began", base: wellNode, change: both(deleting("volumes", "10:12:20", nil), tells(numbered(event(logs.KindUnmountBusy, 3, "10:12:21", "10:12:24", deadVolume), 4))),
			want: []string{"warning pod " + deadUID},
		},
		{name: "a kubelet that has started unmounts what is left of an orphaned pod", base: sickNode, change: deleting("volumes", "10:05:00", func(d *logs.Deletion) {
			d.Steps = d.Steps[1:] // no request
		}), outcome: clean},
		{name: "its mount does not answer", base: sickNode, change: deleting("volumes", "10:05:00", nil), want: []string{"warning pod " + deadUID}, says: "Mount 60 at " + deadPoint + " is not responding"},
		{
			name: "an unmount that does not come back", base: wellNode, change: both(deleting("volumes", "10:05:00", nil), operation("UnmountVolume", "10:05:01", "", deadVolume)),
			want: []string{"warning pod " + deadUID}, says: "UnmountVolume of volume cephfs-data has not returned",
		},
		{name: "no unmount was started", base: wellNode, change: deleting("volumes", "10:05:00", nil), want: []string{"warning pod " + deadUID}, says: "no unmount of its volumes was started"},
		{
			name: "its CSI driver is gone", base: wellNode, change: both(deleting("volumes", "10:05:00", nil), tells(event(logs.KindCSIDriverMissing, 9, "10:05:01", "10:12:00", csiVolume))),
			want: []string{"warning pod " + deadUID}, says: "CSI driver nfs.csi.k8s.io does not unmount volume pvc-1",
		},
		{
			name: "mounts that the kubelet does not unmount", base: wellNode, change: both(deleting("volumes", "10:05:00", nil), tells(event(logs.KindPodVolumesLeft, 900, "10:05:00", "10:12:28", logs.Subject{PodUID: deadUID}))),
			want: []string{"warning pod " + deadUID}, says: "the kubelet does not unmount 1 mount below its directory",
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
		}), want: []string{"warning pod " + deadUID}, says: "postgres (pid 7777) cannot be killed"},
		{name: "the grace period is over", base: wellNode, change: deleting("containers", "10:05:00", grace(30)), want: []string{"warning pod " + deadUID}, says: "containers have not stopped"},
		{name: "the grace period is not over", base: wellNode, change: deleting("containers", "10:05:00", grace(3600)), outcome: clean},
		{name: "the grace period is not known", base: wellNode, change: deleting("containers", "10:05:00", nil), outcome: forensics.OutcomeNotChecked},
		{
			name: "the sync loop is silent", base: wellNode, change: both(deleting("requested", "10:00:09", nil), silentSince("10:00:10", 900), logAlone),
			want: []string{"warning pod " + deadUID}, says: "the kubelet's sync loop is stalled",
		},
		{
			name: "its start must end first", base: wellNode, change: both(deleting("requested", "10:05:00", nil), tells(event(logs.KindVolumesNotMounted, 4, "10:05:00", "10:12:00", logs.Subject{PodName: "default/db", Reason: "unmounted volumes=[data]"}))),
			want: []string{"warning pod " + deadUID}, says: "its worker is still starting it",
		},
		{
			name: "a cgroup that stays", base: wellNode, change: both(deleting("cgroup", "10:05:00", nil), tells(event(logs.KindPodCgroupLeft, 9, "10:05:00", "10:12:20", code(logs.Subject{PodUID: deadUID}, "EBUSY")))),
			want: []string{"warning pod " + deadUID}, says: "its cgroup cannot be removed: EBUSY",
		},
		{
			name: "the API server is not told", base: wellNode, change: both(deleting("status", "10:05:00", nil), tells(event(logs.KindAPIUnreachable, 50, "10:04:00", "10:12:20", logs.Subject{Reason: "i/o timeout"}))),
			want: []string{"warning pod " + deadUID}, says: "the API server has not received its last status: i/o timeout",
		},
		{
			name: "the API server asked, and the silent loop did not hear it", base: wellNode, change: both(silentSince("10:00:10", 900), overdue),
			want: []string{"warning pod " + deadUID}, says: "The kubelet's sync loop is stalled",
		},
		{
			name: "its log and the API server say the same", base: wellNode, change: both(deleting("volumes", "10:05:00", nil), overdue),
			want: []string{"warning pod " + deadUID}, says: "In the API, its deletion timestamp passed",
		},
		{name: "gone from the node, and still in the API", base: wellNode, change: deleting("api", "10:05:00", nil), want: []string{"warning pod " + deadUID}, says: "a finalizer keeps the object"},
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
	}
}

var _ = scenariosOf("pod-terminating-stuck", podTerminatingStuckInCluster())

func podTerminatingStuckInCluster() []scenario {
	return []scenario{
		{name: "a finalizer holds a pod that has ended", base: dumped(add(apiPod("x", "u-x", deletedAt(9, 0), func(p *apidump.Pod) {
			p.Phase, p.Finalizers = "Succeeded", []string{"example.com/guard"}
		}))), want: []string{"warning pod u-x"}, says: "The kubelet is not the cause"},
		{name: "nothing but the kubelet holds it", base: dumped(add(apiPod("x", "u-x", deletedAt(9, 0)))), want: []string{"warning pod u-x"}, says: "until the kubelet of node-1 confirms"},
		{
			name: "the same, said by the API server", base: dumped(add(apiPod("x", "u-x", deletedAt(9, 0)))), change: both(byAPIServer, noLog),
			want: []string{"warning pod u-x"}, says: "until the kubelet of node-1 confirms",
		},
		{name: "the API server has none, and there is no log", base: wellNode, change: both(byAPIServer, noLog), outcome: forensics.OutcomeClean},
		{name: "within its grace period", base: dumped(add(apiPod("x", "u-x", deletedAt(10, 12)))), outcome: forensics.OutcomeClean},
		{name: "a mirror pod", base: dumped(add(apiPod("x", "u-x", deletedAt(9, 0), func(p *apidump.Pod) { p.Mirror = "hash" }))), outcome: forensics.OutcomeClean},
		{name: "a pod of another node", base: dumped(add(apiPod("x", "u-x", deletedAt(9, 0), func(p *apidump.Pod) { p.Node = "node-2" }))), outcome: forensics.OutcomeClean},
	}
}

// noLog is a node whose logs could not be read.
func noLog(_ testing.TB, e *forensics.Evidence) {
	e.Logs = nil
	e.Coverage = slices.DeleteFunc(e.Coverage, func(s forensics.Source) bool { return strings.HasPrefix(s.Source, forensics.SourceLogs) })
	e.Cover(forensics.Source{Source: forensics.SourceLogs, Status: forensics.SourceDenied})
}
