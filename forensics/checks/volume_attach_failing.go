package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
)

// volumeAttachFailing finds volumes that are not attached to the node, by the kubelet's log.
var volumeAttachFailing = forensics.Check{
	ID:    "volume-attach-failing",
	Title: "A volume is not attached to the node",
	Doc: `"AttachVolume.Attach failed", "Volume is not yet attached according to node status": the attach/detach controller or the external
attacher attaches volumes, usually not the kubelet, which only waits. Causes are a volume that is still attached to another node, a
limit of volumes of the node, or an error of the cloud or the storage. A volume whose last try failed is a warning from the third
failure on; once it is attached and mounted, it is left out.`,
	Severity: forensics.Warning,
	Needs:    logview.Needs,
	Run: func(p *forensics.Pass) {
		logview.SawKubelet(p)
		failingVolumes(p, "AttachVolume", "VerifyControllerAttachedVolume").report(p, "attached", map[string]bool{})
		reportCSIErrors(p, "csi-attach-failed", "cannot attach or detach volumes", "could not attach or detach volumes")
	},
}
