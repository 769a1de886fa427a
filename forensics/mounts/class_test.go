package mounts

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
)

func TestClassOf(t *testing.T) {
	for class, types := range map[Class]string{
		ClassNetwork: "nfs nfs4 ceph cifs smb3 9p afs glusterfs lustre gfs2 ocfs2 beegfs orangefs pvfs2 gpfs virtiofs",
		ClassFUSE:    "fuse fuseblk fuse.ceph-fuse fuse.glusterfs fuse.s3fs fuse.a.b fuseblk.ntfs-3g fuse.",
		ClassOverlay: "overlay overlayfs aufs ecryptfs",
		ClassAutofs:  "autofs",
		ClassBlock:   "ext2 ext3 ext4 xfs btrfs zfs f2fs vfat exfat iso9660 squashfs erofs udf",
		ClassMemory:  "tmpfs ramfs hugetlbfs devtmpfs rootfs",
		ClassPseudo:  "proc sysfs cgroup cgroup2 devpts mqueue debugfs tracefs bpf nsfs fusectl binfmt_misc configfs rpc_pipefs",
		ClassUnknown: "newfs Ext4 fuses nfs5 .fuse",
	} {
		for _, fsType := range strings.Fields(types) {
			if got := ClassOf(fsType); got != class {
				t.Errorf("ClassOf(%q) = %s; want %s", fsType, got, class)
			}
		}
	}
	for class, row := range map[Class]string{ // the table is below this package, and has words of its own
		ClassBlock: fsfamily.Block, ClassMemory: fsfamily.Memory, ClassNetwork: fsfamily.Network, ClassFUSE: fsfamily.FUSE,
		ClassOverlay: fsfamily.Overlay, ClassAutofs: fsfamily.Autofs, ClassPseudo: fsfamily.Pseudo, ClassUnknown: fsfamily.Unknown,
	} {
		if class != Class(row) {
			t.Errorf("class %q is %q in the table", class, row)
		}
	}
	if got := ClassOf(""); got != ClassUnknown {
		t.Errorf("ClassOf(%q) = %s; want %s", "", got, ClassUnknown)
	}
}
