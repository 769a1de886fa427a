package checks

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
)

var _ = scenariosOf("fuse-server-mismatch", fuseServerMismatchScenarios())

func fuseServerMismatchScenarios() []scenario {
	clean := forensics.OutcomeClean
	return []scenario{
		{
			name: "started for another pod", base: wellNode,
			change: server("S", "glusterfs", "--volfile-id=vol", kubeletRoot+"/pods/"+liveUID+"/volumes/kubernetes.io~glusterfs/other"),
			want:   []string{"warning process 6000"}, says: "but was started for another volume",
		},
		{name: "started for what it serves", base: wellNode, change: server("S", "ceph-fuse", deadPoint), outcome: clean},
		{name: "by another path", base: wellNode, change: server("S", "ceph-fuse", "/data/kubelet"+strings.TrimPrefix(deadPoint, kubeletRoot)), outcome: clean},
		{name: "with another volume among its options", base: wellNode, change: server("S", "overlay-fuse",
			"--lower="+kubeletRoot+"/pods/"+liveUID+"/volumes/kubernetes.io~nfs/other", deadPoint), outcome: clean},
		{name: "that shows another volume, at a relative path", base: wellNode, change: server("S", "bindfs",
			kubeletRoot+"/pods/"+liveUID+"/volumes/kubernetes.io~nfs/other", "cephfs-data"), outcome: clean},
		{name: "with another volume as its source", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
			e.Mounts.Mounts[2].Source = kubeletRoot + "/pods/" + liveUID + "/volumes/kubernetes.io~nfs/other"
			server("S", "bindfs", e.Mounts.Mounts[2].Source)(tb, e)
		}, outcome: clean},
		{name: "with another volume open", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
			const other = kubeletRoot + "/pods/" + liveUID + "/volumes/kubernetes.io~nfs/other"
			server("S", "mergerfs", other)(tb, e)
			e.MountUse.Holders = append(e.MountUse.Holders, holders.Holder{PID: 6000, Kind: holders.HoldFD, FD: 5, Path: other, Device: "0:90"})
		}, outcome: clean},
		{name: "whose name is that of its subcommand", base: wellNode, change: server("S", "rclone", "cephfs-data",
			kubeletRoot+"/pods/"+liveUID+"/volumes/kubernetes.io~nfs/other"), want: []string{"warning process 6000"}, says: "but was started for another volume"},
		{name: "with a cache in another pod", base: wellNode, change: server("S", "gcsfuse",
			"--cache-dir="+kubeletRoot+"/pods/"+liveUID+"/volumes/kubernetes.io~empty-dir/cache"), outcome: clean},
		{name: "with credentials of its own pod", base: wellNode, change: server("S", "s3fs",
			"-opasswd_file="+kubeletRoot+"/pods/"+liveUID+"/volumes/kubernetes.io~secret/keys/passwd"), outcome: clean},
		{name: "guessed", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
			server("S", "glusterfs", kubeletRoot+"/pods/"+liveUID+"/volumes/kubernetes.io~glusterfs/other")(tb, e)
			guessed(e)
		}, outcome: clean},
	}
}
