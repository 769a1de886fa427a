package forensics

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/backing"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/poduid"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// Model is the evidence joined on identity: mounts by id and superblock, threads by pid and tid, goroutines to threads
// by the pointer arguments of the system call, pods by UID, volumes by path. It has no facts of its own.
type Model struct {
	evidence *Evidence
	host     *mounts.Index
	tables   map[uint64]*mounts.Index
	byDevice map[string][]mounts.Mount
	byPod    map[string][]mounts.Mount
	leaks    map[int]ForeignMount     // by mount id: those of file systems that only other mount namespaces have
	answers  []mounts.Health          // of the mounts that were probed
	health   map[string]mounts.Health // the worst of a superblock
	joins    []Join
	threads  map[threadID]procs.Thread
	running  map[threadID]int    // the join of a thread, as an index
	joined   map[goroutineID]int // that of a goroutine
	process  map[int]procs.Process
	pods     map[string]podFacts
	listed   map[string]bool // by the kubelet, or else the API server, listedCount pods; nil if no list is whole, or all are empty

	listedCount int
	listedBy    lister
	index       index
	uses        *Uses
}

type threadID struct{ pid, tid int }

// Evidence is the evidence of the model.
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

// Health is the worst known state of a superblock.
func (m *Model) Health(device string) (mounts.Health, bool) {
	h, ok := m.health[device]
	return h, ok
}

// Answered says whether the server of a file system answered this program's requests for attributes and size. Then the server works,
// although other processes wait for it: one call that transfers data may take long, or need a part of the server that is stuck. FUSE
// sends every statfs(2) to the server. It is false for a file system on a disk, which may have answered from memory.
func (m *Model) Answered(device string) bool {
	h, list := m.health[device], m.MountsOf(device)
	return len(list) > 0 && list[0].Class != mounts.ClassBlock && h.Method == mounts.MethodProbe &&
		(h.Status == mounts.StatusOK || h.Status == mounts.StatusSlow || h.Status == mounts.StatusRecovered)
}

// Joins are the goroutines whose threads are known.
func (m *Model) Joins() []Join { return m.joins }

// ThreadOf finds the thread that runs a goroutine, nil if that is not known.
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

// PodOf names the pod and the volume of a path below a pod directory; "" where the path does not have them. The
// volume is "<uid>/<plugin>/<name>"; of a subpath only the volume's name is known, its plugin is then "subpath".
func PodOf(p string) (uid, volume string) {
	if !strings.Contains(p, "/pods/") { // most paths, and much cheaper
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

// podDir finds a pod's directory.
func podDir(m *Model, uid string) (kubelet.PodDir, bool) {
	if at := m.index.podDirOf[uid]; len(at) > 0 {
		return m.evidence.PodDirs[at[0]], true
	}
	return kubelet.PodDir{}, false
}

// Backing is the server or disk of a superblock; false where it was not collected or nothing is known.
func (m *Model) Backing(device string) (backing.Backing, bool) {
	if at := m.index.backingOf[device]; len(at) > 0 {
		return m.evidence.Backings[at[0]], true
	}
	return backing.Backing{}, false
}

// Waited is how long a thread has provably waited, at least: since it last ran, since its goroutine was stamped, or between two equal
// readings.
func (m *Model) Waited(t procs.Thread) WaitAtLeast {
	var w WaitAtLeast
	if t.WaitSeconds != nil {
		w = WaitAtLeast{*t.WaitSeconds, true, "the thread has not run since", t.WaitFrom == procs.WaitFromSched}
	}
	if t.Same && t.SampledSeconds > w.Seconds {
		w = WaitAtLeast{t.SampledSeconds, true, "two readings of the thread were equal", false}
	}
	if j := m.GoroutineOf(t.PID, t.TID); j != nil && j.Certain {
		g, _ := m.Goroutine(j.Dump, j.Goroutine)
		if age := g.WaitAtLeast().Seconds(); age > w.Seconds {
			from := fmt.Sprintf("the dump shows %s for goroutine %d, which proves at least %s", text.Plural(g.WaitMinutes, "minute"), g.ID, text.Duration(age))
			w = WaitAtLeast{age, true, from, false}
		}
	}
	return w
}

type podFacts struct {
	namespace, name string
	live, deleting  bool
	listed          bool // by a list of pods, not only by traces on the node
	hearsay         bool // its name is from a file that the pod can write, or from a line of a log
	why             string
}

// Cluster answers questions about the objects of the API; only where there is a dump of it.
func (m *Model) Cluster() *apidump.Index { return m.index.cluster() }

// Disks answers questions about disks; there are none where they were not measured.
func (m *Model) Disks() *eviction.Index { return m.index.disks() }

// ThreadsIn lists the threads whose path lies on a superblock, in the order of the evidence.
func (m *Model) ThreadsIn(device string) []procs.Thread {
	return pick(m.evidence.Threads, m.index.threadsIn[device])
}

// Goroutine finds a goroutine of a dump.
func (m *Model) Goroutine(dump int, id int64) (g goroutines.Goroutine, ok bool) {
	list := m.index.goroutines()
	i, _ := slices.BinarySearchFunc(list, goroutinePlace{id: id, dump: int32(dump)}, func(a, b goroutinePlace) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.dump, b.dump))
	})
	if i == len(list) || list[i].id != id || int(list[i].dump) != dump {
		return g, false
	}
	return m.evidence.Dumps[dump].Goroutines[list[i].i], true
}
