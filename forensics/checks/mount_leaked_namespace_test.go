package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

func mountLeakedNamespaceScenarios() []scenario {
	podCopy := mounts.Mount{ID: 900, Device: "0:60", Root: "/", MountPoint: "/host" + deadPoint, FSType: "nfs4", Source: "10.0.0.9:/x"}
	alone := func(f func(*forensics.MountUse)) change { // in a namespace that no process is in
		return holding(func(h *forensics.MountUse) {
			h.Leaked, h.Uninhabited = []forensics.LeakedMount{{Namespace: 99, Mount: podCopy, On: deadPoint, Owner: hostUserNS}}, []uint64{99}
			h.UserNS = hostUserNS
			f(h)
		}, process(nginx))
	}
	clean := forensics.OutcomeClean
	return []scenario{
		{
			name: "a private copy of a pod's mount", base: wellNode,
			change: leaked(podCopy), want: []string{"warning mount 900"}, says: "process 5001 (node-exporter)",
		},
		{
			name: "in a namespace that a descriptor keeps", base: wellNode,
			change: alone(func(h *forensics.MountUse) { h.Namespaces = []holders.NamespaceHold{{PID: 5000, FD: 9, Namespace: 99}} }),
			want:   []string{"warning mount 900"}, says: "process 5000 (nginx) holds open",
		},
		{
			name: "in a namespace that is mounted", base: wellNode,
			change: alone(func(h *forensics.MountUse) {
				h.Pinned = []forensics.PinnedNamespace{{Namespace: 99, MountPoint: "/run/ns/x"}}
			}), want: []string{"warning mount 900"}, says: "mounted at /run/ns/x",
		},
		{
			name: "in a namespace of which nobody sees what keeps it", base: wellNode,
			change: alone(func(h *forensics.MountUse) {
				h.Holders = []holders.Holder{{PID: 5000, Kind: holders.HoldFD, FD: 4, Path: "/log", MountID: 900, Device: "0:60"}}
			}), want: []string{"warning mount 900"}, says: "what keeps it is not visible",
		},
		{
			name: "in a namespace whose processes came or went", base: wellNode,
			change: holding(func(h *forensics.MountUse) {
				h.Leaked = []forensics.LeakedMount{{Namespace: 99, Mount: podCopy, On: deadPoint, Owner: hostUserNS}}
				h.UserNS = hostUserNS
			}),
			want: []string{"info mount 900"}, says: "came or went",
		},
		{
			name: "a container's own mount is only information", base: wellNode,
			change: leaked(mounts.Mount{ID: 901, Device: "0:61", Root: "/", MountPoint: "/data", FSType: "fuse.s3fs", Source: "s3fs"}),
			want:   []string{"info mount 901"}, says: "is not mounted on the host, but in the mount namespace of process 5001",
		},
		{
			name: "a mount point that a pod has made, on no directory of the host", base: wellNode,
			change: leak(forensics.LeakedMount{Namespace: 99, Mount: podCopy, Owner: hostUserNS}), want: []string{"info mount 900"},
			says: "is not mounted on the host, but in the mount namespace",
		},
		{
			name: "a mount namespace of a pod's user namespace", base: wellNode,
			change: leak(forensics.LeakedMount{Namespace: 99, Mount: podCopy, On: deadPoint, Owner: podUserNS}), want: []string{"info mount 900"},
		},
		{
			name: "a mount in the content of a volume", base: wellNode,
			change: leak(forensics.LeakedMount{Namespace: 99, Mount: podCopy, On: deadPoint + "/cache", Owner: hostUserNS}), want: []string{"info mount 900"},
		},
		{
			name: "before Linux 4.9, with all processes in the host's user namespace", base: wellNode,
			change: leak(forensics.LeakedMount{Namespace: 99, Mount: podCopy, On: deadPoint}), want: []string{"warning mount 900"},
		},
		{
			name: "before Linux 4.9, with a process that is in another user namespace", base: wellNode,
			change: both(leak(forensics.LeakedMount{Namespace: 99, Mount: podCopy, On: deadPoint}),
				process(procs.Process{PID: 5002, Comm: "sh", State: "S", MountNS: 99, UserNS: podUserNS})), want: []string{"info mount 900"},
		},
		{
			name: "before Linux 4.9, with a process whose user namespace is not known", base: wellNode,
			change: both(leak(forensics.LeakedMount{Namespace: 99, Mount: podCopy, On: deadPoint}),
				process(procs.Process{PID: 5002, Comm: "sh", State: "S", MountNS: 99})), want: []string{"info mount 900"},
		},
		{
			name: "with nothing known of user namespaces", base: wellNode,
			change: holding(func(h *forensics.MountUse) {
				h.Leaked = []forensics.LeakedMount{{Namespace: 99, Mount: podCopy, On: deadPoint}}
			}, process(procs.Process{PID: 5001, Comm: "sh", State: "S", MountNS: 99})), want: []string{"info mount 900"},
		},
		{
			name: "a mount whose server is in that namespace", base: wellNode,
			change: ownServer("/home/user/containers/merged"), outcome: clean,
		},
		{
			name: "a staged volume whose server is in that namespace", base: wellNode,
			change: ownServer(kubeletRoot + "/plugins/kubernetes.io/csi/s3/4f2a/globalmount"), want: []string{"info mount 901"},
		},
		{name: "none", base: wellNode, outcome: clean},
	}
}
