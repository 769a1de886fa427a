package foreign

import (
	"path"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// A Leak is a mount that another namespace has and the host does not have.
type Leak struct {
	Mount mounts.Mount
	// On is the path on the host of the directory that it is mounted on, whatever its path in the other namespace. It is "" if the
	// host has no such directory: then the mount never was the host's, or its parent never was.
	On string
}

// Leaks finds what other namespaces have of a host's mounts that the host no longer has. See [NewLeaks].
type Leaks struct {
	devices map[string]bool  // of the host's mounts
	roots   map[place]string // superblock and root of those: a mount point of the host
}

// NewLeaks remembers what the host has, for the tables of all other namespaces.
func NewLeaks(host *mounts.Table) *Leaks {
	l := &Leaks{devices: map[string]bool{}, roots: make(map[place]string, len(host.Mounts))}
	for i := range host.Mounts {
		m := &host.Mounts[i]
		l.devices[m.Device] = true
		if at := (place{m.Device, m.Root}); l.roots[at] == "" {
			l.roots[at] = m.MountPoint
		}
	}
	return l
}

// In lists the mounts of another namespace that the host no longer has, in the order of the table: file systems
// that were mounted for the host, not those that a container has for itself. Unmounting on the host does not reach
// them, and their disk or server stays in use until that namespace ends.
//
// It compares superblock and root, because a private copy has no peer group left. A file system that only a container
// has (its /proc, its root, its tmpfs) is no leak unless inHost says so of the directory that it is mounted on: a copy of a
// mount of the host is on the same directory of the same file system. The path in the other namespace proves nothing,
// because a container can make any path. Network, FUSE and block file systems are reported wherever they are mounted, if the host has
// no mount of their superblock at all.
func (l *Leaks) In(other *mounts.Table, inHost func(path string) bool) []Leak {
	on := directories{host: l.roots}
	found := []Leak{}
	for i := range other.Mounts {
		m := &other.Mounts[i]
		if _, has := l.roots[place{m.Device, trimRoot(m.Root)}]; has {
			continue
		}
		if on.byID == nil { // a copy of the host's table has none
			on.byID = mountsByID(other)
		}
		remote := m.Class == mounts.ClassNetwork || m.Class == mounts.ClassFUSE || m.Class == mounts.ClassBlock
		dir := on.of(m)
		switch {
		case dir != "" && inHost != nil && inHost(dir):
			found = append(found, Leak{*m, dir})
		case remote && !l.devices[m.Device]:
			found = append(found, Leak{*m, dir})
		}
	}
	return found
}

// Gone says whether the host still lacks the mount of a leak: the file system, if it is not known where the host had it.
func (l Leak) Gone(host *mounts.Table) bool {
	root := trimRoot(l.Mount.Root)
	return !slices.ContainsFunc(host.Mounts, func(m mounts.Mount) bool {
		return m.Device == l.Mount.Device && (l.On == "" || m.Root == root)
	})
}

// maxDepth bounds the directories above a mount point that are looked for. Those of the kubelet are some ten deep.
const maxDepth = 64

// directories finds out where the directories of another namespace are on the host.
type directories struct {
	host map[place]string      // by superblock and root: a mount point of the host
	byID map[int]*mounts.Mount // of the other namespace
}

// of returns where the directory under a mount is on the host, "" if the host does not show it. The same directory of the
// same file system may be below several of the host's mounts: that of the nearest one counts.
func (d directories) of(m *mounts.Mount) string {
	parent := d.byID[m.ParentID]
	if parent == nil || parent == m || !strings.HasPrefix(parent.Root, "/") || strings.Contains(parent.Root, "/..") {
		return "" // what is mounted need not be a directory
	}
	below, inside := strings.CutPrefix(m.MountPoint, strings.TrimSuffix(parent.MountPoint, "/"))
	if !inside || below != "" && below[0] != '/' || strings.Count(parent.Root+below, "/") > maxDepth {
		return ""
	}
	below = path.Join(parent.Root, below)
	for root := below; ; root = path.Dir(root) {
		if point, ok := d.host[place{parent.Device, root}]; ok {
			return path.Join(point, strings.TrimPrefix(below, strings.TrimSuffix(root, "/")))
		}
		if root == "/" {
			return ""
		}
	}
}

// SameRoot returns a function that lists mounts of another namespace, at most as many as the caller wants. They show the same
// directory of the same file system as a mount of the host for which want is true. Those that are no [mounts.Copy] stay when
// that is unmounted.
func SameRoot(host *mounts.Table, want func(*mounts.Mount) bool) func(other *mounts.Table, most int) []mounts.Mount {
	wanted, devices := map[place]bool{}, map[string]bool{}
	for i := range host.Mounts {
		if m := &host.Mounts[i]; want(m) {
			wanted[place{m.Device, trimRoot(m.Root)}] = true
			devices[m.Device] = true
		}
	}
	return func(other *mounts.Table, most int) []mounts.Mount {
		found := []mounts.Mount{}
		for i := range other.Mounts {
			if len(found) >= most {
				break
			}
			if m := &other.Mounts[i]; devices[m.Device] && wanted[place{m.Device, trimRoot(m.Root)}] {
				found = append(found, *m)
			}
		}
		return found
	}
}

// trimRoot removes the suffix of a directory that was removed: the copy and the original show it at different times.
func trimRoot(root string) string { return strings.TrimSuffix(root, "//deleted") }
