package mounts

import "github.com/nodeforensics/nodeforensics/internal/fsfamily"

// Class says what touching a file system of a type may wait for.
type Class string

// The classes. A type that is not known is ClassUnknown and treated like a network file system: never touched
// without a probe.
const (
	ClassBlock   Class = "block"   // ext4, xfs, btrfs: a disk
	ClassMemory  Class = "memory"  // tmpfs, ramfs, hugetlbfs
	ClassNetwork Class = "network" // nfs, ceph, cifs, 9p, ...: a server
	ClassFUSE    Class = "fuse"    // a process in user space
	ClassOverlay Class = "overlay" // the file systems of its layers
	ClassAutofs  Class = "autofs"  // never touched: a lookup mounts something
	ClassPseudo  Class = "pseudo"  // proc, sysfs, cgroup, ...: the kernel
	ClassUnknown Class = "unknown"
)

// ClassOf classifies a file system type as mountinfo names it, with or without a subtype ("fuse.ceph-fuse"). Types are
// grouped by what an access to them may wait for. A type that is not listed is [ClassUnknown].
func ClassOf(fsType string) Class { return Class(fsfamily.Of(fsType).Class) }
