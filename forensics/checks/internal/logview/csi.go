package logview

import (
	"cmp"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// OperationLimit is how long an operation may run before it counts as stuck: the kubelet's own limit for a CSI call is 2 minutes.
const OperationLimit = 3 * time.Minute

// Unfinished says whether an operation was started and has neither succeeded nor failed for longer than one may take.
func Unfinished(p *forensics.Pass, o logs.Operation) bool {
	return o.Started != nil && (o.Failed == nil || o.Failed.Before(*o.Started)) &&
		Between(o.Started, KubeletEnd(p)) >= OperationLimit.Seconds()
}

// DriverOf is the CSI driver of a message, from the volume's unique name where the line does not have it.
func DriverOf(s logs.Subject) string {
	if s.Driver != "" {
		return s.Driver
	}
	rest, ok := strings.CutPrefix(s.UniqueName, "kubernetes.io/csi/")
	if !ok {
		return ""
	}
	driver, _, _ := strings.Cut(rest, "^")
	return driver
}

// OperationVolume names the volume of an operation.
func OperationVolume(o logs.Operation) string {
	return "volume " + cmp.Or(VolumeLabel(o.Subject), "(unnamed)")
}

// VolumeLabel is the name of a volume, as its pod has it. Of a unique name ("kubernetes.io/empty-dir/POD-UID-data") it is what is behind
// the plugin and the pod.
func VolumeLabel(s logs.Subject) string {
	if s.Volume != "" || s.UniqueName == "" {
		return s.Volume
	}
	_, name, found := strings.Cut(strings.TrimPrefix(s.UniqueName, "kubernetes.io/"), "/")
	if !found {
		return s.UniqueName
	}
	if rest, ok := strings.CutPrefix(name, s.PodUID+"-"); ok && s.PodUID != "" {
		return rest
	}
	return name
}

// DriverEntity is a CSI driver as an entity; the volume manager where the driver is not known.
func DriverEntity(driver string) forensics.Entity {
	if driver == "" {
		return stall.VolumeManagerEntity
	}
	return forensics.Entity{Kind: forensics.KindCSIDriver, ID: driver}
}
