package collect

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	evictionlive "github.com/nodeforensics/nodeforensics/forensics/eviction/live"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	runtimeslive "github.com/nodeforensics/nodeforensics/forensics/runtimes/live"
	"github.com/nodeforensics/nodeforensics/internal/cri"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/probe"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// writable are the writable layers of containers: the upper directories of the overlays that are mounted, and what the
// files of the runtime say, with the container's id where it is known.
func (m *measurer) writable(store runtimeslive.Store) map[string]string {
	found := map[string]string{}
	for _, mount := range m.evidence.Mounts.Mounts {
		if mount.FSType != "overlay" {
			continue
		}
		for option := range strings.SplitSeq(mount.SuperOptions, ",") {
			upper, ok := strings.CutPrefix(option, "upperdir="+strings.TrimSuffix(m.rooted, "/")+"/")
			if !ok {
				continue
			}
			id := ""
			if parts := overlayOf.FindStringSubmatch(mount.MountPoint); parts != nil {
				id = parts[1]
			}
			found[path.Join(store.Root, path.Dir(upper))] = id
		}
	}
	for _, c := range m.evidence.Containers {
		r, _ := cri.Of(c.Runtime)
		if c.SnapshotKey != "" && c.Root == m.rooted && r.Store.LayerIsDirectory && path.Base(c.SnapshotKey) == c.SnapshotKey {
			found[path.Join(store.Layers, c.SnapshotKey)] = c.ID
		}
	}
	return found
}

// walk counts what fills the file systems that are near a threshold, or all of them if that was asked for.
func (m *measurer) walk(ctx context.Context, layout eviction.Layout) {
	budget := m.opt.DiskUsage
	if budget < 0 {
		m.state.NotWalked = "disk usage was not requested"
		return
	}
	var want []eviction.FileSystem
	index := m.state.Index()
	for _, f := range m.state.FileSystems {
		if f.Error == "" && (budget > 0 || index.IsNear(f.Device)) {
			want = append(want, f)
		}
	}
	if budget == 0 {
		budget = evictionlive.DefaultBudget
	}
	if len(want) < len(m.state.FileSystems) {
		m.state.NotWalked = "no eviction threshold is near; --disk-usage 30s counts in any case"
	}
	ends := m.opt.Now().Add(budget)
	for i, f := range want {
		left := ends.Sub(m.opt.Now()) / time.Duration(len(want)-i)
		switch m.mounts[f.Device].Class {
		case mounts.ClassNetwork, mounts.ClassFUSE, mounts.ClassAutofs, mounts.ClassUnknown:
			m.state.NotWalked = f.MountPoint + " is a remote file system; counting would send a request for each file"
			continue
		}
		m.state.Usage = append(m.state.Usage, m.count(ctx, f, layout, left))
	}
}

// count walks one file system.
func (m *measurer) count(ctx context.Context, f eviction.FileSystem, layout eviction.Layout, budget time.Duration) eviction.Usage {
	began := m.opt.Now()
	v, trees := m.views[f.Device], m.trees(ctx, f)
	counting := evictionlive.NewWalker(evictionlive.WalkOptions{Layout: layout})
	timed, cancel := context.WithTimeout(ctx, max(budget, 0))
	defer cancel()
	// A walk looks at its context between directories; one that does not come back is in the kernel.
	patient, cancelToo := context.WithTimeout(ctx, max(budget, 0)+statfsLimit)
	defer cancelToo()
	_, err := probe.Do(patient, m.opt.Calls, key(m.mounts[f.Device], f.Device), func() (struct{}, error) {
		counting.Walk(timed, v.fs, append(m.first(f), trees...)...)
		return struct{}{}, nil
	})
	u := counting.Usage(f, m.deleted(f.Device)...)
	u.Trees, u.Seconds = trees, m.opt.Now().Sub(began).Seconds()
	if err != nil {
		u.Cut = "the file system stopped responding: " + err.Error()
		m.problems = append(m.problems, err)
	}
	m.nameOwners(u.Items)
	return u
}

