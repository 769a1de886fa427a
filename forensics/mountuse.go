package forensics

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// FUSEServer is a process that serves a FUSE file system.
type FUSEServer struct {
	// Device is the superblock that it serves.
	Device string `json:"device"`
	// PID is the process, 0 if there is none: then every process could be looked at and none has the connection open.
	PID int `json:"pid,omitempty"`
	// Guess says that the kernel does not tell whose connection a process serves (before Linux 6.16); Why says on what
	// the entry rests.
	Guess bool   `json:"guess,omitempty"`
	Why   string `json:"why"`
	// Waiting are the requests of all callers that have not been answered; absent where the control file system of FUSE is
	// not mounted.
	Waiting *int `json:"requests_waiting,omitempty"`
	// Detached says that its file system is in no mount table that could be read, and callers wait for it: most likely it was
	// unmounted lazily. OnlyWaiting, that they wait for no other FUSE file system of the machine.
	Detached    bool `json:"detached,omitempty"`
	OnlyWaiting bool `json:"only_waiting,omitempty"`
}

// LeakedMount is a mount that the host has no more and another mount namespace still has.
type LeakedMount struct {
	Namespace uint64       `json:"namespace"`
	Mount     mounts.Mount `json:"mount"`
	// On is where the directory that it is mounted on is on the host, absent where the host shows no such directory.
	On string `json:"on,omitempty"`
	// Owner is the inode of the user namespace that owns the mount namespace, absent where the kernel does not tell (before
	// Linux 4.9). Whoever is root in there can mount what they like, wherever they like: see [MountUse].UserNS.
	Owner uint64 `json:"owner_user_ns,omitempty"`
}

// Held is what keeps mounts in use. Collect looks for it at mounts below the kubelet's directory, network and FUSE file
// systems, and those that do not answer as they should.
type MountUse struct {
	// Holders are processes. Of one mount at most some are listed, and of Kernel; LeftOut counts the rest of both.
	Holders []holders.Holder `json:"holders"`
	LeftOut int              `json:"holders_left_out,omitempty"`
	// Unseen says which processes could not be looked at, wholly or in part. Where it is not empty, that there is no holder is
	// not known.
	Unseen []string `json:"unseen"`
	// Kernel are users of mounts in the kernel.
	Kernel []holders.KernelUser `json:"kernel"`
	// Copies are mounts that somebody uses, and that propagation ties to another one, which is busy by them.
	Copies []mounts.Copy `json:"copies"`
	// Servers are the processes behind FUSE mounts; Leaked the mounts that only other namespaces have.
	Servers []FUSEServer  `json:"fuse_servers"`
	Leaked  []LeakedMount `json:"leaked"`
	// Namespaces are mount namespaces that a descriptor keeps alive.
	Namespaces []holders.NamespaceHold `json:"namespaces"`
	// Pinned are mount namespaces that a bind mount of their ns/mnt file keeps alive, with or without processes.
	Pinned []PinnedNamespace `json:"pinned_namespaces"`
	// Uninhabited are the mount namespaces without a process whose tables were read all the same (Linux 6.12); they are among
	// the Namespaces or Pinned unless it cannot be seen what keeps them alive.
	Uninhabited []uint64 `json:"uninhabited_namespaces"`
	// UserNS is the inode of the user namespace that this program ran in, absent where it is not known.
	UserNS uint64 `json:"user_ns,omitempty"`
	// Apart are mounts of other namespaces, of file systems that [collect.Holders] was asked for and the host has mounted, too:
	// those that an unmount on the host does not reach. Absent where nobody asked.
	Private []LeakedMount `json:"copies_apart,omitempty"`
	// Asked are the paths of [collect.Holders] that lead over symbolic links.
	Queries []Query `json:"asked,omitempty"`
	// Deleted are files without a name that are open.
	Deleted []holders.DeletedFile `json:"deleted_files"`
	// Users are the names of the users that holders run as, from the host's /etc/passwd.
	Users []User `json:"users"`
}

// User is a user of the host.
type User struct {
	UID  int    `json:"uid"`
	Name string `json:"name"`
}

