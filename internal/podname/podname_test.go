package podname_test

import (
	"slices"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/podname"
)

func TestIs(t *testing.T) {
	for text, want := range map[string]bool{
		"shop/cart-0": true, "kube-system/etcd-node-1.example": true, "1/2": true,
		"": false, "shop": false, "/shop/cart": false, "shop/cart/0": false, "./cart": false, "../cart": false, "shop/": false, "Shop/cart": false,
		"shop/cart_0": false, "shop/-a": false, "shop.x/cart": false, "shop/cart\n": false,
	} {
		if podname.Is(text) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
}

func TestUIDs(t *testing.T) {
	pods := []kubelet.Pod{
		{Namespace: "shop", Name: "cart-0", UID: "u2"},
		{Namespace: "shop", Name: "cart-0", UID: "u1"},
		{Namespace: "shop", Name: "cart-0", UID: "u2"},
		{Namespace: "shop", Name: "cart-1", UID: "u3"},
		{Namespace: "other", Name: "cart-0", UID: "u4"},
		{Namespace: "shop", Name: "cart-0"},
	}
	if got := podname.UIDs(pods, "shop/cart-0"); !slices.Equal(got, []string{"u1", "u2"}) {
		t.Errorf("%q", got)
	}
	if got := podname.UIDs(pods, "shop/cart"); len(got) != 0 {
		t.Errorf("%q", got)
	}
}
