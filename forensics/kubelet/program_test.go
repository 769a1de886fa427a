package kubelet

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestIsCandidate(t *testing.T) {
	for name, tc := range map[string]struct {
		comm string
		line string // words separated by "|"
		want string
	}{
		"kubelet":                  {"kubelet", "/usr/bin/kubelet|--config=/c", "kubelet"},
		"no path":                  {"kubelet", "kubelet", "kubelet"},
		"version in its name":      {"kubelet-1.17.4", "/opt/kubelet-1.17.4|--root-dir|/x", "kubelet"},
		"v in its name":            {"kubelet-v1.2", "kubelet-v1.2", "kubelet"},
		"command line unreadable":  {"kubelet", "", "kubelet"},
		"another argv[0]":          {"kubelet", "node-agent|--config=/c", "kubelet"},
		"wrapper script":           {"kubelet", "/bin/bash|/usr/local/bin/kubelet|--config=/c", ""},
		"prints the version":       {"kubelet", "kubelet|--version", ""},
		"prints help":              {"kubelet", "kubelet|-h", ""},
		"approver":                 {"kubelet-csr-app", "/kubelet-csr-approver|-metrics-bind-address|:8080", ""},
		"serving cert approver":    {"kubelet-serving", "kubelet-serving-cert-approver", ""},
		"editor":                   {"vim", "vim|/usr/bin/kubelet", ""},
		"grep":                     {"grep", "grep|kubelet", ""},
		"hyperkube kubelet":        {"hyperkube", "/hyperkube|kubelet|--v=2", "hyperkube"},
		"hyperkube apiserver":      {"hyperkube", "/hyperkube|kube-apiserver", ""},
		"hyperkube, link kubelet":  {"hyperkube", "/usr/bin/kubelet|--v=2", "kubelet"},
		"kubelite":                 {"kubelite", "/snap/microk8s/6089/kubelite|--kubelet-args-file=/var/snap/microk8s/6089/args/kubelet", "kubelite"},
		"k3s server":               {"k3s-server", "/usr/local/bin/k3s|server|--kubelet-arg=v=4", "k3s"},
		"k3s hides its arguments":  {"k3s-server", "/usr/local/bin/k3s server|||||", "k3s"},
		"k3s agent":                {"k3s-agent", "/usr/local/bin/k3s agent", "k3s"},
		"k3s flag before command":  {"k3s-server", "k3s|--debug|server", "k3s"},
		"k3s without agent":        {"k3s-server", "k3s|server|--disable-agent", ""},
		"k3s kubectl":              {"k3s", "k3s|kubectl|get|server", ""},
		"k3s unreadable":           {"k3s-server", "", "k3s"},
		"k3s unreadable, no agent": {"k3s", "", ""},
		"rke2 server":              {"rke2", "/usr/local/bin/rke2 server", "rke2"},
		"k0s worker":               {"k0s", "/usr/local/bin/k0s|worker|--token-file=/t", "k0s"},
		"k0s controller":           {"k0s", "k0s|controller", ""},
		"k0s controller as worker": {"k0s", "k0s|controller|--single=true", "k0s"},
		"nothing":                  {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var args []string
			if tc.line != "" {
				args = strings.Split(tc.line, "|")
			}
			got, ok := IsCandidate(tc.comm, args)
			if got != tc.want || ok != (tc.want != "") {
				t.Errorf("IsCandidate(%q, %q) = %q, %t; want %q", tc.comm, args, got, ok, tc.want)
			}
		})
	}
}

