package collect

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	evictionlive "github.com/nodeforensics/nodeforensics/forensics/eviction/live"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// statfsLimit is how long one file system may take to tell its size.
const statfsLimit = 2 * time.Second

// disks finds the file systems of the kubelet and the runtime, and counts those that are near a threshold.
func (c *collector) disks(ctx context.Context) {
	limit := 2*readLimit + max(c.opt.DiskUsage, evictionlive.DefaultBudget)
	c.opt.Progress("measuring disks")
	c.read(ctx, forensics.SourceDisks, limit, c.measureDisks)
}

// A view is a mount namespace, by files and by table; offline there is no table.
type view struct {
	fs    *hostfs.FS
	table *mounts.Index
}

// A measurer is one run of measureDisks.
type measurer struct {
	*collector
	evidence forensics.Evidence
	model    *forensics.Model
	state    *eviction.State
	rooted   string // the runtime's root directory as it calls it, which may lead through symbolic links
	host     view
	views    map[string]view         // of a place, by device
	mounts   map[string]mounts.Mount // by device: the mount that a place lies on
	problems []error
}

func (c *collector) measureDisks(ctx context.Context) (forensics.Evidence, error) {
	e := c.seen()
	k := e.Kubelet
	if k == nil || k.CanonicalRoot == "" {
		return forensics.Evidence{}, fmt.Errorf("no kubelet directory is known: %w", fs.ErrNotExist)
	}
	node, done, err := c.kubeletFS(k)
	if err != nil {
		return forensics.Evidence{}, err
	}
	defer done()
	m := measurer{
		collector: c, evidence: e, model: forensics.NewModel(&e), host: view{fs: c.fs}, views: map[string]view{}, mounts: map[string]mounts.Mount{},
		state: &eviction.State{Places: []eviction.Place{}, FileSystems: []eviction.FileSystem{}, Usage: []eviction.Usage{}},
	}
	inside := view{fs: node}
	if c.fs.Live() {
		table := c.kubeletTable()
		m.host.table, inside.table = e.Mounts.Index(), table.Index()
	}
	settings := diskSettings(k, m.model.KubeletMinor())
	m.state.Thresholds, m.state.ImageGC, m.state.Problems = settings.Thresholds(), settings.ImageGC(), settings.Problems()
	m.state.Assumed = assumed(k)
	m.place(ctx, inside, eviction.RoleNode, k.CanonicalRoot, "root directory of the kubelet")
	store := m.placeStore(ctx, k)
	m.place(ctx, m.host, eviction.RolePodLogs, podLogDir(k), "container logs")
	m.place(ctx, m.host, eviction.RoleSystemLogs, "/var/log", "logs of the system")
	early := *m.state // counting may take longer than there is time
	early.FileSystems = slices.Clone(early.FileSystems)
	early.NotWalked = "there was no time"
	c.tell(forensics.Evidence{Disks: &early})
	m.walk(ctx, eviction.Layout{
		KubeletRoot: m.pathOf(eviction.RoleNode), PodLogs: m.pathOf(eviction.RolePodLogs), Runtime: store.Runtime, Root: store.Root,
		Images: store.Images, Writable: m.writable(store),
	})
	part := forensics.Evidence{Disks: m.state}
	if len(m.problems) > 0 {
		part.Coverage = []forensics.Source{{
			Source: forensics.SourceDisks, Status: forensics.SourceTruncated,
			Detail: fmt.Sprintf("%s; first: %v", text.Plural(len(m.problems), "problem"), m.problems[0]),
		}}
	}
	return part, nil
}

// diskSettings are what the kubelet was told about disks.
func diskSettings(k *kubelet.Instance, minor int) eviction.Settings {
	s := eviction.Settings{Flags: k.Flags, Minor: minor, Program: k.Program}
	if c := k.Config; c != nil {
		s.EvictionHard, s.EvictionSoft, s.SoftGracePeriod = c.EvictionHard, c.EvictionSoft, c.EvictionSoftGracePeriod
		s.MergeDefaults = c.MergeDefaultEviction != nil && *c.MergeDefaultEviction
		s.HighPercent, s.LowPercent, s.MaximumGCAge = c.ImageGCHighThreshold, c.ImageGCLowThreshold, c.ImageMaximumGCAge
	}
	return s
}

