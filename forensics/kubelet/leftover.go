package kubelet

import (
	"path"
	"slices"
	"strings"
)

// LeftoverClass says what is left of a pod that is gone, or of one of its volumes. The words are for ever.
type LeftoverClass string

// The classes of leftovers.
const (
	// LiveMount: something is mounted at or below the volume, or anywhere else below the pod's directory.
	LiveMount LeftoverClass = "live-mount"
	// CSIVolDataLeft: vol_data.json of a CSI volume whose "mount" is gone, or empty and no mount point.
	CSIVolDataLeft LeftoverClass = "csi-vol-data-left"
	// SelfHeals: an empty "mount" of a CSI volume without vol_data.json, which kubelets from 1.18 on remove.
	SelfHeals LeftoverClass = "self-heals"
	// EmptyDirLeft: the empty directory of a volume or subpath.
	EmptyDirLeft LeftoverClass = "empty-dir-left"
	// DataLeft: a volume or subpath that is not mounted, and holds something.
	DataLeft LeftoverClass = "data-left"
	// SubpathFileLeft: the file onto which a file's subpath was mounted.
	SubpathFileLeft LeftoverClass = "subpath-file-left"
	// SubpathMountLeft: a subpath that is still mounted.
	SubpathMountLeft LeftoverClass = "subpath-mount-left"
	// BlockLeft: the link to, or the bind mount of, a block device.
	BlockLeft LeftoverClass = "block-left"
	// Pending: nothing but what every housekeeping removes.
	Pending LeftoverClass = "pending"
	// ASWUncertain: nothing that could keep the directory, and yet it stays: the kubelet believes that a volume is
	// mounted (its actual state of world has it, from 1.25 on also as uncertain).
	ASWUncertain LeftoverClass = "asw-uncertain"
	// LeftUnread: not enough could be read to tell.
	LeftUnread LeftoverClass = "not-read"
)

// Fate says what a kubelet will do about a leftover.
type Fate string

// The fates.
const (
	FateUnknown Fate = "unknown" // the version, or too much of the leftover, is not known
	FateHeals   Fate = "heals"   // the next housekeeping removes it
	FateRetries Fate = "retries" // it tries, fails and logs so every two seconds, for ever
	FateNever   Fate = "never"   // it does not touch it, and says so only at verbosity 3
)

// A Leftover is one thing that is left below the directory of a pod that is gone.
type Leftover struct {
	Class LeftoverClass `json:"class"`
	Fate  Fate          `json:"fate"`
	// Why says what the kubelet of this version does about it.
	Why  string `json:"why"`
	Path string `json:"path"`
	// Volume is the volume that it is left of, Subpath the subpath; nil where it is neither.
	Volume  *Volume  `json:"volume,omitempty"`
	Subpath *Subpath `json:"subpath,omitempty"`
	// MountPoints are the mounts of a LiveMount, SubpathMountLeft or BlockLeft, from the kubelet's table.
	MountPoints []string `json:"mount_points"`
	// Holds says that there is data in it, whatever its class; Unsure that there may be.
	Holds  bool `json:"holds_data,omitempty"`
	Unsure bool `json:"may_hold_data,omitempty"`
}

