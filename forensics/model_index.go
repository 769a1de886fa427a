package forensics

import (
	"cmp"
	"slices"
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
)

// index finds what the model is asked for again and again without looking through the evidence: positions in its lists by
// what they are joined on, in order. A question must not cost more because somebody has multiplied pods, mounts, threads
// or holders: a pod can do that to each of them.
type index struct {
	elsewhere map[int]mounts.Mount // by id, of the other namespaces that were read; the first counts

	threadsOf    map[int][]int32    // by process
	threadsAt    map[int][]int32    // by mount
	threadsIn    map[string][]int32 // by superblock
	processesOf  map[string][]int32 // by pod
	processesIn  map[uint64][]int32 // by mount namespace
	dumpsOf      map[string][]int32 // by process, see processOf
	podDirOf     map[string][]int32 // by pod
	podsOf       map[string][]int32 // by pod; those that tell a kind
	deletionsOf  map[string][]int32 // by pod; those that have not ended
	containersOf map[string][]int32 // by id
	sandboxesOf  map[string][]int32 // by id
	backingOf    map[string][]int32 // by superblock
	heldIndex
	// What few ask for, or dear, is found when somebody asks first.
	kubeletVersion func() string
	namespaces     func() map[uint64]NamespaceProcesses
	points         func() []string // all mount points of all tables, sorted
	images         func() map[string]int32
	podsNamed      func() map[string][]int32 // by either UID of a static pod
	disks          func() *eviction.Index
	containerStep  func() string // for each disk that is full, see DestructionOrder
	imageStep      func() string
	cluster        func() *apidump.Index
	goroutines     func() []goroutinePlace

	waitedOn map[string]bool // superblocks that a thread waits for, not only for a lock of them
	// What coverage says of some sources, which may have many entries.
	processesSeen, cgroupsSeen, podsSeen seen
}

// heldIndex is that of [Held].
type heldIndex struct {
	holdersOf     map[int][]int32    // by mount
	holdersIn     map[string][]int32 // by superblock
	byPathAt      map[string][]int32 // holders by the mount point of the host's mount that only their path tells
	kernelOf      map[int][]int32    // by mount
	copiesOf      map[int][]int32    // by mount
	serversOf     map[string][]int32 // by superblock
	leakedIn      map[string][]int32 // by superblock
	apartIn       map[string][]int32 // by superblock
	descriptorsOf map[uint64][]int32 // by namespace
	pinnedOf      map[uint64][]int32 // by namespace
	uninhabited   map[uint64]bool
	userNames     map[int]string
	detachedFUSE  string // the only FUSE superblock that callers wait for, if it is in no mount table
}

type goroutineID struct {
	dump int
	id   int64
}

// seen is what [Evidence.Saw] says.
type seen struct {
	ok  bool
	why string
}

// positions lists where each key is in a list. The zero value of a key is "unknown" and left out.
func positions[T any, K comparable](list []T, key func(*T) K) map[K][]int32 {
	var unknown K
	at := map[K][]int32{}
	for i := range list {
		if k := key(&list[i]); k != unknown {
			at[k] = append(at[k], int32(i))
		}
	}
	return at
}

// pick returns the elements at positions.
func pick[T any](list []T, at []int32) []T {
	var found []T
	for _, i := range at {
		found = append(found, list[i])
	}
	return found
}

// merged joins lists of positions into one in order, each position once.
func merged(lists ...[]int32) []int32 {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}

