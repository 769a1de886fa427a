package fsview

import (
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/backing"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
)

// kernelNames are the names by which messages about a mount may be found; see aboutMount for which of them are.
func kernelNames(model *forensics.Model, m mounts.Mount) []string {
	var names []string
	for _, part := range serverParts(m.Source) {
		names = append(names, "server:"+part)
	}
	if fsfamily.Of(m.FSType).Name == fsfamily.NameCeph {
		names = append(names, "ceph")
	}
	if m.Class != mounts.ClassBlock {
		return names
	}
	device := strings.TrimPrefix(m.Source, "/dev/")
	disk := wholeDisk(device)
	devices := []string{m.Device, device, disk, strings.TrimPrefix(device, "mapper/"), disk[:max(0, strings.LastIndexByte(disk, 'n'))]}
	b, _ := model.Backing(m.Device)
	for _, d := range b.Disks {
		devices = append(devices, d.Name, d.Map)
	}
	for _, d := range devices {
		if d != "" {
			names = append(names, "device:"+d)
		}
	}
	return names
}

// aboutMount says whether a message names the server or the device of a mount, or a part of that device.
func aboutMount(model *forensics.Model, e logs.Event, m mounts.Mount) bool {
	kind := string(e.Kind)
	switch { // a server may serve several clients
	case strings.HasPrefix(kind, "kernel-cifs-") && !remedy.IsSMB(m):
		return false
	case e.Server != "" && serverNamed(m.Source, e.Server):
		return true
	case strings.HasPrefix(kind, "kernel-ceph-"): // it names "mds0" and "osd3", of one cluster or another
		return fsfamily.Of(m.FSType).Name == fsfamily.NameCeph
	}
	if m.Class != mounts.ClassBlock || e.Device == "" {
		return false
	}
	if b, _ := model.Backing(m.Device); e.Device == m.Device || slices.ContainsFunc(b.Disks, func(d backing.DiskState) bool { return d.Name == e.Device || d.Map == e.Device }) {
		return true
	}
	device := strings.TrimPrefix(m.Source, "/dev/")
	return e.Device == device || e.Device == wholeDisk(device) || strings.TrimPrefix(device, "mapper/") == e.Device ||
		strings.HasPrefix(wholeDisk(device), e.Device+"n") && strings.HasPrefix(e.Device, "nvme")
}

// serverNamed says whether a mount's source names a server: "10.0.0.5:/export", "10.0.0.5:6789,10.0.0.6:6789:/k8s",
// "//server/share".
func serverNamed(source, server string) bool {
	host := hostOf(server)
	return host != "" && slices.Contains(serverParts(source), host)
}

// hostOf is the host of a server that a message names, in small letters.
func hostOf(server string) string {
	host := strings.Trim(server, "[]/\\")
	if h, port, ok := strings.Cut(host, ":"); ok && !strings.Contains(port, ":") {
		host = h
	}
	return strings.ToLower(host)
}

// serverParts are the parts of a mount's source that may be a host, in small letters.
func serverParts(source string) []string {
	var parts []string
	for _, part := range strings.FieldsFunc(source, func(r rune) bool { return r == ',' || r == '/' || r == '\\' }) {
		part = strings.TrimSuffix(part, ":")
		if h, port, ok := strings.Cut(part, ":"); ok && !strings.Contains(port, ":") {
			part = h
		}
		parts = append(parts, strings.ToLower(strings.Trim(part, "[]")))
	}
	return parts
}

// wholeDisk is the disk of a partition: "sda" of "sda1", "nvme0n1" of "nvme0n1p1".
func wholeDisk(device string) string {
	stem := strings.TrimRight(device, "0123456789")
	if stem == device || stem == "" {
		return device
	}
	if disk, ok := strings.CutSuffix(stem, "p"); ok && disk != "" && disk[len(disk)-1] >= '0' && disk[len(disk)-1] <= '9' {
		return disk
	}
	if strings.HasPrefix(stem, "nvme") || strings.HasPrefix(stem, "dm-") || strings.HasPrefix(stem, "md") || strings.HasPrefix(stem, "loop") {
		return device
	}
	return stem
}

// SameDisk says whether two devices are one disk: a partition and its disk, or a disk and its NVMe controller.
func SameDisk(a, b string) bool {
	a, b = wholeDisk(a), wholeDisk(b)
	return a == b || strings.HasPrefix(a, "nvme") && (strings.HasPrefix(a, b+"n") || strings.HasPrefix(b, a+"n"))
}
