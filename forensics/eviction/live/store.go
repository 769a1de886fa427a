package live

import (
	"path"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/toml"
)

// A Store is where a container runtime keeps what it has on disk.
type Store struct {
	// Runtime is "containerd", "cri-o" or "docker".
	Runtime string
	// Root is the directory as configured, Images the one whose file system is imagefs, Layers that of the writable layers
	// of containers (the same but for CRI-O with an image store of its own).
	Root, Images, Layers string
	Why                  string
}

// StoreHints are what is known about the runtime from elsewhere.
type StoreHints struct {
	// Endpoint is the socket that the kubelet is told to use; DataDir --data-dir of k3s or rke2; Program what runs the
	// kubelet.
	Endpoint, DataDir, Program string
	// Commands are the command lines of processes that may be a runtime.
	Commands [][]string
}

const maxConfig = 1 << 20

// FindStore looks for the runtime that the kubelet uses: the one of its endpoint, with a root directory from its command
// line or configuration file, else the first known place that is there. It may block where these are on a dead mount.
func FindStore(fsys *hostfs.FS, hints StoreHints) (Store, bool) {
	endpoint := hints.Endpoint
	var stores []Store
	if strings.Contains(endpoint, "crio") {
		stores = append(stores, crioStore(fsys))
	}
	if strings.Contains(endpoint, "docker") {
		stores = append(stores, dockerStore(fsys))
	}
	if endpoint == "" || strings.Contains(endpoint, "containerd") {
		stores = append(stores, containerdStores(fsys, hints)...)
	}
	if len(stores) == 0 || endpoint == "" {
		stores = append(stores, crioStore(fsys), dockerStore(fsys))
	}
	for _, s := range stores {
		if s.Root == "" || !exists(fsys, s.Root) {
			continue
		}
		// What containerd says in ImageFsInfo, which may be a mount of its own.
		if snapshots := path.Join(s.Root, "io.containerd.snapshotter.v1.overlayfs"); s.Runtime == "containerd" && exists(fsys, snapshots) {
			s.Images, s.Layers = snapshots, snapshots
		}
		return s, true
	}
	return Store{}, false
}

func exists(fsys *hostfs.FS, name string) bool {
	_, err := fsys.Resolve(name)
	return err == nil
}

// containerdStores lists the places of containerd, the most certain first.
func containerdStores(fsys *hostfs.FS, hints StoreHints) []Store {
	stores := []Store{}
	add := func(root, why string) {
		if path.IsAbs(root) {
			stores = append(stores, Store{Runtime: "containerd", Root: root, Images: root, Layers: root, Why: why})
		}
	}
	configs := []string{}
	for _, args := range hints.Commands {
		if len(args) == 0 || path.Base(args[0]) != "containerd" {
			continue
		}
		add(option(args, "root"), "--root of containerd")
		if name := option(args, "config"); path.IsAbs(name) {
			configs = append(configs, name)
		}
	}
	if hints.DataDir != "" {
		add(path.Join(hints.DataDir, "agent/containerd"), "--data-dir of "+hints.Program)
	}
	configs = append(configs, "/etc/containerd/config.toml")
	for _, name := range configs {
		text, _ := fsys.ReadFile(name, maxConfig)
		add(toml.Parse(string(text)).First("root"), "root of "+name)
	}
	for _, known := range []struct{ root, program string }{
		{"/var/lib/rancher/k3s/agent/containerd", "k3s"},
		{"/var/lib/rancher/rke2/agent/containerd", "rke2"},
		{"/var/snap/microk8s/common/var/lib/containerd", "kubelite"},
		{"/var/lib/k0s/containerd", "k0s"},
	} {
		if hints.Program == known.program {
			add(known.root, "default of "+known.program)
		}
	}
	add("/var/lib/containerd", "default of containerd")
	for _, root := range []string{
		"/var/lib/rancher/k3s/agent/containerd", "/var/lib/rancher/rke2/agent/containerd",
		"/var/snap/microk8s/common/var/lib/containerd", "/var/lib/k0s/containerd",
	} {
		add(root, "known place")
	}
	return stores
}

// crioStore reads storage.conf(5) of containers/storage.
func crioStore(fsys *hostfs.FS) Store {
	s := Store{Runtime: "cri-o", Root: "/var/lib/containers/storage", Why: "default of CRI-O"}
	const name = "/etc/containers/storage.conf"
	text, _ := fsys.ReadFile(name, maxConfig)
	values := toml.Parse(string(text))
	if root := values.First("storage.graphroot"); path.IsAbs(root) {
		s.Root, s.Why = root, "graphroot of "+name
	}
	s.Images, s.Layers = s.Root, s.Root
	if images := values.First("storage.imagestore"); path.IsAbs(images) {
		s.Images, s.Why = images, "imagestore of "+name
	}
	return s
}

// dockerStore reads daemon.json of dockerd; comments are not allowed in it, so that one field can be cut out.
func dockerStore(fsys *hostfs.FS) Store {
	s := Store{Runtime: "docker", Root: "/var/lib/docker", Why: "default of Docker"}
	const name = "/etc/docker/daemon.json"
	text, _ := fsys.ReadFile(name, maxConfig)
	if _, rest, ok := strings.Cut(string(text), `"data-root"`); ok {
		parts := strings.SplitN(rest, `"`, 3)
		if len(parts) == 3 && strings.TrimSpace(parts[0]) == ":" && path.IsAbs(parts[1]) {
			s.Root, s.Why = parts[1], "data-root of "+name
		}
	}
	s.Images, s.Layers = s.Root, s.Root
	return s
}

// option returns the value of a flag of a command line.
func option(args []string, name string) string {
	for i, arg := range args {
		if value, ok := strings.CutPrefix(arg, "--"+name+"="); ok {
			return value
		}
		if arg == "--"+name && i+1 < len(args) {
			return args[i+1]
		}
	}
	return ""
}
