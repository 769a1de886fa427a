package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/deletion"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// volumeUnmountFailing finds volumes that cannot be unmounted for another reason than being in use, by the kubelet's log.
var volumeUnmountFailing = forensics.Check{
	ID:    "volume-unmount-failing",
	Title: "A volume cannot be unmounted",
	Doc: `"UnmountVolume.TearDown failed", "UnmountDevice failed", "failed to load volume data file": the kubelet tries again for ever, and the
pod stays Terminating, or its directory stays. A lost or damaged vol_data.json is not made again by any kubelet up to 1.36. Volumes that are in
use are left to unmount-busy, drivers that are not registered or stuck to checks of their own, and pods that are stuck in Terminating to
pod-terminating-stuck. A volume whose last try failed is a warning from the third failure on.`,
	Severity: forensics.Warning,
	Needs:    logview.Needs,
	Run: func(p *forensics.Pass) {
		logview.SawKubelet(p)
		stuck := map[string]bool{}
		for _, s := range deletion.InLog(p) {
			stuck[s.Subject.ID] = true
		}
		inUse := map[string]bool{}
		for _, e := range logview.Events(p, logs.KindUnmountBusy, logs.KindDeviceInUse) {
			inUse[e.UniqueName] = true
		}
		var list volumeOperations
		for _, o := range failingVolumes(p, "UnmountVolume", "UnmountDevice") {
			if uid := logview.UIDOf(p, o.Subject); (uid == "" || !stuck[uid]) && !inUse[o.UniqueName] {
				list = append(list, o)
			}
		}
		list.report(p, "unmounted", map[string]bool{})
	},
}
