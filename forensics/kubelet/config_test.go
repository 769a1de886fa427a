package kubelet

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func ptr[T any](v T) *T { return &v }

func TestApplyConfig(t *testing.T) {
	for name, tc := range map[string]struct {
		before Config
		text   string
		want   Config
		err    string
	}{
		"yaml": {
			text: "kind: KubeletConfiguration\nstaticPodPath: /m\nhealthzPort: 0\nevictionHard: {nodefs.available: 95%}\nauthorization: {mode: Webhook}\n",
			want: Config{StaticPodPath: "/m", HealthzPort: ptr(0), EvictionHard: map[string]string{"nodefs.available": "95%"}, AuthorizationMode: "Webhook"},
		},
		"json": {
			text: `{"kind":"KubeletConfiguration","readOnlyPort":10255,"authentication":{"anonymous":{"enabled":false}}}`,
			want: Config{ReadOnlyPort: 10255, AnonymousAuthEnabled: ptr(false)},
		},
		"drop-in": {
			before: Config{Port: 1, Address: "::", EvictionHard: map[string]string{"memory.available": "1Gi"}, AnonymousAuthEnabled: ptr(true)},
			text:   "kind: KubeletConfiguration\nport: 2\nevictionHard: {nodefs.available: 5%}\n",
			want:   Config{Port: 2, Address: "::", EvictionHard: map[string]string{"memory.available": "1Gi", "nodefs.available": "5%"}, AnonymousAuthEnabled: ptr(true)},
		},
		"field of another type": {
			text: "kind: KubeletConfiguration\nport: ten\nstaticPodPath: /m\nauthentication: none\n",
			want: Config{StaticPodPath: "/m"}, err: "cannot unmarshal",
		},
		"kubeconfig":  {text: "kind: Config\nclusters: []\n", err: "not a KubeletConfiguration"},
		"empty":       {text: "", err: "not a KubeletConfiguration"},
		"not yaml":    {text: "\x00\x01", err: "control characters"},
		"not a map":   {text: "- kind\n", err: "not a KubeletConfiguration"},
		"conflicting": {text: "kind: [\n", err: "yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			got := tc.before
			err := applyConfig(&got, []byte(tc.text))
			if diff := cmp.Diff(tc.want, got); diff != "" && tc.err == "" {
				t.Errorf("configuration (-want +got):\n%s", diff)
			}
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("error = %v; want %q", err, tc.err)
			}
		})
	}
}

func TestApplyConfigCapture(t *testing.T) {
	var got Config
	if err := applyConfig(&got, []byte(readTestdata(t, "kubelet-1.34.4-disk-pressure/config.yaml"))); err != nil {
		t.Fatal(err)
	}
	want := Config{
		StaticPodPath: "/etc/kubernetes/manifests", ReadOnlyPort: 10255, CgroupDriver: "cgroupfs",
		ContainerRuntimeEndpoint: "unix:///run/containerd/containerd.sock", EnableDebuggingHandlers: ptr(true),
		EvictionHard:         map[string]string{"nodefs.available": "95%", "imagefs.available": "95%"},
		ImageGCHighThreshold: ptr(2), ImageGCLowThreshold: ptr(1), FailCgroupV1: ptr(false),
		AnonymousAuthEnabled: ptr(true), AuthorizationMode: "AlwaysAllow",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

func TestPorts(t *testing.T) {
	for name, tc := range map[string]struct {
		in                      Instance
		main, readOnly, healthz int
		sure                    bool
	}{
		"only flags":              {Instance{}, 10250, 10255, 10248, true},
		"configuration file":      {Instance{Config: &Config{}}, 10250, 0, 10248, true},
		"configured":              {Instance{Config: &Config{Port: 1, ReadOnlyPort: 2, HealthzPort: ptr(3)}}, 1, 2, 3, true},
		"flags win":               {Instance{Flags: map[string]string{"port": "4", "read-only-port": "5", "healthz-port": "6"}, Config: &Config{Port: 1, ReadOnlyPort: 2, HealthzPort: ptr(3)}}, 4, 5, 6, true},
		"switched off":            {Instance{Flags: map[string]string{"read-only-port": "0", "healthz-port": "0"}}, 10250, 0, 0, true},
		"k3s":                     {Instance{Program: "k3s"}, 10250, 0, 10248, true},
		"unreadable":              {Instance{ConfigPath: "/etc/x", Flags: map[string]string{"config": "/etc/x"}}, 10250, 10255, 10248, false},
		"no number, out of range": {Instance{Flags: map[string]string{"port": "http", "healthz-port": "99999", "read-only-port": "-1"}}, 10250, 10255, 10248, true},
		"healthz off in file":     {Instance{Config: &Config{HealthzPort: ptr(0)}}, 10250, 0, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			got := [3]int{tc.in.mainPort().number, tc.in.readOnlyPort().number, tc.in.healthzPort().number}
			if want := [3]int{tc.main, tc.readOnly, tc.healthz}; got != want || tc.in.readOnlyPort().sure != tc.sure {
				t.Errorf("ports = %v, sure %t; want %v, %t", got, tc.in.readOnlyPort().sure, want, tc.sure)
			}
		})
	}
}

func FuzzApplyConfig(f *testing.F) {
	for line := range strings.Lines(readTestdata(f, "kubelet-1.34.4-disk-pressure/config.yaml")) {
		f.Add("kind: KubeletConfiguration\n" + line) // short: the fuzzer makes what is interesting shorter byte by byte
	}
	f.Add("kind: KubeletConfiguration\nport: x\n")
	f.Fuzz(func(t *testing.T, text string) {
		var config Config
		if err := applyConfig(&config, []byte(text)); err == nil && !strings.Contains(text, "KubeletConfiguration") {
			t.Errorf("took %q for a configuration", text)
		}
	})
}
