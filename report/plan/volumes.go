package plan

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// unmounts writes the steps for all mounts of a pod's volumes.
func (s *script) unmounts(d kubelet.PodDir, left []kubelet.Leftover) {
	ofVolume, missing := map[string]bool{}, map[string]bool{}
	for _, l := range left {
		for _, point := range l.MountPoints {
			ofVolume[point], missing[point] = l.Volume != nil || l.Subpath != nil, true
		}
	}
	for _, m := range slices.Backward(s.model.PodMounts(d.UID)) { // one mount point can have several
		if known, ok := ofVolume[m.MountPoint]; ok {
			delete(missing, m.MountPoint)
			s.unmount(d, m, known)
		}
	}
	for _, point := range slices.Sorted(maps.Keys(missing)) {
		s.put("")
		s.decline(point, "it is mounted, but not in the mount table of the report: possibly only in the mount namespace of the kubelet")
	}
}

func (s *script) unmount(d kubelet.PodDir, m mounts.Mount, ofVolume bool) {
	s.put("")
	s.comment("%s from %s is still mounted, and no other component unmounts it.", m.FSType, m.Source)
	s.comment("risk: none while it is in use: umount then fails. A CSI driver is not notified, and the volume remains staged and attached")
	if !ofVolume {
		s.decline(m.MountPoint, "a kubelet mounts nothing here: find out which program did")
		return
	}
	if !s.target(d, m.MountPoint, mountPath) {
		return
	}
	if err := s.keepMounted(d, m); err != nil {
		s.put("step leave-mounted " + word(err.Error()))
		return
	}
	s.put("step unmount " + m.Device + " " + m.FSType)
}

// keepMounted says why a mount must not be unmounted: its data would be lost, or its file system is not known to respond, and
// umount would block. The class in the report is not trusted.
func (s *script) keepMounted(d kubelet.PodDir, m mounts.Mount) error {
	inMemory := mounts.ClassOf(m.FSType) == mounts.ClassMemory
	h, _ := s.model.Health(m.Device)
	switch {
	case lengthy(m.FSType) || !device.MatchString(m.Device) || !fsType.MatchString(m.FSType):
		return errors.New("the report does not state what is mounted there")
	case inMemory && m.FSType != "devtmpfs" && !s.isCopy(d, m.Device):
		return errors.New("it is in memory only: an unmount destroys its data. If the data is not needed, run umount -c")
	case inMemory || h.Status == mounts.StatusOK:
		return nil
	case h.Status == mounts.StatusNotProbed:
		return errors.New("its file system was not probed, and umount can block: make a report that probes mounts")
	}
	return fmt.Errorf("its file system is not healthy (%s), and umount can block: see the fix in the report", h.Status)
}

// isCopy says that a file system in memory has only what the API server has, too.
func (s *script) isCopy(d kubelet.PodDir, device string) bool {
	return slices.ContainsFunc(s.model.PodMounts(d.UID), func(m mounts.Mount) bool {
		plugin := path.Base(path.Dir(m.MountPoint))
		return m.Device == device && slices.Contains([]string{
			"kubernetes.io~secret", "kubernetes.io~projected", "kubernetes.io~downward-api", "kubernetes.io~configmap",
		}, plugin)
	})
}

// leftover writes the step for one leftover, with its class, its reason and its risk.
func (s *script) leftover(d kubelet.PodDir, l kubelet.Leftover) {
	s.put("")
	s.comment("%s: %s", l.Class, l.Why)
	switch l.Class {
	case kubelet.LiveMount, kubelet.SubpathMountLeft, kubelet.BlockLeft:
		s.afterUnmount(d, l)
	case kubelet.CSIVolDataLeft:
		s.removeVolData(d, l)
	case kubelet.DataLeft:
		s.moveData(d, l)
	case kubelet.SubpathFileLeft:
		switch {
		case l.Holds:
			s.moveData(d, l)
		case l.Fate == kubelet.FateHeals:
			s.kubeletRemoves(l)
		default:
			s.removeTarget(d, l)
		}
	case kubelet.EmptyDirLeft:
		s.emptyDir(d, l)
	case kubelet.ASWUncertain:
		s.comment("risk: a restart loses the state and the goroutines of the kubelet. Containers continue. FUSE servers in its cgroup end")
		s.decline(l.Path, "only a restart of the kubelet removes it. Save evidence before: nodeforensics --output-dir DIR")
	case kubelet.LeftUnread:
		s.decline(l.Path, l.Why)
	default: // SelfHeals, Pending
		s.kubeletRemoves(l)
	}
}

