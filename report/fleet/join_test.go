package fleet_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/report/fleet"
)

// sickWith is the report of a node with one root cause, as short as the reader wants it.
func sickWith(node, identity string) string {
	identity, key, _ := strings.Cut(identity, `,"key":`)
	if key == "" {
		key = `""`
	}
	return fmt.Sprintf(`{"schema":"nodeforensics.report/v2","node":{"name":%q},
"diagnoses":[{"severity":"warning","title":"headline of %[1]s","root":{"kind":"superblock","id":"0:47"}%s,"pods":[],"findings":[0]}],
"findings":[{"id":"mount-hung","severity":"warning"}],"outcomes":[{"check":"mount-hung","status":"found"}],
"evidence":{"collected":"2026-11-22T10:00:00Z","collector":{"redaction_key":%[3]s}}}`, node, identity, key)
}

func read(tb testing.TB, documents ...string) fleet.Summary {
	tb.Helper()
	var r fleet.Reader
	for i, text := range documents {
		if err := r.Read(fmt.Sprintf("%d.json", i), "", strings.NewReader(text)); err != nil {
			tb.Fatal(err)
		}
	}
	return r.Summary()
}

// What has the same id on all nodes joins them, and what has not does not.
func TestIdentitiesJoin(t *testing.T) {
	id := func(check, trouble, kind, id, rest string) string {
		return fmt.Sprintf(`,"identity":{"check":%q,"trouble":%q,"kind":%q,"id":%q%s}`, check, trouble, kind, id, rest)
	}
	for _, tt := range []struct {
		name, a, b string
		want       []string
		doubt      bool
	}{
		{
			"driver", id("csi-operation-stuck", "A CSI driver does not respond", "csi-driver", "nfs.csi.k8s.io", ""),
			id("csi-operation-stuck", "A CSI driver does not respond", "csi-driver", "nfs.csi.k8s.io", ""),
			[]string{"CSI driver nfs.csi.k8s.io does not respond: a b"},
			false,
		},
		{
			"another driver", id("csi-operation-stuck", "A CSI driver does not respond", "csi-driver", "nfs.csi.k8s.io", ""),
			id("csi-operation-stuck", "A CSI driver does not respond", "csi-driver", "csi.juicefs.com", ""),
			[]string{"CSI driver csi.juicefs.com does not respond: b", "CSI driver nfs.csi.k8s.io does not respond: a"},
			false,
		},
		{
			"a driver with another trouble", id("csi-operation-stuck", "A CSI driver does not respond", "csi-driver", "nfs.csi.k8s.io", ""),
			id("csi-driver-missing", "A CSI driver is not registered on this node", "csi-driver", "nfs.csi.k8s.io", ""),
			[]string{"CSI driver nfs.csi.k8s.io does not respond: a", "CSI driver nfs.csi.k8s.io is not registered: b"},
			false,
		},
		{
			"limit", id("limit-exhausted", "A limit of the node is reached", "limit", "inotify", ""),
			id("limit-exhausted", "A limit of the node is reached", "limit", "inotify", ""),
			[]string{"A limit of the node is reached (inotify): a b"},
			false,
		},
		{
			"runtime", id("runtime-unresponsive", "The container runtime does not respond", "runtime", "containerd", ""),
			id("runtime-unresponsive", "The container runtime does not respond", "runtime", "cri-o", ""),
			[]string{"containerd does not respond: a", "cri-o does not respond: b"},
			false,
		},
		{
			"kubelet version", id("kubelet-restarting", "The kubelet ended and was started again", "kubelet", "1.34.4", ""),
			id("kubelet-restarting", "The kubelet ended and was started again", "kubelet", "1.33.2", ""),
			[]string{"kubelet 1.33.2 ended and was started again: b", "kubelet 1.34.4 ended and was started again: a"},
			false,
		},
		{
			"lock", id("kubelet-lock-contention", "Goroutines wait for a lock", "goroutine", "k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod", ""),
			id("kubelet-lock-contention", "Goroutines wait for a lock", "goroutine", "k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod", ""),
			[]string{"Goroutines wait for a lock (kubelet.(*podWorkers).UpdatePod): a b"},
			false,
		},
		{
			"disk, of which nothing is the same on two nodes", id("kernel-io-error", "A disk or its controller fails, by the kernel log", "disk", "", ""),
			id("kernel-io-error", "A disk or its controller fails, by the kernel log", "disk", "", ""),
			[]string{"A disk or its controller fails, by the kernel log: a b"},
			true,
		},
		{
			"masked server", id("mount-hung", "A file system does not respond", "file-system", "NFS [masked:address:ab12cd]", `,"shared":true`),
			id("mount-hung", "A file system does not respond", "file-system", "NFS [masked:address:ab12cd]", `,"shared":true`),
			[]string{"NFS [masked:address:ab12cd] has not responded: a", "NFS [masked:address:ab12cd] has not responded: b"},
			false,
		},
		{
			"masked server, one key", id("mount-hung", "A file system does not respond", "file-system", "NFS [masked:address:ab12cd]", `,"shared":true`) + `,"key":"k1"`,
			id("mount-hung", "A file system does not respond", "file-system", "NFS [masked:address:ab12cd]", `,"shared":true`) + `,"key":"k1"`,
			[]string{"NFS [masked:address:ab12cd] has not responded: a b"},
			false,
		},
		{
			"masked server, two keys", id("mount-hung", "A file system does not respond", "file-system", "NFS [masked:address:ab12cd]", `,"shared":true`) + `,"key":"k1"`,
			id("mount-hung", "A file system does not respond", "file-system", "NFS [masked:address:ab12cd]", `,"shared":true`) + `,"key":"k2"`,
			[]string{"NFS [masked:address:ab12cd] has not responded: a", "NFS [masked:address:ab12cd] has not responded: b"},
			false,
		},
		{"of an earlier version", "", "", []string{"mount-hung: a b"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := read(t, sickWith("a", tt.a), sickWith("b", tt.b))
			want := make([]string, len(tt.want))
			for i, w := range tt.want {
				want[i] = "warning: " + w
				if tt.doubt {
					want[i] += ", each may have its own"
				}
			}
			if diff := cmp.Diff(want, rows(s)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if doubt := s.Causes[0].Doubt; (doubt != "") != tt.doubt {
				t.Errorf("doubt %q", doubt)
			}
		})
	}
}

// Of one node, the newest report counts, in whatever order they are read.
func TestTheNewestReportCounts(t *testing.T) {
	old := `{"schema":"nodeforensics.report/v2","node":{"name":"a","kernel":"5"},"evidence":{"collected":"2026-11-22T10:00:00Z"}}`
	newer := `{"schema":"nodeforensics.report/v2","node":{"name":"a","kernel":"6"},"evidence":{"collected":"2026-11-22T11:00:00Z"}}`
	for _, order := range [][]string{{old, newer}, {newer, old}, {old + newer}, {newer + "\n" + old}} {
		s := read(t, order...)
		if len(s.Nodes) != 1 || s.Nodes[0].Facts["kernel"] != "6" {
			t.Errorf("%v", s.Nodes)
		}
		if diff := cmp.Diff([]string{"1 node has several reports: the newest report counts, 1 older not"}, s.Notes); diff != "" {
			t.Error(diff)
		}
	}
}

// Facts are compared with those of well nodes, and nodes that are neither are left out.
func TestWhatSickNodesHaveInCommon(t *testing.T) {
	var nodes []node
	add := func(n int, kernel string, dead ...string) {
		for range n {
			nodes = append(nodes, node{name: fmt.Sprintf("node-%d", len(nodes)), kernel: kernel, version: "1.34.4", dead: dead, collected: at("10:10:00")})
		}
	}
	add(4, "5.15.0-1051", "10.0.0.5:/export")
	add(1, "5.15.0-1060", "10.0.0.5:/export")
	add(2, "5.15.0-1051")
	add(8, "5.15.0-1060")
	var r fleet.Reader
	for _, n := range nodes {
		if err := r.Read(n.name+".json", "", strings.NewReader(string(jsonOf(t, n.report())))); err != nil {
			t.Fatal(err)
		}
	}
	unknown := `{"schema":"nodeforensics.report/v2","node":{"name":"unclear","kernel":"5.15.0-1051"}}`
	list := `{"apiVersion":"v1","items":[`
	for i := range 16 {
		zone := "eu-1b"
		if i < 5 {
			zone = "eu-1a"
		}
		ready := "True"
		if i == 15 {
			ready = "Unknown"
		}
		if i > 0 {
			list += ","
		}
		list += fmt.Sprintf(`{"kind":"Node","metadata":{"name":"node-%d","labels":{"topology.kubernetes.io/zone":%q,"other":"x"}},"spec":{},"status":{"conditions":[{"type":"DiskPressure","status":"False","reason":"KubeletHasNoDiskPressure"},{"type":"Ready","status":%q,"reason":"NodeStatusUnknown","lastTransitionTime":"2026-11-20T10:03:00Z"}],"nodeInfo":{"kubeletVersion":"v1.34.4","containerRuntimeVersion":"containerd://2.0.1"}}}`, i, zone, ready)
	}
	list += `],"kind":"List","metadata":{"resourceVersion":""}}`
	r.NotExamined("", "bad.json", "it is cut")
	for name, text := range map[string]string{"unclear.json": unknown, "nodes.json": list} {
		if err := r.Read(name, "", strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	s := r.Summary()
	if s.Sick != 5 || s.Well != 10 || s.Unclear != 1 {
		t.Errorf("%d sick, %d well, %d unclear", s.Sick, s.Well, s.Unclear)
	}
	want := []fleet.Trait{
		{Name: "zone", Value: "eu-1a", Sick: 5, SickAll: 5, Well: 0, WellAll: 10},
		{Name: "kernel", Value: "5.15.0-1051", Sick: 4, SickAll: 5, Well: 2, WellAll: 10},
	}
	if diff := cmp.Diff(want, s.Causes[0].Common); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	missing := []fleet.Missing{
		{Node: "node-15", Reason: "no report; by the API server the node was not Ready since 2026-11-20 10:03:00 UTC (NodeStatusUnknown)"},
		{File: "bad.json", Reason: "it is cut"},
	}
	if diff := cmp.Diff(missing, s.NotExamined); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, n := range s.Nodes {
		if n.Name == "node-0" && n.Facts["runtime"] != "containerd 2.0.1" {
			t.Errorf("%v", n.Facts)
		}
	}
}

// Names that --redact strict has masked are told, unless the reports have one key.
func TestMaskedNamesAreTold(t *testing.T) {
	id := `,"identity":{"check":"mount-hung","trouble":"x","kind":"file-system","id":"NFS ip-0a1b2c3d","shared":true}`
	if s := read(t, sickWith("a", id)); len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "--redact-key") {
		t.Errorf("notes %q", s.Notes)
	}
	if s := read(t, sickWith("a", id+`,"key":"k1"`)); len(s.Notes) != 0 {
		t.Errorf("notes %q", s.Notes)
	}
}

// A thread that waits is named by the file system that it waits for, as a mount that does not respond is.
// TestDriverVersions: the tags of images of CSI drivers are compared.
func TestDriverVersions(t *testing.T) {
	var documents []string
	for i := range 6 {
		tag, identity := "v1.4.2", `,"identity":{"check":"csi-operation-stuck","trouble":"x","kind":"csi-driver","id":"d"}`
		if i >= 3 {
			tag = "v1.4.1"
		}
		text := strings.Replace(sickWith(fmt.Sprintf("n%d", i), identity), `"evidence":{`, `"evidence":{"containers":[{"image":"registry.example:5000/csi-plugin:`+tag+`"},{"image":"nginx:`+tag+`"},
{"image":"csi/registrar@sha256:0123456789abcdef0123"},{"image":"csi-untagged"},{"image":"registry:5000/csi-none"},{"name":"no image"}],`, 1)
		if i >= 3 {
			text = strings.Replace(text, `"diagnoses":[`, `"diagnoses":[],"other":[`, 1)
			text = strings.Replace(text, `"findings":[{"id":"mount-hung","severity":"warning"}],`, "", 1)
		}
		documents = append(documents, text)
	}
	s := read(t, documents...)
	want := []fleet.Trait{{Name: "image registry.example:5000/csi-plugin", Value: "v1.4.2", Sick: 3, SickAll: 3, Well: 0, WellAll: 3}}
	if diff := cmp.Diff(want, s.Common); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"image registry.example:5000/csi-plugin": "v1.4.1", "image csi/registrar": "sha256:0123456789ab"}, s.Nodes[5].Facts); diff != "" {
		t.Error(diff)
	}
}

