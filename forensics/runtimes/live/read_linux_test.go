package live_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	runtimeslive "github.com/nodeforensics/nodeforensics/forensics/runtimes/live"
)

var update = flag.Bool("update", false, "write the golden files anew")

const metaDB = "var/lib/containerd/io.containerd.metadata.v1.bolt/meta.db"

// tree copies a host's tree out of testdata, unpacks its database, and moves directories: "from", "to", …
func tree(tb testing.TB, name string, moves ...string) string {
	tb.Helper()
	root := tb.TempDir()
	if err := os.CopyFS(root, os.DirFS(filepath.Join("testdata", name))); err != nil {
		tb.Fatal(err)
	}
	packed := filepath.Join(root, metaDB+".gz")
	if _, err := os.Stat(packed); err == nil {
		if err := os.WriteFile(filepath.Join(root, metaDB), gunzip(tb, packed), 0o600); err != nil {
			tb.Fatal(err)
		}
		if err := os.Remove(packed); err != nil {
			tb.Fatal(err)
		}
	}
	for i := 0; i < len(moves); i += 2 {
		to := filepath.Join(root, moves[i+1])
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.Rename(filepath.Join(root, moves[i]), to); err != nil {
			tb.Fatal(err)
		}
	}
	return root
}

func gunzip(tb testing.TB, name string) []byte {
	tb.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		tb.Fatal(err)
	}
	text, err = io.ReadAll(r)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

