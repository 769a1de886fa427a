package foreign

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

func TestCopies(t *testing.T) {
	const point = "/var/lib/kubelet/pods/p"
	original := mounts.Mount{ID: 10, ParentID: 1, Device: "0:50", Root: "/", MountPoint: point, Shared: 9}
	host := mounts.Table{Namespace: 1, Mounts: []mounts.Mount{{ID: 1, Device: "8:1", Root: "/", MountPoint: "/", Shared: 1}, original}}
	// in is the table of a namespace: what the copy lies on, and the copy.
	in := func(ns uint64, on, m mounts.Mount, more ...mounts.Mount) mounts.Table {
		m.ParentID, m.Device = on.ID, "0:50"
		return mounts.Table{Namespace: ns, Mounts: append([]mounts.Mount{on, m}, more...)}
	}
	slave := mounts.Mount{ID: 21, Device: "8:1", Root: "/", MountPoint: "/", Master: 1}
	onHost := mounts.Mount{ID: 22, MountPoint: point}
	want := func(ids ...int) (list []int) { return append([]int{}, ids...) }
	for name, c := range map[string]struct {
		tables []mounts.Table
		want   []int
	}{
		"a slave":                    {[]mounts.Table{in(2, slave, onHost)}, want(22)},
		"a peer":                     {[]mounts.Table{in(2, mounts.Mount{ID: 21, Root: "/", MountPoint: "/", Shared: 1}, onHost)}, want(22)},
		"private":                    {[]mounts.Table{in(2, mounts.Mount{ID: 21, Root: "/", MountPoint: "/"}, onHost)}, want()},
		"a slave of something else":  {[]mounts.Table{in(2, mounts.Mount{ID: 21, Root: "/", MountPoint: "/", Master: 7}, onHost)}, want()},
		"a bind mount of a part":     {[]mounts.Table{in(2, mounts.Mount{ID: 21, Root: "/var/lib", MountPoint: "/host", Master: 1}, mounts.Mount{ID: 22, MountPoint: "/host/kubelet/pods/p"})}, want(22)},
		"another directory":          {[]mounts.Table{in(2, slave, mounts.Mount{ID: 22, MountPoint: point + "2"})}, want()},
		"something is mounted on it": {[]mounts.Table{in(2, slave, onHost, mounts.Mount{ID: 23, ParentID: 22, MountPoint: point + "/x"})}, want()},
		"a slave of a slave, seen first": {[]mounts.Table{
			in(2, mounts.Mount{ID: 21, Root: "/", MountPoint: "/", Master: 2}, onHost),
			{Namespace: 3, Mounts: []mounts.Mount{{ID: 31, Device: "8:1", Root: "/", MountPoint: "/", Shared: 2, Master: 1}}},
		}, want(22)},
		"groups that receive from each other": {[]mounts.Table{
			in(2, mounts.Mount{ID: 21, Root: "/", MountPoint: "/", Master: 2}, onHost),
			{Namespace: 3, Mounts: []mounts.Mount{{ID: 31, Shared: 2, Master: 3}, {ID: 32, Shared: 3, Master: 2}}},
		}, want()},
		"a namespace that is seen twice": {[]mounts.Table{in(2, slave, onHost), in(2, slave, onHost)}, want(22)},
	} {
		t.Run(name, func(t *testing.T) {
			copies := NewCopies(&host, func(m *mounts.Mount) bool { return m.ID == 10 })
			copies.Look(&host)
			for i := range c.tables {
				copies.Look(&c.tables[i])
			}
			got := []int{}
			for _, copied := range copies.Found() {
				if copied.Of != 10 || copied.Namespace != 2 {
					t.Errorf("copy %+v, want one of mount 10 in namespace 2", copied)
				}
				if copied.Tied() {
					got = append(got, copied.MountID)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("copies (-want +got):\n%s", diff)
			}
		})
	}
}
