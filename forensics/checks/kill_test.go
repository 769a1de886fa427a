package checks

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// TestKillsOfNamespaces: to end a mount namespace nothing is killed that the node cannot do without, whatever comes first in it.
func TestKillsOfNamespaces(t *testing.T) {
	const unit = "/system.slice/containerd.service"
	plain := procs.Process{PID: 700, Comm: "backup", Cgroup: "/user.slice/user-0.slice/session-1.scope"}
	for name, tc := range map[string]struct {
		list []procs.Process
		want string
	}{
		"two of nobody":     {[]procs.Process{plain, {PID: 701, Comm: "backup", Cgroup: plain.Cgroup}}, "kill 700 701"},
		"a group":           {[]procs.Process{plain, {PID: -1, Comm: "x", Cgroup: plain.Cgroup}}, "Find out what the process is: -1"},
		"nobody":            {[]procs.Process{plain, {PID: 0, Comm: "x", Cgroup: plain.Cgroup}}, "Find out what the process is: 0"},
		"the first process": {[]procs.Process{plain, {PID: 1, Comm: "systemd", Cgroup: "/init.scope"}}, "Find out what process 1"},
		"a pod":             {[]procs.Process{plain, {PID: 702, Comm: "nginx", PodUID: liveUID}}, "Delete the pod "},
		"the runtime":       {[]procs.Process{{PID: 600, Comm: "containerd-shim", Cgroup: unit}, {PID: 601, Comm: "containerd", Cgroup: unit}}, "Delete the pod whose container process 600"},
		"one shim":          {[]procs.Process{{PID: 600, Comm: "containerd-shim", Cgroup: unit}}, "Delete the pod whose container process 600"},
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
			check := forensics.Check{ID: "x", Run: func(p *forensics.Pass) { got = endNamespace(p, p.Model.Uses().Namespace(77)).Command }}
			forensics.Analyze(&e, []forensics.Check{check})
			if !strings.HasPrefix(got, tc.want) || strings.HasPrefix(got, "kill ") && got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
