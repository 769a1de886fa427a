package live

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

const configuration = "kind: KubeletConfiguration\nstaticPodPath: /etc/kubernetes/manifests\n"

// ignoreSources leaves out what TestFindSources is about.
var ignoreSources = cmpopts.IgnoreFields(kubelet.Instance{}, "Sources", "Endpoints")

func TestFindProcess(t *testing.T) {
	for name, tc := range map[string]struct {
		files     map[string]string
		candidate kubelet.Candidate
		opt       FindOptions
		want      kubelet.Instance
	}{
		"kubeadm": {
			files:     map[string]string{"/var/lib/kubelet/config.yaml": configuration},
			candidate: kubelet.Candidate{Comm: "kubelet", Args: []string{"/usr/bin/kubelet", "--config=/var/lib/kubelet/config.yaml", "--hostname-override", "n1"}},
			want: kubelet.Instance{
				Program: "kubelet", RootDir: "/var/lib/kubelet", CanonicalRoot: "/var/lib/kubelet",
				Flags:      map[string]string{"config": "/var/lib/kubelet/config.yaml", "hostname-override": "n1"},
				ConfigPath: "/var/lib/kubelet/config.yaml", Config: &kubelet.Config{StaticPodPath: "/etc/kubernetes/manifests"},
				StaticPodPath: "/etc/kubernetes/manifests", NodeName: "n1",
			},
		},
		"symlinked root": {
			files: map[string]string{
				"/var/lib/kubelet": "-> ../../media/link", "/media/link": "-> /media/ssd1/kubelet", "/media/ssd1/kubelet/pods/": "",
			},
			candidate: kubelet.Candidate{Comm: "kubelet", Args: []string{"kubelet"}},
			want:      kubelet.Instance{Program: "kubelet", RootDir: "/var/lib/kubelet", CanonicalRoot: "/media/ssd1/kubelet", Flags: map[string]string{}},
		},
		"root by flag, not clean": {
			files:     map[string]string{"/data/kubelet/": ""},
			candidate: kubelet.Candidate{Comm: "kubelet", Args: []string{"kubelet", "--root-dir=/data/../data/kubelet/"}},
			want:      kubelet.Instance{Program: "kubelet", RootDir: "/data/kubelet", CanonicalRoot: "/data/kubelet", Flags: map[string]string{"root-dir": "/data/../data/kubelet/"}},
		},
		"caller knows the root": {
			files:     map[string]string{"/a/": "", "/b/": ""},
			candidate: kubelet.Candidate{Comm: "kubelet", Args: []string{"kubelet", "--root-dir=/a"}},
			opt:       FindOptions{RootDir: "/b"},
			want:      kubelet.Instance{Program: "kubelet", RootDir: "/b", CanonicalRoot: "/b", Flags: map[string]string{"root-dir": "/a"}},
		},
		"root does not exist": {
			candidate: kubelet.Candidate{Comm: "kubelet", Args: []string{"kubelet", "--root-dir=/gone"}},
			want:      kubelet.Instance{Program: "kubelet", RootDir: "/gone", CanonicalRoot: "/gone", Flags: map[string]string{"root-dir": "/gone"}},
		},
		"manifests by flag": {
			files:     map[string]string{"/c": configuration},
			candidate: kubelet.Candidate{Comm: "kubelet", Args: []string{"kubelet", "--config", "/c", "--pod-manifest-path", "/m"}},
			want: kubelet.Instance{
				Program: "kubelet", RootDir: "/var/lib/kubelet", CanonicalRoot: "/var/lib/kubelet", ConfigPath: "/c",
				Flags:  map[string]string{"config": "/c", "pod-manifest-path": "/m"},
				Config: &kubelet.Config{StaticPodPath: "/etc/kubernetes/manifests"}, StaticPodPath: "/m",
			},
		},
		"drop-ins": {
			files: map[string]string{
				"/c/base": "kind: KubeletConfiguration\nport: 1\nstaticPodPath: rel\n",
				"/c/d/20": "kind: KubeletConfiguration\nport: 9\n", "/c/d/10-a.conf": "kind: KubeletConfiguration\nport: 2\n",
				"/c/d/20-b/x.conf": "kind: KubeletConfiguration\naddress: '::'\n", "/c/d/30.conf": "kind: Other\nport: 8\n",
			},
			candidate: kubelet.Candidate{Comm: "kubelet", Args: []string{"kubelet", "--config=/c/base", "--config-dir=/c/d"}},
			want: kubelet.Instance{
				Program: "kubelet", RootDir: "/var/lib/kubelet", CanonicalRoot: "/var/lib/kubelet", ConfigPath: "/c/base",
				Flags:  map[string]string{"config": "/c/base", "config-dir": "/c/d"},
				Config: &kubelet.Config{Port: 2, Address: "::", StaticPodPath: "rel"}, StaticPodPath: "/c/rel",
				ConfigUnread: []string{"/c/d/30.conf"},
			},
		},
		"hyperkube": {
			candidate: kubelet.Candidate{Comm: "hyperkube", Args: []string{"/hyperkube", "kubelet", "--root_dir", "/k", "-v4"}},
			want:      kubelet.Instance{Program: "hyperkube", RootDir: "/k", CanonicalRoot: "/k", Flags: map[string]string{"root-dir": "/k", "v": "4"}},
		},
		"k3s": {
			files: map[string]string{
				"/srv/k3s/agent/etc/kubelet.conf.d/00-k3s-defaults.conf": configuration,
			},
			candidate: kubelet.Candidate{Comm: "k3s-server", Args: []string{
				"/usr/local/bin/k3s", "server", "--kubelet-arg=root-dir=/k", "--kubelet-arg=--v=4", "--token", "secret",
				"-d", "/srv/k3s", "--node-name=n2", "--kubelet-arg=serialize-image-pulls",
			}},
			want: kubelet.Instance{
				Program: "k3s", RootDir: "/k", CanonicalRoot: "/k", NodeName: "n2",
				Flags:         map[string]string{"root-dir": "/k", "v": "4", "data-dir": "/srv/k3s", "node-name": "n2", "serialize-image-pulls": "true"},
				ConfigPath:    "/srv/k3s/agent/etc/kubelet.conf.d/00-k3s-defaults.conf",
				Config:        &kubelet.Config{StaticPodPath: "/etc/kubernetes/manifests"},
				StaticPodPath: "/etc/kubernetes/manifests",
			},
		},
		"k3s by its configuration": {
			files: map[string]string{
				"/etc/rancher/k3s/config.yaml":          "kubelet-arg:\n- root-dir=/k\n- v=2\nnode-name: n3\ntoken: secret\n",
				"/etc/rancher/k3s/config.yaml.d/1.yaml": "kubelet-arg+: max-pods=200\n",
				"/etc/rancher/k3s/config.yaml.d/2.txt":  "kubelet-arg: v=9\n",
			},
			candidate: kubelet.Candidate{Comm: "k3s-agent", Args: []string{"/usr/local/bin/k3s agent", "", ""}},
			want: kubelet.Instance{
				Program: "k3s", RootDir: "/k", CanonicalRoot: "/k", NodeName: "n3",
				Flags:         map[string]string{"root-dir": "/k", "v": "2", "max-pods": "200", "node-name": "n3"},
				StaticPodPath: "/var/lib/rancher/k3s/agent/pod-manifests",
			},
		},
		"k3s hides its arguments, the unit does not": {
			files: map[string]string{
				"/etc/systemd/system/k3s.service": "[Service]\nExecStart=/usr/local/bin/k3s \\\n  server \\\n\t'--kubelet-arg=root-dir=/k' \\\n\n",
				"/etc/rancher/k3s/config.yaml":    "kubelet-arg: root-dir=/overridden\n",
			},
			candidate: kubelet.Candidate{Comm: "k3s-server", Args: []string{"/usr/local/bin/k3s server"}},
			want: kubelet.Instance{
				Program: "k3s", RootDir: "/k", CanonicalRoot: "/k", Flags: map[string]string{"root-dir": "/k"},
				StaticPodPath: "/var/lib/rancher/k3s/agent/pod-manifests",
			},
		},
		"rke2, whose kubelet is a process": {
			candidate: kubelet.Candidate{
				Comm: "kubelet", Executable: "/var/lib/rancher/rke2/data/v1.30/bin/kubelet",
				Args: []string{"kubelet", "--pod-manifest-path=/var/lib/rancher/rke2/agent/pod-manifests", "--node-labels="},
			},
			want: kubelet.Instance{
				Program: "rke2", RootDir: "/var/lib/kubelet", CanonicalRoot: "/var/lib/kubelet", Executable: "/var/lib/rancher/rke2/data/v1.30/bin/kubelet",
				Flags:         map[string]string{"pod-manifest-path": "/var/lib/rancher/rke2/agent/pod-manifests", "node-labels": ""},
				StaticPodPath: "/var/lib/rancher/rke2/agent/pod-manifests",
			},
		},
		"microk8s": {
			files: map[string]string{
				"/var/snap/microk8s/6089/args/kubelet": "# comment\n--root-dir=${SNAP_COMMON}/var/lib/kubelet\n--cert-dir=${SNAP_DATA}/certs\n" +
					"--eviction-hard=\"memory.available<100Mi,nodefs.available<1Gi\"\n--read-only-port=0\n",
			},
			candidate: kubelet.Candidate{Comm: "kubelite", Args: []string{"/snap/microk8s/6089/kubelite", "--kubelet-args-file=/var/snap/microk8s/6089/args/kubelet"}},
			want: kubelet.Instance{
				Program: "kubelite", RootDir: "/var/snap/microk8s/common/var/lib/kubelet", CanonicalRoot: "/var/snap/microk8s/common/var/lib/kubelet",
				Flags: map[string]string{
					"root-dir": "/var/snap/microk8s/common/var/lib/kubelet", "cert-dir": "/var/snap/microk8s/6089/certs",
					"eviction-hard": "memory.available<100Mi,nodefs.available<1Gi", "read-only-port": "0",
				},
			},
		},
		"microk8s without its file": {
			candidate: kubelet.Candidate{Comm: "kubelite", Args: []string{"kubelite"}},
			want: kubelet.Instance{
				Program: "kubelite", RootDir: "/var/snap/microk8s/common/var/lib/kubelet", CanonicalRoot: "/var/snap/microk8s/common/var/lib/kubelet", Flags: map[string]string{},
				ConfigUnread: []string{"/var/snap/microk8s/current/args/kubelet"},
			},
		},
		"k0s": {
			candidate: kubelet.Candidate{Comm: "kubelet", Executable: "/var/lib/k0s/bin/kubelet", Args: []string{"kubelet", "--root-dir=/var/lib/k0s/kubelet"}},
			want: kubelet.Instance{
				Program: "k0s", RootDir: "/var/lib/k0s/kubelet", CanonicalRoot: "/var/lib/k0s/kubelet",
				Executable: "/var/lib/k0s/bin/kubelet", Flags: map[string]string{"root-dir": "/var/lib/k0s/kubelet"},
			},
		},
		"in a container": {
			files: map[string]string{
				"/proc/7/root/c": configuration, "/c": "kind: KubeletConfiguration\nport: 666\n",
				"/proc/7/root/var/lib/kubelet": "-> /inside", "/proc/7/root/inside/": "", "/var/lib/kubelet/": "",
			},
			candidate: kubelet.Candidate{Comm: "kubelet", Args: []string{"kubelet", "--config=/c"}, MountNS: 200, Container: true},
			opt:       FindOptions{HostMountNS: 100},
			want: kubelet.Instance{
				Program: "kubelet", RootDir: "/var/lib/kubelet", CanonicalRoot: "/inside", MountNS: 200, ConfigPath: "/c",
				Flags:  map[string]string{"config": "/c"},
				Config: &kubelet.Config{StaticPodPath: "/etc/kubernetes/manifests"}, StaticPodPath: "/etc/kubernetes/manifests",
			},
		},
		"in the same namespace, another root directory": {
			files:     map[string]string{"/jail/c": configuration, "/proc/7/root": "-> ../../jail"},
			candidate: kubelet.Candidate{Comm: "kubelet", Args: []string{"kubelet", "--config=/c"}, MountNS: 100},
			opt:       FindOptions{HostMountNS: 100},
			want: kubelet.Instance{
				Program: "kubelet", RootDir: "/var/lib/kubelet", CanonicalRoot: "/var/lib/kubelet", MountNS: 100, ConfigPath: "/c",
				Flags:  map[string]string{"config": "/c"},
				Config: &kubelet.Config{StaticPodPath: "/etc/kubernetes/manifests"}, StaticPodPath: "/etc/kubernetes/manifests",
			},
		},
		"command line unreadable": {
			candidate: kubelet.Candidate{Comm: "kubelet", State: "D"},
			want: kubelet.Instance{
				Program: "kubelet", State: "D", RootDir: "/var/lib/kubelet", CanonicalRoot: "/var/lib/kubelet", Flags: map[string]string{},
				ConfigUnread: []string{"/proc/7/cmdline"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			started := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
			tc.candidate.PID, tc.candidate.Started = 7, started
			tc.want.PID, tc.want.Started = 7, &started
			got := Find(t.Context(), fakeHost(t, tc.files), []kubelet.Candidate{tc.candidate}, tc.opt)
			if diff := cmp.Diff(tc.want, got, ignoreSources); diff != "" {
				t.Errorf("instance (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFindDisk looks at disks of nodes whose kubelet does not run.
func TestFindDisk(t *testing.T) {
	for name, tc := range map[string]struct {
		files    map[string]string
		program  string
		root     string
		config   string
		static   string
		expected string
		unread   string
		flags    map[string]string
	}{
		"no kubelet": {files: map[string]string{"/etc/passwd": ""}, root: ""},
		"unit":       {files: map[string]string{"/usr/lib/systemd/system/kubelet.service": "[Service]\nExecStart=/usr/bin/kubelet\n"}, program: "kubelet", root: "/var/lib/kubelet", expected: "unit /usr/lib/systemd/system/kubelet.service"},
		"kubeadm": {
			files: map[string]string{
				"/lib/systemd/system/kubelet.service":                       "[Service]\nExecStart=/usr/bin/kubelet\n",
				"/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf": "[Service]\nEnvironment=\"A=--config=/var/lib/kubelet/config.yaml\"\nEnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env\nEnvironmentFile=-/etc/default/kubelet\nExecStart=\nExecStart=/usr/bin/kubelet $A $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS\n",
				"/var/lib/kubelet/kubeadm-flags.env":                        "KUBELET_KUBEADM_ARGS=\"--container-runtime-endpoint=unix:///run/c.sock --pod-infra-container-image=pause\"\n",
				"/etc/default/kubelet":                                      "# extra\nKUBELET_EXTRA_ARGS=--root-dir=/media/ssd1/kubelet\n",
				"/var/lib/kubelet/config.yaml":                              configuration,
				"/media/ssd1/kubelet/pods/u/":                               "",
			},
			program: "kubelet", root: "/media/ssd1/kubelet", config: "/var/lib/kubelet/config.yaml", static: "/etc/kubernetes/manifests",
			expected: "unit /lib/systemd/system/kubelet.service",
			flags: map[string]string{
				"config": "/var/lib/kubelet/config.yaml", "container-runtime-endpoint": "unix:///run/c.sock",
				"pod-infra-container-image": "pause", "root-dir": "/media/ssd1/kubelet",
			},
		},
		"hidden drop-in": {
			files: map[string]string{
				"/etc/systemd/system/kubelet.service":              "[Service]\nExecStart=kubelet --v=1\n",
				"/etc/systemd/system/kubelet.service.d/a.conf":     "[Service]\nExecStart=\nExecStart=kubelet --v=2\n",
				"/usr/lib/systemd/system/kubelet.service.d/a.conf": "[Service]\nExecStart=\nExecStart=kubelet --v=3\n",
			},
			program: "kubelet", root: "/var/lib/kubelet", expected: "unit /etc/systemd/system/kubelet.service", flags: map[string]string{"v": "2"},
		},
		"masked unit":    {files: map[string]string{"/etc/systemd/system/kubelet.service": "-> /dev/null", "/dev/null": "", "/lib/systemd/system/kubelet.service": "ExecStart=kubelet"}, root: ""},
		"dangling link":  {files: map[string]string{"/etc/systemd/system/kubelet.service": "-> /gone"}, root: ""},
		"k3s":            {files: map[string]string{"/etc/systemd/system/k3s-agent.service": "ExecStart=/usr/local/bin/k3s agent\n", "/etc/rancher/k3s/config.yaml": "kubelet-arg: [root-dir=/k]\n"}, program: "k3s", root: "/k", static: "/var/lib/rancher/k3s/agent/pod-manifests", expected: "unit /etc/systemd/system/k3s-agent.service", flags: map[string]string{"root-dir": "/k"}},
		"k3s, no agent":  {files: map[string]string{"/etc/systemd/system/k3s.service": "ExecStart=/usr/local/bin/k3s server --disable-agent\n"}, root: ""},
		"k0s controller": {files: map[string]string{"/etc/systemd/system/k0scontroller.service": "ExecStart=/usr/local/bin/k0s controller\n"}, root: ""},
		"k0s worker":     {files: map[string]string{"/etc/systemd/system/k0sworker.service": "ExecStart=/usr/local/bin/k0s worker --data-dir=/k0\n"}, program: "k0s", root: "/k0/kubelet", expected: "unit /etc/systemd/system/k0sworker.service", flags: map[string]string{"root-dir": "/k0/kubelet"}},
		"microk8s": {
			files: map[string]string{
				"/etc/systemd/system/snap.microk8s.daemon-kubelite.service": "ExecStart=/usr/bin/snap run microk8s.daemon-kubelite\n",
				"/var/snap/microk8s/current":                                "-> 6089",
				"/var/snap/microk8s/6089/args/kubelet":                      "--root-dir=${SNAP_COMMON}/var/lib/kubelet\n",
			},
			program: "kubelite", root: "/var/snap/microk8s/common/var/lib/kubelet", expected: "unit /etc/systemd/system/snap.microk8s.daemon-kubelite.service",
			flags: map[string]string{"root-dir": "/var/snap/microk8s/common/var/lib/kubelet"},
		},
		"wrapper in the unit": {files: map[string]string{"/etc/systemd/system/kubelet.service": "ExecStart=/opt/start-node.sh --x\n"}, program: "kubelet", root: "/var/lib/kubelet", expected: "unit /etc/systemd/system/kubelet.service", flags: map[string]string{"x": "true"}},
		"only pods":           {files: map[string]string{"/var/lib/kubelet/pods/u/": "", "/var/lib/kubelet/config.yaml": configuration}, root: "/var/lib/kubelet", config: "/var/lib/kubelet/config.yaml", static: "/etc/kubernetes/manifests", expected: "directory /var/lib/kubelet/pods"},
		"empty pods":          {files: map[string]string{"/var/lib/kubelet/pods/": ""}, root: "/var/lib/kubelet"},
		"pods of microk8s":    {files: map[string]string{"/var/lib/kubelet/pods/": "", "/var/snap/microk8s/common/var/lib/kubelet/pods/u/": ""}, root: "/var/snap/microk8s/common/var/lib/kubelet", expected: "directory /var/snap/microk8s/common/var/lib/kubelet/pods"},
		"kubeadm's kubelet.conf is no configuration": {files: map[string]string{"/etc/kubernetes/kubelet.conf": "kind: Config\n"}, root: ""},
		"OpenShift's is":     {files: map[string]string{"/etc/kubernetes/kubelet.conf": configuration}, root: "", config: "/etc/kubernetes/kubelet.conf", static: "/etc/kubernetes/manifests"},
		"unit is a FIFO":     {files: map[string]string{"/etc/systemd/system/kubelet.service": "FIFO"}, program: "kubelet", root: "/var/lib/kubelet", expected: "unit /etc/systemd/system/kubelet.service", unread: "/etc/systemd/system/kubelet.service"},
		"links in a circle":  {files: map[string]string{"/var/lib/kubelet": "-> /var/lib/kubelet"}, root: "/var/lib/kubelet", unread: "/var/lib/kubelet/config.yaml"},
		"configuration FIFO": {files: map[string]string{"/var/lib/kubelet/pods/u/": "", "/var/lib/kubelet/config.yaml": "FIFO"}, root: "/var/lib/kubelet", expected: "directory /var/lib/kubelet/pods", unread: "/var/lib/kubelet/config.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Find(t.Context(), fakeHost(t, tc.files), nil, FindOptions{})
			if tc.flags == nil {
				tc.flags = map[string]string{}
			}
			want := kubelet.Instance{
				Program: tc.program, RootDir: tc.root, CanonicalRoot: tc.root, Flags: tc.flags,
				ConfigPath: tc.config, StaticPodPath: tc.static, Expected: tc.expected,
			}
			if tc.unread != "" {
				want.ConfigUnread = []string{tc.unread}
			}
			if tc.config != "" {
				want.Config = &kubelet.Config{StaticPodPath: "/etc/kubernetes/manifests"}
			}
			if diff := cmp.Diff(want, got, ignoreSources); diff != "" {
				t.Errorf("instance (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFindSources(t *testing.T) {
	files := map[string]string{
		"/good": configuration, "/fifo": "FIFO", "/kubeconfig": "kind: Config\n", "/d/1.conf": "port: [\n",
		"/typed": "kind: KubeletConfiguration\nport: ten\n", "/var/lib/kubelet/": "", "/dir/": "", "/large": configuration + strings.Repeat("# x\n", 1<<18),
		"/d2/1.conf": configuration, "/d2/2.conf": "FIFO", "/d3/1/2/3/4/5/6/7/8/9/10.conf": configuration,
	}
	for name, tc := range map[string]struct {
		args []string
		want map[string]string
	}{
		"read":          {[]string{"--config=/good"}, map[string]string{"/good": "read"}},
		"absent":        {[]string{"--config=/gone"}, map[string]string{"/gone": "absent"}},
		"FIFO":          {[]string{"--config=/fifo"}, map[string]string{"/fifo": "malformed"}},
		"another kind":  {[]string{"--config=/kubeconfig"}, map[string]string{"/kubeconfig": "malformed"}},
		"another type":  {[]string{"--config=/typed"}, map[string]string{"/typed": "malformed"}},
		"broken dropin": {[]string{"--config-dir=/d"}, map[string]string{"/d/1.conf": "malformed"}},
		"no dropins":    {[]string{"--config-dir=/gone"}, map[string]string{"/gone": "absent"}},
		"too large":     {[]string{"--config=/large"}, map[string]string{"/large": "truncated"}},
		"directory":     {[]string{"--config=/dir"}, map[string]string{"/dir": "malformed"}},
		"one of two":    {[]string{"--config-dir=/d2"}, map[string]string{"/d2/1.conf": "read", "/d2/2.conf": "malformed"}},
		"too deep":      {[]string{"--config-dir=/d3"}, map[string]string{"/d3/1/2/3/4/5/6/7/8/9": "truncated"}},
		"relative":      {[]string{"--config=etc/x"}, map[string]string{"etc/x": "malformed"}},
		"relative root": {[]string{"--root-dir=x"}, map[string]string{"x": "malformed"}},
	} {
		t.Run(name, func(t *testing.T) {
			candidate := kubelet.Candidate{PID: 7, Comm: "kubelet", Args: append([]string{"kubelet"}, tc.args...)}
			in := Find(t.Context(), fakeHost(t, files), []kubelet.Candidate{candidate}, FindOptions{})
			got, unread := map[string]string{}, []string(nil)
			for _, s := range in.Sources {
				got[s.Path] = s.Status
				if s.Status != "read" && name != "relative root" {
					unread = append(unread, s.Path)
				}
				if (s.Status == "read") != (s.Detail == "") {
					t.Errorf("%+v: detail and status disagree", s)
				}
			}
			if name != "relative root" {
				maps.Copy(tc.want, map[string]string{"/var/lib/kubelet": "read"})
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("sources (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(unread, in.ConfigUnread); diff != "" {
				t.Errorf("not read (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFindUnreadSettings has files of flags, of which those have to be there that somebody named.
func TestFindUnreadSettings(t *testing.T) {
	k3s := func(args ...string) *kubelet.Candidate {
		return &kubelet.Candidate{PID: 7, Comm: "k3s-server", Args: append([]string{"/usr/local/bin/k3s", "server", "--v=2"}, args...)}
	}
	unit := func(environment string) map[string]string {
		return map[string]string{"/etc/systemd/system/kubelet.service": "[Service]\nEnvironmentFile=" + environment + "\nExecStart=/usr/bin/kubelet $KUBELET_KUBEADM_ARGS\n"}
	}
	for name, tc := range map[string]struct {
		candidate *kubelet.Candidate // nil: the disk of a node
		files     map[string]string
		more      map[string]string
		want      []string
	}{
		"kubeadm's flags may be absent":    {files: unit("-/var/lib/kubelet/kubeadm-flags.env")},
		"and cannot be read":               {files: unit("-/k.env"), more: map[string]string{"/k.env": "FIFO"}, want: []string{"/k.env"}},
		"variables that have to be there":  {files: unit("/k.env"), want: []string{"/k.env"}},
		"a drop-in of the unit":            {files: unit("-/k.env"), more: map[string]string{"/etc/systemd/system/kubelet.service.d/1.conf": "FIFO"}, want: []string{"/etc/systemd/system/kubelet.service.d/1.conf"}},
		"the unit's drop-ins are a file":   {files: unit("-/k.env"), more: map[string]string{"/etc/systemd/system/kubelet.service.d": "x"}, want: []string{"/etc/systemd/system/kubelet.service.d"}},
		"k3s without a configuration":      {candidate: k3s()},
		"k3s with a broken one":            {candidate: k3s(), files: map[string]string{"/etc/rancher/k3s/config.yaml": "a: [\n"}, want: []string{"/etc/rancher/k3s/config.yaml"}},
		"k3s with one that is not there":   {candidate: k3s("--config=/k.yaml"), want: []string{"/k.yaml"}},
		"k3s whose drop-ins are no files":  {candidate: k3s(), files: map[string]string{"/etc/rancher/k3s/config.yaml.d/1.yaml/": ""}, want: []string{"/etc/rancher/k3s/config.yaml.d/1.yaml"}},
		"k3s whose drop-ins are a file":    {candidate: k3s(), files: map[string]string{"/etc/rancher/k3s/config.yaml.d": "x"}, want: []string{"/etc/rancher/k3s/config.yaml.d"}},
		"arguments of microk8s are a FIFO": {candidate: &kubelet.Candidate{PID: 7, Comm: "kubelite", Args: []string{"kubelite", "--kubelet-args-file=/a"}}, files: map[string]string{"/a": "FIFO"}, want: []string{"/a"}},
	} {
		t.Run(name, func(t *testing.T) {
			files := maps.Clone(tc.files)
			if files == nil {
				files = map[string]string{"/var/lib/kubelet/": ""}
			}
			maps.Copy(files, tc.more)
			var candidates []kubelet.Candidate
			if tc.candidate != nil {
				candidates = append(candidates, *tc.candidate)
			}
			in := Find(t.Context(), fakeHost(t, files), candidates, FindOptions{})
			if diff := cmp.Diff(tc.want, in.ConfigUnread); diff != "" {
				t.Errorf("not read (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFindHungConfiguration has a configuration on a file system that does not answer.
func TestFindHungConfiguration(t *testing.T) {
	dir := t.TempDir()
	server := testfuse.Mount(t, filepath.Join(dir, "hung"), testfuse.Options{Files: map[string]string{"config.yaml": configuration}})
	server.Hang()
	candidate := kubelet.Candidate{PID: 7, Comm: "kubelet", Args: []string{"kubelet", "--config=/hung/config.yaml"}}
	in := Find(t.Context(), openFS(t, dir), []kubelet.Candidate{candidate}, FindOptions{})
	if diff := cmp.Diff([]string{"/hung/config.yaml"}, in.ConfigUnread); diff != "" {
		t.Errorf("not read (-want +got):\n%s", diff)
	}
	i := slices.IndexFunc(in.Sources, func(s kubelet.Source) bool { return s.Path == "/hung/config.yaml" })
	if i < 0 || in.Sources[i].Status != "timeout" {
		t.Errorf("sources %+v; want a timeout", in.Sources)
	}
}