func newIndex(m *Model) index {
	e := m.evidence
	x := index{
		elsewhere: map[int]mounts.Mount{}, waitedOn: map[string]bool{}, heldIndex: newHeldIndex(m),
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
		kubeletVersion: sync.OnceValue(m.findKubeletVersion),
		namespaces:     sync.OnceValue(m.allNamespaces),
		points:         sync.OnceValue(m.allPoints),
		images:         sync.OnceValue(m.imagesByName),
		podsNamed:      sync.OnceValue(func() map[string][]int32 { return podsNamed(e.Pods) }),
		containerStep:  sync.OnceValue(m.containerStep),
		imageStep:      sync.OnceValue(m.imageStep),
		disks:          sync.OnceValue(func() *eviction.Index { return e.Disks.Index() }),
		cluster:        sync.OnceValue(func() *apidump.Index { return e.Cluster.Index() }),
		goroutines:     sync.OnceValue(func() []goroutinePlace { return goroutinesOf(e.Dumps) }),
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

func newHeldIndex(m *Model) heldIndex {
	h := m.evidence.Held
	if h == nil {
		return heldIndex{}
	}
	x := heldIndex{
		holdersOf:     positions(h.Holders, func(h *holders.Holder) int { return h.MountID }),
		holdersIn:     positions(h.Holders, func(h *holders.Holder) string { return h.Device }),
		kernelOf:      positions(h.Kernel, func(k *holders.KernelUser) int { return k.MountID }),
		copiesOf:      positions(h.Copies, func(c *mounts.Copy) int { return c.Of }),
		serversOf:     positions(h.Servers, func(s *FUSEServer) string { return s.Device }),
		leakedIn:      positions(h.Leaked, func(l *LeakedMount) string { return l.Mount.Device }),
		apartIn:       positions(h.Apart, func(l *LeakedMount) string { return l.Mount.Device }),
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
	for _, s := range h.Servers {
		if s.Detached && s.OnlyWaiting && x.detachedFUSE == "" {
			x.detachedFUSE = s.Device
		}
	}
	return x
}

// podsNamed finds pods by the UID of the kubelet and, of static ones, by that of the API.
func podsNamed(pods []kubelet.Pod) map[string][]int32 {
	at := map[string][]int32{}
	for i, p := range pods {
		at[p.UID] = append(at[p.UID], int32(i))
		if p.MirrorUID != p.UID {
			at[p.MirrorUID] = append(at[p.MirrorUID], int32(i))
		}
	}
	return at
}

// A goroutinePlace is where a goroutine stands in the dumps.
type goroutinePlace struct {
	id      int64
	dump, i int32
}

// goroutinesOf lists the goroutines of all dumps by their numbers.
func goroutinesOf(dumps []Dump) []goroutinePlace {
	n := 0
	for i := range dumps {
		n += len(dumps[i].Goroutines)
	}
	list := make([]goroutinePlace, 0, n)
	for d := range dumps {
		for i := range dumps[d].Goroutines {
			list = append(list, goroutinePlace{dumps[d].Goroutines[i].ID, int32(d), int32(i)})
		}
	}
	slices.SortFunc(list, func(a, b goroutinePlace) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.dump, b.dump), cmp.Compare(a.i, b.i))
	})
	return list
}

// anyDump stands for the first dump that has a goroutine.
const anyDump = -1

// Cluster answers questions about the objects of the API; only where there is a dump of it.
func (m *Model) Cluster() *apidump.Index { return m.index.cluster() }

// Disks answers questions about disks; there are none where they were not measured.
func (m *Model) Disks() *eviction.Index { return m.index.disks() }

// ThreadsIn lists the threads whose path lies on a superblock, in the order of the evidence.
func (m *Model) ThreadsIn(device string) []procs.Thread {
	return pick(m.evidence.Threads, m.index.threadsIn[device])
}

// goroutine finds a goroutine of a dump, and which dump that is.
func (m *Model) goroutine(dump int, id int64) (g goroutines.Goroutine, in int, ok bool) {
	list := m.index.goroutines()
	i, _ := slices.BinarySearchFunc(list, goroutinePlace{id: id, dump: int32(dump)}, func(a, b goroutinePlace) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.dump, b.dump))
	})
	if i == len(list) || list[i].id != id || dump != anyDump && int(list[i].dump) != dump {
		return g, 0, false
	}
	in = int(list[i].dump)
	return m.evidence.Dumps[in].Goroutines[list[i].i], in, true
}