// Leftovers says what is left of a pod, one entry for each volume, subpath and block device, and what a kubelet of minor
// version 1.minor does about it; 0 is an unknown one. It is about pods that are gone: of a live pod the same tree is as
// it should be, which only the caller can know. mountPoints are mounts at or below the pod's directory, from any table.
//
// It rests on cleanupOrphanedPodDirs of kubelets 1.10 to 1.36 (pkg/kubelet/kubelet_volumes.go), which at every
// housekeeping first looks for mounts among the volumes, and keeps all if it finds one; up to 1.17 keeps all if there is
// any volume (from 1.13 on also any subpath); from 1.18 on removes volumes and subpaths with rmdir, one by one (subpaths
// from 1.27 on also with unlink), and only if all of that went well the rest.
func Leftovers(d PodDir, minor int, mountPoints []string) []Leftover {
	k := keeper{minor: minor}
	left := []Leftover{}
	for i := range d.Volumes {
		left = append(left, k.volume(&d.Volumes[i], at(d.Volumes[i].Path, mountPoints)))
	}
	for i := range d.Subpaths {
		left = append(left, k.subpath(&d.Subpaths[i], at(d.Subpaths[i].Path, mountPoints)))
	}
	for _, rel := range d.Unknown {
		if top, _, nested := strings.Cut(rel, "/"); nested {
			left = append(left, k.stray(path.Join(d.Path, rel), top))
		}
	}
	left = append(left, k.elsewhere(d.Path, left, mountPoints)...)
	if d.Error != "" {
		left = append(left, Leftover{
			Class: LeftUnread, Fate: FateUnknown, Path: d.Path, Unsure: true,
			Why: "the directory was not read to its end: " + d.Error,
		})
	}
	if len(left) == 0 {
		left = append(left, Leftover{
			Class: Pending, Fate: FateHeals, Path: d.Path,
			Why: "nothing of a volume is left: the next housekeeping removes the directory, if it runs",
		})
	}
	for i := range left {
		if left[i].MountPoints == nil {
			left[i].MountPoints = []string{}
		}
	}
	k.together(left)
	return left
}

// at lists the mount points at or below a path.
func at(name string, mountPoints []string) []string {
	var found []string
	for _, point := range mountPoints {
		if point == name || strings.HasPrefix(point, name+"/") {
			found = append(found, point)
		}
	}
	return found
}

// csiPlugin is [Volume.Plugin] of a CSI volume.
const csiPlugin = "kubernetes.io/csi"

// A keeper knows what a kubelet of one version does.
type keeper struct{ minor int }

// since says what holds from a minor version on, what did before, or that it depends on the version.
func (k keeper) since(minor int, before Fate, beforeWhy string, from Fate, fromWhy string) (Fate, string) {
	switch {
	case k.minor == 0:
		return FateUnknown, beforeWhy + "; " + fromWhy + ". The version of this one is not known"
	case k.minor < minor:
		return before, beforeWhy
	}
	return from, fromWhy
}

func (k keeper) volume(v *Volume, points []string) Leftover {
	l := Leftover{Path: v.Path, Volume: v, MountPoints: both(v.MountPoints, points)}
	switch {
	case v.Block:
		k.block(&l)
	case len(l.MountPoints) > 0:
		k.mounted(&l)
	case v.Kind != "" && v.Kind != "dir":
		l.Class, l.Holds = DataLeft, true
		l.Fate, l.Why = FateRetries, "where a directory should be is something else, which no kubelet removes"
	case v.Entries < 0:
		l.Class, l.Fate, l.Why, l.Unsure = LeftUnread, FateUnknown, "the directory could not be read", true
	case v.Plugin == csiPlugin && (v.VolData != nil || v.VolDataError != "" || v.HasMountDir):
		k.csi(&l)
	case v.Entries == 0:
		l.Class = EmptyDirLeft
		l.Fate, l.Why = k.since(18, FateRetries, "up to 1.17 the kubelet keeps the whole pod directory while a volume's directory exists, empty or not",
			FateHeals, "from 1.18 on the next housekeeping removes the empty directory with rmdir")
	default:
		k.data(&l)
	}
	return l
}

// mounted is a volume with a mount. The kubelet looks at the volume's directory itself, of CSI volumes at "mount", and
// not deeper.
func (k keeper) mounted(l *Leftover) {
	l.Class, l.Unsure = LiveMount, true
	if slices.Contains(l.MountPoints, l.Path) || slices.Contains(l.MountPoints, path.Join(l.Path, "mount")) {
		l.Fate, l.Why = FateNever, "while a volume is mounted the kubelet keeps the whole directory, and says so only at verbosity 3; "+
			"it unmounts only volumes that it remembers. It asks the mount at every housekeeping, and hangs there if the mount does not answer"
		return
	}
	l.Fate, l.Why = FateRetries, "the kubelet looks for mounts at the volume itself and not below: it takes this for an unmounted volume, and fails to remove it"
}

