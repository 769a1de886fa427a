package forensics

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/backing"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/poduid"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// Model is the evidence joined on identity: mounts by id and superblock, threads by pid and tid, goroutines to threads
// by the pointer arguments of the system call, pods by UID, volumes by path. It holds no facts of its own.
type Model struct {
	evidence *Evidence
	host     *mounts.Index
	tables   map[uint64]*mounts.Index
	byDevice map[string][]mounts.Mount
	byPod    map[string][]mounts.Mount
	leaks    map[int]LeakedMount // by mount id: those of file systems that only other mount namespaces have
	health   map[string]mounts.Health
	joins    []Join
	threads  map[threadID]procs.Thread
	running  map[threadID]int    // the join of a thread, as an index
	joined   map[goroutineID]int // that of a goroutine
	process  map[int]procs.Process
	pods     map[string]podFacts
	listed   map[string]bool // by the kubelet, listedCount pods; nil if its list is not whole, or empty

	listedCount int
	index       index
	uses        *Uses
}

type threadID struct{ pid, tid int }

// NewModel joins evidence. It does not change it, and shares its memory.
func NewModel(e *Evidence) *Model {
	m := &Model{
		evidence: e, host: e.Mounts.Index(), tables: map[uint64]*mounts.Index{},
		byDevice: map[string][]mounts.Mount{}, byPod: map[string][]mounts.Mount{}, health: map[string]mounts.Health{}, leaks: map[int]LeakedMount{},
		threads: map[threadID]procs.Thread{}, running: map[threadID]int{}, joined: map[goroutineID]int{}, process: map[int]procs.Process{},
	}
	m.tables[e.Mounts.Namespace] = m.host
	for i := range e.Namespaces {
		m.tables[e.Namespaces[i].Namespace] = e.Namespaces[i].Index()
	}
	seen := map[int]bool{} // mount ids are unique across namespaces
	for _, table := range append([]mounts.Table{e.Mounts}, e.Namespaces...) {
		for _, mount := range table.Mounts {
			if !seen[mount.ID] {
				seen[mount.ID] = true
				m.byDevice[mount.Device] = append(m.byDevice[mount.Device], mount)
			}
		}
	}
	addElsewhere(m)
	for _, h := range e.Health {
		if old, ok := m.health[h.Device]; !ok || worse(h.Status, old.Status) {
			m.health[h.Device] = h
		}
	}
	for _, mount := range e.Mounts.Mounts {
		if uid, _ := PodOf(mount.MountPoint); uid != "" && m.BelowKubelet(mount.MountPoint) {
			m.byPod[uid] = append(m.byPod[uid], mount)
		}
	}
	for _, t := range e.Threads {
		m.threads[threadID{t.PID, t.TID}] = t
	}
	for _, p := range e.Processes {
		m.process[p.PID] = p
	}
	m.uses = newUses(m)
	m.index = newIndex(m)
	m.pods = livePods(m)
	m.listed, m.listedCount = listedPods(m)
	m.joins = joinGoroutines(e)
	for i, j := range slices.Backward(m.joins) { // the first counts
		m.running[threadID{j.Thread.PID, j.Thread.TID}] = i
		m.joined[goroutineID{j.Dump, j.Goroutine}] = i
		m.joined[goroutineID{anyDump, j.Goroutine}] = i
	}
	return m
}

// addElsewhere adds the mounts of file systems that only other mount namespaces have, as of containers that run without
// root: threads wait for those, too.
func addElsewhere(m *Model) {
	if m.evidence.MountUse == nil {
		return
	}
	known := maps.Clone(m.byDevice)
	for _, l := range m.evidence.MountUse.Leaked {
		if known[l.Mount.Device] == nil {
			m.byDevice[l.Mount.Device] = append(m.byDevice[l.Mount.Device], l.Mount)
			m.leaks[l.Mount.ID] = l
		}
	}
}

// worse orders statuses by what they prove about a superblock.
func worse(a, b mounts.Status) bool {
	order := map[mounts.Status]int{
		mounts.StatusHung: 9, mounts.StatusFrozen: 8, mounts.StatusDisconnected: 7, mounts.StatusIOError: 6,
		mounts.StatusStale: 5, mounts.StatusSlow: 4, mounts.StatusRecovered: 3, mounts.StatusUnanswered: 2,
		mounts.StatusOK: 1, mounts.StatusDenied: 1, mounts.StatusNotProbed: 0,
	}
	return order[a] > order[b]
}

// Evidence is what the model was made of.
func (m *Model) Evidence() *Evidence { return m.evidence }

// Host is the index of the host's mount table.
func (m *Model) Host() *mounts.Index { return m.host }

// Mount finds a mount by its id, in the host's namespace first.
func (m *Model) Mount(id int) (mounts.Mount, bool) {
	if mount, ok := m.host.ByID(id); ok {
		return mount, true
	}
	mount, ok := m.index.elsewhere[id]
	return mount, ok
}

// MountsOf lists the mounts of a superblock, the host's first.
func (m *Model) MountsOf(device string) []mounts.Mount { return m.byDevice[device] }

// Health is the worst that was learnt about a superblock.
func (m *Model) Health(device string) (mounts.Health, bool) {
	h, ok := m.health[device]
	return h, ok
}

// Answered says whether the server of a file system has answered this program when it asked for attributes and size. So it
// lives, whoever else waits for it: one call that moves data may take long, or concern a part of a server that is stuck. FUSE
// sends every statfs(2) to the server. It is false for a file system on a disk, which may have answered from memory.
func (m *Model) Answered(device string) bool {
	h, list := m.health[device], m.MountsOf(device)
	return len(list) > 0 && list[0].Class != mounts.ClassBlock && h.Method == "probe" &&
		(h.Status == mounts.StatusOK || h.Status == mounts.StatusSlow || h.Status == mounts.StatusRecovered)
}

