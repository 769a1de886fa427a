package mounts

import "strings"

// Leaked lists the mounts of another namespace that are gone from the host's, in the order of the table: file systems
// that somebody mounted for the host, not those that a container has for itself. Unmounting on the host does not reach
// them, and their disk or server stays in use as long as that namespace lives.
//
// It compares superblock and root, since a private copy has no peer group left. A file system that only a container
// has (its /proc, its root, its tmpfs) is none unless inHost says so of its mount point: there, a mount is one of the host's
// by its path. Network, FUSE and block file systems are reported wherever they are mounted, if the host has no mount of
// their superblock at all.
func Leaked(host, other *Table, inHost func(path string) bool) []Mount {
	devices, roots := map[string]bool{}, map[string]bool{}
	for i := range host.Mounts {
		m := &host.Mounts[i]
		devices[m.Device] = true
		roots[m.Device+" "+m.Root] = true
	}
	found := []Mount{}
	for i := range other.Mounts {
		m := &other.Mounts[i]
		switch {
		case inHost != nil && inHost(m.MountPoint):
			if !roots[m.Device+" "+trimRoot(m.Root)] {
				found = append(found, *m)
			}
		case m.Class == ClassNetwork || m.Class == ClassFUSE || m.Class == ClassBlock:
			if !devices[m.Device] {
				found = append(found, *m)
			}
		}
	}
	return found
}

// Apart lists the mounts of another namespace that show the same directory of the same file system as a mount of the host
// for which want is true. Those among them that are no [Copy] stay when that is unmounted.
func Apart(host, other *Table, want func(*Mount) bool) []Mount {
	wanted := map[string]bool{}
	for i := range host.Mounts {
		if m := &host.Mounts[i]; want(m) {
			wanted[m.Device+" "+trimRoot(m.Root)] = true
		}
	}
	found := []Mount{}
	for _, m := range other.Mounts {
		if wanted[m.Device+" "+trimRoot(m.Root)] {
			found = append(found, m)
		}
	}
	return found
}

// trimRoot takes off the mark of a directory that was removed: the copy and the original show it at different times.
func trimRoot(root string) string { return strings.TrimSuffix(root, "//deleted") }

// Propagation says in words how a mount learns of what happens to its copies.
func (m *Mount) Propagation() string {
	switch {
	case m.Shared != 0 && m.Master != 0:
		return "shared and slave"
	case m.Shared != 0:
		return "shared"
	case m.Master != 0:
		return "slave"
	case m.Unbindable:
		return "unbindable"
	}
	return "private"
}
