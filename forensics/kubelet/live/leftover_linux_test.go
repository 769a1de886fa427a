package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	mountslive "github.com/nodeforensics/nodeforensics/forensics/mounts/live"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

const (
	nfsVolume = "volumes/kubernetes.io~nfs/data"
	csiVolume = "volumes/kubernetes.io~csi/pvc-1"
	subFile   = "volume-subpaths/conf/app/0"
)

// leftoverTrees are what is found below the directory of a pod that is gone. mount makes mounts below it.
var leftoverTrees = map[string]struct {
	files map[string]string
	mount func(t *testing.T, pod string)
	// want are "class fate path" below the pod's directory, for kubelets 1.17, 1.18, 1.26, 1.27 and 1.34; where all say
	// the same, one is enough.
	want  map[int][]string
	holds bool
}{
	"tmpfs on a volume": {
		mount: func(t *testing.T, pod string) { mountAt(t, "tmpfs", "tmpfs", filepath.Join(pod, nfsVolume), 0) },
		want:  map[int][]string{0: {"live-mount never " + nfsVolume}},
	},
	"CSI mount, bind of the same file system, with its vol_data.json": {
		files: map[string]string{csiVolume + "/vol_data.json": volData, "elsewhere/": ""},
		mount: func(t *testing.T, pod string) {
			mountAt(t, filepath.Join(pod, "elsewhere"), "", filepath.Join(pod, csiVolume, "mount"), unix.MS_BIND)
		},
		want: map[int][]string{0: {"live-mount never " + csiVolume}},
	},
	"mount deeper than the kubelet looks": {
		files: map[string]string{nfsVolume + "/file": "precious"},
		mount: func(t *testing.T, pod string) {
			mountAt(t, "tmpfs", "tmpfs", filepath.Join(pod, nfsVolume, "deep/down"), 0)
		},
		want: map[int][]string{0: {"live-mount retries " + nfsVolume}},
	},
	"mount where the kubelet makes none": {
		files: map[string]string{"containers/app/": ""},
		mount: func(t *testing.T, pod string) {
			mountAt(t, "tmpfs", "tmpfs", filepath.Join(pod, "containers/app"), 0)
		},
		want: map[int][]string{0: {"live-mount retries containers/app"}},
	},
	"loop device mounted, and an empty volume beside it": {
		files: map[string]string{"volumes/kubernetes.io~empty-dir/tmp/": ""},
		mount: func(t *testing.T, pod string) { loopMount(t, filepath.Join(pod, nfsVolume)) },
		want: map[int][]string{
			0: {"empty-dir-left never volumes/kubernetes.io~empty-dir/tmp", "live-mount never " + nfsVolume},
		},
	},
	"vol_data.json, mount is missing": {
		files: map[string]string{csiVolume + "/vol_data.json": volData},
		want:  map[int][]string{0: {"csi-vol-data-left retries " + csiVolume}},
	},
	"vol_data.json, mount is empty": {
		files: map[string]string{csiVolume + "/vol_data.json": volData, csiVolume + "/mount/": ""},
		want:  map[int][]string{0: {"csi-vol-data-left retries " + csiVolume}},
	},
	"vol_data.json is cut": {
		files: map[string]string{csiVolume + "/vol_data.json": ""},
		want:  map[int][]string{0: {"csi-vol-data-left retries " + csiVolume}},
	},
	"vol_data.json and data below the mount point": {
		files: map[string]string{csiVolume + "/vol_data.json": volData, csiVolume + "/mount/db/file": "precious"},
		want:  map[int][]string{0: {"data-left retries " + csiVolume}},
		holds: true,
	},
	"empty mount without vol_data.json": {
		files: map[string]string{csiVolume + "/mount/": ""},
		want: map[int][]string{
			17: {"empty-dir-left retries " + csiVolume}, 18: {"self-heals heals " + csiVolume}, 26: {"self-heals heals " + csiVolume},
			27: {"self-heals heals " + csiVolume}, 34: {"self-heals heals " + csiVolume}, 0: {"self-heals unknown " + csiVolume},
		},
	},
	"empty directory of a volume": {
		files: map[string]string{nfsVolume + "/": ""},
		want: map[int][]string{
			17: {"empty-dir-left retries " + nfsVolume}, 18: {"empty-dir-left heals " + nfsVolume}, 26: {"empty-dir-left heals " + nfsVolume},
			27: {"empty-dir-left heals " + nfsVolume}, 34: {"empty-dir-left heals " + nfsVolume}, 0: {"empty-dir-left unknown " + nfsVolume},
		},
	},
	"data in an unmounted volume": {
		files: map[string]string{nfsVolume + "/db/file": "precious"},
		want:  map[int][]string{0: {"data-left retries " + nfsVolume}},
		holds: true,
	},
	"empty directories in an unmounted volume": {
		files: map[string]string{nfsVolume + "/a/b/": ""},
		want:  map[int][]string{0: {"data-left retries " + nfsVolume}},
		holds: true,
	},
	"file where a volume should be": {
		files: map[string]string{nfsVolume: "x"},
		want:  map[int][]string{0: {"data-left retries " + nfsVolume}},
		holds: true,
	},
	"file of a subpath": {
		files: map[string]string{subFile: ""},
		want: map[int][]string{
			17: {"subpath-file-left retries " + subFile}, 18: {"subpath-file-left retries " + subFile}, 26: {"subpath-file-left retries " + subFile},
			27: {"subpath-file-left heals " + subFile}, 34: {"subpath-file-left heals " + subFile}, 0: {"subpath-file-left unknown " + subFile},
		},
	},
	"file of a subpath that is not empty": {
		files: map[string]string{subFile: "x"},
		want: map[int][]string{
			26: {"subpath-file-left retries " + subFile}, 27: {"subpath-file-left heals " + subFile},
		},
		holds: true,
	},
	"empty directory of a subpath": {
		files: map[string]string{subFile + "/": ""},
		want:  map[int][]string{17: {"empty-dir-left retries " + subFile}, 18: {"empty-dir-left heals " + subFile}},
	},
	"directory of a subpath with data": {
		files: map[string]string{subFile + "/x": ""},
		want:  map[int][]string{0: {"data-left retries " + subFile}},
		holds: true,
	},
	"mounted subpath, a file of the same file system": {
		files: map[string]string{"source": "x", subFile: ""},
		mount: func(t *testing.T, pod string) {
			mountAt(t, filepath.Join(pod, "source"), "", filepath.Join(pod, subFile), unix.MS_BIND)
		},
		want: map[int][]string{
			17: {"subpath-mount-left retries " + subFile}, 26: {"subpath-mount-left retries " + subFile},
			34: {"subpath-mount-left retries " + subFile}, 10: {"subpath-mount-left unknown " + subFile},
		},
	},
	"link to a block device": {
		files: map[string]string{"volumeDevices/kubernetes.io~csi/pvc-2": "-> /dev/null"},
		want:  map[int][]string{17: {"block-left heals volumeDevices/kubernetes.io~csi/pvc-2"}, 34: {"block-left heals volumeDevices/kubernetes.io~csi/pvc-2"}},
	},
	"bind mount of a block device": {
		files: map[string]string{"volumeDevices/kubernetes.io~csi/pvc-2": ""},
		mount: func(t *testing.T, pod string) {
			mountAt(t, "/dev/null", "", filepath.Join(pod, "volumeDevices/kubernetes.io~csi/pvc-2"), unix.MS_BIND)
		},
		want: map[int][]string{0: {"block-left retries volumeDevices/kubernetes.io~csi/pvc-2"}},
	},
	"link to a block device beside data": {
		files: map[string]string{"volumeDevices/kubernetes.io~csi/pvc-2": "-> /dev/null", nfsVolume + "/x": ""},
		want:  map[int][]string{34: {"block-left retries volumeDevices/kubernetes.io~csi/pvc-2", "data-left retries " + nfsVolume}},
		holds: true,
	},
	"containers, plugins and etc-hosts": {
		files: map[string]string{"containers/app/91b98d9e": "", "plugins/kubernetes.io~empty-dir/tmp/ready": "", "etc-hosts": ""},
		want:  map[int][]string{17: {"pending heals ."}, 34: {"pending heals ."}},
	},
	"empty directories of plugins and subpaths": {
		files: map[string]string{"volumes/kubernetes.io~nfs/": "", "volume-subpaths/conf/app/": ""},
		want:  map[int][]string{17: {"pending heals ."}, 34: {"pending heals ."}},
	},
	"file in volumes/": {
		files: map[string]string{"volumes/stray": "x"},
		want:  map[int][]string{34: {"data-left retries volumes/stray"}, 17: {"data-left heals volumes/stray"}},
		holds: true,
	},
}

