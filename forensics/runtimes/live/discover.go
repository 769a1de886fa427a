package live

import (
	"cmp"
	"context"
	"path"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/cri"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// An install is one place where a runtime may be.
type install struct {
	runtimes.Runtime
	of cri.Runtime
	// pinned are patterns of images that CRI-O never lets go (crio.conf pinned_images, pause_image).
	pinned []string
	// imageStore is the directory of images, where they have one of their own; why says which setting named Root, "" for none.
	imageStore, why string
	// rootNamed says that a flag named Root, so that it is no default.
	rootNamed bool
}

// A format is how the files of a runtime are understood.
type format struct {
	// configure applies a configuration file, and what belongs to it.
	configure func(*configuration, *install)
	// read reads the store; fs.ErrNotExist means that it is not there after all.
	read func(*store, install) error
}

func formatOf(r cri.Runtime) format {
	switch r.Store.Format {
	case cri.Containerd:
		return format{(*configuration).containerd, readContainerd}
	case cri.ContainersStorage:
		return format{(*configuration).crio, readCRIO}
	case cri.Docker:
		return format{(*configuration).docker, readDocker}
	}
	return format{}
}

// installs lists where runtimes may be: what running processes say first, then the defaults of the distributions, each
// changed by the configuration file that belongs to it. The errors are those of files that could not be read, by path.
func installs(ctx context.Context, fsys *hostfs.FS, opt Options) ([]install, map[string]error) {
	ctx, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	c := &configuration{ctx: ctx, fs: fsys, group: opt.Group, unread: map[string]error{}}
	var list []install
	for _, h := range opt.Hints {
		if r, ok := cri.OfProcess(h.Comm); ok && r.StoreOf == "" {
			list = append(list, c.fromProcess(r, h.Args))
		}
	}
	for _, r := range cri.Runtimes() {
		for _, at := range r.Store.Installs {
			list = append(list, c.configured(r, at))
		}
	}
	for _, h := range opt.Hints {
		r, _ := cri.OfProcess(h.Comm)
		for i := range list {
			if list[i].Name == r.StoreOf {
				list[i].Socket = flagOr(longFlags(h.Args), list[i].Socket, r.Flags.Socket)
			}
		}
	}
	for i := range list {
		list[i].Root, list[i].State = canonical(list[i].Root), canonical(list[i].State)
		list[i].Socket = canonical(strings.TrimPrefix(list[i].Socket, "unix://"))
	}
	return list, c.unread
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

// configured is an install with what its configuration says.
func (c *configuration) configured(r cri.Runtime, at cri.Install) install {
	in := install{of: r, Runtime: runtimes.Runtime{
		Name: r.Name, Root: at.Root, State: at.State, Config: at.Config, Socket: at.Socket, Snapshotter: r.Store.Driver,
	}}
	c.dropIns = at.ConfigDir
	formatOf(r).configure(c, &in)
	in.SnapshotDir = r.Store.LayerDir(in.Root, in.Snapshotter)
	return in
}

// fromProcess is the install that the flags of a running daemon name: the one that has the configuration file which it was
// told to use, else the default, as changed by the other flags.
func (c *configuration) fromProcess(r cri.Runtime, args []string) install {
	flags, names := longFlags(args), r.Flags
	at := r.Store.Installs[0]
	config, dropIns := flagOr(flags, "", names.Config), flagOr(flags, "", names.ConfigDir)
	for _, known := range r.Store.Installs {
		if config != "" && known.Config == config {
			at = known
		}
	}
	at.Config, at.ConfigDir = cmp.Or(config, at.Config), cmp.Or(dropIns, at.ConfigDir)
	c.named = []string{config, dropIns}
	in := c.configured(r, at)
	c.named = nil
	root := flagOr(flags, "", names.Root)
	in.Root, in.rootNamed = cmp.Or(root, in.Root), root != ""
	in.State, in.Socket = flagOr(flags, in.State, names.State), flagOr(flags, in.Socket, names.Socket)
	in.Snapshotter = flagOr(flags, in.Snapshotter, names.Driver)
	in.SnapshotDir = r.Store.LayerDir(in.Root, in.Snapshotter)
	return in
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

func flagOr(flags map[string]string, otherwise string, names []string) string {
	for _, name := range names {
		if flags[name] != "" {
			return flags[name]
		}
	}
	return otherwise
}
