package kubelet

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// podMessages is what k8s.io/kubelet 0.36.3 sends for a pod that is being deleted, a static pod and its mirror pod.
func podMessages(tb testing.TB) []byte {
	tb.Helper()
	message, err := os.ReadFile("testdata/pods-api-1.36.3.pb")
	if err != nil {
		tb.Fatal(err)
	}
	return message
}

func TestParsePodMessages(t *testing.T) {
	deleting := time.Date(2026, 11, 23, 1, 2, 3, 0, time.UTC)
	low, critical := int32(-10), int32(2000001000)
	const static = "2fa11937efabc40db85278b553e1ceeb"
	want := []Pod{
		{
			UID: "5c948341-c030-4996-b888-f032577d97b0", Namespace: "shop", Name: "cart-0", Source: "kubelet", Phase: "Running",
			Deleting: &deleting, OwnerKind: "StatefulSet", Priority: &low,
			Images: []PodImage{{Name: "busybox:1"}, {Name: "shop/cart:1", PullPolicy: "Always"}},
		},
		{UID: static, Namespace: "kube-system", Name: "etcd-node-1", Source: "kubelet", Phase: "Pending", Kind: KindStatic, Priority: &critical},
		{UID: "0f0e0d0c-0000-4000-8000-000000000001", Namespace: "kube-system", Name: "etcd-node-1", Source: "kubelet", Kind: KindMirror, MirrorUID: static},
	}
	got, err := ParsePodMessages(podMessages(t), nil)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	got, err = ParsePodMessages(podMessages(t), func(p *Pod) bool { return p.Kind == KindStatic })
	if diff := cmp.Diff(want[1:2], got); diff != "" || err != nil {
		t.Errorf("kept: %v, -want +got:\n%s", err, diff)
	}
}

// TestParsePodMessagesDamaged has messages that are cut, that are none, and that have fields of other types than expected.
func TestParsePodMessagesDamaged(t *testing.T) {
	whole := podMessages(t)
	for n := range whole {
		if pods, err := ParsePodMessages(whole[:n], nil); len(pods) > 2 || len(pods) == 0 && err == nil && n > 0 {
			t.Errorf("the first %d bytes: %d pods, %v", n, len(pods), err)
		}
	}
	for name, tc := range map[string]struct {
		message string
		err     string
	}{
		"text":                     {"Unauthorized", "not a protocol buffer"},
		"a tag without end":        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "not a protocol buffer"},
		"a length beyond":          {"\x0a\x7f\x0a", "not a protocol buffer"},
		"a length of 2^64-1":       {"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "not a protocol buffer"},
		"a pod without a UID":      {"\x0a\x00", "pod 1: it has no UID"},
		"a number for a pod":       {"\x08\x01", "pod 1: it has no UID"},
		"metadata that are none":   {"\x0a\x04\x0a\x02\xff\xff", "pod 1: not a protocol buffer"},
		"groups":                   {"\x0b\x0c", "not a protocol buffer"},
		"a time that is too large": {"\x0a\x13\x0a\x11\x2a\x01u\x4a\x0c\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x10\x00", ""},
		"fields of later versions": {"\x0a\x05\x0a\x03\x2a\x01u\x12\x01x\x19abcdefgh\x25abcd\x28\x01", ""},
	} {
		pods, err := ParsePodMessages([]byte(tc.message), nil)
		switch {
		case tc.err == "" && (err != nil || len(pods) != 1 || pods[0].UID != "u"):
			t.Errorf("%s: %+v, %v; want the pod", name, pods, err)
		case tc.err != "" && (err == nil || !strings.HasSuffix(err.Error(), tc.err)):
			t.Errorf("%s: %v; want %s", name, err, tc.err)
		}
	}
}

func FuzzParsePodMessages(f *testing.F) {
	f.Add(podMessages(f))
	f.Fuzz(func(t *testing.T, message []byte) {
		pods, _ := ParsePodMessages(message, nil)
		for _, p := range pods {
			if p.UID == "" || p.Source != "kubelet" {
				t.Errorf("%+v", p)
			}
		}
	})
}
