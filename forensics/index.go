package forensics

import (
	"cmp"
	"slices"
	"sync"

	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/backing"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
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
	// What few ask for, or dear, is found when somebody asks first.
	kubeletVersion func() string
	points         func() []string // all mount points of all tables, sorted
	disks          func() *eviction.Index
	cluster        func() *apidump.Index
	goroutines     func() []goroutinePlace

	waitedOn map[string]bool // superblocks that a thread waits for, not only for a lock of them
	// What coverage says of some sources, which may have many entries.
	processesSeen, cgroupsSeen, podsSeen seen
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

// Goroutine finds a goroutine of a dump, or of any (-1), and which dump that is.
func (m *Model) Goroutine(dump int, id int64) (g goroutines.Goroutine, in int, ok bool) {
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
