package kubelet

import (
	"path"
	"slices"
)

// csiPlugin is [Volume.Plugin] of a CSI volume.
const csiPlugin = "kubernetes.io/csi"

// A housekeeping is that of a kubelet with one minor version, 0 an unknown one.
type housekeeping struct{ minor int }

// since is the behaviour from a minor version on, or before it; both where the version is unknown.
func (h housekeeping) since(minor int, before Fate, beforeWhy string, from Fate, fromWhy string) (Fate, string) {
	switch {
	case h.minor == 0:
		return fateUnknown, beforeWhy + "; " + fromWhy + ". The version of this kubelet is unknown"
	case h.minor < minor:
		return before, beforeWhy
	}
	return from, fromWhy
}

func (h housekeeping) volume(v *Volume, points []string) Leftover {
	l := Leftover{Path: v.Path, Volume: v, MountPoints: both(v.MountPoints, points)}
	switch {
	case v.Block:
		h.block(&l)
	case len(l.MountPoints) > 0:
		h.mounted(&l)
	case v.Kind != "" && v.Kind != "dir":
		l.Class, l.Holds = DataLeft, true
		l.Fate, l.Why = FateRetries, "the kubelet expects a directory here; no kubelet removes anything else"
	case v.Entries < 0:
		l.Class, l.Fate, l.Why, l.Unsure = LeftUnread, fateUnknown, "the directory could not be read", true
	case v.Plugin == csiPlugin && (v.VolData != nil || v.VolDataError != "" || v.HasMountDir):
		h.csi(&l)
	case v.Entries == 0:
		l.Class = EmptyDirLeft
		l.Fate, l.Why = h.since(18, FateRetries, "up to 1.17 the kubelet keeps the whole pod directory while a volume's directory exists, empty or not",
			FateHeals, "from 1.18 on the next housekeeping removes the empty directory with rmdir")
	default:
		h.data(&l)
	}
	return l
}

// mounted is a volume with a mount. The kubelet checks the volume's directory itself, for CSI volumes "mount", and nothing below.
func (h housekeeping) mounted(l *Leftover) {
	l.Class, l.Unsure = LiveMount, true
	if slices.Contains(l.MountPoints, l.Path) || slices.Contains(l.MountPoints, path.Join(l.Path, "mount")) {
		l.Fate, l.Why = FateNever, "while a volume is mounted, the kubelet keeps the whole directory, and logs that only at verbosity 3. "+
			"It unmounts only volumes that it still tracks. It accesses the mount at every housekeeping, and hangs there if the mount does not respond"
		return
	}
	l.Fate, l.Why = FateRetries, "the kubelet checks the volume directory itself for a mount, not the directories below: it treats this as an unmounted volume, and fails to remove it"
}

// csi is a CSI volume that is not mounted and has leftovers.
func (h housekeeping) csi(l *Leftover) {
	v := l.Volume
	hasData := v.VolData != nil || v.VolDataError != ""
	l.Unsure = v.Inside == nil && (!hasData || v.HasMountDir || v.Entries != 1)
	if v.Inside != nil && !v.Inside.Empty() {
		h.data(l)
		return
	}
	if hasData {
		l.Class, l.Fate = CSIVolDataLeft, FateRetries
		l.Why = "vol_data.json is a file where the kubelet expects only directories. Up to 1.17 it keeps the pod directory while the volume directory exists. " +
			"At every housekeeping 1.18 fails with \"directory not empty\", and later versions with \"not a directory\""
		return
	}
	l.Class, l.Why = SelfHeals, "from 1.18 on the next housekeeping removes an empty \"mount\" with rmdir, and then the volume's directory"
	l.Fate = FateHeals
	switch {
	case h.minor == 0:
		l.Fate = fateUnknown
		l.Why += "; older versions never remove it. The version of this kubelet is unknown"
	case h.minor < 18:
		l.Class, l.Fate = EmptyDirLeft, FateRetries
		l.Why = "up to 1.17 the kubelet keeps the whole pod directory while a volume's directory exists, empty or not"
	}
}

// data is what must not be deleted.
func (h housekeeping) data(l *Leftover) {
	l.Class, l.Fate, l.Holds = DataLeft, FateRetries, true
	l.Why = "no kubelet removes a directory that is not empty: rmdir fails at every housekeeping with \"directory not empty\""
	if h.minor != 0 && h.minor < 18 {
		l.Why = "up to 1.17 the kubelet keeps the whole pod directory while a volume's directory exists"
	}
}

