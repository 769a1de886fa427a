package checks

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

var _ = scenariosOf("mount-leaked-namespace", mountLeakedNamespaceScenarios())

func mountLeakedNamespaceScenarios() []scenario {
	podCopy := mounts.Mount{ID: 900, Device: "0:60", Root: "/", MountPoint: "/host" + deadPoint, FSType: "nfs4", Source: "10.0.0.9:/x"}
	alone := func(f func(*forensics.MountUse)) change { // in a namespace that no process is in
		return holding(func(h *forensics.MountUse) {
			h.Foreign, h.Uninhabited = []forensics.ForeignMount{{Namespace: 99, Mount: podCopy, On: deadPoint, Owner: hostUserNS}}, []uint64{99}
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
			want:   []string{"warning mount 900"}, says: "a mount namespace that nginx (pid 5000) has open",
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
			}), want: []string{"warning mount 900"}, says: "What keeps mount namespace 99 alive is not visible.",
		},
		{
			name: "in a namespace whose processes came or went", base: wellNode,
			change: holding(func(h *forensics.MountUse) {
				h.Foreign = []forensics.ForeignMount{{Namespace: 99, Mount: podCopy, On: deadPoint, Owner: hostUserNS}}
				h.UserNS = hostUserNS
			}),
			want: []string{"info mount 900"}, says: "started or ended during the examination",
		},
		{
			name: "a container's own mount is only information", base: wellNode,
			change: leaked(mounts.Mount{ID: 901, Device: "0:61", Root: "/", MountPoint: "/data", FSType: "fuse.s3fs", Source: "s3fs"}),
			want:   []string{"info mount 901"}, says: "is not mounted on the host, only in the mount namespace of node-exporter (pid 5001)",
		},
		{
			name: "a container's own mount goes with its pod", base: wellNode,
			change: both(leaked(mounts.Mount{ID: 901, Device: "0:61", Root: "/", MountPoint: "/data", FSType: "fuse.s3fs", Source: "s3fs"}),
				process(procs.Process{PID: 5002, Comm: "sh", State: "S", MountNS: 99, UserNS: hostUserNS, PodUID: liveUID})),
			want: []string{"info mount 901"}, says: "is not mounted on the host",
		},
		{
			name: "a mount point that a pod has made, on no directory of the host", base: wellNode,
			change: leak(forensics.ForeignMount{Namespace: 99, Mount: podCopy, Owner: hostUserNS}), want: []string{"info mount 900"},
			says: "is not mounted on the host, only in the mount namespace",
		},
		{
			name: "a mount namespace of a pod's user namespace", base: wellNode,
			change: leak(forensics.ForeignMount{Namespace: 99, Mount: podCopy, On: deadPoint, Owner: podUserNS}), want: []string{"info mount 900"},
		},
		{
			name: "a mount in the content of a volume", base: wellNode,
			change: leak(forensics.ForeignMount{Namespace: 99, Mount: podCopy, On: deadPoint + "/cache", Owner: hostUserNS}), want: []string{"info mount 900"},
		},
		{
			name: "before Linux 4.9, with all processes in the host's user namespace", base: wellNode,
			change: leak(forensics.ForeignMount{Namespace: 99, Mount: podCopy, On: deadPoint}), want: []string{"warning mount 900"},
		},
		{
			name: "before Linux 4.9, with a process that is in another user namespace", base: wellNode,
			change: both(leak(forensics.ForeignMount{Namespace: 99, Mount: podCopy, On: deadPoint}),
				process(procs.Process{PID: 5002, Comm: "sh", State: "S", MountNS: 99, UserNS: podUserNS})), want: []string{"info mount 900"},
		},
		{
			name: "before Linux 4.9, with a process whose user namespace is not known", base: wellNode,
			change: both(leak(forensics.ForeignMount{Namespace: 99, Mount: podCopy, On: deadPoint}),
				process(procs.Process{PID: 5002, Comm: "sh", State: "S", MountNS: 99})), want: []string{"info mount 900"},
		},
		{
			name: "with nothing known of user namespaces", base: wellNode,
			change: holding(func(h *forensics.MountUse) {
				h.Foreign = []forensics.ForeignMount{{Namespace: 99, Mount: podCopy, On: deadPoint}}
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

// TestEndingANamespace wants a mount namespace that keeps a volume ended from the host: with its pod, with its service, by its
// processes, by what has it open, by its bind mount if that is on the host. Nothing is to be run inside.
func TestEndingANamespace(t *testing.T) {
	const unit = "/system.slice/node-exporter.service"
	in := func(p procs.Process) change {
		p.State, p.Command = "S", []string{}
		return process(p)
	}
	nsfs := mounts.Mount{ID: 950, ParentID: 27, Device: "0:4", Root: "mnt:[99]", MountPoint: "/run/x", FSType: "nsfs", Source: "nsfs"}
	pinned := func(pin forensics.PinnedNamespace, more change) change {
		return both(holding(func(h *forensics.MountUse) { h.Pinned = []forensics.PinnedNamespace{pin} }), both(more, func(_ testing.TB, e *forensics.Evidence) {
			if pin.MountNS == e.Mounts.Namespace {
				e.Mounts.Mounts = append(e.Mounts.Mounts, nsfs)
			}
		}))
	}
	nobody := func(testing.TB, *forensics.Evidence) {}
	for name, c := range map[string]struct {
		change change
		want   []string
	}{
		"of a pod": {
			in(procs.Process{PID: 5001, Comm: "agent", MountNS: 99, PodUID: liveUID}),
			[]string{"Delete the pod default/web (" + liveUID + ") (kubectl delete pod), or restart its container"},
		},
		"of a service": {
			both(in(procs.Process{PID: 5001, Comm: "agent", MountNS: 99, Cgroup: unit}), in(procs.Process{PID: 5002, Comm: "agent", MountNS: 99, Cgroup: unit})),
			[]string{"systemctl restart node-exporter.service"},
		},
		"of a service and somebody else": {
			both(in(procs.Process{PID: 5001, Comm: "agent", MountNS: 99, Cgroup: unit}), in(procs.Process{PID: 5002, Comm: "agent", MountNS: 99, Cgroup: "/user.slice/user-0.slice/session-1.scope"})),
			[]string{"kill 5001 5002"},
		},
		"of what a runtime leaves running": {
			in(procs.Process{PID: 5001, Comm: "containerd-shim", MountNS: 99, Cgroup: "/system.slice/containerd.service"}),
			[]string{"Delete the pod of the container that process 5001 (containerd-shim) supervises: its cgroup or crictl ps names the pod"},
		},
		"of nobody in particular": {
			both(in(procs.Process{PID: 5001, Comm: "sh", MountNS: 99}), in(procs.Process{PID: 5002, Comm: "sh", MountNS: 99})), []string{"kill 5001 5002"},
		},
		"that a descriptor keeps": {
			both(in(procs.Process{PID: 5001, Comm: "sh", MountNS: 1}), holding(func(h *forensics.MountUse) {
				h.Namespaces = []holders.NamespaceHold{{PID: 5001, FD: 9, Namespace: 99}}
			})),
			[]string{"kill 5001"},
		},
		"that is mounted on the host":    {pinned(forensics.PinnedNamespace{Namespace: 99, MountID: 950, MountPoint: "/run/x", MountNS: hostMountNS}, nobody), []string{"umount -c /run/x"}},
		"that is mounted in a container": {pinned(forensics.PinnedNamespace{Namespace: 99, MountID: 950, MountPoint: "/run/x", MountNS: 7}, in(procs.Process{PID: 5001, Comm: "dind", MountNS: 7})), []string{"kill 5001"}},
		"that is mounted nobody knows where": {
			pinned(forensics.PinnedNamespace{Namespace: 99, MountID: 950, MountPoint: "/run/x"}, nobody),
			[]string{"Ask the owner of the mount to unmount /run/x: mount 950 is not in the mount namespace of the host and cannot be unmounted from there"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := wellNode(t)
			e.Pods[0].Source = "kubelet"
			holding(func(h *forensics.MountUse) {
				m := mounts.Mount{ID: 900, Device: "0:60", Root: "/", MountPoint: "/host" + deadPoint, FSType: "nfs4", Source: "10.0.0.9:/x"}
				h.UserNS, h.Foreign = hostUserNS, []forensics.ForeignMount{{Namespace: 99, Mount: m, On: deadPoint, Owner: hostUserNS}}
			}, c.change)(t, &e)
			if diff := cmp.Diff(c.want, stepsOf(&e, mountLeakedNamespace)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

// TestKillsOfNamespaces: to end a mount namespace nothing is killed that the node cannot do without, whatever comes first in it.
func TestKillsOfNamespaces(t *testing.T) {
	const unit = "/system.slice/containerd.service"
	plain := procs.Process{PID: 700, Comm: "backup", Cgroup: "/user.slice/user-0.slice/session-1.scope"}
	for name, tc := range map[string]struct {
		list []procs.Process
		want string
	}{
		"two of nobody":     {[]procs.Process{plain, {PID: 701, Comm: "backup", Cgroup: plain.Cgroup}}, "kill 700 701"},
		"a group":           {[]procs.Process{plain, {PID: -1, Comm: "x", Cgroup: plain.Cgroup}}, "Identify the process: no signal may be sent to pid -1"},
		"nobody":            {[]procs.Process{plain, {PID: 0, Comm: "x", Cgroup: plain.Cgroup}}, "Identify the process: no signal may be sent to pid 0"},
		"the first process": {[]procs.Process{plain, {PID: 1, Comm: "systemd", Cgroup: "/init.scope"}}, "Find out why process 1"},
		"a pod":             {[]procs.Process{plain, {PID: 702, Comm: "nginx", PodUID: liveUID}}, "Delete the pod "},
		"the runtime":       {[]procs.Process{{PID: 600, Comm: "containerd-shim", Cgroup: unit}, {PID: 601, Comm: "containerd", Cgroup: unit}}, "Delete the pod of the container that process 600"},
		"one shim":          {[]procs.Process{{PID: 600, Comm: "containerd-shim", Cgroup: unit}}, "Delete the pod of the container that process 600"},
		"a kubelet": {[]procs.Process{
			plain, {PID: 602, Comm: "kubelet-1.34.4", Command: []string{"/usr/bin/kubelet-1.34.4"}, Cgroup: "/system.slice/kubelet.service"},
		}, "systemctl restart kubelet.service"},
		"k3s": {[]procs.Process{
			plain, {PID: 603, Comm: "k3s-server", Command: []string{"/usr/local/bin/k3s server"}, Cgroup: "/system.slice/k3s.service"},
		}, "systemctl restart k3s.service"},
		"a service": {[]procs.Process{{PID: 604, Comm: "httpd", Cgroup: "/system.slice/httpd.service"}}, "systemctl restart httpd.service"},
	} {
		t.Run(name, func(t *testing.T) {
			e := sickNode(t)
			for i := range tc.list {
				tc.list[i].MountNS = 77
			}
			e.Processes = append(e.Processes, tc.list...)
			var got string
			check := forensics.Check{ID: "x", Run: func(p *forensics.Pass) { got = endNamespace(p, p.Model.Uses().Namespace(77)).String() }}
			forensics.Analyze(&e, []forensics.Check{check})
			if !strings.HasPrefix(got, tc.want) || strings.HasPrefix(got, "kill ") && got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
