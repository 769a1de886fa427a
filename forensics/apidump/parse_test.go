package apidump

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// kubectlPod is as "kubectl get pods -o json" prints one, with fields that do not matter.
const kubectlPod = `{
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "annotations": {"note": "brackets ]}{[ and \"quotes\" and \\"},
        "creationTimestamp": "2026-11-20T09:00:00Z",
        "deletionGracePeriodSeconds": 30,
        "deletionTimestamp": "2026-11-20T10:00:30Z",
        "finalizers": ["example.com/guard"],
        "name": "web-0",
        "namespace": "shop",
        "ownerReferences": [{"apiVersion": "apps/v1", "controller": true, "kind": "StatefulSet", "name": "web", "uid": "u-web"}],
        "uid": "u-web-0"
    },
    "spec": {
        "containers": [{"image": "registry.local/app:1.0", "imagePullPolicy": "Never", "name": "app"}],
        "nodeName": "node-1",
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [
            {"effect": "NoExecute", "key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 300},
            {"effect": "NoSchedule", "key": "other", "operator": "Exists"}
        ],
        "volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-0"}},
            {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
            {"name": "tmp", "emptyDir": {}}
        ]
    },
    "status": {
        "conditions": [
            {"lastTransitionTime": "2026-11-20T09:59:00Z", "message": "Eviction API: evicting", "reason": "EvictionByEvictionAPI", "status": "True", "type": "DisruptionTarget"},
            {"status": "True", "type": "PodScheduled"}
        ],
        "containerStatuses": [{"name": "app", "state": {"waiting": {"reason": "ErrImageNeverPull"}}}],
        "phase": "Running"
    }
}`

