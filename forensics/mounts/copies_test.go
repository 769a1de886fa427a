package mounts_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// TestCopies has the host's mount 3 on a mount of peer group 1, and other namespaces whose mounts receive from that in turn.
func TestCopies(t *testing.T) {
	host := mounts.Table{Namespace: 1, Mounts: []mounts.Mount{
		{ID: 1, Device: "8:1", Root: "/", MountPoint: "/", Shared: 1},
		{ID: 3, ParentID: 1, Device: "0:50", Root: "/", MountPoint: "/pods/a/volume", Shared: 9},
		{ID: 4, ParentID: 3, Device: "0:51", Root: "/", MountPoint: "/pods/a/volume/sub"},
	}}
	c := mounts.NewCopies(&host, func(m *mounts.Mount) bool { return m.ID == 3 })
	for _, table := range []mounts.Table{
		host,
		{Namespace: 2, Mounts: []mounts.Mount{ // a slave of a slave, elsewhere
			{ID: 20, Device: "8:1", Root: "/pods", MountPoint: "/host/pods", Master: 7},
			{ID: 21, ParentID: 20, Device: "0:50", Root: "/", MountPoint: "/host/pods/a/volume"},
			{ID: 22, ParentID: 20, Device: "0:50", Root: "/", MountPoint: "/host/pods/b/volume"},
		}},
		{Namespace: 3, Mounts: []mounts.Mount{ // what that receives from
			{ID: 30, Device: "8:1", Root: "/", MountPoint: "/", Shared: 7, Master: 1},
			{ID: 31, ParentID: 30, Device: "0:50", Root: "/", MountPoint: "/pods/a/volume", Master: 9},
			{ID: 32, ParentID: 31, Device: "0:60", Root: "/", MountPoint: "/pods/a/volume"},
		}},
		{Namespace: 4, Mounts: []mounts.Mount{ // of another group
			{ID: 40, Device: "8:1", Root: "/", MountPoint: "/", Shared: 8, Master: 6},
			{ID: 41, ParentID: 40, Device: "0:50", Root: "/", MountPoint: "/pods/a/volume", Master: 9},
		}},
		{Namespace: 5, Mounts: []mounts.Mount{ // groups that name each other, as no kernel has them
			{ID: 50, Device: "8:1", Root: "/", MountPoint: "/", Shared: 11, Master: 12},
			{ID: 51, ParentID: 50, Device: "0:50", Root: "/", MountPoint: "/pods/a/volume"},
			{ID: 52, Device: "8:1", Root: "/", MountPoint: "/x", Shared: 12, Master: 11},
		}},
	} {
		c.Look(&table)
	}
	want := []mounts.Copy{{MountID: 3, CopyID: 21, Namespace: 2}, {MountID: 3, CopyID: 31, Namespace: 3}}
	if diff := cmp.Diff(want, c.List()); diff != "" {
		t.Errorf("copies (-want +got):\n%s", diff)
	}
}
