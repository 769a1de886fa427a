package live

import (
	"errors"
	"io/fs"
	"path"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

const (
	maxCountedVolume = 2000 // entries of one volume
	maxCountedDepth  = 32   // of directories, each of which is an open descriptor
	maxFirstNames    = 5
	maxFirstName     = 100 // bytes
)

// A counter counts what lies in one volume.
type counter struct {
	*podReader
	c     kubelet.Contents
	left  int
	inCSI bool
}

// countVolume counts what lies in a directory that is no mount point and whose entries were listed already. It enters no
// mount. isCSI leaves out what the kubelet itself keeps in a CSI volume.
func (r *podReader) countVolume(dir *hostfs.Dir, entries []nodefs.Entry, isCSI bool) *kubelet.Contents {
	k := counter{podReader: r, c: kubelet.Contents{First: []string{}}, left: maxCountedVolume, inCSI: isCSI}
	k.count(dir, entries, 0)
	k.c.Truncated = k.c.Truncated || len(entries) == maxDirEntries
	return &k.c
}

// single describes what is no directory.
func (r *podReader) single(dir *hostfs.Dir, entry nodefs.Entry) *kubelet.Contents {
	if !r.counts || !entry.TypeKnown {
		return nil
	}
	k := counter{podReader: r, c: kubelet.Contents{First: []string{}}, left: 1}
	k.entry(dir, entry, 0)
	return &k.c
}

func (k *counter) count(dir *hostfs.Dir, entries []nodefs.Entry, depth int) {
	for _, entry := range entries {
		if k.left <= 0 || k.countLeft.Load() <= 0 || k.counting.Err() != nil {
			k.c.Truncated = true
			return
		}
		if k.inCSI && depth == 0 && k.kubeletsOwn(dir, entry) {
			continue
		}
		if depth == 0 && len(k.c.First) < maxFirstNames {
			k.c.First = append(k.c.First, entry.Name[:min(len(entry.Name), maxFirstName)])
		}
		k.entry(dir, entry, depth)
	}
}

// kubeletsOwn passes over vol_data.json and looks into "mount", the target of a CSI volume, without counting it.
func (k *counter) kubeletsOwn(dir *hostfs.Dir, entry nodefs.Entry) bool {
	switch {
	case entry.Name == "vol_data.json":
		return true
	case entry.Name == "mount" && entry.IsDir():
		if !k.isMountPoint(path.Join(dir.Path(), entry.Name)) {
			_ = k.into(dir, entry.Name, 0)
		}
		return true
	}
	return false
}

func (k *counter) entry(dir *hostfs.Dir, entry nodefs.Entry, depth int) {
	k.left--
	k.countLeft.Add(-1)
	switch {
	case k.isMountPoint(path.Join(dir.Path(), entry.Name)):
		k.c.Mounts++
	case entry.IsDir():
		if k.into(dir, entry.Name, depth+1) {
			k.c.Dirs++
		}
	case entry.TypeKnown && entry.Type == 0:
		k.file(dir, entry.Name)
	default:
		k.c.Others++
	}
}

func (k *counter) file(dir *hostfs.Dir, name string) {
	info, err := dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, nodefs.ErrCrossesMount):
		k.c.Mounts++
	case err != nil:
		k.c.Files++
		k.c.Truncated = true
	default:
		k.c.Files++
		k.c.Bytes += info.Size
	}
}

// into counts what lies in a directory below. It reports false if that is a mount point, or gone.
func (k *counter) into(parent *hostfs.Dir, name string, depth int) bool {
	if depth >= maxCountedDepth {
		k.c.Truncated = true
		return true
	}
	dir, err := parent.OpenDir(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false
	case errors.Is(err, nodefs.ErrCrossesMount):
		k.c.Mounts++
		return false
	case err != nil:
		k.c.Truncated = true
		return true
	}
	defer func() { _ = dir.Close() }()
	entries, err := dir.Entries(min(maxDirEntries, max(k.left, 1)))
	k.c.Truncated = k.c.Truncated || err != nil
	inCSI := k.inCSI
	k.inCSI = false
	k.count(dir, entries, depth)
	k.inCSI = inCSI
	return true
}
