package containers_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics/containers"
	"github.com/nodeforensics/nodeforensics/forensics/hostfs"
)

const (
	uid    = "5c948341-c030-4996-b888-f032577d97b0"
	static = "2fa11937efabc40db85278b553e1ceeb"
)

var cid = strings.Repeat("0123456789abcdef", 4)

func TestPodCgroups(t *testing.T) {
	under := strings.ReplaceAll(uid, "-", "_")
	for name, tc := range map[string]struct {
		dirs []string
		want []containers.PodCgroup
	}{
		"v1 cgroupfs": {
			dirs: []string{"pids/kubepods/besteffort/pod" + uid + "/" + cid, "memory/kubepods/besteffort/pod" + uid + "/" + cid},
			want: []containers.PodCgroup{{PodUID: uid, Path: "/sys/fs/cgroup/pids/kubepods/besteffort/pod" + uid, Containers: []string{cid}}},
		},
		"v2 systemd": {
			dirs: []string{"kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + under + ".slice/cri-containerd-" + cid + ".scope"},
			want: []containers.PodCgroup{{
				PodUID: uid, Containers: []string{cid},
				Path: "/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + under + ".slice",
			}},
		},
		"guaranteed static pod without containers": {
			dirs: []string{"systemd/kubepods/pod" + static},
			want: []containers.PodCgroup{{PodUID: static, Path: "/sys/fs/cgroup/systemd/kubepods/pod" + static, Containers: []string{}}},
		},
		"nested in a container of another cluster (kind)": {
			dirs: []string{"docker/" + cid + "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" + under + ".slice"},
			want: []containers.PodCgroup{{
				PodUID: uid, Containers: []string{},
				Path: "/sys/fs/cgroup/docker/" + cid + "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" + under + ".slice",
			}},
		},
		"containerd in cgroupfs mode fed a systemd path": {
			dirs: []string{"system.slice/containerd.service/kubepods-burstable-pod" + under + ".slice:cri-containerd:" + cid},
			want: []containers.PodCgroup{{
				PodUID: uid, Containers: []string{cid},
				Path: "/sys/fs/cgroup/system.slice/containerd.service/kubepods-burstable-pod" + under + ".slice:cri-containerd:" + cid,
			}},
		},
		"not a pod": {
			dirs: []string{"kubepods/burstable/podium", "user.slice/user-0.slice", "pids/kubepods/pod123"},
			want: []containers.PodCgroup{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for _, d := range tc.dirs {
				if err := os.MkdirAll(filepath.Join(root, "sys/fs/cgroup", d), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			fsys, err := hostfs.Open(root)
			if errors.Is(err, errors.ErrUnsupported) {
				t.Skip("hostfs needs Linux: ", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = fsys.Close() })
			got, err := containers.ReadCgroups(t.Context(), fsys)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestPodCgroupsAbsent(t *testing.T) {
	fsys, err := hostfs.Open(t.TempDir())
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("hostfs needs Linux: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fsys.Close() })
	if _, err := containers.ReadCgroups(t.Context(), fsys); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error = %v; want fs.ErrNotExist", err)
	}
}