// assumed says why a kubelet may have other thresholds than its settings show.
func assumed(k *kubelet.Instance) string {
	named := k.ConfigPath
	if flag := k.Flags["config"]; named == "" {
		named = flag
	}
	switch {
	case k.Config != nil:
		return ""
	case named != "":
		return named + " could not be read"
	case k.PID == 0:
		return "no configuration of a kubelet was found"
	}
	return ""
}

func podLogDir(k *kubelet.Instance) string {
	if k.Config != nil && k.Config.PodLogsDir != "" {
		return k.Config.PodLogsDir
	}
	return "/var/log/pods"
}

// knownStore is that of the runtime that the kubelet uses, where its files were read.
func (m *measurer) knownStore() (evictionlive.Store, bool) {
	runtimes, name := m.evidence.Runtimes, m.model.RuntimeEntity().ID
	for _, r := range runtimes {
		if path.IsAbs(r.Root) && (r.Name == name || name == "cri-dockerd" && r.Name == "docker" || len(runtimes) == 1) {
			at := r.Root
			if path.IsAbs(r.SnapshotDir) {
				at = r.SnapshotDir
			}
			return evictionlive.Store{Runtime: r.Name, Root: r.Root, Images: at, Layers: at, Why: "files of the runtime"}, true
		}
	}
	return evictionlive.Store{}, false
}

// placeStore finds the file systems of images and of writable layers.
func (m *measurer) placeStore(ctx context.Context, k *kubelet.Instance) evictionlive.Store {
	hints := evictionlive.StoreHints{Endpoint: forensics.RuntimeEndpoint(m.model.Evidence()), Program: k.Program}
	if k.Program == "k3s" || k.Program == "rke2" {
		hints.DataDir = k.Flags["data-dir"]
	}
	for _, p := range forensics.RuntimeProcesses(m.evidence.Processes) {
		if p.Comm == "containerd" && p.MountNS == m.evidence.Mounts.Namespace {
			hints.Commands = append(hints.Commands, p.Command)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, statfsLimit)
	defer cancel()
	configured := ""
	store, err := probe.Do(ctx, m.opt.Calls, "directories of the runtime", func() (evictionlive.Store, error) {
		store, ok := m.knownStore()
		if !ok {
			store, ok = evictionlive.FindStore(m.host.fs, hints)
		}
		if !ok {
			return store, fmt.Errorf("no directory of a container runtime was found: %w", fs.ErrNotExist)
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
	return mount, fmt.Errorf("%s: not asked: the %s mount at %s %s", name, mount.FSType, mount.MountPoint, forensics.DescribeStatus(h))
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

// overlayOf is the id of a container in the mount point of its root file system, where containerd or CRI-O names it.
var overlayOf = regexp.MustCompile(`/([0-9a-f]{64})/rootfs$`)

// writable are the writable layers of containers: the upper directories of the overlays that are mounted, and what the
// files of the runtime say, with the container's id where it is known.
func (m *measurer) writable(store evictionlive.Store) map[string]string {
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
		// In the storage of CRI-O and Docker a layer's id is the name of its directory.
		if c.SnapshotKey != "" && c.Root == m.rooted && (c.Runtime == "cri-o" || c.Runtime == "docker") && path.Base(c.SnapshotKey) == c.SnapshotKey {
			found[path.Join(store.Layers, c.SnapshotKey)] = c.ID
		}
	}
	return found
}

// walk counts what fills the file systems that are near a threshold, or all of them if that was asked for.
func (m *measurer) walk(ctx context.Context, layout eviction.Layout) {
	budget := m.opt.DiskUsage
	if budget < 0 {
		m.state.NotWalked = "it was not wanted"
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
		m.state.NotWalked = "no threshold is near; --disk-usage 30s counts all the same"
	}
	ends := m.opt.Now().Add(budget)
	for i, f := range want {
		left := ends.Sub(m.opt.Now()) / time.Duration(len(want)-i)
		switch m.mounts[f.Device].Class {
		case mounts.ClassNetwork, mounts.ClassFUSE, mounts.ClassAutofs, mounts.ClassUnknown:
			m.state.NotWalked = f.MountPoint + " has a server, which would have to be asked for each file"
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
		u.Cut = "the file system stopped answering: " + err.Error()
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
