package live

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"

	"github.com/nodeforensics/nodeforensics/internal/cri"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// A Store is where a container runtime keeps what it has on disk.
type Store struct {
	// Runtime is that of a runtimes.Runtime.
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
	Group    *probe.Group
}

// FindStore looks for the runtime that the kubelet uses: the one of its endpoint, with a root directory from its command
// line or configuration file, else the first known place that is there. It may block where these are on a dead mount.
//
// Where nothing is found the error wraps fs.ErrNotExist, or what kept a configuration from being read: what it may have moved
// is not looked for where it is by default.
func FindStore(ctx context.Context, fsys *hostfs.FS, hints StoreHints) (Store, error) {
	served, known := cri.OfEndpoint(hints.Endpoint)
	c := &configuration{ctx: ctx, fs: fsys, group: hints.Group, unread: map[string]error{}}
	for _, r := range cri.Runtimes() {
		if known && r.Name != cri.StoreName(served.Name) {
			continue
		}
		for _, s := range c.stores(r, hints) {
			if !path.IsAbs(s.Root) || !exists(fsys, s.Root) {
				continue
			}
			if dir := r.Store.LayerDir(s.Root, r.Store.Driver); r.Store.ImagesAreLayers && exists(fsys, dir) {
				s.Images, s.Layers = dir, dir
			}
			return s, nil
		}
	}
	return Store{}, fmt.Errorf("no directory of a container runtime found: %w", cmp.Or(firstOf(c.unread), fs.ErrNotExist))
}

func exists(fsys *hostfs.FS, name string) bool {
	_, err := fsys.Resolve(name)
	return err == nil
}

// stores lists the places of one runtime, the most certain first.
func (c *configuration) stores(r cri.Runtime, hints StoreHints) (list []Store) {
	add := func(root, images, why string) {
		list = append(list, Store{Runtime: r.Name, Root: root, Images: images, Layers: root, Why: why})
	}
	if len(r.Store.Installs) == 0 {
		return nil
	}
	own := r.Store.Installs[0]
	var configured []install
	for _, args := range hints.Commands {
		if len(args) == 0 || path.Base(args[0]) != r.Process {
			continue
		}
		in := c.fromProcess(r, args)
		if in.rootNamed {
			add(in.Root, in.Root, "--"+r.Flags.Root[0]+" of "+r.Process)
		}
		if flagOr(longFlags(args), "", r.Flags.Config) != "" {
			configured = append(configured, in)
		}
	}
	for _, at := range r.Store.Installs {
		if hints.DataDir != "" && hints.Program == at.Program && at.BelowDataDir != "" {
			root := path.Join(hints.DataDir, at.BelowDataDir)
			add(root, root, "--data-dir of "+hints.Program)
		}
	}
	assumed := false
	for _, in := range append(configured, c.configured(r, own)) {
		if assumed = assumed || in.Assumed != ""; in.why != "" && !in.rootNamed {
			add(in.Root, cmp.Or(in.imageStore, in.Root), in.why)
		}
	}
	if assumed {
		return list
	}
	for _, at := range r.Store.Installs {
		if at.Program != "" && at.Program == hints.Program {
			add(at.Root, at.Root, "default of "+at.Program)
		}
	}
	add(own.Root, own.Root, "default of "+r.Title)
	for _, at := range r.Store.Installs[1:] {
		add(at.Root, at.Root, "known place")
	}
	return list
}
