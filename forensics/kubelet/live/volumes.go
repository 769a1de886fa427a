package live

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// eachPlugin calls read for each entry of <top>/<plugin>/.
func (r *podReader) eachPlugin(pod *hostfs.Dir, top string, read func(plugin *hostfs.Dir, v kubelet.Volume, entry nodefs.Entry) kubelet.Volume) {
	dir, ok := r.open(pod, top)
	if !ok {
		return
	}
	defer func() { _ = dir.Close() }()
	r.noteChange(dir)
	for _, entry := range r.entries(dir) {
		if entry.IsDir() {
			r.eachVolume(dir, entry.Name, read)
		} else {
			r.noteUnknown(path.Join(top, entry.Name))
		}
	}
}

func (r *podReader) eachVolume(dir *hostfs.Dir, name string, read func(plugin *hostfs.Dir, v kubelet.Volume, entry nodefs.Entry) kubelet.Volume) {
	plugin, ok := r.open(dir, name)
	if !ok {
		return
	}
	defer func() { _ = plugin.Close() }()
	r.noteChange(plugin)
	for _, entry := range r.entries(plugin) {
		v := kubelet.Volume{
			Plugin:  strings.ReplaceAll(name, "~", "/"), // k8s.io/utils/strings.UnescapeQualifiedName
			Name:    entry.Name,
			Path:    path.Join(plugin.Path(), entry.Name),
			Kind:    volumeKind(entry),
			Entries: -1,
		}
		v.MountPoints = r.mountsAt(v.Path)
		r.pod.Volumes = append(r.pod.Volumes, read(plugin, v, entry))
	}
}

// readDevice describes volumeDevices/<plugin>/<name>, a link to a block device or a bind mount of one. Neither is
// touched.
func (r *podReader) readDevice(plugin *hostfs.Dir, v kubelet.Volume, entry nodefs.Entry) kubelet.Volume {
	v.Block = true
	if !r.isMountPoint(v.Path) && crossesMount(plugin, entry.Name) {
		v.MountPoints = append(v.MountPoints, v.Path)
	}
	return v
}

// crossesMount reports whether the kernel says that an entry is a mount point, which it does without touching what is
// mounted. The table may be older than the mount, or missing.
func crossesMount(dir *hostfs.Dir, name string) bool {
	_, err := dir.Lstat(name)
	return errors.Is(err, nodefs.ErrCrossesMount)
}

// readVolume looks into a volume that is no mount point. Most of them are, and small tmpfs mounts of the kubelet at that
// (projected, secret): those are left alone.
func (r *podReader) readVolume(plugin *hostfs.Dir, v kubelet.Volume, entry nodefs.Entry) kubelet.Volume {
	if r.isMountPoint(v.Path) {
		return v
	}
	if !entry.IsDir() {
		v.Inside = r.single(plugin, entry)
		return v
	}
	dir, err := plugin.OpenDir(entry.Name)
	switch {
	case errors.Is(err, nodefs.ErrCrossesMount): // mounted after the table was read, or there is no table
		v.MountPoints = append(v.MountPoints, v.Path)
		return v
	case err != nil:
		r.fail(err)
		return v
	}
	defer func() { _ = dir.Close() }()
	entries, err := r.listing(dir)
	if cut := errors.Is(err, nodefs.ErrTruncated); err == nil || cut {
		v.Entries = len(entries)
	} else {
		r.fail(err)
	}
	isCSI := path.Base(plugin.Path()) == "kubernetes.io~csi"
	if isCSI {
		r.readCSI(dir, &v)
	}
	if r.counts && v.Entries >= 0 {
		v.Inside = r.countVolume(dir, entries, isCSI)
	}
	return v
}

// readCSI reads what the kubelet keeps beside the mount point of a CSI volume, and that.
func (r *podReader) readCSI(dir *hostfs.Dir, v *kubelet.Volume) {
	target := path.Join(v.Path, "mount")
	if r.isMountPoint(target) {
		v.HasMountDir = true
	} else {
		_, err := dir.Lstat("mount")
		mounted := errors.Is(err, nodefs.ErrCrossesMount)
		v.HasMountDir = err == nil || mounted
		if mounted {
			v.MountPoints = append(v.MountPoints, target)
		}
	}
	data, err := dir.ReadFile("vol_data.json", maxPodFile)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		v.VolData, err = kubelet.ParseVolData(data)
	}
	if err != nil {
		v.VolDataError = err.Error()
	}
}

// readSubpaths reads volume-subpaths/<volume>/<container>/<index>.
func (r *podReader) readSubpaths(pod *hostfs.Dir) {
	top, ok := r.open(pod, "volume-subpaths")
	if !ok {
		return
	}
	defer func() { _ = top.Close() }()
	for _, volume := range r.entries(top) {
		if !volume.IsDir() {
			r.noteUnknown(path.Join("volume-subpaths", volume.Name))
			continue
		}
		for _, container := range r.list(top, volume.Name) {
			if !container.IsDir() {
				r.noteUnknown(path.Join("volume-subpaths", volume.Name, container.Name))
				continue
			}
			rel := path.Join(volume.Name, container.Name)
			for _, index := range r.list(top, rel) {
				s := kubelet.Subpath{
					Volume: volume.Name, Container: container.Name, Index: index.Name,
					Path: path.Join(top.Path(), rel, index.Name), Kind: kindOf(index),
				}
				r.readSubpath(top, path.Join(rel, index.Name), index, &s)
				r.pod.Subpaths = append(r.pod.Subpaths, s)
			}
		}
	}
}

// readSubpath tells a subpath that is mounted from what is left of one, and looks into that.
func (r *podReader) readSubpath(top *hostfs.Dir, rel string, entry nodefs.Entry, s *kubelet.Subpath) {
	if r.isMountPoint(s.Path) || crossesMount(top, rel) {
		s.Kind = "mount"
		return
	}
	if !r.counts {
		return
	}
	if s.Kind != "dir" {
		entry.Name = rel
		s.Inside = r.single(top, entry)
		return
	}
	dir, err := top.OpenDir(rel)
	if err != nil {
		r.fail(err)
		return
	}
	defer func() { _ = dir.Close() }()
	s.Inside = r.countVolume(dir, r.entries(dir), false)
}

// volumeKind is the kind of a volume's entry, "" if unknown.
func volumeKind(entry nodefs.Entry) string {
	switch {
	case !entry.TypeKnown:
		return ""
	case entry.Type&fs.ModeSymlink != 0:
		return "link"
	}
	return kindOf(entry)
}

// kindOf says what an entry is, from the listing of the directory that it is in.
func kindOf(entry nodefs.Entry) string {
	switch {
	case entry.IsDir():
		return "dir"
	case entry.TypeKnown && entry.Type == 0:
		return "file"
	}
	return "other"
}
