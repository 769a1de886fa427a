package live

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// TestIndexFor compares the index of what matters to a path with that of all mounts.
func TestIndexFor(t *testing.T) {
	table := mounts.Table{Mounts: []mounts.Mount{
		{ID: 1, MountPoint: "/"},
		{ID: 2, ParentID: 1, MountPoint: "/a"},
		{ID: 3, ParentID: 2, MountPoint: "/a/b"},
		{ID: 4, ParentID: 2, MountPoint: "/a"},   // covers 2 and with it 3
		{ID: 5, ParentID: 4, MountPoint: "/a/c"}, // is seen
		{ID: 6, ParentID: 1, MountPoint: "/x/y"},
		{ID: 7, ParentID: 6, MountPoint: "/x/y"},
	}}
	paths := []string{"/", "/a", "/a/b/file", "/a/c/file", "/a/d", "/ab", "/x", "/x/y/z", "/x/yz", "relative"}
	all := table.Index()
	for _, p := range paths {
		want, ok := all.Covering(p)
		got, found := indexFor(&table, []*holdings{{holds: []hold{{at: &named{path: p}}}}}).Covering(p)
		if want.ID != got.ID || ok != found {
			t.Errorf("%s is on mount %d, %v; want %d, %v", p, got.ID, found, want.ID, ok)
		}
	}
}

func TestPlainPaths(t *testing.T) {
	var p plainPaths
	p.take(&mounts.Table{Namespace: 1, Mounts: []mounts.Mount{
		{ID: 1, Device: "8:1", Root: "/", MountPoint: "/"},
		{ID: 2, ParentID: 1, Device: "0:50", Root: "/", MountPoint: "/nfs"},
		{ID: 3, ParentID: 1, Device: "8:1", Root: "/var/lib/kubelet", MountPoint: "/var/lib/kubelet"},
		{ID: 4, ParentID: 1, Device: "8:1", Root: "/srv", MountPoint: "/mnt"},
		{ID: 5, ParentID: 1, Device: "0:51", Root: "/", MountPoint: "/twice"},
		{ID: 6, ParentID: 5, Device: "0:52", Root: "/", MountPoint: "/twice"},
		{ID: 7, ParentID: 1, Device: "0:53", Root: "/", MountPoint: "/top/inner"},
		{ID: 8, ParentID: 1, Device: "0:54", Root: "/", MountPoint: "/top"},
	}})
	for name, want := range map[string]bool{
		"/nfs/file": true, "/nfs": true, "/mnt/file": true,
		"/file":                 false, // may be on a mount that was detached
		"/var/lib/kubelet/file": false, // a directory mounted on itself
		"/twice/file":           false, // one covers the other
		"/top/inner/file":       false, // covered by what is mounted above it
	} {
		if got := p.leaveNoDoubt(&named{path: name}); got != want {
			t.Errorf("%s leaves no doubt: %v, want %v", name, got, want)
		}
	}
	if (&plainPaths{namespace: noNamespace}).leaveNoDoubt(&named{path: "/nfs/file"}) {
		t.Error("without a table, a path leaves no doubt")
	}
}

// TestUnderTheRoot has a file of an initramfs open, as daemons have that were started before the root was mounted over it:
// its mount is in no table, and nobody has unmounted it.
func TestUnderTheRoot(t *testing.T) {
	r := resolver{deviceOf: map[int32]string{1: ""}, known: map[string]bool{}, tables: map[uint64]bool{}, under: map[int32]bool{}}
	r.note(&mounts.Table{Namespace: 5, Root: "/", Mounts: []mounts.Mount{{ID: 27, ParentID: 1, Device: "8:1", MountPoint: "/"}}})
	h := hold{at: &named{path: "/usr/sbin/mdmon"}, kind: atFD, mount: 1}
	if r.byMountID(&holdings{pid: 2, ns: 5}, &h); h.detached || h.gone {
		t.Errorf("hold %+v: want one that is neither detached nor gone", h)
	}
}
