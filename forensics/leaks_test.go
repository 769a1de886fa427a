package forensics

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// TestInVolume tells the directories that the kubelet makes for a volume from those that the pod makes in it.
func TestInVolume(t *testing.T) {
	e := NewEvidence()
	e.Kubelet = &kubelet.Instance{RootDir: "/var/lib/kubelet/", CanonicalRoot: "/data/kubelet"}
	m := NewModel(&e)
	for path, want := range map[string]int{
		"/pods/u/volumes/kubernetes.io~empty-dir/cache":        0,
		"/pods/u/volumes/kubernetes.io~empty-dir/mount/mount":  1,
		"/pods/u/volumes/kubernetes.io~empty-dir/cache/a/b":    2,
		"/pods/u/volumes/kubernetes.io~csi/pv/mount":           0,
		"/pods/u/volumes/kubernetes.io~csi/pv/mount/a":         1,
		"/pods/u/volumes/kubernetes.io~csi/pv":                 -1,
		"/pods/u/volumes/kubernetes.io~csi/pv/other/a":         -1,
		"/pods/u/volume-subpaths/cache/app/0":                  0,
		"/pods/u/volume-subpaths/cache/app/0/a":                1,
		"/pods/u/etc-hosts":                                    -1,
		"/plugins/kubernetes.io/csi/x/globalmount":             -1,
		"/pods/../../x/u/volumes/kubernetes.io~empty-dir/data": -1,
		"": -1,
	} {
		for _, root := range []string{"/var/lib/kubelet", "/data/kubelet"} {
			if got := inVolume(m, root+path); got != want && (got >= 0 || want >= 0) {
				t.Errorf("%s: %d directories deep, want %d", root+path, got, want)
			}
		}
		if got := inVolume(m, "/elsewhere"+path); got >= 0 {
			t.Errorf("/elsewhere%s: %d directories deep in a volume", path, got)
		}
	}
	if own := "/var/lib/kubelet/pods/u/volumes/kubernetes.io~empty-dir/x"; !InVolume(m, own+strings.TrimPrefix(own, "/var/lib/kubelet")) || InVolume(m, own) {
		t.Error("a volume's place that a pod has made in its own volume is one, or its own is not")
	}
}

// TestPodsOfLeaks names the pod of a mount that was the host's, and nobody for one whose path somebody has chosen.
func TestPodsOfLeaks(t *testing.T) {
	const uid = "5c948341-c030-4996-b888-f032577d97b0"
	point := "/var/lib/kubelet/pods/" + uid + "/volumes/kubernetes.io~nfs/data"
	for name, c := range map[string]struct {
		l    ForeignMount
		want bool
	}{
		"a copy of the host's":          {ForeignMount{On: point, Owner: 7}, true},
		"on no directory of the host":   {ForeignMount{Owner: 7}, false},
		"of another user namespace":     {ForeignMount{On: point, Owner: 8}, false},
		"of nobody knows which":         {ForeignMount{On: point}, false},
		"on the host, but on no volume": {ForeignMount{On: "/mnt" + point, Owner: 7}, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := NewEvidence()
			e.Kubelet = &kubelet.Instance{RootDir: "/var/lib/kubelet"}
			c.l.Namespace, c.l.Mount = 2, mounts.Mount{ID: 9, Class: mounts.ClassNetwork, Device: "0:60", Root: "/", MountPoint: point}
			e.MountUse = &MountUse{UserNS: 7, Foreign: []ForeignMount{c.l}}
			m := NewModel(&e)
			if got := m.PodsOf("0:60"); (len(got) == 1 && got[0] == uid) != c.want || !c.want && len(got) > 0 {
				t.Errorf("pods %v, want one: %v", got, c.want)
			}
			if m.Uses().Elsewhere("0:60") == c.want {
				t.Errorf("elsewhere alone: %v", !c.want)
			}
		})
	}
}
