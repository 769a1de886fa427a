package mounts

import (
	"strings"
	"testing"
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
	if got := ClassOf(""); got != ClassUnknown {
		t.Errorf("ClassOf(%q) = %s; want %s", "", got, ClassUnknown)
	}
}
