package live

import (
	"cmp"
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
	"github.com/nodeforensics/nodeforensics/internal/toml"
)

// An install is one place where a runtime may be.
type install struct {
	runtimes.Runtime
	// read reads its files; fs.ErrNotExist means that it is not there after all.
	read func(*store, install) error
	// pinned are patterns of images that CRI-O never lets go (crio.conf pinned_images, pause_image).
	pinned []string
	// marks are directories of which one tells that this runtime serves a kubelet, where its store is shared with
	// other programs (podman, docker build).
	marks []string
}

// installs lists where runtimes may be: what running processes say first, then the defaults of the distributions, each
// changed by the configuration file that belongs to it.
func installs(ctx context.Context, fsys *hostfs.FS, opt Options) []install {
	ctx, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	list, err := probe.Do(ctx, opt.Group, "runtime configuration", func() ([]install, error) {
		var list []install
		for _, h := range opt.Hints {
			list = append(list, fromProcess(fsys, h)...)
		}
		for _, d := range defaults() {
			list = append(list, configured(fsys, d))
		}
		return list, nil
	})
	if err != nil { // a configuration file does not answer: the defaults will have to do
		return defaults()
	}
	for i := range list {
		list[i].Root, list[i].State = canonical(list[i].Root), canonical(list[i].State)
		list[i].Socket = canonical(strings.TrimPrefix(list[i].Socket, "unix://"))
	}
	return list
}

// canonical spells a directory in one way. /var/run is a link to /run wherever the kubelet runs.
func canonical(dir string) string {
	if dir == "" {
		return ""
	}
	dir = path.Clean("/" + dir)
	if rest, ok := strings.CutPrefix(dir, "/var/run/"); ok {
		return "/run/" + rest
	}
	return dir
}

// defaults lists the directories of the distributions: containerd's own (cmd/containerd/server/config), k3s and rke2
// (pkg/agent/config), microk8s (snap, args/containerd), k0s (pkg/component/worker/containerd), CRI-O with
// containers/storage, Docker with cri-dockerd or dockershim.
func defaults() []install {
	return []install{
		containerdIn("/var/lib/containerd", "/run/containerd", "/etc/containerd/config.toml", "/run/containerd/containerd.sock"),
		containerdIn("/var/lib/rancher/k3s/agent/containerd", "/run/k3s/containerd", "/var/lib/rancher/k3s/agent/etc/containerd/config.toml", "/run/k3s/containerd/containerd.sock"),
		containerdIn("/var/lib/rancher/rke2/agent/containerd", "/run/k3s/containerd", "/var/lib/rancher/rke2/agent/etc/containerd/config.toml", "/run/k3s/containerd/containerd.sock"),
		containerdIn("/var/snap/microk8s/common/var/lib/containerd", "/var/snap/microk8s/common/run/containerd", "/var/snap/microk8s/current/args/containerd.toml", "/var/snap/microk8s/common/run/containerd.sock"),
		containerdIn("/var/lib/k0s/containerd", "/run/k0s/containerd", "/etc/k0s/containerd.toml", "/run/k0s/containerd.sock"),
		{
			Runtime: runtimes.Runtime{Name: "cri-o", Root: "/var/lib/containers/storage", State: "/run/containers/storage", Config: "/etc/crio/crio.conf", Socket: "/run/crio/crio.sock", Snapshotter: "overlay"},
			read:    readCRIO, marks: []string{"/run/crio", "/etc/crio", "/var/lib/crio"},
		},
		{
			Runtime: runtimes.Runtime{Name: "docker", Root: "/var/lib/docker", State: "/run/docker", Config: "/etc/docker/daemon.json", Socket: "/run/cri-dockerd.sock", Snapshotter: "overlay2"},
			read:    readDocker, marks: []string{"/var/lib/cri-dockerd", "/var/lib/dockershim", "/run/cri-dockerd.sock"},
		},
	}
}

func containerdIn(root, state, config, socket string) install {
	return install{
		Runtime: runtimes.Runtime{Name: "containerd", Root: root, State: state, Config: config, Socket: socket, Snapshotter: "overlayfs"},
		read:    readContainerd,
	}
}

