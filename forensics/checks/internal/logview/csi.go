package logview

import (
	"cmp"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// OperationLimit is how long an operation may run before it counts as not coming back: the kubelet's own limit for a
// CSI call is 2 minutes.
const OperationLimit = 3 * time.Minute

// Unfinished says whether an operation was started and nothing has been heard of it for longer than one may take.
func Unfinished(p *forensics.Pass, o logs.Operation) bool {
	return o.Started != nil && (o.Failed == nil || o.Failed.Before(*o.Started)) &&
		Between(o.Started, KubeletEnd(p)) >= OperationLimit.Seconds()
}

// DriverOf is the CSI driver that a message is about, from the volume's unique name where the line does not say.
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
	return "volume " + cmp.Or(o.Volume, o.UniqueName, "(unnamed)")
}

// DriverEntity is a CSI driver as an entity; the volume manager where the driver is not known.
func DriverEntity(driver string) forensics.Entity {
	if driver == "" {
		return stall.VolumeManagerEntity
	}
	return forensics.Entity{Kind: forensics.KindCSIDriver, ID: driver}
}
