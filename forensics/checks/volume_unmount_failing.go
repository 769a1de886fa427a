package checks

import (
	"cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/deletion"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
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
		reportLostVolData(p, list, stuck)
		reportCSIErrors(p, "csi-unmount-call-failed", "cannot unmount volumes", "could not unmount volumes")
	},
}

// reportLostVolData reports volumes that the kubelet does not even begin to unmount, since it cannot read the file that names the driver.
// It tries again every 100 ms, and no kubelet makes the file again.
func reportLostVolData(p *forensics.Pass, list volumeOperations, stuck map[string]bool) {
	known := map[string]bool{}
	for _, o := range list {
		known[o.UniqueName] = true
	}
	for _, d := range p.Evidence.PodDirs {
		stuck[d.UID] = true // pod-orphaned-vol-data and its like have looked into it
	}
	spec := incident.Spec{Subject: func(e logs.Event) forensics.Entity {
		if uid := logview.UIDOf(p, e.Subject); stuck[uid] && uid != "" || known[e.UniqueName] {
			return forensics.Entity{}
		}
		return logview.VolumeEntity(p, e.Subject)
	}}
	for _, i := range spec.Find(p, logview.Events(p, logs.KindCSIVolDataMissing)) {
		e := i.Events[0]
		name, what := "Volume "+logview.VolumeLabel(e.Subject), "cannot be read"
		if e.Code == "ENOENT" {
			what = "is missing"
		}
		i.Said = true
		f := i.Finding(p, name+" cannot be unmounted: its vol_data.json "+what, name+" could not be unmounted: its vol_data.json "+what)
		f.Effect = "volumes cannot be unmounted"
		f.Detail = findings.Sentences(f.Detail, "The kubelet keeps the driver and the handle of a CSI volume in this file, and does not make it again. It tries to unmount the volume for ever.")
		if i.Grave() {
			f.Remedies = []forensics.Remedy{incident.Look("shows whether the volume is still mounted. If it is, unmount it. Then remove its empty directories with rmdir",
				"grep", "-F", "-e", cmp.Or(logview.UIDOf(p, e.Subject), e.Volume, "/volumes/kubernetes.io~csi/"), "/proc/self/mountinfo")}
		}
		p.ReportAlike([2]string{"vol_data", e.Code}, func(n int) string {
			return findings.Plural(n, "volume") + " cannot be unmounted: vol_data.json " + what
		}, f)
	}
}
