package checks

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

func mountHungInLogs() []scenario {
	return []scenario{{
		name: "the kernel says since when", base: sickNode, change: tells(fromKernel(event(logs.KindKernelNFSDown, 4, "09:58:00", "10:10:00", logs.Subject{Server: "10.0.0.5"}))),
		want: []string{"critical superblock 0:47"}, says: "The kernel's log: NFS server does not respond (10.0.0.5), 4 times from 2026-11-20 09:58:00 UTC.",
	}, {
		name: "the kernel names a daemon of the Ceph cluster, not its address", base: sickNode,
		change: both(func(_ testing.TB, e *forensics.Evidence) { e.Mounts.Mounts[2].FSType = "ceph" },
			tells(fromKernel(event(logs.KindKernelCephDown, 4, "09:58:00", "10:10:00", logs.Subject{Server: "mds0"})))),
		want: []string{"critical superblock 0:47"}, says: "4 times from 2026-11-20 09:58:00 UTC.",
	}}
}