// PinnedNamespace is a mount namespace that is mounted somewhere, as unshare(1) --mount=FILE and snapd do.
type PinnedNamespace struct {
	Namespace  uint64 `json:"namespace"`
	MountID    int    `json:"mount_id"`
	MountPoint string `json:"mount_point"`
	// MountNS is the namespace in whose table that mount is.
	MountNS uint64 `json:"mount_ns"`
}

// Servers lists the processes that serve a superblock.
func (u *Uses) Servers(device string) []FUSEServer {
	if u.model.evidence.MountUse == nil {
		return nil
	}
	return pick(u.model.evidence.MountUse.Servers, u.serversOf[device])
}

// ServerTrouble says what is wrong with a process that serves a file system: it is stopped, has ended or itself waits in
// a file system. "" is nothing that can be seen; waits is the thread in the last case.
func (u *Uses) ServerTrouble(pid int) (trouble string, waits *procs.Thread) {
	p, ok := u.model.Process(pid)
	if !ok {
		return "", nil
	}
	switch p.State {
	case "T", "t":
		return "is stopped (state " + p.State + ")", nil
	case "Z", "X": // it has descriptors: another thread of it is alive, or was a moment ago
		return "has ended, or its first thread has (state " + p.State + ")", nil
	}
	if strings.Contains(p.Cgroup, "/") && frozen(u.model, pid) {
		return "is frozen by its cgroup", nil
	}
	for _, i := range u.model.index.threadsOf[pid] {
		t := u.model.evidence.Threads[i]
		if !t.Gone && t.Wait.Kind != procs.WaitWriteback && t.Wait.Kind != procs.WaitFileLock {
			seconds, _ := u.model.Waited(t)
			if seconds >= cmp.Or(u.model.evidence.Collector.HungAfterSeconds, DefaultHungAfter.Seconds()) || waitsForHung(u.model, t) {
				return "is itself blocked: it " + DescribeWait(t), &u.model.evidence.Threads[i]
			}
		}
	}
	return "", nil
}

// waitsForHung says whether a thread waits for a file system of which it is known that it does not answer, however long that
// thread has waited.
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

// servedBadly are the processes that explain why a FUSE file system does not answer: each of its servers has trouble.
func servedBadly(m *Model, device string) []Entity {
	var bad []Entity
	for _, s := range m.uses.Servers(device) {
		if s.PID == 0 || s.Guess {
			return nil
		}
		trouble, waits := m.uses.ServerTrouble(s.PID)
		if trouble == "" || waits != nil && waits.Device == device {
			return nil
		}
		bad = append(bad, Entity{KindProcess, strconv.Itoa(s.PID)})
	}
	return bad
}

// Copies lists the mounts that somebody uses, and by which a mount is busy, since propagation ties them to it.
func (u *Uses) Copies(mountID int) []mounts.Copy {
	copies := []mounts.Copy{}
	if h := u.model.evidence.MountUse; h != nil {
		copies = append(copies, pick(h.Copies, u.copiesOf[mountID])...)
	}
	return copies
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

// at is where mounts are in an index.
func (u *Uses) at(index map[int][]int32, ids map[int]bool) []int32 {
	var lists [][]int32
	for id := range ids {
		lists = append(lists, index[id])
	}
	return merged(lists...)
}

// Holders lists who holds a mount, or one of its copies: the processes, and what in the kernel uses the mount.
func (u *Uses) Holders(mountID int) (holders []holders.Holder, kernel []holders.KernelUser) {
	h := u.model.evidence.MountUse
	if h == nil {
		return nil, nil
	}
	return pick(h.Holders, u.at(u.holdersOf, u.busyBy(mountID))), pick(h.Kernel, u.kernelOf[mountID])
}

// Asked is a path that [collect.Holders] was asked for and that leads over symbolic links.
type Query struct {
	Query string `json:"query"`
	Path  string `json:"path"` // without links, as mount tables have it
}

// AskedPath is what a query of [collect.Holders] means: a path without symbolic links, or the query itself.
func (h *MountUse) ResolvedPath(query string) string {
	if h != nil {
		for _, a := range h.Queries {
			if a.Query == query {
				return a.Path
			}
		}
	}
	return query
}
