package fsfamily

import "testing"

func TestLabel(t *testing.T) {
	for _, c := range [][3]string{
		{"nfs4", "10.0.0.9:/export", "NFS 10.0.0.9:/export"},
		{"ceph", "10.0.0.5:6789:/k8s", "CephFS 10.0.0.5:6789:/k8s"},
		{"fuse.ceph-fuse", "10.0.0.5:6789:/k8s", "CephFS 10.0.0.5:6789:/k8s"},
		{"fuse.JuiceFS", "JuiceFS:vol", "JuiceFS JuiceFS:vol"},
		{"fuse.s3fs", "s3fs", "s3fs"},
		{"fuse.rclone", "remote:bucket", "rclone remote:bucket"},
		{"fuse", "/dev/fuse", "FUSE /dev/fuse"},
		{"ext4", "/dev/sdb1", "ext4 /dev/sdb1"},
		{"tmpfs", "tmpfs", "tmpfs"},
		{"overlay", "none", "overlay"},
		{"", "", ""},
	} {
		if got := Label(c[0], c[1]); got != c[2] {
			t.Errorf("%s from %s is called %q, want %q", c[0], c[1], got, c[2])
		}
	}
}