func parse(t testing.TB, text string) Dump {
	t.Helper()
	d, err := Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestParsePod(t *testing.T) {
	d := parse(t, kubectlPod)
	if len(d.Pods) != 1 || d.Kinds["Pod"] != 1 {
		t.Fatalf("dump %+v, want one pod", d)
	}
	p := d.Pods[0]
	if p.ID() != "shop/web-0" || p.UID != "u-web-0" || p.Node != "node-1" || p.Phase != "Running" || p.Selector["disk"] != "ssd" {
		t.Errorf("pod %+v", p)
	}
	if p.Deleting == nil || !p.Deleting.Equal(time.Date(2026, 11, 20, 10, 0, 30, 0, time.UTC)) || p.GraceSeconds == nil || *p.GraceSeconds != 30 {
		t.Errorf("deletion %v, grace %v", p.Deleting, p.GraceSeconds)
	}
	if !slices.Equal(p.Finalizers, []string{"example.com/guard"}) || len(p.Owners) != 1 || p.Owners[0] != (Owner{"StatefulSet", "web", "u-web", true}) {
		t.Errorf("finalizers %v, owners %v", p.Finalizers, p.Owners)
	}
	if !slices.Equal(p.Claims, []string{"data-web-0", "web-0-scratch"}) {
		t.Errorf("claims %v", p.Claims)
	}
	if len(p.Tolerations) != 1 || p.Tolerations[0].Seconds == nil || *p.Tolerations[0].Seconds != 300 {
		t.Errorf("tolerations %+v, want the one of NoExecute", p.Tolerations)
	}
	if p.Disrupted == nil || p.Disrupted.Reason != "EvictionByEvictionAPI" || p.Unscheduled != nil {
		t.Errorf("conditions %+v, %+v", p.Disrupted, p.Unscheduled)
	}
	if len(p.Images) != 1 || p.Images[0] != (Image{"registry.local/app:1.0", "Never", "ErrImageNeverPull"}) {
		t.Errorf("images %+v", p.Images)
	}
}

func TestParseForms(t *testing.T) {
	bare := strings.Replace(kubectlPod, `"kind": "Pod",`, "", 1)
	for name, text := range map[string]string{
		"kubectl's List, kind behind the items":    `{"apiVersion": "v1", "items": [` + kubectlPod + `], "kind": "List", "metadata": {"resourceVersion": ""}}`,
		"the server's PodList, items without kind": `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[` + bare + `]}`,
		"a single object":                          kubectlPod,
		"objects one after the other":              `{"kind": "Lease", "metadata": {"name": "x"}}` + "\n" + kubectlPod,
		"a byte order mark and CRLF":               "\ufeff" + strings.ReplaceAll(kubectlPod, "\n", "\r\n"),
		"a field of another type":                  strings.Replace(kubectlPod, `"disk": "ssd"`, `"disk": "ssd", "n": 1`, 1),
		"a list in a list's object": `{"items": [{"kind": "ConfigMap", "metadata": {"name": "c"}, "items": [{"kind": "Pod"}]},` +
			kubectlPod + `], "kind": "List"}`,
	} {
		t.Run(name, func(t *testing.T) {
			d := parse(t, text)
			if len(d.Pods) != 1 || d.Pods[0].ID() != "shop/web-0" || d.Pods[0].Node != "node-1" {
				t.Errorf("pods %+v, want shop/web-0 on node-1", d.Pods)
			}
		})
	}
}

func TestParseOthers(t *testing.T) {
	d := parse(t, `{"kind": "List", "items": [
	{"kind": "Node", "metadata": {"name": "node-1"}, "spec": {"taints": [{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute", "timeAdded": "2026-11-20T09:00:00Z"}]},
	 "status": {"conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "Unknown"}], "nodeInfo": {"kubeletVersion": "v1.34.4"}}},
	{"kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "shop", "deletionTimestamp": "2026-11-20T09:00:00Z", "finalizers": ["kubernetes.io/pvc-protection"]},
	 "spec": {"volumeName": "pv-1"}, "status": {"phase": "Bound"}},
	{"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "spec": {"persistentVolumeReclaimPolicy": "Delete", "local": {"path": "/data"},
	 "claimRef": {"namespace": "shop", "name": "data"}, "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-9"]}]}]}}}},
	{"kind": "Job", "metadata": {"name": "once", "namespace": "shop", "uid": "u-job"}, "spec": {"ttlSecondsAfterFinished": 60}},
	{"kind": "Workflow", "metadata": {"name": "flow", "namespace": "shop", "uid": "u-flow"}, "spec": {"podGC": {"strategy": "OnPodSuccess"}, "ttlStrategy": {"secondsAfterSuccess": 5}}},
	{"kind": "Secret", "metadata": {"name": "s"}, "data": {"password": "hunter2"}}]}`)
	if n := d.Nodes; len(n) != 1 || n[0].Ready != "Unknown" || len(n[0].Taints) != 1 || n[0].Taints[0].Added == nil || d.NewestKubelet() != "1.34.4" {
		t.Errorf("nodes %+v", n)
	}
	if len(d.Claims) != 1 || d.Claims[0].Volume != "pv-1" || d.Claims[0].Deleting == nil {
		t.Errorf("claims %+v", d.Claims)
	}
	if v := d.Volumes; len(v) != 1 || v[0].Claim != "shop/data" || v[0].Source != "local" || !slices.Equal(v[0].Nodes, []string{"node-9"}) {
		t.Errorf("volumes %+v", v)
	}
	removal := map[string]string{}
	for _, o := range d.Owners {
		removal[o.Kind] = o.Removal
	}
	if removal["Job"] != "ttlSecondsAfterFinished 60" || removal["Workflow"] != "podGC OnPodSuccess, ttlStrategy secondsAfterSuccess 5" {
		t.Errorf("owners %+v", d.Owners)
	}
	if d.Kinds["Secret"] != 1 {
		t.Errorf("kinds %v", d.Kinds)
	}
	text, err := json.Marshal(d)
	if err != nil || bytes.Contains(text, []byte("hunter2")) {
		t.Errorf("%v: a secret is kept: %s", err, text)
	}
}

// Of a volume, the dump says what stores it: its driver with CSI, else the kind of its source.
func TestParseVolumeSource(t *testing.T) {
	for spec, want := range map[string]Volume{
		`"csi": {"driver": "rbd.csi.ceph.com"}`: {Driver: "rbd.csi.ceph.com", Source: "csi"},
		`"local": {"path": "/data"}`:            {Source: "local"},
		`"hostPath": {"path": "/data"}`:         {Source: "hostPath"},
		`"nfs": {"server": "10.0.0.9"}`:         {Source: "nfs"},
		`"iscsi": {"lun": 0}`:                   {},
	} {
		d := parse(t, `{"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "spec": {`+spec+`}}`)
		if v := d.Volumes; len(v) != 1 || v[0].Driver != want.Driver || v[0].Source != want.Source {
			t.Errorf("%s: %+v, want driver %q of source %q", spec, v, want.Driver, want.Source)
		}
	}
}

func TestParseBadInput(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		pods int
		err  error
	}{
		"empty":                         {"", 0, nil},
		"no object":                     {"[]", 0, nil},
		"cut in the second object":      {`{"kind": "List", "items": [` + kubectlPod + `, {"kind": "Po`, 1, io.ErrUnexpectedEOF},
		"cut in a string":               {`{"kind": "List", "items": [` + kubectlPod + `, {"kind": "`, 1, io.ErrUnexpectedEOF},
		"one object is no JSON":         {`{"kind": "List", "items": [{"kind": Pod}, ` + kubectlPod + `]}`, 1, nil},
		"an object without a kind":      {`{"metadata": {"name": "x"}}`, 0, nil},
		"items that are not objects":    {`{"items": [1, 2]}`, 0, nil},
		"an object beyond all measures": {`{"kind": "Pod", "x": "` + strings.Repeat("a", maxObject+1), 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Parse(strings.NewReader(tc.text))
			if err == nil || tc.err != nil && !errors.Is(err, tc.err) {
				t.Errorf("error %v, want one (%v)", err, tc.err)
			}
			if len(d.Pods) != tc.pods {
				t.Errorf("%d pods, want %d", len(d.Pods), tc.pods)
			}
		})
	}
}

