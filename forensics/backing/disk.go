package backing

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// DiskState is what the kernel knows of a block device. Strings are empty and numbers absent where it does not tell.
type DiskState struct {
	Name string `json:"name"` // "sda1", "dm-3"
	// For is the device that this one is a part of: a path of multipath, a disk of a volume; "" for the one asked about.
	For string `json:"for,omitempty"`
	// Map is the name that device-mapper knows it by.
	Map string `json:"map,omitempty"`
	// Kind is "multipath", "lvm", "crypt" or another prefix of a device-mapper UUID; "" for other devices.
	Kind string `json:"kind,omitempty"`
	// State is that of the SCSI device ("running", "offline", "blocked", "transport-offline") or NVMe controller ("live",
	// "connecting", "dead").
	State string `json:"state,omitempty"`
	// Session is the iSCSI session that a disk is reached by: "session with iqn.2026-11.test:disk at 10.0.0.9 is FAILED".
	Session        string `json:"session,omitempty"`
	ReadOnly       bool   `json:"read_only,omitempty"`
	Suspended      bool   `json:"suspended,omitempty"`
	InFlightReads  int    `json:"in_flight_reads"`
	InFlightWrites int    `json:"in_flight_writes"`
}

const (
	maxStack = 6 // loop on LVM on crypt on multipath, and one to spare
	maxBelow = 64
	maxPath  = 8 << 10
)

// disks reads /sys/dev/block/MAJOR:MINOR and what it consists of, itself first; nil if there is no such device. A loop
// device consists of the disk that its file is on.
func (b *backings) disks(device, above string, depth int) []DiskState {
	if _, _, ok := mounts.DeviceNumbers(device); !ok || depth == 0 {
		return nil
	}
	dir, err := b.fsys.Resolve("/sys/dev/block/" + device)
	if err != nil {
		return nil
	}
	d := diskAt(b.fsys, dir)
	d.For = above
	list := []DiskState{d}
	slaves, _ := b.fsys.ReadDir(dir+"/slaves", maxBelow)
	for _, e := range slaves {
		if text, err := b.fsys.ReadFile(dir+"/slaves/"+e.Name+"/dev", 64); err == nil && len(list) < maxBelow {
			list = append(list, b.disks(string(bytes.TrimSpace(text)), d.Name, depth-1)...)
		}
	}
	if file, err := b.fsys.ReadFile(dir+"/loop/backing_file", maxPath); err == nil {
		if m, ok := b.index.Covering(strings.TrimSuffix(string(file), "\n")); ok && m.Class == mounts.ClassBlock && m.Device != device {
			list = append(list, b.disks(m.Device, d.Name, depth-1)...)
		}
	}
	return list
}

func diskAt(fsys nodefs.FS, dir string) DiskState {
	d := DiskState{Name: path.Base(dir)}
	read := func(name string) string {
		text, err := fsys.ReadFile(dir+"/"+name, 256)
		if err != nil {
			return ""
		}
		return string(bytes.TrimSpace(text))
	}
	_, _ = fmt.Sscanf(read("inflight"), "%d %d", &d.InFlightReads, &d.InFlightWrites)
	d.ReadOnly = read("ro") == "1"
	if read("partition") != "" { // the state is that of the disk
		d.State = stateOf(fsys, path.Dir(dir))
	} else {
		d.State = stateOf(fsys, dir)
	}
	if uuid := read("dm/uuid"); uuid != "" {
		kind, _, _ := strings.Cut(strings.ToLower(uuid), "-")
		d.Kind = strings.TrimPrefix(kind, "mpath")
		if kind == "mpath" {
			d.Kind = "multipath"
		}
		d.Suspended = read("dm/suspended") == "1"
		d.Map = read("dm/name")
	}
	if _, rest, ok := strings.Cut(dir, "/session"); ok {
		number, _, _ := strings.Cut(rest, "/")
		dir = "/sys/class/iscsi_session/session" + number // scsi_transport_iscsi.c
		if state := read("state"); state != "" {
			d.Session = "session with " + read("targetname")
			dir = "/sys/class/iscsi_connection/connection" + number + ":0"
			d.Session += " at " + read("persistent_address") + " is " + state
		}
	}
	return d
}

func stateOf(fsys nodefs.FS, dir string) string {
	text, err := fsys.ReadFile(dir+"/device/state", 64)
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(text))
}

// bad says that a device does not accept requests.
func (d *DiskState) bad() bool {
	switch d.State {
	case "", "running", "live":
		return false
	}
	return true
}

// diskFault says what is wrong with a device, by the devices that it consists of. Of multipath, one good path is enough.
func diskFault(list []DiskState, at int) (Fault, string) {
	d := &list[at]
	if d.Suspended {
		return FaultSuspended, d.Name + " (device-mapper) is suspended: requests wait until it is resumed"
	}
	if d.bad() {
		why := fmt.Sprintf("%s is %s", d.Name, d.State)
		if d.State == "blocked" {
			why += ": requests wait until its transport (iSCSI, Fibre Channel) is back or gives up"
		}
		if d.Session != "" {
			why += "; the iSCSI " + d.Session
		}
		return FaultOffline, why
	}
	parts, lost := 0, 0
	for i := at + 1; i < len(list); i++ {
		if list[i].For != d.Name {
			continue
		}
		parts++
		fault, why := diskFault(list, i)
		switch {
		case fault == FaultNone || fault == FaultBusy:
		case d.Kind != "multipath":
			return fault, why + ", below " + d.Name
		default:
			lost++
		}
	}
	if d.Kind == "multipath" && lost == parts {
		return FaultNoPath, fmt.Sprintf("multipath device %s has lost all its %d paths; with queue_if_no_path, requests wait forever", d.Name, parts)
	}
	if n := d.InFlightReads + d.InFlightWrites; n > 0 {
		return FaultBusy, fmt.Sprintf("%s in flight to %s", text.Plural(n, "request"), d.Name)
	}
	return FaultNone, ""
}
