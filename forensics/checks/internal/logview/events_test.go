package logview

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
)

// A pod is known by its name as long as no other pod has had that name.
func TestUIDsByName(t *testing.T) {
	e := forensics.NewEvidence()
	e.Pods = []kubelet.Pod{
		{UID: "u1", Namespace: "shop", Name: "web-0", Source: "kubelet"},
		{UID: "u1", Namespace: "shop", Name: "web-0", Source: "log-dir"},
		{UID: "u2", Namespace: "shop", Name: "db-0"},
		{UID: "u3", Namespace: "shop", Name: "db-0"},
		{Namespace: "shop", Name: "web-0"},
	}
	uids := uidsByName(&forensics.Pass{Evidence: &e, Model: forensics.NewModel(&e)})
	if len(uids) != 2 || uids["shop/web-0"] != "u1" || uids["shop/db-0"] != "" {
		t.Errorf("%q, want u1 for shop/web-0, and none for shop/db-0, which two pods are", uids)
	}
}
