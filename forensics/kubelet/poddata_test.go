package kubelet

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
	f.Add(`{"driverName":"d","volumeHandle":"h"}`)
	f.Add("kind: Pod\nmetadata: {name: a}\n")
	f.Add("a_b_c")
	f.Fuzz(func(t *testing.T, text string) {
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