// csi is a CSI volume that is not mounted and of which something is left.
func (k keeper) csi(l *Leftover) {
	v := l.Volume
	hasData := v.VolData != nil || v.VolDataError != ""
	l.Unsure = v.Inside == nil && (!hasData || v.HasMountDir || v.Entries != 1)
	if v.Inside != nil && !v.Inside.Empty() {
		k.data(l)
		return
	}
	if hasData {
		l.Class, l.Fate = CSIVolDataLeft, FateRetries
		l.Why = "vol_data.json is a file where the kubelet expects only directories: up to 1.17 it keeps the pod directory while the volume's exists, " +
			"1.18 fails with \"directory not empty\", and later ones with \"not a directory\", at every housekeeping"
		return
	}
	l.Class, l.Why = SelfHeals, "from 1.18 on the next housekeeping removes an empty \"mount\" with rmdir, and then the volume's directory"
	l.Fate = FateHeals
	switch {
	case k.minor == 0:
		l.Fate = FateUnknown
		l.Why += "; older ones keep it for ever. The version of this one is not known"
	case k.minor < 18:
		l.Class, l.Fate = EmptyDirLeft, FateRetries
		l.Why = "up to 1.17 the kubelet keeps the whole pod directory while a volume's directory exists, empty or not"
	}
}

// data is what nobody may throw away.
func (k keeper) data(l *Leftover) {
	l.Class, l.Fate, l.Holds = DataLeft, FateRetries, true
	l.Why = "no kubelet removes a directory that is not empty: rmdir fails at every housekeeping with \"directory not empty\""
	if k.minor != 0 && k.minor < 18 {
		l.Why = "up to 1.17 the kubelet keeps the whole pod directory while a volume's directory exists"
	}
}

// block is an entry of volumeDevices/, which goes with the rest of the pod's directory.
func (k keeper) block(l *Leftover) {
	l.Class = BlockLeft
	switch {
	case len(l.MountPoints) > 0:
		l.Fate, l.Why = FateRetries, "a device is still mounted here: the kubelet refuses to remove a mount point"
	case l.Volume.Kind == "dir":
		l.Fate, l.Why, l.Unsure = FateHeals, "the kubelet removes it with the rest of the pod's directory, with all that is in it", true
	default:
		l.Fate, l.Why = FateHeals, "the kubelet removes a link to a device with the rest of the pod's directory; the device itself is not touched"
	}
}

func (k keeper) subpath(s *Subpath, points []string) Leftover {
	l := Leftover{Path: s.Path, Subpath: s, MountPoints: points}
	if s.Kind == "mount" || len(points) > 0 {
		l.Class, l.Unsure = SubpathMountLeft, true
		if len(points) == 0 {
			l.MountPoints = []string{s.Path}
		}
		l.Fate, l.Why = k.since(13, FateUnknown, "1.10 looks for no subpaths before it removes the pod's directory, and sees a bind mount of its own file system as part of that",
			FateRetries, "the kubelet looks for mounts among the volumes only: from 1.13 on it stops at the subpath, from 1.18 on with rmdir, which fails with \"device or resource busy\", at every housekeeping")
		return l
	}
	l.Holds = s.Inside != nil && (s.Kind == "dir" && !s.Inside.Empty() || s.Kind != "dir" && s.Inside.Bytes > 0)
	l.Unsure = s.Inside == nil || s.Inside.Truncated
	switch {
	case s.Kind == "file":
		k.subpathFile(&l)
	case s.Kind == "dir" && l.Holds:
		k.data(&l)
	case s.Kind == "dir":
		l.Class = EmptyDirLeft
		l.Fate, l.Why = k.since(18, FateRetries, "from 1.13 to 1.17 the kubelet keeps the whole pod directory while a subpath exists",
			FateHeals, "from 1.18 on the next housekeeping removes the empty directory with rmdir")
		if k.minor != 0 && k.minor < 13 {
			l.Fate, l.Why = FateHeals, "up to 1.12 the kubelet removes subpaths with the rest of the pod's directory"
		}
	default:
		l.Class, l.Holds = DataLeft, true
		l.Fate, l.Why = k.since(27, FateRetries, "up to 1.26 the kubelet removes subpaths with rmdir, which fails for what is no directory",
			FateHeals, "from 1.27 on the next housekeeping unlinks it")
	}
	return l
}