func (s *script) kubeletRemoves(l kubelet.Leftover) { s.note(l, "the kubelet removes it") }

func (s *script) note(l kubelet.Leftover, why string) {
	s.put("step name " + word(l.Path))
	s.put("step note " + word(why))
}

func (s *script) removeVolData(d kubelet.PodDir, l kubelet.Leftover) {
	s.comment("risk: none for data: a copy of vol_data.json is kept, and only empty directories are removed")
	s.take(d, l, csiPath, "remove-vol-data")
}

func (s *script) removeTarget(d kubelet.PodDir, l kubelet.Leftover) {
	s.comment("risk: none for data: only an empty file or directory is removed")
	s.take(d, l, subpathPath, "remove-target")
}

func (s *script) removeDir(d kubelet.PodDir, l kubelet.Leftover) {
	s.comment("risk: none for data: only an empty directory is removed")
	s.take(d, l, volumePath, "remove-dir")
}

// take writes a step for a path of the expected shape.
func (s *script) take(d kubelet.PodDir, l kubelet.Leftover, shape *pattern.Pattern, step string) {
	if s.target(d, l.Path, shape) {
		s.put("step " + step)
	}
}

// emptyDir removes an empty directory that the kubelet does not.
func (s *script) emptyDir(d kubelet.PodDir, l kubelet.Leftover) {
	switch {
	case l.Fate == kubelet.FateHeals:
		s.kubeletRemoves(l)
	case l.Subpath != nil:
		s.removeTarget(d, l)
	case below(d, l.Path, csiPath) != "":
		s.removeVolData(d, l)
	default:
		s.removeDir(d, l)
	}
}

// afterUnmount removes the mount point, where the kubelet does not: for subpaths up to 1.26, and for volumes up to 1.17. No
// kubelet removes what is beside the mount of a CSI volume.
func (s *script) afterUnmount(d kubelet.PodDir, l kubelet.Leftover) {
	minor := s.model.KubeletMinor()
	switch {
	case len(l.MountPoints) == 0:
		s.kubeletRemoves(l)
	case l.Class != kubelet.BlockLeft && l.Subpath != nil && minor < 27:
		s.removeTarget(d, l)
	case l.Class != kubelet.BlockLeft && l.Volume != nil && below(d, l.Path, csiPath) != "":
		s.removeVolData(d, l)
	case l.Class != kubelet.BlockLeft && l.Volume != nil && minor < 18:
		s.removeDir(d, l)
	case l.Volume == nil && l.Subpath == nil: // the unmount itself was refused
	default:
		s.note(l, "the kubelet removes it after the unmount")
	}
}

// moveData moves data that must not be deleted, if the script has --move-data.
func (s *script) moveData(d kubelet.PodDir, l kubelet.Leftover) {
	in := (*kubelet.Contents)(nil)
	switch {
	case l.Volume != nil:
		in = l.Volume.Inside
	case l.Subpath != nil:
		in = l.Subpath.Inside
	}
	holds := "files"
	if in != nil {
		holds = fmt.Sprintf("%s, %s, %s", text.Plural(in.Files, "file"), text.Plural(int(in.Bytes), "byte"), text.Plural(in.Dirs, "more directory"))
	}
	s.comment("risk: this can be the only copy of the data of a pod. It is renamed, never copied and never deleted")
	s.take(d, l, leftPath, "move-data "+word(holds))
}
