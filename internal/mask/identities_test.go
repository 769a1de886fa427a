package mask_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/cri"
	"github.com/nodeforensics/nodeforensics/internal/mask"
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
	text, err := mask.Until(t.Context(), &e, []byte("key"), true)
	if err != nil {
		t.Fatal(err)
	}
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

// Names of the API's objects go; a CSI driver stays, though it is named like a host.
func TestStrictMasksObjectsOfTheAPI(t *testing.T) {
	e := forensics.NewEvidence()
	d := apidump.NewDump()
	d.Nodes = []apidump.Node{{Object: apidump.Object{Kind: "Node", Name: "okapi-7"}}}
	d.Pods = []apidump.Pod{{
		Object: apidump.Object{Namespace: "ceph", Name: "quagga-0", UID: "u", Owners: []apidump.Owner{{Kind: "StatefulSet", Name: "quagga"}}},
		Node:   "okapi-7", Message: "ceph/quagga-0 on okapi-7", Claims: []string{"data-quagga-0"},
	}}
	d.Volumes = []apidump.Volume{{Object: apidump.Object{Name: "pv-1"}, Claim: "ceph/data-quagga-0", Driver: "driver.longhorn.io"}}
	e.Cluster = &d
	e.Coverage = []forensics.Source{{Source: "logs", Detail: "driver.longhorn.io of api.longhorn.net"}}
	if _, err := mask.Until(t.Context(), &e, []byte("key"), true); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"okapi", "quagga", "ceph/", `"ceph"`, "longhorn.net"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("%s is left: %s", secret, text)
		}
	}
	if strings.Count(string(text), "driver.longhorn.io") != 2 || e.Cluster.Pods[0].UID != "u" {
		t.Errorf("the driver or the UID is gone: %s", text)
	}
	if d.Pods[0].Name != "quagga-0" {
		t.Error("the caller's objects were changed")
	}
}

// A pod may be called like a runtime: the name of what its node runs is no secret.
func TestStrictKeepsTheNamesOfRuntimes(t *testing.T) {
	for _, r := range cri.Runtimes() {
		e := forensics.NewEvidence()
		e.Pods = []kubelet.Pod{{Namespace: "ns-of-somebody", Name: r.Process, UID: "u", Source: "kubelet"}, {Namespace: r.Name, Name: "name-of-somebody", UID: "v", Source: "kubelet"}}
		e.Processes = []procs.Process{{PID: 1, Comm: r.Process, Command: []string{"/usr/bin/" + r.Process}}}
		e.Runtimes = []runtimes.Runtime{{Name: r.Name, Root: "/var/lib/" + r.Name}}
		if _, err := mask.Until(t.Context(), &e, []byte("key"), true); err != nil {
			t.Fatal(err)
		}
		if p := e.Processes[0]; p.Comm != r.Process || p.Command[0] != "/usr/bin/"+r.Process || e.Runtimes[0].Name != r.Name || e.Runtimes[0].Root != "/var/lib/"+r.Name {
			t.Errorf("%s is masked: %+v, %+v", r.Name, p, e.Runtimes[0])
		}
		if e.Pods[1].Name == "name-of-somebody" {
			t.Error("nothing is masked")
		}
	}
}