// fromProcess is the install that the flags of a running daemon name; none where it has no such flags.
func fromProcess(fsys *hostfs.FS, h Hint) []install {
	flags := longFlags(h.Args)
	known := defaults()
	var in install
	switch h.Comm {
	case "containerd":
		in = known[0]
		in.Config = flagOr(flags, in.Config, "config", "c")
		in = configured(fsys, in)
		in.Root, in.State = flagOr(flags, in.Root, "root"), flagOr(flags, in.State, "state")
		in.Socket = flagOr(flags, in.Socket, "address", "a")
		in.SnapshotDir = snapshotDir(in)
	case "crio":
		in = known[len(known)-2]
		in.Config = flagOr(flags, in.Config, "config", "c")
		in = configured(fsys, in)
		in.Root, in.State = flagOr(flags, in.Root, "root", "r"), flagOr(flags, in.State, "runroot")
		in.Socket = flagOr(flags, in.Socket, "listen")
	case "dockerd":
		in = known[len(known)-1]
		in.Config = flagOr(flags, in.Config, "config-file")
		in = configured(fsys, in)
		in.Root, in.State = flagOr(flags, in.Root, "data-root", "graph", "g"), flagOr(flags, in.State, "exec-root")
		in.Snapshotter = flagOr(flags, in.Snapshotter, "storage-driver", "s")
		in.SnapshotDir = dockerLayers(in.Root, in.Snapshotter)
	default:
		return nil
	}
	return []install{in}
}

// longFlags reads "--name value" and "--name=value", with one dash or two.
func longFlags(args []string) map[string]string {
	flags := map[string]string{}
	for i, arg := range args {
		name := strings.TrimLeft(arg, "-")
		if name == arg || name == "" {
			continue
		}
		if name, value, ok := strings.Cut(name, "="); ok {
			flags[name] = value
		} else if i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			flags[name] = args[i+1]
		}
	}
	return flags
}

func flagOr(flags map[string]string, otherwise string, names ...string) string {
	for _, name := range names {
		if flags[name] != "" {
			return flags[name]
		}
	}
	return otherwise
}

// configured applies the configuration file of an install. One that is not there leaves the defaults in place.
func configured(fsys *hostfs.FS, in install) install {
	text, err := fsys.ReadFile(in.Config, maxConfig)
	if err != nil {
		in.Config = ""
	}
	switch in.Name {
	case "containerd":
		v := toml.Parse(string(text))
		in.Root, in.State = cmp.Or(v.First("root"), in.Root), cmp.Or(v.First("state"), in.State)
		in.Socket = cmp.Or(v.First("grpc.address"), in.Socket)
		in.Snapshotter = cmp.Or(v.First("plugins.io.containerd.cri.v1.images.snapshotter", "plugins.io.containerd.grpc.v1.cri.containerd.snapshotter",
			"plugins.cri.containerd.snapshotter"), in.Snapshotter)
		in.SnapshotDir = snapshotDir(in)
	case "cri-o":
		in = configuredCRIO(fsys, in, string(text))
	case "docker":
		in = configuredDocker(in, text)
	}
	return in
}

func snapshotDir(in install) string {
	return path.Join(in.Root, "io.containerd.snapshotter.v1."+in.Snapshotter)
}

// configuredCRIO reads storage.conf, crio.conf and its drop-ins, of which the last one rules.
func configuredCRIO(fsys *hostfs.FS, in install, main string) install {
	texts := []string{main}
	storage, _ := fsys.ReadFile("/etc/containers/storage.conf", maxConfig)
	dir := "/etc/crio/crio.conf.d"
	entries, _ := fsys.ReadDir(dir, 1000)
	for _, e := range entries {
		if text, err := fsys.ReadFile(path.Join(dir, e.Name), maxConfig); err == nil {
			texts = append(texts, string(text))
		}
	}
	v := toml.Parse(string(storage))
	in.Root, in.State = cmp.Or(v.First("storage.graphroot"), in.Root), cmp.Or(v.First("storage.runroot"), in.State)
	in.Snapshotter = cmp.Or(v.First("storage.driver"), in.Snapshotter)
	pause := "registry.k8s.io/pause:*"
	for _, text := range texts {
		v := toml.Parse(text)
		in.Root, in.State = cmp.Or(v.First("crio.root"), in.Root), cmp.Or(v.First("crio.runroot"), in.State)
		in.Snapshotter = cmp.Or(v.First("crio.storage_driver"), in.Snapshotter)
		in.Socket = cmp.Or(v.First("crio.api.listen"), in.Socket)
		pause = cmp.Or(v.First("crio.image.pause_image"), pause)
		if list, ok := v["crio.image.pinned_images"]; ok {
			in.pinned = list
		}
	}
	in.pinned = append(slices.Clone(in.pinned), pause)
	in.SnapshotDir = path.Join(in.Root, in.Snapshotter)
	return in
}

func configuredDocker(in install, text []byte) install {
	var daemon struct {
		DataRoot string `json:"data-root"`
		Graph    string `json:"graph"` // before 17.05
		ExecRoot string `json:"exec-root"`
		Driver   string `json:"storage-driver"`
	}
	if json.Unmarshal(text, &daemon) == nil {
		in.Root, in.State = cmp.Or(daemon.DataRoot, daemon.Graph, in.Root), cmp.Or(daemon.ExecRoot, in.State)
		in.Snapshotter = cmp.Or(daemon.Driver, in.Snapshotter)
	}
	in.SnapshotDir = dockerLayers(in.Root, in.Snapshotter)
	return in
}
