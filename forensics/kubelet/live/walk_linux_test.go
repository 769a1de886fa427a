package live

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// table makes an index of mounts on the given mount points, which need not exist.
func table(points ...string) *mounts.Index {
	t := mounts.Table{Mounts: []mounts.Mount{{ID: 1, ParentID: 0, MountPoint: "/"}}}
	for i, point := range points {
		t.Mounts = append(t.Mounts, mounts.Mount{ID: i + 2, ParentID: 1, MountPoint: point})
	}
	return t.Index()
}

// ignoreTimes leaves out what depends on the clock, and what TestWalkContents looks at.
var ignoreTimes = cmp.Options{
	cmpopts.IgnoreFields(kubelet.PodDir{}, "Modified", "Changed", "Unknown"), cmpopts.IgnoreFields(kubelet.Volume{}, "Kind", "Inside"),
	cmpopts.IgnoreFields(kubelet.Subpath{}, "Inside"),
}

// randomUID makes a pod's UID: half of them like those of static pods.
func randomUID() string {
	hex := fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64())
	if rand.IntN(2) == 0 {
		return hex
	}
	return strings.Join([]string{hex[:8], hex[8:12], hex[12:16], hex[16:20], hex[20:]}, "-")
}

// hostsBefore is what the kubelet writes before the pod's own addresses (managedHostsFileContent).
const hostsBefore = "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n" +
	"fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n"

const volData = `{"driverName":"csi.chubaofs.com","volumeHandle":"h1","specVolID":"pvc-1"}`