func TestParseEmptyListIsNoError(t *testing.T) {
	d, err := Parse(strings.NewReader(`{"apiVersion": "v1", "items": [], "kind": "List"}`))
	if err != nil || len(d.Pods) != 0 {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestMergeKeepsTheNode: of which an API server was asked, whatever files are read before and after.
func TestMergeKeepsTheNode(t *testing.T) {
	pods := func(node string) Dump {
		d := NewDump()
		d.NodeName, d.Pods = node, []Pod{{Object: Object{UID: "u" + node}}}
		return d
	}
	for name, parts := range map[string][]Dump{
		"alone": {pods("node-1")}, "after a file": {pods(""), pods("node-1")}, "before a file": {pods("node-1"), pods("")},
		"without pods, before a file": {{NodeName: "node-1"}, pods("")}, "without pods, after a file": {pods(""), {NodeName: "node-1"}},
	} {
		d := NewDump()
		for _, part := range parts {
			d.Merge(part)
		}
		if d.NodeName != "node-1" {
			t.Errorf("%s: node %q", name, d.NodeName)
		}
	}
}

func TestMergeKeepsTheLater(t *testing.T) {
	d := parse(t, kubectlPod)
	d.Merge(parse(t, strings.Replace(kubectlPod, `"phase": "Running"`, `"phase": "Failed"`, 1)))
	d.Merge(parse(t, strings.ReplaceAll(kubectlPod, "web-0", "web-1")))
	if len(d.Pods) != 2 || d.Pods[0].Phase != "Failed" || d.Pods[1].Name != "web-1" {
		t.Errorf("pods %+v", d.Pods)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(kubectlPod))
	f.Add([]byte(`{"items": [` + kubectlPod + `], "kind": "List"}`))
	f.Add([]byte(`{"kind":"PodList","items":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Parse(bytes.NewReader(text))
		var whole struct {
			Items []json.RawMessage `json:"items"`
		}
		if err == nil && json.Unmarshal(text, &whole) == nil {
			n := 0
			for _, k := range d.Kinds {
				n += k
			}
			if len(whole.Items) > 0 && n != len(whole.Items) {
				t.Errorf("%d objects, encoding/json finds %d", n, len(whole.Items))
			}
		}
		d.PodGC("1.34.0")
		x := d.Index()
		for _, p := range d.Pods {
			x.Deleters(p)
		}
	})
}

// bigDump is a cluster of n pods, as kubectl prints it.
func bigDump(n int) []byte {
	var b bytes.Buffer
	b.WriteString("{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n")
	for i := range n {
		if i > 0 {
			b.WriteString(",\n")
		}
		b.WriteString(strings.Replace(kubectlPod, "u-web-0", fmt.Sprintf("u-web-%d", i), 1))
	}
	b.WriteString("],\n    \"kind\": \"List\"}\n")
	return b.Bytes()
}

func BenchmarkParse50000Pods(b *testing.B) {
	text := bigDump(50_000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		d, err := Parse(bytes.NewReader(text))
		if err != nil || len(d.Pods) != 50_000 {
			b.Fatal(len(d.Pods), err)
		}
		d.PodGC("1.34.0")
	}
}

// TestFirstError names the error of the first object that cannot be decoded, whichever worker had it.
func TestFirstError(t *testing.T) {
	text := `{"metadata":{}}` + "\n" + strings.Repeat(kubectlPod+"\n", 300) + `{"spec":{}}`
	_, err := Parse(strings.NewReader(text))
	if err == nil || !strings.Contains(err.Error(), "2 of 302 objects cannot be decoded") || !strings.HasSuffix(err.Error(), "first: an object without a kind") {
		t.Errorf("error %v", err)
	}
}

// TestObjectsAreCounted by their kind.
func TestObjectsAreCounted(t *testing.T) {
	const event, pod = `{"apiVersion":"v1","kind":"Event","metadata":{"name":"%d"},"reason":"X","involvedObject":{"kind":"Pod","name":"p"}}`, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","uid":"u"}}`
	dump, err := Parse(strings.NewReader(`{"apiVersion":"v1","kind":"List","items":[` + fmt.Sprintf(event, 1) + "," + pod + "," + fmt.Sprintf(event, 2) + `]}`))
	if err != nil || dump.Kinds["Event"] != 2 || dump.Kinds["Pod"] != 1 {
		t.Errorf("%v, %v", dump.Kinds, err)
	}
}