func (k keeper) subpathFile(l *Leftover) {
	l.Class = SubpathFileLeft
	l.Fate, l.Why = k.since(27, FateRetries, "up to 1.26 the kubelet removes subpaths with rmdir, which fails with \"not a directory\", at every housekeeping",
		FateHeals, "from 1.27 on the next housekeeping unlinks the file")
	switch {
	case k.minor != 0 && k.minor < 13:
		l.Fate, l.Why = FateHeals, "up to 1.12 the kubelet removes subpaths with the rest of the pod's directory"
	case k.minor >= 13 && k.minor < 18:
		l.Why = "from 1.13 to 1.17 the kubelet keeps the whole pod directory while a subpath exists"
	}
	if l.Holds && l.Fate == FateHeals {
		l.Why += ", and with it what is in it"
	}
}

// stray is a file where the kubelet keeps only directories.
func (k keeper) stray(name, top string) Leftover {
	l := Leftover{Class: DataLeft, Fate: FateRetries, Path: name, Holds: true}
	switch top {
	case "volumes":
		l.Why = "the kubelet expects only directories here, and fails with \"not a directory\" at every housekeeping"
		if k.minor != 0 && k.minor < 18 {
			l.Fate, l.Why = FateHeals, "up to 1.17 the kubelet removes it with the rest of the pod's directory, if no volume is left"
		}
	default:
		l.Fate, l.Why = FateHeals, "the kubelet removes it with the rest of the pod's directory"
	}
	return l
}

// elsewhere is for mounts that belong to no volume and no subpath.
func (k keeper) elsewhere(dir string, left []Leftover, mountPoints []string) []Leftover {
	var found []Leftover
	for _, point := range mountPoints {
		known := slices.ContainsFunc(left, func(l Leftover) bool { return slices.Contains(l.MountPoints, point) })
		if !known && (point == dir || strings.HasPrefix(point, dir+"/")) {
			found = append(found, Leftover{
				Class: LiveMount, Fate: FateRetries, Path: point, MountPoints: []string{point}, Unsure: true,
				Why: "no kubelet mounts anything here, nor looks for it: it fails to remove the mount point; kubelets before 1.30, and all on " +
					"kernels before 5.8, take a bind mount of the same file system for an ordinary directory and EMPTY it",
			})
		}
	}
	return found
}

// together corrects what a kubelet does not come to because of something else in the same pod.
func (k keeper) together(left []Leftover) {
	stopped := slices.ContainsFunc(left, func(l Leftover) bool { return l.Class == LiveMount && l.Fate == FateNever })
	rest := slices.ContainsFunc(left, func(l Leftover) bool { return l.Fate != FateHeals })
	for i := range left {
		l := &left[i]
		switch {
		case l.Class == LiveMount || l.Class == LeftUnread:
		case stopped:
			l.Fate = FateNever
			l.Why = "while another volume of the pod is mounted the kubelet touches nothing; afterwards: " + l.Why
		case rest && l.Fate == FateHeals && (l.Class == BlockLeft || l.Class == DataLeft || k.minor != 0 && k.minor < 18):
			l.Fate = FateRetries
			l.Why += "; it comes to that only when the other volumes of the pod are gone"
		}
	}
}

// both joins two lists of mount points, sorted, each once.
func both(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
