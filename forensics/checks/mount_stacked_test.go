package checks

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

var _ = scenariosOf("mount-stacked", mountStackedScenarios())

func mountStackedScenarios() []scenario {
	stack := func(m mounts.Mount) change {
		return func(_ testing.TB, e *forensics.Evidence) {
			m.ID, m.ParentID, m.MountPoint = 70, 60, deadPoint
			e.Mounts.Mounts = append(e.Mounts.Mounts, m)
		}
	}
	clean := forensics.OutcomeClean
	return []scenario{
		{
			name: "mounted twice", base: wellNode, change: stack(mounts.Mount{Device: "0:47", Root: "/", FSType: "fuse.ceph-fuse", Class: mounts.ClassFUSE}),
			want: []string{"warning mount 60"}, says: "same directory of the same file system",
		},
		{
			name: "another file system over it", base: wellNode, change: stack(mounts.Mount{Device: "0:48", Root: "/", FSType: "tmpfs", Class: mounts.ClassMemory}),
			want: []string{"warning mount 60"}, says: "hidden below the topmost",
		},
		{name: "what autofs has mounted", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
			stack(mounts.Mount{Device: "0:48", Root: "/", FSType: "nfs4", Class: mounts.ClassNetwork})(tb, e)
			e.Mounts.Mounts[2].Class = mounts.ClassAutofs
		}, outcome: clean},
		{name: "one below another", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
			stack(mounts.Mount{Device: "0:48", Root: "/", FSType: "tmpfs", Class: mounts.ClassMemory})(tb, e)
			e.Mounts.Mounts[3].MountPoint += "/sub"
		}, outcome: clean},
	}
}
