package cri

// The formats that can be read.
const (
	Containerd        Format = "containerd"         // config.toml, meta.db
	ContainersStorage Format = "containers/storage" // crio.conf, storage.conf, containers.json
	Docker            Format = "docker"             // daemon.json, config.v2.json
)

// table has the directories of containerd (cmd/containerd/server/config), of k3s and rke2 (pkg/agent/config), microk8s (snap,
// args/containerd), k0s (pkg/component/worker/containerd), CRI-O with containers/storage, cri-dockerd, and Docker, which serves
// the kubelet through cri-dockerd or dockershim.
var table = []Runtime{
	{
		Name: "containerd", Title: "containerd", Process: "containerd", Socket: "containerd",
		Executables: []string{"k3s"}, // which has it in its own program
		Shims:       []string{"containerd-shim"},
		Units:       []string{"containerd", "snap.microk8s.daemon-containerd"},
		LogNames:    []string{"microk8s.daemon-containerd"},
		LogFiles:    []string{"/var/lib/rancher/k3s/agent/containerd/containerd.log", "/var/lib/rancher/rke2/agent/containerd/containerd.log"},
		Scopes:      []string{"cri-containerd"}, ScopeParent: "k8s.io",
		Flags: Flags{Config: []string{"config", "c"}, Root: []string{"root"}, State: []string{"state"}, Socket: []string{"address", "a"}},
		Store: Store{
			Format: Containerd,
			Installs: []Install{
				{Root: "/var/lib/containerd", State: "/run/containerd", Config: "/etc/containerd/config.toml", Socket: "/run/containerd/containerd.sock"},
				{
					Program: "k3s", BelowDataDir: "agent/containerd", Root: "/var/lib/rancher/k3s/agent/containerd", State: "/run/k3s/containerd",
					Config: "/var/lib/rancher/k3s/agent/etc/containerd/config.toml", Socket: "/run/k3s/containerd/containerd.sock",
				},
				{
					Program: "rke2", BelowDataDir: "agent/containerd", Root: "/var/lib/rancher/rke2/agent/containerd", State: "/run/k3s/containerd",
					Config: "/var/lib/rancher/rke2/agent/etc/containerd/config.toml", Socket: "/run/k3s/containerd/containerd.sock",
				},
				{
					Program: "kubelite", Root: "/var/snap/microk8s/common/var/lib/containerd", State: "/var/snap/microk8s/common/run/containerd",
					Config: "/var/snap/microk8s/current/args/containerd.toml", Socket: "/var/snap/microk8s/common/run/containerd.sock",
				},
				{Program: "k0s", Root: "/var/lib/k0s/containerd", State: "/run/k0s/containerd", Config: "/etc/k0s/containerd.toml", Socket: "/run/k0s/containerd.sock"},
			},
			Driver: "overlayfs", DriverDir: "io.containerd.snapshotter.v1.%", ImagesAreLayers: true,
			Images: []string{"io.containerd.content.v1.content"},
			Layers: []string{
				"io.containerd.snapshotter.v1.overlayfs", "io.containerd.snapshotter.v1.native", "io.containerd.snapshotter.v1.fuse-overlayfs",
				"io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.stargz",
				"io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.erofs",
			},
		},
	},
	{
		Name: "cri-o", Title: "CRI-O", Process: "crio", Socket: "crio",
		Shims:  []string{"conmon"},
		Units:  []string{"crio"},
		Scopes: []string{"crio"},
		Flags: Flags{
			Config: []string{"config", "c"}, ConfigDir: []string{"config-dir", "d"}, Root: []string{"root", "r"}, State: []string{"runroot"},
			Socket: []string{"listen"}, Driver: []string{"storage-driver", "s"},
		},
		Store: Store{
			Format: ContainersStorage,
			Installs: []Install{{
				Root: "/var/lib/containers/storage", State: "/run/containers/storage", Config: "/etc/crio/crio.conf", ConfigDir: "/etc/crio/crio.conf.d",
				Socket: "/run/crio/crio.sock",
			}},
			Driver: "overlay", DriverDir: "%",
			Marks:  []string{"/run/crio", "/etc/crio", "/var/lib/crio"},
			Images: []string{"overlay-images"}, Layers: []string{"overlay"},
			LayerIsDirectory: true,
		},
	},
	{
		Name: "cri-dockerd", Title: "cri-dockerd", Process: "cri-dockerd", Socket: "cri-dockerd",
		Units:   []string{"cri-docker"},
		StoreOf: "docker",
		Flags:   Flags{Socket: []string{"container-runtime-endpoint"}},
	},
	{
		Name: "docker", Title: "Docker", Process: "dockerd", Socket: "dockershim",
		Units: []string{"docker"},
		Flags: Flags{
			Config: []string{"config-file"}, Root: []string{"data-root", "graph", "g"}, State: []string{"exec-root"},
			Driver: []string{"storage-driver", "s"},
		},
		Store: Store{
			Format: Docker,
			Installs: []Install{
				{Root: "/var/lib/docker", State: "/run/docker", Config: "/etc/docker/daemon.json", Socket: "/run/cri-dockerd.sock"},
			},
			Driver: "overlay2", DriverDir: "%", DriverDirs: map[string]string{"vfs": "vfs/dir"},
			Marks:  []string{"/var/lib/cri-dockerd", "/var/lib/dockershim", "/run/cri-dockerd.sock"},
			Images: []string{"image", "containerd"}, Layers: []string{"overlay2", "rootfs"}, Logs: []string{"containers/*"}, Volumes: []string{"volumes/*"},
			LayerIsDirectory: true,
		},
	},
}
