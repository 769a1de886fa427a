package checks

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

var _ = scenariosOf("csi-operation-stuck", csiOperationStuckInLogs())

func csiOperationStuckInLogs() []scenario {
	clean := forensics.OutcomeClean
	return []scenario{
		{name: "aborted", base: wellNode, change: tells(event(logs.KindCSIAborted, 9, "10:00:00", "10:12:00", code(csiVolume, "Aborted"))), want: []string{"warning csi-driver nfs.csi.k8s.io"}, says: "is stuck in a call"},
		{name: "deadline twice", base: wellNode, change: tells(event(logs.KindCSIDeadline, 2, "10:08:00", "10:12:00", code(csiVolume, "DeadlineExceeded"))), want: []string{"warning csi-driver nfs.csi.k8s.io"}, says: "does not answer in time"},
		{name: "started and never finished", base: wellNode, change: operation("UnmountVolume", "10:05:00", "", csiVolume), want: []string{"warning csi-driver nfs.csi.k8s.io"}, says: "UnmountVolume of volume pvc-1 not finished for 7 min"},
		{
			name: "a dump and the log", base: wellNode, change: both(withStack("kubelet-1.22", "B.4 two operations, one of them with a driver"), tells(event(logs.KindCSIAborted, 9, "10:00:00", "10:12:00", code(csiVolume, "Aborted")))),
			want: []string{"warning csi-driver nfs.csi.k8s.io"}, says: "In the log: volume pvc-1, 9 times",
		},
		{name: "one deadline", base: wellNode, change: tells(event(logs.KindCSIDeadline, 1, "10:12:00", "10:12:00", csiVolume)), outcome: clean},
		{name: "started just now", base: wellNode, change: operation("UnmountVolume", "10:12:00", "", csiVolume), outcome: clean},
		{name: "it is over", base: wellNode, change: tells(event(logs.KindCSIAborted, 9, "09:40:00", "09:45:00", csiVolume)), outcome: clean},
		{name: "not a CSI volume", base: wellNode, change: operation("UnmountVolume", "10:05:00", "", deadVolume), outcome: clean},
	}
}

var _ = scenariosOf("csi-operation-stuck", csiOperationStuckInDumps())

func csiOperationStuckInDumps() []scenario {
	return []scenario{
		{name: "the driver of all volumes on disk", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
			withStack("kubelet-1.22", "B.4 two operations, one of them with a driver")(tb, e)
			e.PodDirs[0].Volumes = append(e.PodDirs[0].Volumes, kubelet.Volume{Plugin: "kubernetes.io/csi", VolData: &kubelet.VolData{Driver: "a.example.org"}})
		}, want: []string{"warning csi-driver a.example.org"}},
		{name: "two drivers, so neither is blamed", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
			withStack("kubelet-1.22", "B.4 two operations, one of them with a driver")(tb, e)
			for _, driver := range []string{"a.example.org", "b.example.org"} {
				e.PodDirs[0].Volumes = append(e.PodDirs[0].Volumes, kubelet.Volume{Plugin: "kubernetes.io/csi", VolData: &kubelet.VolData{Driver: driver}})
			}
		}, want: []string{"warning subsystem volume-manager"}},
		{name: "no call under way", base: wellNode, change: withStack("kubelet-1.13", "B.4 waiting for an attachment is the controller's business"), outcome: forensics.OutcomeClean},
	}
}
