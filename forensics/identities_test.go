package forensics_test

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
)

// The kubelet calls a static pod after its manifest and the node; strict masking must keep the two halves apart.
func TestStrictKeepsTheNamesOfStaticPodsTogether(t *testing.T) {
	e := forensics.NewEvidence()
	e.Node.Name = "Worker-7.example.net"
	e.Kubelet = &kubelet.Instance{NodeName: "worker-7.example.net"}
	e.Pods = []kubelet.Pod{
		{Namespace: "shop", Name: "proxy", Source: "manifest"},
		{Namespace: "shop", Name: "proxy-worker-7.example.net", UID: "u", Source: "kubelet"},
	}
	e.Coverage = []forensics.Source{{Source: forensics.SourceKubeletPods, Detail: `pod="shop/proxy-worker-7.example.net"`}}
	text := forensics.Redact(&e, []byte("key"), true)
	manifest, running := e.Pods[0].Name, e.Pods[1].Name
	if running != manifest+"-"+e.Kubelet.NodeName || strings.Contains(manifest, "proxy") {
		t.Errorf("%q and %q on %q", manifest, running, e.Kubelet.NodeName)
	}
	if want := `pod="` + e.Pods[0].Namespace + "/" + running + `"`; e.Coverage[0].Detail != want {
		t.Errorf("the text says %s, want %s", e.Coverage[0].Detail, want)
	}
	if got := text("command lines", "ssh worker-7.example.net"); got != "ssh "+e.Kubelet.NodeName {
		t.Errorf("the command line says %s", got)
	}
	if e.Node.Name != e.Kubelet.NodeName {
		t.Errorf("the node is %s and %s", e.Node.Name, e.Kubelet.NodeName)
	}
}