// TestLeftovers builds each tree and judges it as it was walked, with a real mount table.
func TestLeftovers(t *testing.T) {
	for name, tc := range leftoverTrees {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			pod := filepath.Join(root, "pods", randomUID())
			must(t, os.MkdirAll(pod, 0o755))
			writeTree(t, pod, tc.files)
			if tc.mount != nil {
				tc.mount(t, pod)
			}
			d, points := walkOne(t, root)
			for minor, want := range tc.want {
				versions := []int{minor}
				if minor == 0 && len(tc.want) == 1 {
					versions = []int{17, 18, 26, 27, 34, 0}
				}
				for _, minor := range versions {
					var got []string
					holds := false
					for _, l := range kubelet.Leftovers(d, minor, points) {
						rel, err := filepath.Rel(pod, l.Path)
						must(t, err)
						got = append(got, string(l.Class)+" "+string(l.Fate)+" "+rel)
						holds = holds || l.Holds
						if l.Why == "" {
							t.Errorf("1.%d: no reason for %s", minor, l.Class)
						}
					}
					slices.Sort(got)
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("1.%d (-want +got):\n%s", minor, diff)
					}
					if holds != tc.holds {
						t.Errorf("1.%d: holds data = %v; want %v", minor, holds, tc.holds)
					}
				}
			}
		})
	}
}

