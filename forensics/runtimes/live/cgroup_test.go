package live_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	runtimeslive "github.com/nodeforensics/nodeforensics/forensics/runtimes/live"
	"github.com/nodeforensics/nodeforensics/internal/cri"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

const (
	uid    = "5c948341-c030-4996-b888-f032577d97b0"
	static = "2fa11937efabc40db85278b553e1ceeb"
)

var cid = strings.Repeat("0123456789abcdef", 4)

func TestPodCgroups(t *testing.T) {
	under := strings.ReplaceAll(uid, "-", "_")
	for name, tc := range map[string]struct {
		dirs  []string
		files map[string]string
		want  []runtimes.PodCgroup
		// totals are compared where they are set.
		totals runtimes.CgroupTotals
	}{
		"v1 cgroupfs": {
			dirs: []string{"pids/kubepods/besteffort/pod" + uid + "/" + cid, "memory/kubepods/besteffort/pod" + uid + "/" + cid},
			want: []runtimes.PodCgroup{{
				PodUID: uid, Path: "/sys/fs/cgroup/pids/kubepods/besteffort/pod" + uid, Containers: []string{cid},
				Paths: []string{"/sys/fs/cgroup/pids/kubepods/besteffort/pod" + uid, "/sys/fs/cgroup/memory/kubepods/besteffort/pod" + uid},
			}},
			totals: runtimes.CgroupTotals{Version: "v1"},
		},
		"v2 systemd": {
			dirs: []string{"kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + under + ".slice/cri-containerd-" + cid + ".scope"},
			want: []runtimes.PodCgroup{{
				PodUID: uid, Containers: []string{cid},
				Path: "/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + under + ".slice",
			}},
		},
		"guaranteed static pod without containers": {
			dirs: []string{"systemd/kubepods/pod" + static},
			want: []runtimes.PodCgroup{{PodUID: static, Path: "/sys/fs/cgroup/systemd/kubepods/pod" + static, Containers: []string{}}},
		},
		"nested in a container of another cluster (kind)": {
			dirs: []string{"docker/" + cid + "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" + under + ".slice"},
			want: []runtimes.PodCgroup{{
				PodUID: uid, Containers: []string{},
				Path: "/sys/fs/cgroup/docker/" + cid + "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" + under + ".slice",
			}},
		},
		"containerd in cgroupfs mode fed a systemd path": {
			dirs: []string{"system.slice/containerd.service/kubepods-burstable-pod" + under + ".slice:cri-containerd:" + cid},
			want: []runtimes.PodCgroup{{
				PodUID: uid, Containers: []string{cid},
				Path: "/sys/fs/cgroup/system.slice/containerd.service/kubepods-burstable-pod" + under + ".slice:cri-containerd:" + cid,
			}},
		},
		"left in one controller alone": {
			dirs:   []string{"pids/kubepods", "blkio/kubepods/burstable/pod" + uid},
			want:   []runtimes.PodCgroup{{PodUID: uid, Path: "/sys/fs/cgroup/blkio/kubepods/burstable/pod" + uid, Containers: []string{}}},
			totals: runtimes.CgroupTotals{Version: "v1"},
		},
		"v1 frozen container": {
			files: map[string]string{
				"freezer/kubepods/pod" + uid + "/freezer.state":             "THAWED\n",
				"freezer/kubepods/pod" + uid + "/" + cid + "/freezer.state": "FREEZING\n",
			},
			want: []runtimes.PodCgroup{{
				PodUID: uid, Path: "/sys/fs/cgroup/freezer/kubepods/pod" + uid, Containers: []string{cid},
				Frozen: []runtimes.FrozenCgroup{{Path: "/sys/fs/cgroup/freezer/kubepods/pod" + uid + "/" + cid, State: "freezing", V1: true}},
			}},
		},
		"v2 frozen, being frozen, and with dying cgroups": {
			files: map[string]string{
				"cgroup.controllers":                                "cpu memory\n",
				"cgroup.stat":                                       "nr_descendants 9\nnr_dying_descendants 321\n",
				"kubepods/pod" + uid + "/cgroup.events":             "populated 1\nfrozen 1\n",
				"kubepods/pod" + uid + "/cgroup.stat":               "nr_descendants 1\nnr_dying_descendants 7\n",
				"kubepods/pod" + uid + "/" + cid + "/cgroup.events": "populated 1\nfrozen 0\n",
				"kubepods/pod" + uid + "/" + cid + "/cgroup.freeze": "1\n",
				"kubepods/pod" + static + "/cgroup.events":          "populated 1\nfrozen 0\n",
				"kubepods/pod" + static + "/cgroup.freeze":          "0\n",
			},
			want: []runtimes.PodCgroup{
				{PodUID: static, Path: "/sys/fs/cgroup/kubepods/pod" + static, Containers: []string{}},
				{
					PodUID: uid, Path: "/sys/fs/cgroup/kubepods/pod" + uid, Containers: []string{cid}, Dying: 7,
					Frozen: []runtimes.FrozenCgroup{
						{Path: "/sys/fs/cgroup/kubepods/pod" + uid, State: "frozen"},
						{Path: "/sys/fs/cgroup/kubepods/pod" + uid + "/" + cid, State: "freezing"},
					},
				},
			},
			totals: runtimes.CgroupTotals{Version: "v2", Dying: 321},
		},
		"hybrid": {
			dirs: []string{"memory/kubepods"},
			files: map[string]string{
				"unified/cgroup.controllers": "\n",
				"../../../proc/cgroups":      "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t2\t311\t1\nmemory\t9\t61204\t1\npids\t7\t312\t1\n",
			},
			want:   []runtimes.PodCgroup{},
			totals: runtimes.CgroupTotals{Version: "hybrid", MemoryCgroups: 61204},
		},
		"not a pod": {
			dirs: []string{"kubepods/burstable/podium", "user.slice/user-0.slice", "pids/kubepods/pod123"},
			want: []runtimes.PodCgroup{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for _, d := range tc.dirs {
				if err := os.MkdirAll(filepath.Join(root, "sys/fs/cgroup", d), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for name, text := range tc.files {
				write(t, filepath.Join(root, "sys/fs/cgroup", name), text)
			}
			for i := range tc.want {
				if tc.want[i].Paths == nil {
					tc.want[i].Paths = []string{tc.want[i].Path}
				}
				if tc.want[i].Frozen == nil {
					tc.want[i].Frozen = []runtimes.FrozenCgroup{}
				}
			}
			got, err := runtimeslive.ReadCgroups(t.Context(), open(t, root))
			if err != nil {
				t.Fatal(err)
			}
			if tc.totals != (runtimes.CgroupTotals{}) && got.Totals != tc.totals {
				t.Errorf("totals %+v, want %+v", got.Totals, tc.totals)
			}
			if diff := cmp.Diff(tc.want, got.Pods); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestPodCgroupBelowServices has each runtime disagree with the kubelet about the driver: its service then has the pods' slices.
func TestPodCgroupBelowServices(t *testing.T) {
	for _, r := range cri.Runtimes() {
		for _, scope := range r.Scopes {
			root := t.TempDir()
			name := "/sys/fs/cgroup/system.slice/" + r.Units[0] + ".service/kubepods-pod" + strings.ReplaceAll(uid, "-", "_") + ".slice:" + scope + ":" + cid
			if err := os.MkdirAll(filepath.Join(root, name), 0o755); err != nil {
				t.Fatal(err)
			}
			got, err := runtimeslive.ReadCgroups(t.Context(), open(t, root))
			if err != nil || len(got.Pods) != 1 || got.Pods[0].PodUID != uid || len(got.Pods[0].Containers) != 1 {
				t.Errorf("%s: %+v, %v; want the pod at %s", r.Name, got.Pods, err, name)
			}
		}
	}
}

// TestPodCgroupBelowRoot has pods below a root of any name. A process of one shows where, and that finds those without a process.
func TestPodCgroupBelowRoot(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"memory/node-1/kubepods/burstable/pod" + uid, "memory/node-1/kubepods/pod" + static, "memory/other/kubepods/pod" + static} {
		if err := os.MkdirAll(filepath.Join(root, "sys/fs/cgroup", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		known []string
		want  int
	}{
		"no process":            {nil, 0},
		"a process of no pod":   {[]string{"/node-1/kubelet.service", "/"}, 0},
		"a process of a pod":    {[]string{"/node-1/kubepods/burstable/pod" + uid + "/" + cid}, 2},
		"of one elsewhere":      {[]string{"/elsewhere/kubepods/pod" + uid, "kubepods/pod" + uid}, 0},
		"outside its namespace": {[]string{"/../../kubepods/pod" + uid}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := runtimeslive.ReadCgroups(t.Context(), open(t, root), tc.known...)
			if err != nil || len(got.Pods) != tc.want {
				t.Fatalf("%+v, %v; want %d pods", got.Pods, err, tc.want)
			}
			for _, p := range got.Pods {
				if len(p.Paths) != 1 || !strings.HasPrefix(p.Path, "/sys/fs/cgroup/memory/node-1/") {
					t.Errorf("paths %q; want the one below the root of the process", p.Paths)
				}
			}
		})
	}
}

// TestPodCgroupDepth has a pod in the deepest directory that is looked into, and one below it.
func TestPodCgroupDepth(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "sys/fs/cgroup/pids")
	for range 7 {
		dir = filepath.Join(dir, "kubepods")
	}
	for _, name := range []string{filepath.Join(dir, "kubepods", "pod"+uid), filepath.Join(dir, "kubepods", "kubepods", "pod"+static)} {
		if err := os.MkdirAll(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	got, err := runtimeslive.ReadCgroups(t.Context(), open(t, root))
	if err != nil || len(got.Pods) != 1 || got.Pods[0].PodUID != uid {
		t.Errorf("%+v, %v; want the pod that is 8 directories deep, and not the one below", got.Pods, err)
	}
}

func TestPodCgroupsAbsent(t *testing.T) {
	if _, err := runtimeslive.ReadCgroups(t.Context(), open(t, t.TempDir())); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error = %v; want fs.ErrNotExist", err)
	}
}

// open gives access to a tree that a test has built.
func open(tb testing.TB, root string) *hostfs.FS {
	tb.Helper()
	fsys, err := hostfs.Open(root)
	if errors.Is(err, errors.ErrUnsupported) {
		tb.Skip("hostfs needs Linux: ", err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = fsys.Close() })
	return fsys
}

func write(tb testing.TB, name, text string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
}
