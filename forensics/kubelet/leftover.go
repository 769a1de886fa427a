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
	fateUnknown Fate = "unknown" // the version, or too much of the leftover, is not known
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
	// Holds says that it contains data, whatever its class; Unsure that it may.
	Holds  bool `json:"holds_data,omitempty"`
	Unsure bool `json:"may_hold_data,omitempty"`
}

// Leftovers lists what remains of a pod, one entry for each volume, subpath and block device, and what a kubelet 1.minor does about it; 0 is
// an unknown version. It is for orphaned pods: for a live pod the same tree is normal, and only the caller knows which it is. mountPoints
// are mounts at or below the pod's directory, from any table.
//
// The source is cleanupOrphanedPodDirs of kubelets 1.10 to 1.36 (pkg/kubelet/kubelet_volumes.go). At every housekeeping it first checks the
// volumes for mounts, and keeps everything if it finds one. Up to 1.17 it keeps everything if there is any volume (from 1.13 on also any
// subpath). From 1.18 on it removes volumes and subpaths with rmdir, one by one (subpaths from 1.27 on also with unlink), and the rest only
// if all of that succeeded.
func Leftovers(d PodDir, minor int, mountPoints []string) []Leftover {
	h := housekeeping{minor: minor}
	left := []Leftover{}
	for i := range d.Volumes {
		left = append(left, h.volume(&d.Volumes[i], at(d.Volumes[i].Path, mountPoints)))
	}
	for i := range d.Subpaths {
		left = append(left, h.subpath(&d.Subpaths[i], at(d.Subpaths[i].Path, mountPoints)))
	}
	for _, rel := range d.Unknown {
		if top, _, nested := strings.Cut(rel, "/"); nested {
			left = append(left, h.stray(path.Join(d.Path, rel), top))
		}
	}
	left = append(left, h.elsewhere(d.Path, left, mountPoints)...)
	if d.Error != "" {
		left = append(left, Leftover{
			Class: LeftUnread, Fate: fateUnknown, Path: d.Path, Unsure: true,
			Why: "the directory was not read completely: " + d.Error,
		})
	}
	if len(left) == 0 {
		left = append(left, Leftover{
			Class: Pending, Fate: FateHeals, Path: d.Path,
			Why: "no volume remains: the next housekeeping removes the directory, if housekeeping runs",
		})
	}
	for i := range left {
		if left[i].MountPoints == nil {
			left[i].MountPoints = []string{}
		}
	}
	h.together(left)
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

// elsewhere is for mounts that belong to no volume and no subpath.
func (h housekeeping) elsewhere(dir string, left []Leftover, mountPoints []string) []Leftover {
	var found []Leftover
	for _, point := range mountPoints {
		known := slices.ContainsFunc(left, func(l Leftover) bool { return slices.Contains(l.MountPoints, point) })
		if !known && (point == dir || strings.HasPrefix(point, dir+"/")) {
			found = append(found, Leftover{
				Class: LiveMount, Fate: FateRetries, Path: point, MountPoints: []string{point}, Unsure: true,
				Why: "no kubelet mounts anything here or checks for it: it fails to remove the mount point. Kubelets before 1.30, and all on " +
					"kernels before 5.8, treat a bind mount of the same file system as an ordinary directory and EMPTY it",
			})
		}
	}
	return found
}

// together corrects what a kubelet does not do because of something else in the same pod.
func (h housekeeping) together(left []Leftover) {
	stopped := slices.ContainsFunc(left, func(l Leftover) bool { return l.Class == LiveMount && l.Fate == FateNever })
	rest := slices.ContainsFunc(left, func(l Leftover) bool { return l.Fate != FateHeals })
	for i := range left {
		l := &left[i]
		switch {
		case l.Class == LiveMount || l.Class == LeftUnread:
		case stopped:
			l.Fate = FateNever
			l.Why = "while another volume of the pod is mounted, the kubelet removes nothing. Afterwards: " + l.Why
		case rest && l.Fate == FateHeals && (l.Class == BlockLeft || l.Class == DataLeft || h.minor != 0 && h.minor < 18):
			l.Fate = FateRetries
			l.Why += "; it does so only after the other volumes of the pod are removed"
		}
	}
}

// both joins two lists of mount points, sorted, each once.
func both(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
