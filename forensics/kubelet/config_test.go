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
			err := got.Apply([]byte(tc.text))
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
	if err := got.Apply([]byte(readTestdata(t, "kubelet-1.34.4-disk-pressure/config.yaml"))); err != nil {
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

func FuzzApplyConfig(f *testing.F) {
	for line := range strings.Lines(readTestdata(f, "kubelet-1.34.4-disk-pressure/config.yaml")) {
		f.Add("kind: KubeletConfiguration\n" + line) // short: the fuzzer makes what is interesting shorter byte by byte
	}
	f.Add("kind: KubeletConfiguration\nport: x\n")
	f.Fuzz(func(t *testing.T, text string) {
		var config Config
		if err := config.Apply([]byte(text)); err == nil && !strings.Contains(text, "KubeletConfiguration") && !strings.Contains(strings.ToLower(text), "kubeletconfig") {
			t.Errorf("took %q for a configuration", text)
		}
	})
}