// first are the directories to begin with, should the time not suffice for the others: those of which the kubelet or the
// runtime can free something.
func (m *measurer) first(f eviction.FileSystem) []string {
	list := []string{}
	for _, role := range []string{eviction.RoleNode, eviction.RolePodLogs, eviction.RoleImage, eviction.RoleSystemLogs} {
		p, ok := m.state.Place(role)
		// Paths of the host mean something else to a kubelet in a mount namespace of its own.
		same := role == eviction.RoleNode || m.views[f.Device].fs == m.host.fs
		if ok && p.Device == f.Device && same {
			list = append(list, p.Path)
		}
	}
	return list
}

// trees are the mount points that show all that there is to see of a file system: the mount of its topmost directory, and
// those of directories that the others do not show because something is mounted over them.
func (m *measurer) trees(ctx context.Context, f eviction.FileSystem) []string {
	v := m.views[f.Device]
	if v.table == nil {
		return m.treesOffline(ctx, f)
	}
	var list, chosen []mounts.Mount
	for _, mount := range v.table.Below("/") {
		if mount.Device == f.Device && v.table.Visible(mount.ID) && !strings.Contains(mount.Root, "//deleted") {
			list = append(list, mount)
		}
	}
	sorting.Stable(list, func(a, b mounts.Mount) int { return len(a.Root) - len(b.Root) })
	for _, mount := range list {
		if !slices.ContainsFunc(chosen, func(c mounts.Mount) bool { return shows(v.table, c, mount) }) {
			chosen = append(chosen, mount)
		}
	}
	trees := make([]string, len(chosen))
	for i, mount := range chosen {
		trees[i] = mount.MountPoint
	}
	return trees
}

// shows says whether a mount shows what another one of its superblock has mounted.
func shows(x *mounts.Index, c, other mounts.Mount) bool {
	rest, ok := strings.CutPrefix(other.Root, strings.TrimSuffix(c.Root, "/"))
	if !ok || rest != "" && rest[0] != '/' {
		return false
	}
	at, ok := x.Covering(path.Join(c.MountPoint, rest))
	return ok && at.ID == c.ID
}

// treesOffline is the root of the disk for what lies on its file system, else the place itself.
func (m *measurer) treesOffline(ctx context.Context, f eviction.FileSystem) []string {
	if st, err := askDisk(ctx, m, "root of the disk", func() (nodefs.FSStat, error) { return m.fs.Statfs("/") }); err == nil && deviceName(st.Dev) == f.Device {
		return []string{"/"}
	}
	for _, p := range m.state.Places {
		if p.Device == f.Device {
			return []string{p.Path}
		}
	}
	return []string{}
}

// deleted are the files without a name that take space on a file system.
func (m *measurer) deleted(device string) []eviction.Item {
	var items []eviction.Item
	if h := m.evidence.MountUse; h != nil {
		for _, f := range h.Deleted {
			if forensics.DiskOf(m.model, f.Device) == device {
				items = append(items, eviction.Item{
					Kind: eviction.KindDeleted, Path: f.Path, Bytes: f.AllocatedBytes, Files: 1, PodUID: m.podOfProcess(f.PID),
				})
			}
		}
	}
	return items
}

func (m *measurer) podOfProcess(pid int) string {
	p, _ := m.model.Process(pid)
	return p.PodUID
}

// nameOwners adds the pods of containers.
func (m *measurer) nameOwners(items []eviction.Item) {
	pods := map[string]string{}
	for _, p := range m.evidence.Processes {
		if p.ContainerID != "" {
			pods[p.ContainerID] = p.PodUID
		}
	}
	for _, c := range m.evidence.Containers {
		pods[c.ID] = cmp.Or(c.PodUID, pods[c.ID])
	}
	for _, s := range m.evidence.Sandboxes {
		pods[s.ID] = cmp.Or(s.PodUID, pods[s.ID])
	}
	for i := range items {
		if items[i].PodUID == "" && items[i].ContainerID != "" {
			items[i].PodUID = pods[items[i].ContainerID]
		}
	}
}

// overlayOf is the id of a container in the mount point of its root file system, where containerd or CRI-O names it.
var overlayOf = pattern.New(`/([0-9a-f]{64})/rootfs$`)
