package procs

import (
	"strings"
	"testing"
)

// genuine is a kubelet as the kernel shows it.
func genuine() Process {
	return Process{
		PID: 7, Comm: "kubelet", State: "S", UserNS: 4026531837,
		Identity: &Identity{
			ReaderUserNS: 4026531837, UIDs: []int{0, 0, 0}, Capabilities: "000001ffffffffff",
			Cgroups: []string{"/", "/system.slice/kubelet.service"}, Executable: "/usr/bin/kubelet", Unread: []string{},
		},
	}
}

func TestDaemon(t *testing.T) {
	exe := func(name string) func(*Process) { return func(p *Process) { p.Identity.Executable = name } }
	cgroup := func(name string) func(*Process) {
		return func(p *Process) { p.Identity.Cgroups = []string{"/", name, "/init.scope"} }
	}
	for name, tc := range map[string]struct {
		change func(*Process)
		want   VerdictStatus
		why    string
	}{
		"kubelet":                       {func(*Process) {}, Genuine, ""},
		"old evidence":                  {func(p *Process) { p.Identity, p.UserNS = nil, 0 }, Unrecorded, ""},
		"new evidence, not looked at":   {func(p *Process) { p.Identity = nil }, Undetermined, "was not examined in detail"},
		"real user":                     {func(p *Process) { p.Identity.UIDs = []int{65534, 0, 0} }, Impostor, "runs as uid 65534, not as root"},
		"effective user":                {func(p *Process) { p.Identity.UIDs = []int{0, 1000, 0} }, Impostor, "runs as uid 1000, not as root"},
		"saved user":                    {func(p *Process) { p.Identity.UIDs = []int{0, 0, 1} }, Impostor, "runs as uid 1, not as root"},
		"users unread":                  {func(p *Process) { p.Identity.UIDs, p.Identity.Unread = nil, []string{"status: EIO"} }, Undetermined, "runs as an unknown user (status: EIO)"},
		"another user namespace":        {func(p *Process) { p.UserNS = 4026532321 }, Impostor, "is in another user namespace (4026532321)"},
		"user namespace unread":         {func(p *Process) { p.UserNS = 0 }, Undetermined, "is in an unknown user namespace"},
		"own user namespace unread":     {func(p *Process) { p.Identity.ReaderUserNS = 0 }, Undetermined, "is in an unknown user namespace"},
		"capabilities of a container":   {func(p *Process) { p.Identity.Capabilities = "00000000a80425fb" }, Impostor, "lacks the capability to mount (CAP_SYS_ADMIN)"},
		"capabilities unread":           {func(p *Process) { p.Identity.Capabilities = "" }, Undetermined, "has unknown capabilities"},
		"cgroup unread":                 {func(p *Process) { p.Identity.Cgroups = []string{} }, Undetermined, "is in an unknown cgroup"},
		"worse than unread":             {func(p *Process) { p.UserNS, p.Identity.UIDs = 0, []int{0, 0, 5} }, Impostor, "runs as uid 5, not as root"},
		"pod, cgroupfs":                 {cgroup("/kubepods/burstable/pod" + uid + "/" + cid), Impostor, "is in the cgroup of pod " + uid},
		"pod, systemd":                  {cgroup("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + strings.ReplaceAll(uid, "-", "_") + ".slice/cri-containerd-" + cid + ".scope"), Impostor, "is in the cgroup of pod " + uid},
		"pod below --cgroup-root":       {cgroup("/custom/kubepods/pod" + uid), Impostor, "is in the cgroup of pod " + uid},
		"pod outside of this container": {cgroup("/../../pod" + uid + "/" + cid), Impostor, "is in the cgroup of pod " + uid},
		"pod in a node of kind":         {cgroup("/docker/" + cid + "/kubelet/kubepods/pod" + uid), Impostor, "is in the cgroup of pod " + uid},
		"node of kind in a pod":         {cgroup("/kubepods/pod" + uid + "/" + cid + "/kubelet.slice/kubelet.service"), Impostor, "is in the cgroup of pod " + uid},
		"all pods":                      {cgroup("/kubepods.slice/x"), Impostor, "is in a cgroup of pods (/kubepods.slice/x)"},
		"class of pods":                 {cgroup("/kubepods-besteffort.slice"), Impostor, "is in a cgroup of pods (/kubepods-besteffort.slice)"},
		"containerd, no parent":         {cgroup("/k8s.io/" + cid), Impostor, "is in a cgroup of pods (/k8s.io/" + cid + ")"},
		"containerd's scope":            {cgroup("/system.slice/cri-containerd-" + cid + ".scope"), Impostor, "is in a cgroup of pods (/system.slice/cri-containerd-" + cid + ".scope)"},
		"containerd's mixed name":       {cgroup("/system.slice/containerd.service/x:cri-containerd:" + cid), Impostor, "is in a cgroup of pods (/system.slice/containerd.service/x:cri-containerd:" + cid + ")"},
		"CRI-O's scope":                 {cgroup("/../crio-" + cid + ".scope"), Impostor, "is in a cgroup of pods (/../crio-" + cid + ".scope)"},
		"node of kind":                  {cgroup("/docker/" + cid + "/kubelet.slice/kubelet.service"), Genuine, ""},
		"RKE1, in Docker":               {cgroup("/system.slice/docker-" + cid + ".scope"), Genuine, ""},
		"Talos":                         {cgroup("/podruntime/kubelet"), Genuine, ""},
		"seen from a debug pod":         {cgroup("/../../../../system.slice/kubelet.service"), Genuine, ""},
		"after an upgrade":              {exe("/usr/bin/kubelet (deleted)"), Genuine, ""},
		"version in its name":           {exe("/opt/kubelet-1.34.4"), Genuine, ""},
		"moved aside":                   {exe("/usr/bin/kubelet.old"), Genuine, ""},
		"another program of the list":   {exe("/var/lib/rancher/k3s/data/abc/bin/k3s"), Genuine, ""},
		"only a name":                   {exe("/usr/bin/sleep"), Impostor, "runs /usr/bin/sleep"},
		"a longer name":                 {exe("/usr/bin/kubeletd"), Impostor, "runs /usr/bin/kubeletd"},
		"a directory's name":            {exe("/opt/kubelet/agent"), Impostor, "runs /opt/kubelet/agent"},
		"executable unread":             {exe(""), Undetermined, "has an unknown executable"},
		"zombie":                        {func(p *Process) { p.State, p.Identity.Executable = "Z", "" }, Genuine, ""},
		"renamed, by its main package": {func(p *Process) {
			p.Identity.Executable, p.Identity.Package = "/opt/node-agent", "k8s.io/kubernetes/cmd/kubelet"
		}, Genuine, ""},
		"another main package": {func(p *Process) {
			p.Identity.Executable, p.Identity.Package = "/opt/node-agent", "example.com/kubelet/cmd/agent"
		}, Impostor, "runs /opt/node-agent"},
		"unread, and only a name": {func(p *Process) { p.UserNS, p.Identity.Executable = 0, "/usr/bin/sleep" }, Impostor, "runs /usr/bin/sleep"},
	} {
		t.Run(name, func(t *testing.T) {
			p := genuine()
			tc.change(&p)
			if got := p.Daemon("kubelet", "k3s"); got != (Verdict{tc.want, tc.why}) {
				t.Errorf("%+v; want %s: %q", got, tc.want, tc.why)
			}
		})
	}
}

// TestMayMount: the kubelet of a node inside a privileged pod may, whatever cgroup it is in.
func TestMayMount(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Process)
		want   bool
	}{
		"pod, privileged":     {func(p *Process) { p.Identity.Cgroups = []string{"/kubepods/pod" + uid} }, true},
		"pod, not privileged": {func(p *Process) { p.Identity.Capabilities = "00000000a80425fb" }, false},
		"another user":        {func(p *Process) { p.Identity.UIDs = []int{1, 1, 1} }, false},
		"user namespace":      {func(p *Process) { p.UserNS = 1 }, false},
		"old evidence":        {func(p *Process) { p.Identity = nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := genuine()
			if tc.change(&p); p.MayMount() != tc.want {
				t.Errorf("%t; want %t", p.MayMount(), tc.want)
			}
		})
	}
}