// TestFix: what repairs a cause is what all of its nodes say. A node does not speak for others, nor with a command.
func TestFix(t *testing.T) {
	server := `,"identity":{"check":"mount-hung","trouble":"A file system does not respond","kind":"file-system","id":"NFS 10.0.0.5","shared":true}`
	repair := func(text string) string {
		return server + `,"remedies":[{"action":"configure","command":["kubectl","cordon","a"]},{"action":"repair","instruction":"` + text + `"}]`
	}
	for _, tt := range []struct{ name, a, b, want string }{
		{"both", repair("Restore the server"), repair("Restore the server"), "Restore the server"},
		{"one", repair("rm -rf /"), server, ""},
		{"another", repair("rm -rf /"), repair("Restore the server"), ""},
		{"none", server, server, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if s := read(t, sickWith("a", tt.a), sickWith("b", tt.b)); len(s.Causes) != 1 || s.Causes[0].Fix != tt.want {
				t.Errorf("%+v", s.Causes)
			}
		})
	}
}

func TestTitleOfBlockedThreads(t *testing.T) {
	var r fleet.Reader
	text := `{"schema":"nodeforensics.report/v2","node":{"name":"a"},"diagnoses":[{"severity":"critical","title":"x","identity":{"check":"thread-blocked",` +
		`"trouble":"A thread is blocked in a file system","kind":"file-system","id":"CephFS 10.0.0.5:6789","name":"CephFS 10.0.0.5:6789:/k8s","shared":true}}]}`
	if err := r.Read("a.json", "", strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	if s := r.Summary(); len(s.Causes) != 1 || s.Causes[0].Title != "CephFS 10.0.0.5:6789:/k8s has blocked threads" {
		t.Errorf("%+v", s.Causes)
	}
}
