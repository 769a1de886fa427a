package checks

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
)

func kubeletStartBlockedInDumps() []scenario {
	return []scenario{
		{
			name: "dead file system", base: wellNode, change: withStack("kubelet-1.22", "A.6 start: statfs of a dead NFS mount"),
			want: []string{"critical subsystem start"}, says: "calls statfs",
		},
		{name: "mounts of the length are named", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
			withStack("kubelet-1.22", "A.6 start: statfs of a dead NFS mount")(tb, e)
			e.Mounts.Mounts[2].MountPoint = "/mnt/backup-of-db-01"
			e.Health = e.Health[:1]
		}, want: []string{"critical subsystem start"}, says: "path of 20 bytes: /mnt/backup-of-db-01 (mount 60)"},
		{name: "a mount that answers is none of them", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
			withStack("kubelet-1.22", "A.6 start: statfs of a dead NFS mount")(tb, e)
			e.Mounts.Mounts[2].MountPoint = "/mnt/backup-of-db-01"
		}, want: []string{"critical subsystem start"}, says: "path of 20 bytes"},
		{name: "started", base: wellNode, change: withStack("kubelet-1.34", "A.3 the worker of a pod whose volumes are not gone polls"), outcome: forensics.OutcomeClean},
	}
}
