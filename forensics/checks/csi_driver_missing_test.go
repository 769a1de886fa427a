package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

var _ = scenariosOf("csi-driver-missing", csiDriverMissingInLogs())

func csiDriverMissingInLogs() []scenario {
	clean := forensics.OutcomeClean
	return []scenario{
		{name: "not registered", base: wellNode, change: tells(event(logs.KindCSIDriverMissing, 9, "10:00:00", "10:12:00", csiVolume)), want: []string{"warning csi-driver nfs.csi.k8s.io"}, says: "volume pvc-1"},
		{name: "registered again", base: wellNode, change: tells(event(logs.KindCSIDriverMissing, 9, "09:40:00", "09:45:00", csiVolume)), want: []string{"info csi-driver nfs.csi.k8s.io"}},
		{name: "the kubelet has just started", base: wellNode, change: both(lives(life(1, "10:12:00", "10:12:29", "running", "syncloop")), tells(event(logs.KindCSIDriverMissing, 2, "10:12:03", "10:12:05", csiVolume))), outcome: clean},
	}
}
