package collect

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	runtimeslive "github.com/nodeforensics/nodeforensics/forensics/runtimes/live"
	"github.com/nodeforensics/nodeforensics/internal/cri"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// knownStore is that of the runtime that the kubelet uses, where its files were read.
func (m *measurer) knownStore() (runtimeslive.Store, bool) {
	list, name := m.evidence.Runtimes, m.model.RuntimeEntity().ID
	for _, r := range list {
		if path.IsAbs(r.Root) && (r.Name == cri.StoreName(name) || len(list) == 1) && (r.Assumed == "" || m.lists(r.Root)) {
			at := r.Root
			if path.IsAbs(r.SnapshotDir) {
				at = r.SnapshotDir
			}
			return runtimeslive.Store{Runtime: r.Name, Root: r.Root, Images: at, Layers: at, Why: "files of the runtime"}, true
		}
	}
	return runtimeslive.Store{}, false
}

// lists says whether sandboxes, containers or images of a store are among the evidence. They are not where the store may be
// one that its runtime has left.
func (m *measurer) lists(root string) bool {
	return slices.ContainsFunc(m.evidence.Sandboxes, func(s runtimes.Sandbox) bool { return s.Root == root }) ||
		slices.ContainsFunc(m.evidence.Containers, func(c runtimes.Container) bool { return c.Root == root }) ||
		slices.ContainsFunc(m.evidence.Images, func(i runtimes.Image) bool { return i.Root == root })
}

// placeStore finds the file systems of images and of writable layers.
func (m *measurer) placeStore(ctx context.Context, k *kubelet.Instance) runtimeslive.Store {
	hints := runtimeslive.StoreHints{Endpoint: forensics.RuntimeEndpoint(m.model.Evidence()), Program: k.Program, Group: m.opt.Calls}
	if k.Program == "k3s" || k.Program == "rke2" {
		hints.DataDir = k.Flags["data-dir"]
	}
	for _, p := range forensics.RuntimeProcesses(m.evidence.Processes) {
		if p.MountNS == m.evidence.Mounts.Namespace {
			hints.Commands = append(hints.Commands, p.Command)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, statfsLimit)
	defer cancel()
	configured := ""
	store, err := probe.Do(ctx, m.opt.Calls, "directories of the runtime", func() (runtimeslive.Store, error) {
		store, ok := m.knownStore()
		if !ok {
			var err error
			if store, err = runtimeslive.FindStore(ctx, m.host.fs, hints); err != nil {
				return store, err
			}
		}
		root, err := m.host.fs.Resolve(store.Root)
		if err == nil { // what is on disk is told by canonical paths
			configured = store.Root
			store.Images, store.Layers = strings.Replace(store.Images, store.Root, root, 1), strings.Replace(store.Layers, store.Root, root, 1)
			store.Root = root
		}
		return store, err
	})
	if err != nil {
		m.problems = append(m.problems, err)
		return store
	}
	m.rooted = cmp.Or(configured, store.Root)
	m.place(ctx, m.host, eviction.RoleImage, store.Images, store.Runtime+": "+store.Why)
	m.place(ctx, m.host, eviction.RoleContainer, store.Layers, store.Runtime+": "+store.Why)
	return store
}

// place records a directory and the file system that it lies on. A directory that is not there is left out.
func (m *measurer) place(ctx context.Context, v view, role, name, why string) {
	canonical, mount, err := m.resolve(ctx, v, name)
	if err != nil {
		if role == eviction.RoleNode || role == eviction.RoleImage {
			m.problems = append(m.problems, fmt.Errorf("%s: %w", role, err))
		}
		return
	}
	p := eviction.Place{Role: role, Path: canonical, Why: why}
	f, err := m.figures(ctx, v, canonical, mount)
	if p.Device = f.Device; p.Device != "" {
		if !slices.ContainsFunc(m.state.FileSystems, func(f eviction.FileSystem) bool { return f.Device == p.Device }) {
			m.views[p.Device], m.mounts[p.Device] = v, mount
			if trees := m.trees(ctx, f); v.table != nil && len(trees) > 0 {
				f.MountPoint = trees[0] // the place may be on a bind mount of a part
			}
			m.state.FileSystems = append(m.state.FileSystems, f)
		}
	}
	if err != nil {
		m.problems = append(m.problems, fmt.Errorf("%s: %w", role, err))
	}
	m.state.Places = append(m.state.Places, p)
}

func (m *measurer) pathOf(role string) string {
	p, _ := m.state.Place(role)
	return p.Path
}

// resolve returns the canonical path and the mount that it lies on. Neither the mount that the path is on nor the one that
// it leads to may be one that does not answer.
func (m *measurer) resolve(ctx context.Context, v view, name string) (string, mounts.Mount, error) {
	mount, err := m.answering(v, name)
	if err != nil {
		return name, mount, err
	}
	canonical, err := askDisk(ctx, m, key(mount, name), func() (string, error) { return v.fs.Resolve(name) })
	if err != nil {
		return name, mount, err
	}
	mount, err = m.answering(v, canonical)
	return canonical, mount, err
}

// answering returns the mount that a path lies on, with an error if it may not answer.
func (m *measurer) answering(v view, name string) (mounts.Mount, error) {
	if v.table == nil {
		return mounts.Mount{}, nil
	}
	mount, _ := v.table.Covering(name)
	h, _ := m.model.Health(mount.Device)
	switch h.Status {
	case mounts.StatusOK, mounts.StatusSlow, mounts.StatusRecovered, mounts.StatusDenied:
		return mount, nil
	case mounts.StatusNotProbed:
		switch mount.Class {
		case mounts.ClassBlock, mounts.ClassMemory, mounts.ClassOverlay, mounts.ClassPseudo:
			return mount, nil
		}
	}
	return mount, fmt.Errorf("%s: not measured: the %s mount at %s %s", name, mount.FSType, mount.MountPoint, forensics.DescribeStatus(h))
}

func key(mount mounts.Mount, name string) string {
	if mount.Device != "" {
		return mount.Device
	}
	return "file system of " + name
}

func askDisk[T any](ctx context.Context, m *measurer, key string, call func() (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, statfsLimit)
	defer cancel()
	return probe.Do(ctx, m.opt.Calls, key, call)
}

// figures asks the file system that a path lies on for its size.
func (m *measurer) figures(ctx context.Context, v view, name string, mount mounts.Mount) (eviction.FileSystem, error) {
	f := eviction.FileSystem{Device: mount.Device, MountPoint: mount.MountPoint, FSType: mount.FSType, Source: mount.Source}
	st, err := askDisk(ctx, m, key(mount, name), func() (nodefs.FSStat, error) { return v.fs.Statfs(name) })
	if err != nil {
		f.Error = err.Error()
		return f, err
	}
	if f.Device == "" {
		f.Device = deviceName(st.Dev)
	}
	f.CapacityBytes, f.FreeBytes, f.AvailableBytes = st.CapacityBytes, st.FreeBytes, st.AvailableBytes
	f.Inodes, f.InodesFree = st.Inodes, st.InodesFree
	return f, nil
}

// deviceName spells st_dev as mountinfo does (gnu_dev_major, sys/sysmacros.h).
func deviceName(dev uint64) string {
	major := (dev>>8)&0xfff | (dev>>32)&^0xfff
	minor := dev&0xff | (dev>>12)&^0xff
	return fmt.Sprintf("%d:%d", uint32(major), uint32(minor))
}