// walkOne walks a root with one pod, and returns its mounts from this process's table.
func walkOne(t *testing.T, root string) (kubelet.PodDir, []string) {
	t.Helper()
	fsys := openFS(t, "/")
	table, err := mountslive.Read(t.Context(), fsys, os.Getpid())
	must(t, err)
	dirs, err := Walk(t.Context(), fsys, table.Index(), root, WalkOptions{})
	must(t, err)
	if len(dirs) != 1 || dirs[0].Error != "" {
		t.Fatalf("pods = %+v", dirs)
	}
	var points []string
	for _, m := range table.Index().Below(dirs[0].Path) {
		points = append(points, m.MountPoint)
	}
	return dirs[0], points
}

// mountAt mounts on a path, which is made if it is missing.
func mountAt(t *testing.T, source, fstype, target string, flags uintptr) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	if _, err := os.Lstat(target); err != nil {
		must(t, os.MkdirAll(target, 0o755))
	}
	must(t, unix.Mount(source, target, fstype, flags, ""))
	t.Cleanup(func() { must(t, unix.Unmount(target, 0)) })
}

// loopMount makes an ext4 file system in a file and mounts it.
func loopMount(t *testing.T, target string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	for _, tool := range []string{"mkfs.ext4", "mount"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	image := filepath.Join(testfuse.InMemory(t), "image")
	must(t, os.WriteFile(image, nil, 0o600))
	must(t, os.Truncate(image, 4<<20))
	must(t, os.MkdirAll(target, 0o755))
	for _, argv := range [][]string{{"mkfs.ext4", "-q", image}, {"mount", "-o", "loop", image, target}} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", argv, err, out)
		}
	}
	t.Cleanup(func() { must(t, unix.Unmount(target, 0)) })
}