// block is an entry of volumeDevices/, which is removed with the rest of the pod's directory.
func (h housekeeping) block(l *Leftover) {
	l.Class = BlockLeft
	switch {
	case len(l.MountPoints) > 0:
		l.Fate, l.Why = FateRetries, "a device is still mounted here: the kubelet refuses to remove a mount point"
	case l.Volume.Kind == "dir":
		l.Fate, l.Why, l.Unsure = FateHeals, "the kubelet removes it and its contents with the rest of the pod's directory", true
	default:
		l.Fate, l.Why = FateHeals, "the kubelet removes a link to a device with the rest of the pod's directory; the device itself is not touched"
	}
}

func (h housekeeping) subpath(s *Subpath, points []string) Leftover {
	l := Leftover{Path: s.Path, Subpath: s, MountPoints: points}
	if s.Kind == "mount" || len(points) > 0 {
		l.Class, l.Unsure = SubpathMountLeft, true
		if len(points) == 0 {
			l.MountPoints = []string{s.Path}
		}
		l.Fate, l.Why = h.since(13, fateUnknown, "1.10 does not check for subpaths before it removes the pod's directory, and treats a bind mount of the same file system as part of it",
			FateRetries, "the kubelet checks only volumes for mounts. From 1.13 on it stops at the subpath. From 1.18 on rmdir fails with \"device or resource busy\" at every housekeeping")
		return l
	}
	l.Holds = s.Inside != nil && (s.Kind == "dir" && !s.Inside.Empty() || s.Kind != "dir" && s.Inside.Bytes > 0)
	l.Unsure = s.Inside == nil || s.Inside.Truncated
	switch {
	case s.Kind == "file":
		h.subpathFile(&l)
	case s.Kind == "dir" && l.Holds:
		h.data(&l)
	case s.Kind == "dir":
		l.Class = EmptyDirLeft
		l.Fate, l.Why = h.since(18, FateRetries, "from 1.13 to 1.17 the kubelet keeps the whole pod directory while a subpath exists",
			FateHeals, "from 1.18 on the next housekeeping removes the empty directory with rmdir")
		if h.minor != 0 && h.minor < 13 {
			l.Fate, l.Why = FateHeals, "up to 1.12 the kubelet removes subpaths with the rest of the pod's directory"
		}
	default:
		l.Class, l.Holds = DataLeft, true
		l.Fate, l.Why = h.since(27, FateRetries, "up to 1.26 the kubelet removes subpaths with rmdir, which fails for anything but a directory",
			FateHeals, "from 1.27 on the next housekeeping unlinks it")
	}
	return l
}

func (h housekeeping) subpathFile(l *Leftover) {
	l.Class = SubpathFileLeft
	l.Fate, l.Why = h.since(27, FateRetries, "up to 1.26 the kubelet removes subpaths with rmdir, which fails with \"not a directory\", at every housekeeping",
		FateHeals, "from 1.27 on the next housekeeping unlinks the file")
	switch {
	case h.minor != 0 && h.minor < 13:
		l.Fate, l.Why = FateHeals, "up to 1.12 the kubelet removes subpaths with the rest of the pod's directory"
	case h.minor >= 13 && h.minor < 18:
		l.Why = "from 1.13 to 1.17 the kubelet keeps the whole pod directory while a subpath exists"
	}
	if l.Holds && l.Fate == FateHeals {
		l.Why += ", including its contents"
	}
}

// stray is a file where the kubelet expects only directories.
func (h housekeeping) stray(name, top string) Leftover {
	l := Leftover{Class: DataLeft, Fate: FateRetries, Path: name, Holds: true}
	switch top {
	case "volumes":
		l.Why = "the kubelet expects only directories here, and fails with \"not a directory\" at every housekeeping"
		if h.minor != 0 && h.minor < 18 {
			l.Fate, l.Why = FateHeals, "up to 1.17 the kubelet removes it with the rest of the pod's directory, if no volume remains"
		}
	default:
		l.Fate, l.Why = FateHeals, "the kubelet removes it with the rest of the pod's directory"
	}
	return l
}
