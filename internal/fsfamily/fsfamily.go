// Package fsfamily is the one table of file systems: what the mount table calls them, what the kernel's own functions call
// them, and what touching one may wait for. A new file system is a row here and, where stacks can show that a thread waits in
// it, its functions in package procs.
package fsfamily

import (
	"strings"
	"sync"
)

// The classes say what touching a file system may wait for; mounts.Class documents them. They are in evidence.
const (
	Block   = "block"
	Memory  = "memory"
	Network = "network"
	FUSE    = "fuse"
	Overlay = "overlay"
	Autofs  = "autofs"
	Pseudo  = "pseudo"
	Unknown = "unknown"
)

// The names of families that more is known of than this table says.
const (
	NameNFS  = "nfs"
	NameCeph = "ceph"
	NameCIFS = "cifs"
	NameFUSE = "fuse"
)

// A Family are the file systems that one part of the kernel serves.
type Family struct {
	// Name is what procs.Wait.FS calls it, which is taken from the functions of the kernel. Where that knows no functions of
	// it, it is the type.
	Name string
	// Class is one of the classes, Unknown for a type that is not in the table.
	Class string
	// OwnDevices says that its files show other device numbers than the mount table (stat(2) of a subvolume or of a layer).
	OwnDevices bool
	// ReadOnly says that it is made whole and never written, so that it is always full.
	ReadOnly bool

	types string // of mountinfo, without subtypes, separated by white space
}

// families are grouped by class. Those without a name are each named as their type.
var families = []Family{
	{Class: Block, Name: "ext4", types: "ext4 ext3 ext2"}, // one driver since Linux 4.3; jbd2 is its journal
	{Class: Block, Name: "btrfs", types: "btrfs", OwnDevices: true},
	{Class: Block, Name: "bcachefs", types: "bcachefs", OwnDevices: true},
	{Class: Block, Name: "ntfs3", types: "ntfs3 ntfs"}, // one driver since Linux 6.9
	{Class: Block, types: "xfs zfs f2fs jfs reiserfs reiser4 nilfs2"},
	{Class: Block, types: "vfat msdos umsdos exfat hfs hfsplus apfs hpfs udf"},
	{Class: Block, types: "iso9660 squashfs erofs cramfs romfs", ReadOnly: true},
	{Class: Block, types: "jffs2 ubifs yaffs yaffs2 zonefs"},
	{Class: Block, types: "minix ufs sysv xenix v7 bfs affs adfs befs efs qnx4 qnx6 omfs vxfs"},

	// Those that wait for a server, for the other nodes of a cluster, or for the host of a virtual machine.
	{Class: Network, Name: NameNFS, types: "nfs nfs4"},
	{Class: Network, Name: NameCeph, types: "ceph"},
	{Class: Network, Name: NameCIFS, types: "cifs smb3 smbfs"},
	{Class: Network, Name: "lustre", types: "lustre lustre_lite"},
	{Class: Network, types: "9p afs coda ncpfs ncp glusterfs beegfs fhgfs orangefs pvfs2 panfs wekafs cvfs cxfs"},
	{Class: Network, types: "gfs gfs2 ocfs2 gpfs acfs scoutfs"},
	{Class: Network, types: "vboxsf prl_fs hgfs vmhgfs"},
	// The kernel waits in its FUSE code, but the server is on the host: no process of this machine holds the connection, and
	// /sys/fs/fuse/connections has no entry for it.
	{Class: Network, Name: NameFUSE, types: "virtiofs"},

	{Class: FUSE, Name: NameFUSE, types: "fuse fuseblk"},
	{Class: Autofs, types: "autofs"},

	// Another file system answers for them, ecryptfs and shiftfs too.
	{Class: Overlay, Name: "overlay", types: "overlay overlayfs", OwnDevices: true},
	{Class: Overlay, types: "aufs unionfs", OwnDevices: true},
	{Class: Overlay, types: "shiftfs ecryptfs"},

	{Class: Memory, types: "tmpfs ramfs hugetlbfs devtmpfs rootfs nullfs"},

	// Those that the kernel itself answers, without a device or a server.
	{Class: Pseudo, types: `
		proc sysfs cgroup cgroup2 cpuset devpts mqueue nsfs pidfs
		debugfs tracefs securityfs selinuxfs smackfs apparmorfs bpf configfs pstore efivarfs
		fusectl binfmt_misc binder resctrl rpc_pipefs nfsd dlmfs ocfs2_dlmfs`},
	{Class: Pseudo, types: `
		sockfs pipefs anon_inodefs bdev dax drm inotifyfs eventpollfs
		functionfs gadgetfs usbfs usbdevfs devfs oprofilefs spufs openpromfs
		xenfs hypfs s390_hypfs ibmasmfs qibfs ipathfs`},
}

// Of finds the family of a file system type as mountinfo names it, with or without a subtype ("fuse.ceph-fuse").
func Of(fsType string) Family {
	base, _, _ := strings.Cut(fsType, ".")
	if f, ok := byType()[base]; ok {
		return f
	}
	return Family{Name: base, Class: Unknown}
}

var byType = sync.OnceValue(func() map[string]Family {
	types := map[string]Family{}
	for _, f := range families {
		for name := range strings.FieldsSeq(f.types) {
			one := f
			if one.Name == "" {
				one.Name = name
			}
			types[name] = one
		}
	}
	return types
})
