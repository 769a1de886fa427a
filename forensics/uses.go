package forensics

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// Uses says what uses mounts, from [MountUse]. Without that evidence it has no users.
type Uses struct {
	model      *Model
	namespaces func() map[uint64]NamespaceProcesses
	servers    []FUSEServer
	copies     []mounts.Copy  // those in use
	leaked     []ForeignMount // those that the host no longer has
	private    []ForeignMount // those that the host also has, and that an unmount there does not reach
	usesIndex
}

// usesIndex is that of [MountUse].
type usesIndex struct {
	holdersOf     map[int][]int32    // by mount
	holdersIn     map[string][]int32 // by superblock
	byPathAt      map[string][]int32 // holders by the mount point of the host's mount that only their path tells
	kernelOf      map[int][]int32    // by mount
	copiesOf      map[int][]int32    // by mount
	serversOf     map[string][]int32 // by superblock
	leakedIn      map[string][]int32 // by superblock
	privateIn     map[string][]int32 // by superblock
	descriptorsOf map[uint64][]int32 // by namespace
	pinnedOf      map[uint64][]int32 // by namespace
	uninhabited   map[uint64]bool
	userNames     map[int]string
	detachedFUSE  string // the only FUSE superblock that callers wait for, if it is in no mount table
}

// Uses says what uses mounts.
func (m *Model) Uses() *Uses { return m.uses }

// Servers lists the processes that serve a superblock.
func (u *Uses) Servers(device string) []FUSEServer {
	return pick(u.servers, u.serversOf[device])
}

// AllServers lists the processes that serve FUSE file systems.
func (u *Uses) AllServers() []FUSEServer { return u.servers }

// Leaked lists the mounts that the host no longer has and other mount namespaces still have.
func (u *Uses) Leaked() []ForeignMount { return u.leaked }

// Detached says that an open file of a process is on a mount that is in no mount table: it was unmounted lazily.
func (u *Uses) Detached(h holders.Holder) bool {
	use := u.model.evidence.MountUse
	return h.Detached && use != nil && use.AllProcesses
}

// ServerTrouble is what keeps a process that serves a file system from answering: it is stopped, has ended, is frozen by its
// cgroup, or waits itself. One of the fields says which. String describes it in words that follow the name of the process.
type ServerTrouble struct {
	// State is the state of a process that is stopped (T, t) or has ended (Z, X), as in /proc/PID/stat.
	State  string
	Frozen bool
	// Waits is the thread of it that has waited for long, or for a file system that does not answer.
	Waits *procs.Thread
	// Waited is for how long.
	Waited WaitAtLeast
}

// Stopped says whether a signal or a debugger has stopped the process.
func (t ServerTrouble) Stopped() bool { return t.State == "T" || t.State == "t" }

// ServerTrouble finds what keeps a process that serves a file system from answering; false is nothing that can be seen.
func (u *Uses) ServerTrouble(pid int) (ServerTrouble, bool) {
	p, ok := u.model.Process(pid)
	if !ok {
		return ServerTrouble{}, false
	}
	switch p.State {
	case "T", "t", "Z", "X": // one that has ended has descriptors: another thread of it is alive, or was a moment ago
		return ServerTrouble{State: p.State}, true
	}
	if strings.Contains(p.Cgroup, "/") && frozen(u.model, pid) {
		return ServerTrouble{Frozen: true}, true
	}
	for _, i := range u.model.index.threadsOf[pid] {
		t := u.model.evidence.Threads[i]
		if !t.Gone && t.Wait.Kind != procs.WaitWriteback && t.Wait.Kind != procs.WaitFileLock {
			w := u.model.Waited(t)
			if w.Seconds >= cmp.Or(u.model.evidence.Collector.HungAfterSeconds, DefaultHungAfter.Seconds()) || waitsForHung(u.model, t) {
				return ServerTrouble{Waits: &u.model.evidence.Threads[i], Waited: w}, true
			}
		}
	}
	return ServerTrouble{}, false
}