func TestChoose(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 11, 20, 10, minute, 0, 0, time.UTC) }
	kubelet := func(pid int, change func(*Candidate)) Candidate {
		c := Candidate{PID: pid, PPID: 1, Comm: "kubelet", Args: []string{"kubelet"}, State: "S", Started: at(0), MountNS: 100}
		if change != nil {
			change(&c)
		}
		return c
	}
	for name, tc := range map[string]struct {
		candidates []Candidate
		pid        int
		program    string
		others     []int
		impostors  []Impostor
	}{
		"impostor, younger": {
			candidates: []Candidate{kubelet(9, func(c *Candidate) { c.Doubt = "is in a pod"; c.Started = at(9) }), kubelet(3, nil)},
			pid:        3, program: "kubelet", impostors: []Impostor{{9, "is in a pod"}},
		},
		"impostors alone": {
			candidates: []Candidate{kubelet(9, func(c *Candidate) { c.Doubt = "b" }), kubelet(3, func(c *Candidate) { c.Doubt, c.State = "a", "Z" })},
			impostors:  []Impostor{{3, "a"}, {9, "b"}},
		},
		"impostor as parent": {
			candidates: []Candidate{kubelet(9, func(c *Candidate) { c.Doubt = "x" }), kubelet(10, func(c *Candidate) { c.PPID = 9 })},
			pid:        10, program: "kubelet", impostors: []Impostor{{9, "x"}},
		},
		"perhaps": {candidates: []Candidate{kubelet(9, func(c *Candidate) { c.Doubt, c.Undetermined = "x", true })}, pid: 9, program: "kubelet"},
		"perhaps, younger": {
			candidates: []Candidate{kubelet(9, func(c *Candidate) { c.Doubt, c.Undetermined, c.Started = "x", true, at(9) }), kubelet(3, nil)},
			pid:        3, program: "kubelet", others: []int{9},
		},
		"perhaps, with other files than the host's": {
			candidates: []Candidate{kubelet(9, func(c *Candidate) { c.Doubt, c.Undetermined, c.MountNS = "x", true, 200 })},
			impostors:  []Impostor{{9, "x"}},
		},
		"none":          {},
		"no kubelet":    {candidates: []Candidate{{PID: 5, Comm: "sshd", Args: []string{"sshd"}}}},
		"one":           {candidates: []Candidate{kubelet(7, nil)}, pid: 7, program: "kubelet"},
		"kind on a PC":  {candidates: []Candidate{kubelet(9, func(c *Candidate) { c.MountNS, c.Container = 200, true })}, pid: 9, program: "kubelet"},
		"host and kind": {candidates: []Candidate{kubelet(3, func(c *Candidate) { c.MountNS = 200; c.Started = at(9) }), kubelet(8, nil)}, pid: 8, program: "kubelet", others: []int{3}},
		"container":     {candidates: []Candidate{kubelet(3, func(c *Candidate) { c.Container = true; c.Started = at(9) }), kubelet(8, nil)}, pid: 8, program: "kubelet", others: []int{3}},
		"restarted":     {candidates: []Candidate{kubelet(3, nil), kubelet(8, func(c *Candidate) { c.Started = at(9) })}, pid: 8, program: "kubelet", others: []int{3}},
		"zombie and new": {
			candidates: []Candidate{kubelet(9, func(c *Candidate) { c.State = "Z"; c.Started = at(9) }), kubelet(3, nil)},
			pid:        3, program: "kubelet", others: []int{9},
		},
		"zombie only": {candidates: []Candidate{kubelet(9, func(c *Candidate) { c.State = "Z" })}, others: []int{9}},
		"forked child before exec": {
			candidates: []Candidate{kubelet(7, nil), kubelet(70, func(c *Candidate) { c.PPID = 7; c.Started = at(9) })},
			pid:        7, program: "kubelet",
		},
		"version call of a monitor": {
			candidates: []Candidate{kubelet(7, nil), kubelet(70, func(c *Candidate) { c.Args = []string{"kubelet", "--version"}; c.Started = at(9) })},
			pid:        7, program: "kubelet",
		},
		"rke2": {
			candidates: []Candidate{
				{PID: 5, Comm: "rke2", Args: []string{"/usr/local/bin/rke2 server"}, MountNS: 100, Started: at(0)},
				kubelet(6, func(c *Candidate) { c.PPID = 5 }),
			},
			pid: 6, program: "rke2",
		},
		"rke2 by path":             {candidates: []Candidate{kubelet(6, func(c *Candidate) { c.Executable = "/var/lib/rancher/rke2/data/v1/bin/kubelet" })}, pid: 6, program: "rke2"},
		"k0s by path":              {candidates: []Candidate{kubelet(6, func(c *Candidate) { c.Executable = "/var/lib/k0s/bin/kubelet" })}, pid: 6, program: "k0s"},
		"rke2 whose child is gone": {candidates: []Candidate{{PID: 5, Comm: "rke2", Args: []string{"rke2", "agent"}}}, pid: 5, program: "rke2"},
		"k3s":                      {candidates: []Candidate{{PID: 5, Comm: "k3s-server", Args: []string{"/usr/local/bin/k3s server"}}}, pid: 5, program: "k3s"},
	} {
		t.Run(name, func(t *testing.T) {
			c := Choose(tc.candidates, 100)
			p, others := c.Kubelet, c.Others
			pid, program := 0, ""
			if p != nil {
				pid, program = p.PID, c.Program
			}
			if pid != tc.pid || program != tc.program {
				t.Errorf("chose %d (%s); want %d (%s)", pid, program, tc.pid, tc.program)
			}
			if diff := cmp.Diff(tc.impostors, c.Impostors); diff != "" {
				t.Errorf("impostors (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.others, others); diff != "" {
				t.Errorf("others (-want +got):\n%s", diff)
			}
		})
	}
}
