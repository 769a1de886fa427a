package live_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	runtimeslive "github.com/nodeforensics/nodeforensics/forensics/runtimes/live"
)

func TestFindStore(t *testing.T) {
	const snapshots = "/io.containerd.snapshotter.v1.overlayfs"
	for _, tt := range []struct {
		name  string
		files map[string]string // a path that ends in a slash is a directory
		hints runtimeslive.StoreHints
		want  runtimeslive.Store // zero: nothing is found
	}{
		{name: "nothing is there", files: map[string]string{"etc/": ""}},
		{
			name: "containerd by default", files: map[string]string{"var/lib/containerd/": ""},
			want: runtimeslive.Store{Runtime: "containerd", Root: "/var/lib/containerd", Images: "/var/lib/containerd", Layers: "/var/lib/containerd", Why: "default of containerd"},
		},
		{
			name: "imagefs is the snapshotter's directory", files: map[string]string{"var/lib/containerd" + snapshots + "/": ""},
			want: runtimeslive.Store{Runtime: "containerd", Root: "/var/lib/containerd", Images: "/var/lib/containerd" + snapshots, Layers: "/var/lib/containerd" + snapshots, Why: "default of containerd"},
		},
		{
			name: "root of config.toml", files: map[string]string{
				"var/lib/containerd/": "", "data/c/": "", "etc/containerd/config.toml": "version = 2\n# root = \"/no\"\nroot = '/data/c' # ours\n[plugins.'x']\n  root = \"/other\"\n",
			},
			want: runtimeslive.Store{Runtime: "containerd", Root: "/data/c", Images: "/data/c", Layers: "/data/c", Why: "root of /etc/containerd/config.toml"},
		},
		{
			name: "a root in another table is none", files: map[string]string{"var/lib/containerd/": "", "other/": "", "etc/containerd/config.toml": "[x]\nroot = \"/other\"\n"},
			want: runtimeslive.Store{Runtime: "containerd", Root: "/var/lib/containerd", Images: "/var/lib/containerd", Layers: "/var/lib/containerd", Why: "default of containerd"},
		},
		{
			name: "the command line before the file", files: map[string]string{"data/c/": "", "flag/": "", "my.toml": "root = \"/data/c\"\n"},
			hints: runtimeslive.StoreHints{Commands: [][]string{{"sleep", "--root", "/x"}, {"/usr/bin/containerd", "--config", "/my.toml", "--root=/flag"}}},
			want:  runtimeslive.Store{Runtime: "containerd", Root: "/flag", Images: "/flag", Layers: "/flag", Why: "--root of containerd"},
		},
		{
			name: "the file that the command line names", files: map[string]string{"data/c/": "", "var/lib/containerd/": "", "my.toml": "root = \"/data/c\"\n"},
			hints: runtimeslive.StoreHints{Commands: [][]string{{"containerd", "--config", "/my.toml"}}},
			want:  runtimeslive.Store{Runtime: "containerd", Root: "/data/c", Images: "/data/c", Layers: "/data/c", Why: "root of /my.toml"},
		},
		{
			name: "k3s", files: map[string]string{"var/lib/rancher/k3s/agent/containerd/": "", "var/lib/containerd/": ""},
			hints: runtimeslive.StoreHints{Endpoint: "unix:///run/k3s/containerd/containerd.sock", Program: "k3s"},
			want: runtimeslive.Store{
				Runtime: "containerd", Root: "/var/lib/rancher/k3s/agent/containerd", Images: "/var/lib/rancher/k3s/agent/containerd",
				Layers: "/var/lib/rancher/k3s/agent/containerd", Why: "default of k3s",
			},
		},
		{
			name: "rke2 with a data directory", files: map[string]string{"srv/agent/containerd/": ""}, hints: runtimeslive.StoreHints{Program: "rke2", DataDir: "/srv"},
			want: runtimeslive.Store{Runtime: "containerd", Root: "/srv/agent/containerd", Images: "/srv/agent/containerd", Layers: "/srv/agent/containerd", Why: "--data-dir of rke2"},
		},
		{
			name: "microk8s", files: map[string]string{"var/snap/microk8s/common/var/lib/containerd/": ""}, hints: runtimeslive.StoreHints{Program: "kubelite"},
			want: runtimeslive.Store{
				Runtime: "containerd", Root: "/var/snap/microk8s/common/var/lib/containerd", Images: "/var/snap/microk8s/common/var/lib/containerd",
				Layers: "/var/snap/microk8s/common/var/lib/containerd", Why: "default of kubelite",
			},
		},
		{
			name: "k0s on a disk without a process", files: map[string]string{"var/lib/k0s/containerd/": ""},
			want: runtimeslive.Store{Runtime: "containerd", Root: "/var/lib/k0s/containerd", Images: "/var/lib/k0s/containerd", Layers: "/var/lib/k0s/containerd", Why: "known place"},
		},
		{
			name: "CRI-O by its socket although containerd is there", files: map[string]string{"var/lib/containerd/": "", "var/lib/containers/storage/": ""},
			hints: runtimeslive.StoreHints{Endpoint: "unix:///var/run/crio/crio.sock"},
			want: runtimeslive.Store{
				Runtime: "cri-o", Root: "/var/lib/containers/storage", Images: "/var/lib/containers/storage", Layers: "/var/lib/containers/storage", Why: "default of CRI-O",
			},
		},
		{
			name: "CRI-O with an image store of its own", files: map[string]string{
				"d/layers/": "", "d/images/": "", "etc/containers/storage.conf": "[storage]\ndriver = \"overlay\"\ngraphroot = \"/d/layers\"\nimagestore = \"/d/images\"\n[storage.options]\ngraphroot = \"/x\"\n",
			},
			hints: runtimeslive.StoreHints{Endpoint: "unix:///var/run/crio/crio.sock"},
			want:  runtimeslive.Store{Runtime: "cri-o", Root: "/d/layers", Images: "/d/images", Layers: "/d/layers", Why: "imagestore of /etc/containers/storage.conf"},
		},
		{
			name: "Docker with a data root", files: map[string]string{"big/docker/": "", "etc/docker/daemon.json": "{\n \"log-driver\": \"json-file\",\n \"data-root\" : \"/big/docker\"\n}\n"},
			hints: runtimeslive.StoreHints{Endpoint: "unix:///run/cri-dockerd.sock"},
			want:  runtimeslive.Store{Runtime: "docker", Root: "/big/docker", Images: "/big/docker", Layers: "/big/docker", Why: "data-root of /etc/docker/daemon.json"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			for name, content := range tt.files {
				if dir, ok := strings.CutSuffix(name, "/"); ok {
					if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
						t.Fatal(err)
					}
				} else {
					write(t, filepath.Join(root, name), content)
				}
			}
			got, err := runtimeslive.FindStore(t.Context(), open(t, root), tt.hints)
			if diff := cmp.Diff(tt.want, got); diff != "" || (err == nil) != (tt.want != runtimeslive.Store{}) {
				t.Errorf("FindStore() error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}