// waitsForHung says whether a thread waits for a file system that is known to be hung, however long that thread has waited.
func waitsForHung(m *Model, t procs.Thread) bool {
	h, _ := m.Health(t.Device)
	list := m.MountsOf(t.Device)
	return h.Status == mounts.StatusHung && len(list) > 0 && WaitsFor(t.Wait, list[0])
}

// frozen says whether a thread of a process was seen in the freezer.
func frozen(m *Model, pid int) bool {
	return slices.ContainsFunc(m.index.threadsOf[pid], func(i int32) bool {
		t := &m.evidence.Threads[i]
		return !t.Gone && t.Wait.Kind == procs.WaitFreezer
	})
}

// Copies lists the mounts in use that keep a mount busy, because propagation ties them to it.
func (u *Uses) Copies(mountID int) []mounts.Copy {
	return append([]mounts.Copy{}, pick(u.copies, u.copiesOf[mountID])...)
}

// DescribeCopy names a copy: "mount 99 at /x", with its namespace if that is not the host's.
func (u *Uses) DescribeCopy(c mounts.Copy) string {
	text := fmt.Sprintf("mount %d at %s", c.MountID, c.MountPoint)
	if u.IsElsewhere(c.Namespace) {
		text += fmt.Sprintf(" in mount namespace %d", c.Namespace)
	}
	return text
}

// busyBy are the ids of the mounts whose use makes a mount busy: its own, and those of its copies.
func (u *Uses) busyBy(mountID int) map[int]bool {
	ids := map[int]bool{mountID: mountID != 0}
	for _, c := range u.Copies(mountID) {
		ids[c.MountID] = true
	}
	return ids
}

// at is where the mounts are in an index.
func at(index map[int][]int32, ids map[int]bool) []int32 {
	var lists [][]int32
	for id := range ids {
		lists = append(lists, index[id])
	}
	return merged(lists...)
}

// Holders lists the users of a mount or of one of its copies: the processes, and what in the kernel uses the mount.
func (u *Uses) Holders(mountID int) (holders []holders.Holder, kernel []holders.KernelUser) {
	h := u.model.evidence.MountUse
	if h == nil {
		return nil, nil
	}
	return pick(h.Holders, at(u.holdersOf, u.busyBy(mountID))), pick(h.Kernel, u.kernelOf[mountID])
}

// DiskOf is the superblock that stores what is written to a superblock. For an overlay, it is that of the upper directory; otherwise
// it is the same one.
func DiskOf(m *Model, device string) string {
	for _, mount := range m.MountsOf(device) {
		if mount.FSType != "overlay" {
			return device
		}
		for option := range strings.SplitSeq(mount.SuperOptions, ",") {
			if upper, ok := strings.CutPrefix(option, "upperdir=/"); ok {
				if at, ok := m.host.Covering("/" + upper); ok {
					return at.Device
				}
			}
		}
	}
	return device
}

// NamespaceProcesses says who keeps a mount namespace alive.
type NamespaceProcesses struct {
	Namespace uint64 `json:"namespace"`
	// PIDs are processes in it, at most 16 of Processes; OpenedBy are processes that have it open without being in it.
	PIDs      []int `json:"pids"`
	Processes int   `json:"processes"`
	OpenedBy  []int `json:"held_by"`
	// MountedAt is where its ns/mnt file is mounted: paths, with "in mount namespace N" where that is not the host's.
	MountedAt []string `json:"mounted_at"`
	Pods      []string `json:"pods"`
	Commands  []string `json:"commands"` // names of its processes, each once
	// Private is where the namespace also has the mount that was asked for, and keeps it when that is unmounted here.
	Private []string `json:"copies_apart,omitempty"`
	// Unread says that it has no process and its mount table could not be read (before Linux 6.12).
	Unread bool `json:"unread,omitempty"`
}

// IsElsewhere says whether a mount namespace is known and not the host's: its paths are not paths of the host.
func (u *Uses) IsElsewhere(ns uint64) bool {
	return ns != 0 && u.model.evidence.Mounts.Namespace != 0 && ns != u.model.evidence.Mounts.Namespace
}