func read(tb testing.TB, root string, hints ...runtimeslive.Hint) runtimes.Stores {
	tb.Helper()
	s, err := runtimeslive.Read(tb.Context(), open(tb, root), runtimeslive.Options{Hints: hints})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestReadTrees(t *testing.T) {
	for _, name := range []string{"containerd-1.6.20", "cri-o", "docker", "docker-20.10.24"} {
		t.Run(name, func(t *testing.T) {
			got, err := json.MarshalIndent(read(t, tree(t, name)), "", "\t")
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(got), "hunter2") {
				t.Error("the environment of a container was read")
			}
			golden := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(golden, append(got, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)+"\n"); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestReadRecordedDocker holds what docker ps, docker inspect, /proc/PID/stat and the CRI said while the tree was recorded.
func TestReadRecordedDocker(t *testing.T) {
	const (
		web1 = "registry.local/web:1"
		web2 = "registry.local/web:2"
	)
	started := func(pid int, ticks uint64) string { return fmt.Sprintf("pid %d of %d", pid, ticks) }
	want := map[string]string{
		"kube-system/etcd-node-1 0 static":       started(26147, 911792),
		"shop/stuck-1 0":                         started(26531, 912008),
		"shop/db-0 1":                            "",
		"shop/gone-1 -1":                         "",
		"kube-system/etcd-node-1/etcd 0 " + web2: "exit 3",
		"kube-system/etcd-node-1/etcd 1 " + web2: started(26263, 911826),
		"shop/db-0/db 0 " + web1:                 "exit 137",
		"shop/db-0/never-started 0 " + web1:      "",
		"shop/stuck-1/stuck 2 " + web1:           "exit 137 dead",
	}
	s := read(t, tree(t, "docker-20.10.24"))
	got := map[string]string{}
	process := func(task runtimes.Task) string {
		if task.InitPID == 0 {
			return ""
		}
		return started(task.InitPID, task.InitStart)
	}
	for _, b := range s.Sandboxes {
		name := fmt.Sprintf("%s/%s %d", b.Namespace, b.Name, b.Attempt)
		if b.Static {
			name += " static"
		}
		got[name] = process(b.Task)
	}
	for _, c := range s.Containers {
		is := process(c.Task)
		if c.ExitCode != nil {
			is += fmt.Sprintf("exit %d", *c.ExitCode)
		}
		if c.Dead {
			is += " dead"
		}
		got[fmt.Sprintf("%s/%s/%s %d %s", c.Namespace, c.PodName, c.Name, c.Attempt, c.Image)] = is
		if len(c.SnapshotKey) < 64 || c.SnapshotKey == c.ID {
			t.Errorf("%s: writable layer %q; want the mount-id", c.Name, c.SnapshotKey)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	sizes := map[string]int64{}
	for _, i := range s.Images {
		sizes[strings.Join(i.Names, " ")] = *i.SizeBytes
	}
	if diff := cmp.Diff(map[string]int64{"": 1982256, "k8s.gcr.io/pause:3.6": 1429666, "registry.local/old:1": 1982256, web1: 1982256, web2: 1982262}, sizes); diff != "" {
		t.Errorf("sizes: -want +got:\n%s", diff)
	}
}

// TestReadDockerDriver moves the tree of a Docker with vfs: its images and layers are found by flag, by configuration, and
// because there is no other driver.
func TestReadDockerDriver(t *testing.T) {
	hint := func(args ...string) []runtimeslive.Hint {
		return []runtimeslive.Hint{{PID: 1, Comm: "dockerd", Args: append([]string{"dockerd", "--data-root=/data/docker"}, args...)}}
	}
	other := map[string]string{"data/docker/image/overlay2/repositories.json": "{}"}
	for name, tc := range map[string]struct {
		files  map[string]string
		hints  []runtimeslive.Hint
		images int
		dir    string
	}{
		"the only one":      {nil, hint(), 5, "/data/docker/vfs/dir"},
		"flag":              {other, hint("--storage-driver", "vfs"), 5, "/data/docker/vfs/dir"},
		"short flag":        {other, hint("-s", "vfs"), 5, "/data/docker/vfs/dir"},
		"daemon.json":       {map[string]string{"etc/docker/daemon.json": `{"storage-driver":"vfs"}`, "data/docker/image/overlay2/repositories.json": "{}"}, hint(), 5, "/data/docker/vfs/dir"},
		"the default rules": {other, hint(), 0, "/data/docker/overlay2"},
	} {
		t.Run(name, func(t *testing.T) {
			host := tree(t, "docker-20.10.24", "var/lib/docker", "data/docker")
			for name, text := range tc.files {
				write(t, filepath.Join(host, name), text)
			}
			s := read(t, host, tc.hints...)
			if got := s.Runtimes[0].SnapshotDir; got != tc.dir {
				t.Errorf("layers in %s; want %s", got, tc.dir)
			}
			if len(s.Images) != tc.images || len(s.Containers) != 5 {
				t.Errorf("%d images, %d containers; want %d and 5", len(s.Images), len(s.Containers), tc.images)
			}
		})
	}
}

// TestReadTooManyDockerImages has more files of images than are read: the report says that its list is not whole.
func TestReadTooManyDockerImages(t *testing.T) {
	host := tree(t, "docker-20.10.24")
	before := len(read(t, host).Runtimes[0].Problems)
	drivers, err := filepath.Glob(filepath.Join(host, "var/lib/docker/image/*/imagedb/content/sha256"))
	if err != nil || len(drivers) != 1 {
		t.Fatalf("%q, %v", drivers, err)
	}
	for i := range 20_001 {
		if err := os.Symlink("x", filepath.Join(drivers[0], fmt.Sprintf("left-%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, host).Runtimes[0].Problems; len(got) != before+1 {
		t.Errorf("problems %q, want one more than %d", got, before)
	}
}

// names lists what a report has to name: "namespace/pod" of sandboxes, "namespace/pod/container" of containers.
func names(s runtimes.Stores) []string {
	found := []string{}
	for _, b := range s.Sandboxes {
		found = append(found, b.Namespace+"/"+b.Name)
	}
	for _, c := range s.Containers {
		found = append(found, c.Namespace+"/"+c.PodName+"/"+c.Name)
	}
	return found
}

var labNames = []string{"default/web-lab-node-1", "default/web-lab-node-1/c"}

func TestReadPlaces(t *testing.T) {
	const root, state = "var/lib/containerd", "run/containerd"
	for name, tc := range map[string]struct {
		moves []string
		files map[string]string
		hints []runtimeslive.Hint
		want  runtimes.Runtime
	}{
		"k3s": {
			moves: []string{root, "var/lib/rancher/k3s/agent/containerd", state, "run/k3s/containerd"},
			want:  runtimes.Runtime{Root: "/var/lib/rancher/k3s/agent/containerd", State: "/run/k3s/containerd", Socket: "/run/k3s/containerd/containerd.sock"},
		},
		"rke2": {
			moves: []string{root, "var/lib/rancher/rke2/agent/containerd", state, "run/k3s/containerd"},
			want:  runtimes.Runtime{Root: "/var/lib/rancher/rke2/agent/containerd", State: "/run/k3s/containerd", Socket: "/run/k3s/containerd/containerd.sock"},
		},
		"microk8s": {
			moves: []string{root, "var/snap/microk8s/common/var/lib/containerd", state, "var/snap/microk8s/common/run/containerd"},
			want:  runtimes.Runtime{Root: "/var/snap/microk8s/common/var/lib/containerd", State: "/var/snap/microk8s/common/run/containerd", Socket: "/var/snap/microk8s/common/run/containerd.sock"},
		},
		"k0s": {
			moves: []string{root, "var/lib/k0s/containerd", state, "run/k0s/containerd"},
			want:  runtimes.Runtime{Root: "/var/lib/k0s/containerd", State: "/run/k0s/containerd", Socket: "/run/k0s/containerd.sock"},
		},
		"custom root from the configuration": {
			moves: []string{root, "data/cd", state, "run/cd"},
			files: map[string]string{"etc/containerd/config.toml": "version = 3\nroot = '/data/cd'\nstate = \"/run/cd\"\n[grpc]\naddress = '/run/cd.sock'\n[plugins.'io.containerd.cri.v1.images']\nsnapshotter = 'native'\n"},
			want:  runtimes.Runtime{Root: "/data/cd", State: "/run/cd", Socket: "/run/cd.sock", Config: "/etc/containerd/config.toml"},
		},
		"custom root from the flags of the process": {
			moves: []string{root, "data/cd", state, "run/cd"},
			hints: []runtimeslive.Hint{{PID: 1, Comm: "containerd", Args: []string{"containerd", "-c", "/none", "--root=/data/cd", "--state", "/run/cd", "-a", "/run/cd.sock"}}},
			want:  runtimes.Runtime{Root: "/data/cd", State: "/run/cd", Socket: "/run/cd.sock"},
		},
		"after a reboot: no state": {
			moves: []string{state, "elsewhere"},
			want:  runtimes.Runtime{Root: "/var/lib/containerd", State: "/run/containerd", Socket: "/run/containerd/containerd.sock"},
		},
		"no database": {
			moves: []string{root, "elsewhere"},
			want:  runtimes.Runtime{Root: "/var/lib/containerd", State: "/run/containerd", Socket: "/run/containerd/containerd.sock"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			host := tree(t, "containerd-1.6.20", append(tc.moves, "etc/containerd/config.toml", "moved.toml")...)
			for name, text := range tc.files {
				write(t, filepath.Join(host, name), text)
			}
			s := read(t, host, tc.hints...)
			if diff := cmp.Diff(labNames, names(s)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if len(s.Runtimes) != 1 {
				t.Fatalf("runtimes %+v; want one", s.Runtimes)
			}
			got := runtimes.Runtime{Root: s.Runtimes[0].Root, State: s.Runtimes[0].State, Socket: s.Runtimes[0].Socket, Config: s.Runtimes[0].Config}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if len(s.Runtimes[0].Problems) > 0 {
				t.Errorf("problems %q", s.Runtimes[0].Problems)
			}
		})
	}
}

func TestReadNothing(t *testing.T) {
	if _, err := runtimeslive.Read(t.Context(), open(t, t.TempDir()), runtimeslive.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error = %v; want fs.ErrNotExist", err)
	}
	podman := tree(t, "cri-o", "etc/crio", "none")
	if _, err := runtimeslive.Read(t.Context(), open(t, podman), runtimeslive.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("podman's store: error = %v; want fs.ErrNotExist", err)
	}
}

// TestReadCRIOWithoutState is CRI-O whose state file is not there: conmon's file has the pid, and when that process started
// is not known.
func TestReadCRIOWithoutState(t *testing.T) {
	const id = "26f8567f2569182294c3fa5b9f9cb2270b554eef628b4c149cf82a42888ff4ae"
	host := tree(t, "cri-o", "var/lib/containers/storage/overlay-containers/"+id+"/userdata/state.json", "none")
	boxes := read(t, host).Sandboxes
	i := slices.IndexFunc(boxes, func(s runtimes.Sandbox) bool { return s.ID == id })
	if i < 0 || boxes[i].InitPID != 4711 || boxes[i].InitStart != 0 {
		t.Errorf("%d of %+v; want process 4711, when it started not known", i, boxes)
	}
}

// TestReadDamaged damages files one by one: the others are still understood, and the trouble is told.
func TestReadDamaged(t *testing.T) {
	task := "run/containerd/io.containerd.runtime.v2.task/k8s.io/0ae720cefefd61de952d0fe7c7ef81f7240fb679ae16f723af644b314699c92d/"
	for name, tc := range map[string]struct {
		file, text string
		want       []string // nil: all
	}{
		"config.json of the sandbox": {task + "config.json", `{"annotations":{"io.kub`, nil},
		"empty config.json":          {task + "config.json", ``, nil},
		"database without pages":     {metaDB, "no database", nil},
		"empty database":             {metaDB, "", nil},
		"status of a container":      {"var/lib/containerd/io.containerd.grpc.v1.cri/containers/06ed193e8231bafe6147568652faa54fa1dc2e6477c08bd899629995d7bfb217/status", "{", nil},
	} {
		t.Run(name, func(t *testing.T) {
			host := tree(t, "containerd-1.6.20")
			write(t, filepath.Join(host, tc.file), tc.text)
			s := read(t, host)
			if diff := cmp.Diff(labNames, names(s)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if len(s.Runtimes[0].Problems) == 0 {
				t.Error("no problem is told")
			}
		})
	}
}

// TestReadTornDatabase cuts and overwrites the database at every page: nothing but the state directory may be lost.
func TestReadTornDatabase(t *testing.T) {
	host := tree(t, "containerd-1.6.20")
	whole, err := os.ReadFile(filepath.Join(host, metaDB))
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(whole); at += 4096 {
		for name, torn := range map[string][]byte{
			"cut":         whole[:at],
			"zeros":       append(append(bytes.Clone(whole[:at]), make([]byte, 4096)...), whole[min(len(whole), at+4096):]...),
			"old content": append(append(bytes.Clone(whole[:at]), whole[8192:12288]...), whole[min(len(whole), at+4096):]...),
			"ones":        append(append(bytes.Clone(whole[:at]), bytes.Repeat([]byte{0xff}, 4096)...), whole[min(len(whole), at+4096):]...),
		} {
			write(t, filepath.Join(host, metaDB), string(torn))
			if diff := cmp.Diff(labNames, names(read(t, host))); diff != "" {
				t.Errorf("%s at %d: -want +got:\n%s", name, at, diff)
			}
		}
	}
}

// manyContainers makes a node with n pods of one container each, in the state directory.
func manyContainers(tb testing.TB, n int) string {
	tb.Helper()
	host := tb.TempDir()
	var config struct {
		Annotations map[string]string   `json:"annotations"`
		Process     map[string][]string `json:"process"`
		Mounts      []map[string]string `json:"mounts"`
	}
	config.Process = map[string][]string{"env": make([]string, 100)}
	for i := range 20 {
		config.Mounts = append(config.Mounts, map[string]string{"source": fmt.Sprintf("/var/lib/kubelet/x/%d", i), "destination": "/data"})
	}
	for i := range n {
		box := fmt.Sprintf("%064x", 2*i)
		for j, kind := range []string{"sandbox", "container"} {
			id := fmt.Sprintf("%064x", 2*i+j)
			config.Annotations = map[string]string{
				"io.kubernetes.cri.container-type": kind, "io.kubernetes.cri.sandbox-id": box, "io.kubernetes.cri.sandbox-namespace": "default",
				"io.kubernetes.cri.sandbox-name": fmt.Sprintf("pod-%d", i), "io.kubernetes.cri.sandbox-uid": fmt.Sprintf("00000000-0000-4000-8000-%012x", i),
			}
			text, err := json.Marshal(config)
			if err != nil {
				tb.Fatal(err)
			}
			at := filepath.Join(host, "run/containerd/io.containerd.runtime.v2.task/k8s.io", id)
			write(tb, filepath.Join(at, "config.json"), string(text))
			write(tb, filepath.Join(at, "init.pid"), "1")
		}
	}
	return host
}

func BenchmarkRead2000Pods(b *testing.B) {
	fsys := open(b, manyContainers(b, 2000))
	for b.Loop() {
		s, err := runtimeslive.Read(b.Context(), fsys, runtimeslive.Options{})
		if err != nil || len(s.Sandboxes) != 2000 || len(s.Containers) != 2000 {
			b.Fatal(len(s.Sandboxes), len(s.Containers), err)
		}
	}
}

func BenchmarkCgroups2000Pods(b *testing.B) {
	root := b.TempDir()
	for i := range 2000 {
		pod := fmt.Sprintf("sys/fs/cgroup/kubepods/burstable/pod00000000-0000-4000-8000-%012x", i)
		for j := range 2 {
			write(b, filepath.Join(root, pod, fmt.Sprintf("%064x", 2*i+j), "cgroup.events"), "populated 1\nfrozen 0\n")
		}
		write(b, filepath.Join(root, pod, "cgroup.events"), "populated 1\nfrozen 0\n")
		write(b, filepath.Join(root, pod, "cgroup.stat"), "nr_descendants 2\nnr_dying_descendants 0\n")
	}
	write(b, filepath.Join(root, "sys/fs/cgroup/cgroup.controllers"), "")
	fsys := open(b, root)
	for b.Loop() {
		if c, err := runtimeslive.ReadCgroups(b.Context(), fsys); err != nil || len(c.Pods) != 2000 {
			b.Fatal(len(c.Pods), err)
		}
	}
}