// Joins are the goroutines that were found to be threads.
func (m *Model) Joins() []Join { return m.joins }

// ThreadOf finds the thread that a goroutine is, nil if that is not known.
func (m *Model) ThreadOf(dump int, goroutine int64) *Join {
	if i, ok := m.joined[goroutineID{dump, goroutine}]; ok {
		return &m.joins[i]
	}
	return nil
}

// GoroutineOf finds the goroutine that a thread runs, nil if that is not known.
func (m *Model) GoroutineOf(pid, tid int) *Join {
	if i, ok := m.running[threadID{pid, tid}]; ok {
		return &m.joins[i]
	}
	return nil
}

// Thread finds a waiting thread.
func (m *Model) Thread(pid, tid int) (procs.Thread, bool) {
	t, ok := m.threads[threadID{pid, tid}]
	return t, ok
}

// Process finds a process.
func (m *Model) Process(pid int) (procs.Process, bool) {
	p, ok := m.process[pid]
	return p, ok
}

// KubeletRoots are the kubelet's root directory as configured and with symlinks resolved, without doubles.
func (m *Model) KubeletRoots() []string {
	k := m.evidence.Kubelet
	if k == nil {
		return nil
	}
	var roots []string
	for _, root := range []string{k.CanonicalRoot, k.RootDir} {
		if root != "" && (len(roots) == 0 || roots[0] != root) {
			roots = append(roots, root)
		}
	}
	return roots
}

// BelowKubelet says whether a path is the kubelet's root directory or lies below it.
func (m *Model) BelowKubelet(p string) bool {
	for _, root := range m.KubeletRoots() {
		if p == root || strings.HasPrefix(p, strings.TrimSuffix(root, "/")+"/") {
			return true
		}
	}
	return false
}

// PodOf names the pod and the volume that a path below a pod directory belongs to; "" where it does not say. The
// volume is "<uid>/<plugin>/<name>"; of a subpath only the volume's name is known, its plugin is then "subpath".
func PodOf(p string) (uid, volume string) {
	if !strings.Contains(p, "/pods/") { // most paths, at a fraction of the price
		return "", ""
	}
	parts := poduid.Path.FindStringSubmatch(p)
	if parts == nil {
		return "", ""
	}
	uid = parts[1]
	switch {
	case parts[2] == "volume-subpaths" && parts[3] != "":
		return uid, path.Join(uid, "subpath", parts[3])
	case parts[4] != "":
		return uid, path.Join(uid, strings.ReplaceAll(parts[3], "~", "/"), parts[4])
	}
	return uid, ""
}

// PodsOf lists the UIDs of the pods that have a mount of a superblock, in mountinfo order. What a path in another mount
// namespace names proves nothing: see [Model.LeakOf].
func (m *Model) PodsOf(device string) []string {
	var uids []string
	seen := map[string]bool{}
	for _, mount := range m.MountsOf(device) {
		uid, _ := PodOf(mount.MountPoint)
		if l, elsewhere := m.leaks[mount.ID]; elsewhere {
			uid, _ = m.uses.LeakOf(l)
		}
		if uid != "" && !seen[uid] {
			seen[uid] = true
			uids = append(uids, uid)
		}
	}
	return uids
}

// PodMounts lists the host's mounts at or below a pod's directory, in mountinfo order.
func (m *Model) PodMounts(uid string) []mounts.Mount { return m.byPod[uid] }

// KubeletEntity is the kubelet as an entity.
func (m *Model) KubeletEntity() Entity {
	if k := m.evidence.Kubelet; k != nil && k.PID != 0 {
		return Entity{KindKubelet, strconv.Itoa(k.PID)}
	}
	return Entity{KindKubelet, "kubelet"}
}

// KubeletName is "kubelet 1.34.4", or "kubelet" where the version is unknown.
func (m *Model) KubeletName() string {
	if v := m.KubeletVersion(); v != "" {
		return "kubelet " + v
	}
	return "kubelet"
}

// KubeletVersion is the version without v ("1.34.4"), from the kubelet itself or else from a dump or its log; "" if
// unknown.
func (m *Model) KubeletVersion() string { return m.index.kubeletVersion() }

func findKubeletVersion(e *Evidence) string {
	if k := e.Kubelet; k != nil && k.Version != "" {
		return k.Version
	}
	for _, d := range e.Dumps {
		if v, ok := goroutines.KubeletVersion(d.Dump); ok {
			return strings.TrimPrefix(v, "v")
		}
	}
	if s := e.Logs; s != nil && len(s.Lives) > 0 {
		return text.Release(s.Lives[len(s.Lives)-1].Version)
	}
	return ""
}

// KubeletMinor is the minor version (34 of "1.34.4"), 0 if unknown.
func (m *Model) KubeletMinor() int {
	parts := strings.Split(m.KubeletVersion(), ".")
	if len(parts) < 2 || parts[0] != "1" {
		return 0
	}
	minor, err := strconv.Atoi(strings.TrimRight(parts[1], "+"))
	if err != nil {
		return 0
	}
	return minor
}

// PodDir finds a pod's directory.
func (m *Model) PodDir(uid string) (kubelet.PodDir, bool) {
	if at := m.index.podDirOf[uid]; len(at) > 0 {
		return m.evidence.PodDirs[at[0]], true
	}
	return kubelet.PodDir{}, false
}

// Backing is what stands behind a superblock; false where that was not looked at or nothing is known.
func (m *Model) Backing(device string) (backing.Backing, bool) {
	if at := m.index.backingOf[device]; len(at) > 0 {
		return m.evidence.Backings[at[0]], true
	}
	return backing.Backing{}, false
}