func TestWalk(t *testing.T) {
	uid := randomUID()
	pod := "/k/pods/" + uid
	long := strings.Repeat("x", maxPodFile+1)
	for name, tc := range map[string]struct {
		files  map[string]string // below the pod's directory
		mounts []string          // below the pod's directory
		want   kubelet.PodDir
	}{
		"empty": {},
		"host name and containers": {
			files: map[string]string{"etc-hosts": hostsBefore + "10.244.1.7\tapp-0\n", "containers/app/91b98d9e": "", "containers/init/": "", "containers/file": ""},
			want:  kubelet.PodDir{HostName: "app-0", Containers: []string{"app", "init"}},
		},
		"leftover of a CSI volume": {
			files: map[string]string{"volumes/kubernetes.io~csi/pvc-1/vol_data.json": volData},
			want: kubelet.PodDir{Volumes: []kubelet.Volume{{
				Plugin: "kubernetes.io/csi", Name: "pvc-1", Path: pod + "/volumes/kubernetes.io~csi/pvc-1", Entries: 1,
				VolData: &kubelet.VolData{Driver: "csi.chubaofs.com", VolumeHandle: "h1", SpecVolID: "pvc-1"},
			}}},
		},
		"mounted CSI volume": {
			files:  map[string]string{"volumes/kubernetes.io~csi/pvc-1/vol_data.json": volData, "volumes/kubernetes.io~csi/pvc-1/mount/": ""},
			mounts: []string{"/volumes/kubernetes.io~csi/pvc-1/mount"},
			want: kubelet.PodDir{Volumes: []kubelet.Volume{{
				Plugin: "kubernetes.io/csi", Name: "pvc-1", Path: pod + "/volumes/kubernetes.io~csi/pvc-1", Entries: 2,
				MountPoints: []string{pod + "/volumes/kubernetes.io~csi/pvc-1/mount"}, HasMountDir: true,
				VolData: &kubelet.VolData{Driver: "csi.chubaofs.com", VolumeHandle: "h1", SpecVolID: "pvc-1"},
			}}},
		},
		"mounted volume is not looked into": {
			files:  map[string]string{"volumes/kubernetes.io~nfs/data/a": "", "volumes/kubernetes.io~nfs/data-2/b": ""},
			mounts: []string{"/volumes/kubernetes.io~nfs/data", "/volumes/kubernetes.io~nfs/data", "/volumes/kubernetes.io~nfs/data/deep/down"},
			want: kubelet.PodDir{Volumes: []kubelet.Volume{
				{Plugin: "kubernetes.io/nfs", Name: "data", Path: pod + "/volumes/kubernetes.io~nfs/data", Entries: -1, MountPoints: []string{pod + "/volumes/kubernetes.io~nfs/data", pod + "/volumes/kubernetes.io~nfs/data/deep/down"}},
				{Plugin: "kubernetes.io/nfs", Name: "data-2", Path: pod + "/volumes/kubernetes.io~nfs/data-2", Entries: 1},
			}},
		},
		"flex volume, data left, file and link as volumes": {
			files: map[string]string{"volumes/vendor.com~lvm/v/": "", "volumes/vendor.com~lvm/w/a/b": "", "volumes/vendor.com~lvm/x": "file", "volumes/vendor.com~lvm/y": "-> /etc", "volumes/file": ""},
			want: kubelet.PodDir{Volumes: []kubelet.Volume{
				{Plugin: "vendor.com/lvm", Name: "v", Path: pod + "/volumes/vendor.com~lvm/v", Entries: 0},
				{Plugin: "vendor.com/lvm", Name: "w", Path: pod + "/volumes/vendor.com~lvm/w", Entries: 1},
				{Plugin: "vendor.com/lvm", Name: "x", Path: pod + "/volumes/vendor.com~lvm/x", Entries: -1},
				{Plugin: "vendor.com/lvm", Name: "y", Path: pod + "/volumes/vendor.com~lvm/y", Entries: -1},
			}},
		},
		"block volume": {
			files:  map[string]string{"volumeDevices/kubernetes.io~csi/pvc-2": "-> /dev/sda", "volumeDevices/kubernetes.io~csi/pvc-3": ""},
			mounts: []string{"/volumeDevices/kubernetes.io~csi/pvc-3"},
			want: kubelet.PodDir{Volumes: []kubelet.Volume{
				{Plugin: "kubernetes.io/csi", Name: "pvc-2", Path: pod + "/volumeDevices/kubernetes.io~csi/pvc-2", Block: true, Entries: -1},
				{Plugin: "kubernetes.io/csi", Name: "pvc-3", Path: pod + "/volumeDevices/kubernetes.io~csi/pvc-3", Block: true, Entries: -1, MountPoints: []string{pod + "/volumeDevices/kubernetes.io~csi/pvc-3"}},
			}},
		},
		"subpaths": {
			files: map[string]string{
				"volume-subpaths/sub/c/0": "file", "volume-subpaths/sub/c/1/": "", "volume-subpaths/sub/c/2": "FIFO",
				"volume-subpaths/sub/d/0/": "", "volume-subpaths/nfs/c/0": "file", "volume-subpaths/stray": "",
			},
			mounts: []string{"/volume-subpaths/sub/d/0", "/volume-subpaths/nfs/c/0"},
			want: kubelet.PodDir{Subpaths: []kubelet.Subpath{
				{Volume: "nfs", Container: "c", Index: "0", Path: pod + "/volume-subpaths/nfs/c/0", Kind: "mount"},
				{Volume: "sub", Container: "c", Index: "0", Path: pod + "/volume-subpaths/sub/c/0", Kind: "file"},
				{Volume: "sub", Container: "c", Index: "1", Path: pod + "/volume-subpaths/sub/c/1", Kind: "dir"},
				{Volume: "sub", Container: "c", Index: "2", Path: pod + "/volume-subpaths/sub/c/2", Kind: "other"},
				{Volume: "sub", Container: "d", Index: "0", Path: pod + "/volume-subpaths/sub/d/0", Kind: "mount"},
			}},
		},
		"FIFOs in place of files": {
			files: map[string]string{"etc-hosts": "FIFO", "volumes/kubernetes.io~csi/pvc-1/vol_data.json": "FIFO", "containers": "FIFO"},
			want: kubelet.PodDir{
				Volumes: []kubelet.Volume{{
					Plugin: "kubernetes.io/csi", Name: "pvc-1", Path: pod + "/volumes/kubernetes.io~csi/pvc-1", Entries: 1,
					VolDataError: "open " + pod + "/volumes/kubernetes.io~csi/pvc-1/vol_data.json: not a regular file",
				}},
				Error: "open " + pod + "/containers: not a directory (and 1 more)",
			},
		},
		"links in place of files": {
			files: map[string]string{"etc-hosts": "-> /etc/shadow", "volumes/kubernetes.io~csi/pvc-1/vol_data.json": "-> /etc/shadow", "containers": "-> /etc"},
			want: kubelet.PodDir{
				Volumes: []kubelet.Volume{{
					Plugin: "kubernetes.io/csi", Name: "pvc-1", Path: pod + "/volumes/kubernetes.io~csi/pvc-1", Entries: 1,
					VolDataError: "open " + pod + "/volumes/kubernetes.io~csi/pvc-1/vol_data.json: is a symbolic link",
				}},
				Error: "open " + pod + "/containers: is a symbolic link (and 1 more)",
			},
		},
		"files without end": {
			files: map[string]string{"etc-hosts": hostsBefore + "10.0.0.1\tapp\n" + "# Entries added by HostAliases.\n" + long, "volumes/kubernetes.io~csi/pvc-1/vol_data.json": `{"driverName":"` + long + `"}`},
			want: kubelet.PodDir{HostName: "app", Volumes: []kubelet.Volume{{
				Plugin: "kubernetes.io/csi", Name: "pvc-1", Path: pod + "/volumes/kubernetes.io~csi/pvc-1", Entries: 1,
				VolDataError: "read " + pod + "/volumes/kubernetes.io~csi/pvc-1/vol_data.json: truncated at the limit",
			}}},
		},
		"vol_data.json of another plugin": {
			files: map[string]string{"volumes/kubernetes.io~empty-dir/v/vol_data.json": volData},
			want:  kubelet.PodDir{Volumes: []kubelet.Volume{{Plugin: "kubernetes.io/empty-dir", Name: "v", Path: pod + "/volumes/kubernetes.io~empty-dir/v", Entries: 1}}},
		},
		"mounted where the kubelet mounts nothing": {
			files:  map[string]string{"containers/a/": "", "volumes/kubernetes.io~nfs/data/": "", "etc-hosts": hostsBefore + "10.0.0.1\tapp\n"},
			mounts: []string{"/volumes", "/containers", "/etc-hosts"},
			want:   kubelet.PodDir{Error: pod + "/containers: crosses a mount point (and 1 more)"},
		},
		"the pod's directory is a mount point": {
			files: map[string]string{"containers/a/": ""}, mounts: []string{""},
			want: kubelet.PodDir{Error: pod + ": crosses a mount point"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := fakeHost(t, map[string]string{pod + "/": "", "/etc/shadow": volData, "/k/pods/file": ""})
			writeTree(t, filepath.Join(fsys.Root(), pod), tc.files)
			var points []string
			for _, point := range tc.mounts {
				points = append(points, pod+point)
			}
			got, err := Walk(t.Context(), fsys, table(points...), "/k", WalkOptions{})
			must(t, err)
			tc.want.UID, tc.want.Path = uid, pod
			if diff := cmp.Diff([]kubelet.PodDir{tc.want}, got, ignoreTimes, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("pods (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWalkEmptyLists makes sure that JSON has [] and not null.
func TestWalkEmptyLists(t *testing.T) {
	got, err := Walk(t.Context(), fakeHost(t, map[string]string{"/k/pods/u/volumes/p/v/": ""}), nil, "/k", WalkOptions{})
	must(t, err)
	p := got[0]
	if p.Containers == nil || p.Volumes == nil || p.Subpaths == nil || p.Volumes[0].MountPoints == nil {
		t.Errorf("a list is nil: %+v", p)
	}
	if p.Modified == nil || p.Modified.IsZero() {
		t.Errorf("modified = %v", p.Modified)
	}
}

func TestWalkBounds(t *testing.T) {
	files := map[string]string{}
	for i := range 5 {
		files[fmt.Sprintf("/k/pods/u%d/volumes/p/v/", i)] = ""
	}
	for i := range maxDirEntries + 10 {
		files[fmt.Sprintf("/k/pods/u0/volumes/p/v/%d", i)] = ""
		files[fmt.Sprintf("/k/pods/u1/containers/%d/", i)] = ""
	}
	fsys := fakeHost(t, files)
	t.Run("one directory", func(t *testing.T) {
		got, err := Walk(t.Context(), fsys, nil, "/k", WalkOptions{})
		must(t, err)
		if n := got[0].Volumes[0].Entries; n != maxDirEntries || got[0].Error != "" {
			t.Errorf("%d entries, error %q; want %d", n, got[0].Error, maxDirEntries)
		}
		if n := len(got[1].Containers); n != maxDirEntries || !strings.Contains(got[1].Error, nodefs.ErrTruncated.Error()) {
			t.Errorf("%d containers, error %q; want %d and truncation", n, got[1].Error, maxDirEntries)
		}
	})
	t.Run("pods", func(t *testing.T) {
		got, err := Walk(t.Context(), fsys, nil, "/k", WalkOptions{MaxPods: 3})
		if len(got) != 3 || !errors.Is(err, nodefs.ErrTruncated) {
			t.Errorf("%d pods, error %v; want 3 and truncation", len(got), err)
		}
	})
	t.Run("entries", func(t *testing.T) {
		got, err := Walk(t.Context(), fsys, nil, "/k", WalkOptions{MaxEntries: 500})
		if len(got) != 5 || !errors.Is(err, nodefs.ErrTruncated) {
			t.Fatalf("%d pods, error %v; want 5 and truncation", len(got), err)
		}
		if got[0].Error == notRead || got[4].Error != notRead {
			t.Errorf("errors %q and %q; want that the last one was not read", got[0].Error, got[4].Error)
		}
	})
}

// TestWalkSymlinkedPods: paths are canonical, as in the mount table, also where pods/ itself is a link.
func TestWalkSymlinkedPods(t *testing.T) {
	fsys := fakeHost(t, map[string]string{"/k/pods": "-> ../media/ssd1/pods", "/media/ssd1/pods/u/volumes/p/v/x": ""})
	got, err := Walk(t.Context(), fsys, table("/media/ssd1/pods/u/volumes/p/v"), "/k", WalkOptions{})
	must(t, err)
	if len(got) != 1 || got[0].Path != "/media/ssd1/pods/u" || got[0].Volumes[0].Entries != -1 {
		t.Errorf("pods = %+v", got)
	}
}

func TestWalkNoRoot(t *testing.T) {
	got, err := Walk(t.Context(), fakeHost(t, nil), nil, "/k", WalkOptions{})
	if got == nil || len(got) != 0 || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, %v; want an empty list and an error", got, err)
	}
}

func TestWalkCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Walk(ctx, fakeHost(t, nil), nil, "/k", WalkOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
}

// BenchmarkWalk walks 2,000 pods of the usual shape, every one with three mounts.
func BenchmarkWalk(b *testing.B) {
	const pods = 2000
	root := b.TempDir()
	var points []string
	for range pods {
		uid := randomUID()
		pod := filepath.Join(root, "pods", uid)
		writeTree(b, pod, map[string]string{
			"etc-hosts": hostsBefore + "10.0.0.1\tapp\n", "containers/app/91b98d9e": "", "containers/init/12345678": "",
			"volumes/kubernetes.io~projected/kube-api-access-x/": "", "volumes/kubernetes.io~configmap/config/a": "",
			"volumes/kubernetes.io~empty-dir/tmp/x": "", "volumes/kubernetes.io~csi/pvc-1/vol_data.json": volData,
			"volumes/kubernetes.io~csi/pvc-1/mount/": "", "plugins/kubernetes.io~empty-dir/tmp/ready": "",
			"volume-subpaths/config/app/0": "",
		})
		points = append(points, pod+"/volumes/kubernetes.io~projected/kube-api-access-x", pod+"/volumes/kubernetes.io~csi/pvc-1/mount", pod+"/volume-subpaths/config/app/0")
	}
	fsys, x := openFS(b, "/"), table(points...)
	b.ReportAllocs()
	var before, after unix.Rusage // what it costs also where other programs run
	must(b, unix.Getrusage(unix.RUSAGE_SELF, &before))
	for b.Loop() {
		got, err := Walk(b.Context(), fsys, x, root, WalkOptions{})
		if err != nil || len(got) != pods || len(got[0].Volumes) != 4 || got[0].Error != "" {
			b.Fatal(len(got), err, got[0])
		}
	}
	must(b, unix.Getrusage(unix.RUSAGE_SELF, &after))
	spent := after.Utime.Nano() - before.Utime.Nano() + after.Stime.Nano() - before.Stime.Nano()
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/walk")
	b.ReportMetric(float64(spent)/1e6/float64(b.N), "cpu-ms/walk")
}
