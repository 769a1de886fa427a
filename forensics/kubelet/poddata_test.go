package kubelet

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// hostsHead is what the kubelet writes before the pod's own addresses (managedHostsFileContent).
const hostsHead = "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n" +
	"fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n"

func TestParseHostName(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"one address":         {hostsHead + "10.244.1.7\tapp-002d\n", "app-002d"},
		"two addresses":       {hostsHead + "10.244.1.7\tapp-0\nfd00::7\tapp-0\n", "app-0"},
		"subdomain":           {hostsHead + "10.244.1.7\tdb-0.db.ns.svc.cluster.local\tdb-0\n", "db-0"},
		"host aliases":        {hostsHead + "10.244.1.7\tapp-0\n\n# Entries added by HostAliases.\n1.2.3.4\tfoo\tbar\n", "app-0"},
		"before the pod's IP": {hostsHead, ""},
		"host network":        {"# Kubernetes-managed hosts file (host network).\n10.0.0.1\tnode\n", ""},
		"host network, alias": {"# Kubernetes-managed hosts file (host network).\n127.0.0.1 localhost\n\n# Entries added by HostAliases.\n1.2.3.4\tfoo\n", ""},
		"written by a person": {"127.0.0.1\tlocalhost\n10.0.0.1\tnode\n", ""},
		"lab's short form":    {"# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n10.244.1.7\tapp-002d\n", "app-002d"},
		"name without a tab":  {hostsHead + "10.244.1.7 app\n", "app"},
		"address alone":       {hostsHead + "10.244.1.7\n", ""},
		"no newline at end":   {hostsHead + "10.244.1.7\tapp", "app"},
		"empty":               {"", ""},
		"only the heading":    {"# Kubernetes-managed hosts file.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ParseHostName(tc.text); got != tc.want {
				t.Errorf("host name = %q; want %q", got, tc.want)
			}
		})
	}
}

func TestParseVolData(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want *VolData
		err  string
	}{
		"of a kubelet": {
			`{"attachmentID":"csi-1","driverName":"csi.chubaofs.com","nodeName":"n","specVolID":"pvc-1","volumeHandle":"h1","volumeLifecycleMode":"Persistent"}`,
			&VolData{Driver: "csi.chubaofs.com", VolumeHandle: "h1", SpecVolID: "pvc-1", AttachmentID: "csi-1", Lifecycle: "Persistent"}, "",
		},
		"fields of another type": {`{"driverName":"d","volumeHandle":7}`, &VolData{Driver: "d"}, ""},
		"more fields":            {`{"driverName":"d","seLinuxMountContext":"","x":{}}`, &VolData{Driver: "d"}, ""},
		"empty file":             {``, nil, "empty file"},
		"empty object":           {`{}`, nil, "no field of a CSI volume"},
		"null":                   {`null`, nil, "no field of a CSI volume"},
		"array":                  {`[]`, nil, "no field of a CSI volume"},
		"cut":                    {`{"driverName":"d`, nil, "unexpected end"},
		"zeros after a crash":    {strings.Repeat("\x00", 64), nil, "invalid character"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseVolData([]byte(tc.text))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("vol_data.json (-want +got):\n%s", diff)
			}
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("error = %v; want %q", err, tc.err)
			}
		})
	}
}

func TestParseLogDir(t *testing.T) {
	for name, tc := range map[string]struct {
		dir  string
		want Pod
		ok   bool
	}{
		"pod":        {"default_web-lab-node-1_2fa11937efabc40db85278b553e1ceeb", Pod{Namespace: "default", Name: "web-lab-node-1", UID: "2fa11937efabc40db85278b553e1ceeb", Source: "log-dir"}, true},
		"1.13":       {"002d97dc-e398-4e34-b510-38f52354ad29", Pod{UID: "002d97dc-e398-4e34-b510-38f52354ad29", Source: "log-dir"}, true},
		"two parts":  {"default_web", Pod{}, false},
		"four parts": {"a_b_c_d", Pod{}, false},
		"no uid":     {"a_b_", Pod{}, false},
		"other":      {"lost+found", Pod{}, false},
		"upper case": {"002D97DC-E398-4E34-B510-38F52354AD29", Pod{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := parseLogDir(tc.dir)
			if ok != tc.ok || !cmp.Equal(got, tc.want) {
				t.Errorf("%+v, %t; want %+v, %t", got, ok, tc.want, tc.ok)
			}
		})
	}
}

func TestParseManifest(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want Pod
		err  string
	}{
		"yaml":             {"apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec:\n  containers: []\n", Pod{Name: "web", Namespace: "default", Source: "manifest", Kind: "static"}, ""},
		"json":             {`{"kind":"Pod","metadata":{"name":"etcd","namespace":"kube-system","uid":"u"}}`, Pod{Name: "etcd", Namespace: "kube-system", UID: "u", Source: "manifest", Kind: "static"}, ""},
		"two documents":    {"kind: Pod\nmetadata: {name: a}\n---\nkind: Pod\nmetadata: {name: b}\n", Pod{Name: "a", Namespace: "default", Source: "manifest", Kind: "static"}, ""},
		"number as a name": {"kind: Pod\nmetadata: {name: 7, namespace: x}\n", Pod{}, "without a name"},
		"no name":          {"kind: Pod\n", Pod{}, "without a name"},
		"another kind":     {"kind: Service\nmetadata: {name: a}\n", Pod{}, "not a pod"},
		"empty":            {"", Pod{}, "not a pod"},
		"list":             {"- a\n- b\n", Pod{}, "not a pod"},
		"no yaml":          {"kind: Pod\n\t- x: [", Pod{}, "yaml"},
		"many aliases":     {"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n", Pod{}, "excessive aliasing"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseManifest([]byte(tc.text))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("pod (-want +got):\n%s", diff)
			}
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("error = %v; want %q", err, tc.err)
			}
		})
	}
}

func FuzzPodFiles(f *testing.F) {
	f.Add(hostsHead + "10.244.1.7\tapp\n")
	f.Add(`{"driverName":"d","volumeHandle":"h"}`)
	f.Add("kind: Pod\nmetadata: {name: a}\n")
	f.Add("a_b_c")
	f.Fuzz(func(t *testing.T, text string) {
		if name := ParseHostName(text); strings.ContainsAny(name, " \t\n") {
			t.Errorf("host name %q", name)
		}
		if vol, err := ParseVolData([]byte(text)); (vol == nil) != (err != nil) {
			t.Errorf("%v, %v: neither or both", vol, err)
		}
		if pod, err := parseManifest([]byte(text)); err == nil && (pod.Name == "" || pod.Namespace == "") {
			t.Errorf("pod %+v without a name", pod)
		}
		if pod, ok := parseLogDir(text); ok && pod.UID == "" {
			t.Errorf("pod %+v without a UID", pod)
		}
	})
}