// TestLeftoversUnread does not judge what was not seen.
func TestLeftoversUnread(t *testing.T) {
	for name, d := range map[string]kubelet.PodDir{
		"nothing was read":     {Path: "/p", Error: notRead},
		"volume was not read":  {Path: "/p", Volumes: []kubelet.Volume{{Path: "/p/volumes/a/b", Kind: "dir", Entries: -1}}},
		"only a part was read": {Path: "/p", Error: "cut", Volumes: []kubelet.Volume{{Path: "/p/volumes/a/b", Kind: "dir", Entries: 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			left := kubelet.Leftovers(d, 34, nil)
			if !slices.ContainsFunc(left, func(l kubelet.Leftover) bool {
				return l.Class == kubelet.LeftUnread && l.Fate == kubelet.Fate("unknown") && l.Unsure
			}) {
				t.Errorf("%+v; want that something was not read", left)
			}
			if slices.ContainsFunc(left, func(l kubelet.Leftover) bool { return l.Class == kubelet.Pending }) {
				t.Error("what was not read is said to be as good as gone")
			}
		})
	}
}

// TestLeftoversOfCapture builds the tree that was recorded on a node with a kubelet 1.17.4, whose log repeats
// "volume paths are still present on disk" for three pods.
func TestLeftoversOfCapture(t *testing.T) {
	listing, err := os.ReadFile("../testdata/kubelet-1.17.4-orphan-leftover/kubelet-tree.txt")
	must(t, err)
	root := t.TempDir()
	files := map[string]string{}
	for line := range strings.Lines(string(listing)) {
		fields := strings.Fields(line)
		switch fields[0] {
		case "d":
			files[fields[2]+"/"] = ""
		case "f":
			files[fields[2]] = "{}"
		}
	}
	writeTree(t, root, files)
	dirs, err := Walk(t.Context(), openFS(t, "/"), table(), root, WalkOptions{})
	must(t, err)
	got := map[kubelet.LeftoverClass]int{}
	for _, d := range dirs {
		if d.UID == "80d4acab7d7b273609d8596b6c36ec14" { // the one that is alive
			continue
		}
		for _, l := range kubelet.Leftovers(d, 17, nil) {
			got[l.Class]++
			if l.Fate != kubelet.FateRetries {
				t.Errorf("%s: %s; want retries", l.Path, l.Fate)
			}
		}
	}
	if diff := cmp.Diff(map[kubelet.LeftoverClass]int{kubelet.CSIVolDataLeft: 3}, got); diff != "" {
		t.Errorf("classes (-want +got):\n%s", diff)
	}
}

// TestWalkContents counts what is left in volumes, and looks neither into mounts nor into the volumes of live pods.
func TestWalkContents(t *testing.T) {
	root := t.TempDir()
	pod := filepath.Join(root, "pods", randomUID())
	writeTree(t, pod, map[string]string{
		nfsVolume + "/a/b/file": "12345", nfsVolume + "/link": "-> /etc/shadow", nfsVolume + "/fifo": "FIFO", nfsVolume + "/x": "1",
		csiVolume + "/vol_data.json": volData, csiVolume + "/mount/db": "123", csiVolume + "/stray": "12",
		subFile: "1234", "volume-subpaths/conf/app/1/": "", "what": "", "volumes/file": "", "volume-subpaths/x": "",
	})
	mountAt(t, "tmpfs", "tmpfs", filepath.Join(pod, nfsVolume, "a/m"), 0)
	must(t, os.WriteFile(filepath.Join(pod, nfsVolume, "a/m/hidden"), []byte("x"), 0o600))
	fsys := openFS(t, "/")
	dirs, err := Walk(t.Context(), fsys, nil, root, WalkOptions{})
	must(t, err)
	d := dirs[0]
	want := []*kubelet.Contents{
		{Files: 2, Bytes: 5, First: []string{"db", "stray"}},
		{Files: 2, Dirs: 2, Others: 2, Bytes: 6, Mounts: 1, First: []string{"a", "fifo", "link", "x"}},
		{Files: 1, Bytes: 4, First: []string{}},
		{First: []string{}},
	}
	got := []*kubelet.Contents{d.Volumes[0].Inside, d.Volumes[1].Inside, d.Subpaths[0].Inside, d.Subpaths[1].Inside}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("contents (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"volume-subpaths/x", "volumes/file", "what"}, d.Unknown); diff != "" {
		t.Errorf("unknown (-want +got):\n%s", diff)
	}
	if d.Changed == nil || d.Changed.Before(*d.Modified) {
		t.Errorf("changed %v, modified %v", d.Changed, d.Modified)
	}
	dirs, err = Walk(t.Context(), fsys, nil, root, WalkOptions{Uncounted: func(uid string) bool { return uid == d.UID }})
	must(t, err)
	if dirs[0].Volumes[1].Inside != nil || dirs[0].Subpaths[0].Inside != nil {
		t.Error("the volumes of a live pod were counted")
	}
	dirs, err = Walk(t.Context(), fsys, nil, root, WalkOptions{MaxCounted: 2})
	must(t, err)
	if in := dirs[0].Volumes[1].Inside; in == nil || !in.Truncated || in.Empty() {
		t.Errorf("contents beyond the bound = %+v; want truncated", in)
	}
}
