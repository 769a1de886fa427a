package forensics

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/backing"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// NewModel joins evidence. It does not change it, and shares its memory.
func NewModel(e *Evidence) *Model {
	m := &Model{
		evidence: e, host: e.Mounts.Index(), tables: map[uint64]*mounts.Index{},
		byDevice: map[string][]mounts.Mount{}, byPod: map[string][]mounts.Mount{}, health: map[string]mounts.Health{}, leaks: map[int]ForeignMount{},
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
	m.listed, m.listedCount, m.listedBy = listedPods(m)
	m.joins = joinGoroutines(e)
	for i, j := range slices.Backward(m.joins) { // the first counts
		m.running[threadID{j.Thread.PID, j.Thread.TID}] = i
		m.joined[goroutineID{j.Dump, j.Goroutine}] = i
	}
	m.answers = judgeHealth(m)
	for _, h := range m.answers {
		if old, ok := m.health[h.Device]; !ok || worse(h.Status, old.Status) {
			m.health[h.Device] = h
		}
	}
	return m
}

// addElsewhere adds the mounts of file systems that only other mount namespaces have, as of containers that run without
// root: threads wait for those, too.
func addElsewhere(m *Model) {
	known := maps.Clone(m.byDevice)
	leaked, _ := judgeForeign(m.evidence)
	for _, l := range leaked {
		if known[l.Mount.Device] == nil {
			m.byDevice[l.Mount.Device] = append(m.byDevice[l.Mount.Device], l.Mount)
			m.leaks[l.Mount.ID] = l
		}
	}
}

func newIndex(m *Model) index {
	e := m.evidence
	x := index{
		elsewhere: map[int]mounts.Mount{}, waitedOn: map[string]bool{},
		threadsOf:      positions(e.Threads, func(t *procs.Thread) int { return t.PID }),
		threadsAt:      positions(e.Threads, func(t *procs.Thread) int { return t.MountID }),
		threadsIn:      positions(e.Threads, func(t *procs.Thread) string { return t.Device }),
		processesOf:    positions(e.Processes, func(p *procs.Process) string { return p.PodUID }),
		processesIn:    positions(e.Processes, func(p *procs.Process) uint64 { return p.MountNS }),
		dumpsOf:        positions(e.Dumps, func(d *Dump) string { return processOf(*d) }),
		podDirOf:       positions(e.PodDirs, func(d *kubelet.PodDir) string { return d.UID }),
		containersOf:   positions(e.Containers, func(c *runtimes.Container) string { return c.ID }),
		sandboxesOf:    positions(e.Sandboxes, func(s *runtimes.Sandbox) string { return s.ID }),
		backingOf:      positions(e.Backings, func(b *backing.Backing) string { return b.Device }),
		kubeletVersion: sync.OnceValue(func() string { return findKubeletVersion(e) }),
		points:         sync.OnceValue(func() []string { return allPoints(e) }),
		disks:          sync.OnceValue(func() *eviction.Index { return e.Disks.Index() }),
		cluster:        sync.OnceValue(func() *apidump.Index { return e.Cluster.Index() }),
		goroutines:     sync.OnceValue(func() []goroutinePlace { return goroutinesOf(e.Dumps) }),
		traces:         sync.OnceValue(func() *podTraces { return newPodTraces(m) }),
	}
	x.podsOf = positions(e.Pods, func(p *kubelet.Pod) string {
		if p.Kind == "" {
			return ""
		}
		return p.UID
	})
	if e.Logs != nil {
		x.deletionsOf = positions(e.Logs.Deletions, func(d *logs.Deletion) string {
			if d.Done || !d.Proven && len(d.Complaints) == 0 {
				return ""
			}
			return d.PodUID
		})
	}
	for _, t := range e.Namespaces {
		for _, mount := range t.Mounts {
			if _, twice := x.elsewhere[mount.ID]; !twice {
				x.elsewhere[mount.ID] = mount
			}
		}
	}
	for _, t := range e.Threads {
		if list := m.byDevice[t.Device]; len(list) > 0 && !t.Gone && WaitsFor(t.Wait, list[0]) {
			x.waitedOn[t.Device] = true
		}
	}
	x.processesSeen.ok, x.processesSeen.why = e.Saw(SourceProcesses)
	x.cgroupsSeen.ok, x.cgroupsSeen.why = e.Saw(SourceCgroups)
	x.podsSeen.ok, x.podsSeen.why = e.wholePodList()
	return x
}

func newUses(m *Model) *Uses {
	x := &Uses{model: m}
	x.namespaces = sync.OnceValue(x.allNamespaces)
	h := m.evidence.MountUse
	if h == nil {
		return x
	}
	x.servers, x.copies = judgeServers(&h.FUSE), judgeCopies(m.evidence)
	x.leaked, x.private = judgeForeign(m.evidence)
	x.usesIndex = usesIndex{
		holdersOf:     positions(h.Holders, func(h *holders.Holder) int { return h.MountID }),
		holdersIn:     positions(h.Holders, func(h *holders.Holder) string { return h.Device }),
		kernelOf:      positions(h.Kernel, func(k *holders.KernelUser) int { return k.MountID }),
		copiesOf:      positions(x.copies, func(c *mounts.Copy) int { return c.Of }),
		serversOf:     positions(x.servers, func(s *FUSEServer) string { return s.Device }),
		leakedIn:      positions(x.leaked, func(l *ForeignMount) string { return l.Mount.Device }),
		privateIn:     positions(x.private, func(l *ForeignMount) string { return l.Mount.Device }),
		descriptorsOf: positions(h.Namespaces, func(h *holders.NamespaceHold) uint64 { return h.Namespace }),
		pinnedOf:      positions(h.Pinned, func(p *PinnedNamespace) uint64 { return p.Namespace }),
		uninhabited:   map[uint64]bool{}, userNames: map[int]string{},
	}
	x.byPathAt = positions(h.Holders, func(h *holders.Holder) string {
		mount, ok := m.host.ByID(h.MountID)
		if !h.ByPath || !ok || mount.MountPoint == "/" {
			return ""
		}
		return mount.MountPoint
	})
	for _, ns := range h.Uninhabited {
		x.uninhabited[ns] = true
	}
	for _, u := range h.Users {
		if _, twice := x.userNames[u.UID]; !twice {
			x.userNames[u.UID] = u.Name
		}
	}
	for _, s := range x.servers {
		if s.Detached && s.OnlyWaiting && x.detachedFUSE == "" {
			x.detachedFUSE = s.Device
		}
	}
	return x
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

func findKubeletVersion(e *Evidence) string {
	if k := e.Kubelet; k != nil && k.Version != "" {
		return k.Version
	}
	for _, d := range e.Dumps {
		if !d.ofKubelet() {
			continue
		}
		if v, ok := goroutines.KubeletVersion(d.Dump); ok {
			return strings.TrimPrefix(v, "v")
		}
	}
	if s := e.Logs; s != nil && len(s.Lives) > 0 {
		return text.Release(s.Lives[len(s.Lives)-1].Version)
	}
	return ""
}
