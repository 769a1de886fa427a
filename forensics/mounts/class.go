package mounts

import "github.com/nodeforensics/nodeforensics/internal/fsfamily"

// Class says what touching a file system of a type may wait for.
type Class string

// The classes. A type that is not known is ClassUnknown and treated like a network file system: never touched
// without a probe.
const (
	ClassBlock   Class = fsfamily.Block   // ext4, xfs, btrfs: a disk
	ClassMemory  Class = fsfamily.Memory  // tmpfs, ramfs, hugetlbfs
	ClassNetwork Class = fsfamily.Network // nfs, ceph, cifs, 9p, ...: a server
	ClassFUSE    Class = fsfamily.FUSE    // a process in user space
	ClassOverlay Class = fsfamily.Overlay // whatever its layers are on
	ClassAutofs  Class = fsfamily.Autofs  // never touched: a look-up mounts something
	ClassPseudo  Class = fsfamily.Pseudo  // proc, sysfs, cgroup, ...: the kernel
	ClassUnknown Class = fsfamily.Unknown
)

// ClassOf classifies a file system type as mountinfo names it, with or without a subtype ("fuse.ceph-fuse"). Types are
// grouped by what the kernel waits for when somebody touches them. A type that is not listed is [ClassUnknown].
func ClassOf(fsType string) Class { return Class(fsfamily.Of(fsType).Class) }
