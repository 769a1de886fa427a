package mounts

import "strings"

// Class says what touching a file system of a type may wait for.
type Class string

// The classes. A type that is not known is ClassUnknown and treated like a network file system: never touched
// without a probe.
const (
	ClassBlock   Class = "block"   // ext4, xfs, btrfs: a disk
	ClassMemory  Class = "memory"  // tmpfs, ramfs, hugetlbfs
	ClassNetwork Class = "network" // nfs, ceph, cifs, 9p, ...: a server
	ClassFUSE    Class = "fuse"    // a process in user space
	ClassOverlay Class = "overlay" // whatever its layers are on
	ClassAutofs  Class = "autofs"  // never touched: a look-up mounts something
	ClassPseudo  Class = "pseudo"  // proc, sysfs, cgroup, ...: the kernel
	ClassUnknown Class = "unknown"
)

// ClassOf classifies a file system type as mountinfo names it, with or without a subtype ("fuse.ceph-fuse"). Types are
// grouped by what the kernel waits for when somebody touches them. A type that is not listed is [ClassUnknown].
func ClassOf(fsType string) Class {
	base, _, _ := strings.Cut(fsType, ".")
	switch base {
	case "fuse", "fuseblk":
		return ClassFUSE
	case "autofs":
		return ClassAutofs
	// ecryptfs and shiftfs are stacked as overlay is: another file system answers for them.
	case "overlay", "overlayfs", "aufs", "unionfs", "shiftfs", "ecryptfs":
		return ClassOverlay
	case "tmpfs", "ramfs", "hugetlbfs", "devtmpfs", "rootfs", "nullfs":
		return ClassMemory
	}
	switch {
	case isNetwork(base):
		return ClassNetwork
	case isPseudo(base):
		return ClassPseudo
	case isBlock(base):
		return ClassBlock
	}
	return ClassUnknown
}

// isNetwork lists the types that wait for a server, for the other nodes of a cluster, or for the host of a virtual
// machine. virtiofs is among them although the kernel waits in its FUSE code: the server is on the host, so no process
// of this machine holds its connection and /sys/fs/fuse/connections has no entry for it.
func isNetwork(base string) bool {
	switch base {
	case "nfs", "nfs4", "ceph", "cifs", "smb3", "smbfs", "9p", "afs", "coda", "ncpfs", "ncp",
		"glusterfs", "lustre", "lustre_lite", "beegfs", "fhgfs", "orangefs", "pvfs2", "panfs", "wekafs", "cvfs", "cxfs",
		"gfs", "gfs2", "ocfs2", "gpfs", "acfs", "scoutfs",
		"virtiofs", "vboxsf", "prl_fs", "hgfs", "vmhgfs":
		return true
	}
	return false
}

// isPseudo lists the types that the kernel itself answers, without a device or a server.
func isPseudo(base string) bool {
	switch base {
	case "proc", "sysfs", "cgroup", "cgroup2", "cpuset", "devpts", "mqueue", "nsfs", "pidfs",
		"debugfs", "tracefs", "securityfs", "selinuxfs", "smackfs", "apparmorfs", "bpf", "configfs", "pstore", "efivarfs",
		"fusectl", "binfmt_misc", "binder", "resctrl", "rpc_pipefs", "nfsd", "dlmfs", "ocfs2_dlmfs",
		"sockfs", "pipefs", "anon_inodefs", "bdev", "dax", "drm", "inotifyfs", "eventpollfs",
		"functionfs", "gadgetfs", "usbfs", "usbdevfs", "devfs", "oprofilefs", "spufs", "openpromfs",
		"xenfs", "hypfs", "s390_hypfs", "ibmasmfs", "qibfs", "ipathfs":
		return true
	}
	return false
}

// isBlock lists the types that live on a local disk, flash chip or image file.
func isBlock(base string) bool {
	switch base {
	case "ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "jfs", "reiserfs", "reiser4", "nilfs2",
		"vfat", "msdos", "umsdos", "exfat", "ntfs", "ntfs3", "hfs", "hfsplus", "apfs", "hpfs",
		"iso9660", "udf", "squashfs", "erofs", "cramfs", "romfs",
		"jffs2", "ubifs", "yaffs", "yaffs2", "zonefs",
		"minix", "ufs", "sysv", "xenix", "v7", "bfs", "affs", "adfs", "befs", "efs", "qnx4", "qnx6", "omfs", "vxfs":
		return true
	}
	return false
}
