package forensics

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	// Linux 4.9). Whoever is root in there can mount what they like, wherever they like: see [Held].UserNS.
	Owner uint64 `json:"owner_user_ns,omitempty"`
}

// Held is what keeps mounts in use. Collect looks for it at mounts below the kubelet's directory, network and FUSE file
// systems, and those that do not answer as they should.
type Held struct {
	// Holders are processes. Of one mount at most some are listed, and of Kernel; LeftOut counts the rest of both.
	Holders []procs.Holder `json:"holders"`
	LeftOut int            `json:"holders_left_out,omitempty"`
	// Unseen says which processes could not be looked at, wholly or in part. Where it is not empty, that there is no holder is
	// not known.
	Unseen []string `json:"unseen"`
	// Kernel are users of mounts in the kernel.
	Kernel []mounts.KernelUser `json:"kernel"`
	// Copies are mounts that somebody uses, and that propagation ties to another one, which is busy by them.
	Copies []mounts.Copy `json:"copies"`
	// Servers are the processes behind FUSE mounts; Leaked the mounts that only other namespaces have.
	Servers []FUSEServer  `json:"fuse_servers"`
	Leaked  []LeakedMount `json:"leaked"`
	// Namespaces are mount namespaces that a descriptor keeps alive.
	Namespaces []procs.NamespaceHold `json:"namespaces"`
	// Pinned are mount namespaces that a bind mount of their ns/mnt file keeps alive, with or without processes.
	Pinned []PinnedNamespace `json:"pinned_namespaces"`
	// Uninhabited are the mount namespaces without a process whose tables were read all the same (Linux 6.12); they are among
	// the Namespaces or Pinned unless it cannot be seen what keeps them alive.
	Uninhabited []uint64 `json:"uninhabited_namespaces"`
	// UserNS is the inode of the user namespace that this program ran in, absent where it is not known.
	UserNS uint64 `json:"user_ns,omitempty"`
	// Apart are mounts of other namespaces, of file systems that [CollectHolders] was asked for and the host has mounted, too:
	// those that an unmount on the host does not reach. Absent where nobody asked.
	Apart []LeakedMount `json:"copies_apart,omitempty"`
	// Asked are the paths of [CollectHolders] that lead over symbolic links.
	Asked []Asked `json:"asked,omitempty"`
	// Deleted are files without a name that are open.
	Deleted []procs.DeletedFile `json:"deleted_files"`
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

// guessServers finds the server of each FUSE file system. list are its mounts in all tables that are known, devices what
// processes have open; complete says that all processes could be looked at.
func guessServers(list []fuseMount, devices []procs.FUSEDevice, command func(pid int) []string, complete bool) []FUSEServer {
	servers := []FUSEServer{}
	told := slices.ContainsFunc(devices, func(d procs.FUSEDevice) bool { return d.Connection != 0 })
	var claims []claim
	if !told {
		claims = claimsOf(list, devices, command)
	}
	done, by, claimed := map[string]bool{}, byConnection(devices), byDevice(claims)
	for _, m := range list {
		if done[m.Device] || m.FSType == "fusectl" {
			continue
		}
		done[m.Device] = true
		found := connected(m.Device, by)
		if !told {
			found = guess(m.Device, claimed[m.Device])
		}
		if len(found) == 0 && complete && (told || len(devices) == 0) {
			found = []FUSEServer{{Device: m.Device, Why: "no process has its connection open"}}
		}
		servers = append(servers, found...)
	}
	return servers
}

// A fuseMount is a mount of a FUSE file system in the table of a mount namespace.
type fuseMount struct {
	mounts.Mount
	ns uint64
}

// connected lists the processes that by the kernel's word have the connection of a superblock open, each once.
func connected(device string, by map[uint64][]procs.FUSEDevice) []FUSEServer {
	var found []FUSEServer
	seen := map[int]bool{}
	for _, d := range by[mounts.FUSEConnection(device)] {
		if seen[d.PID] {
			continue
		}
		seen[d.PID] = true
		found = append(found, FUSEServer{
			Device: device, PID: d.PID, Why: fmt.Sprintf("descriptor %d of process %d is connection %d", d.FD, d.PID, d.Connection),
		})
	}
	return found
}

// byConnection are the descriptors of which the kernel tells the connection.
func byConnection(devices []procs.FUSEDevice) map[uint64][]procs.FUSEDevice {
	by := map[uint64][]procs.FUSEDevice{}
	for _, d := range devices {
		if d.Connection != 0 {
			by[uint64(d.Connection)] = append(by[uint64(d.Connection)], d)
		}
	}
	return by
}

// detachedServers are those of FUSE file systems that callers wait for and that are in no table. waiting are the requests of
// all connections.
func detachedServers(list []fuseMount, devices []procs.FUSEDevice, waiting map[uint64]int) []FUSEServer {
	mounted, waitedFor := map[uint64]bool{}, 0
	for _, m := range list {
		mounted[mounts.FUSEConnection(m.Device)] = true
	}
	for _, n := range waiting {
		if n > 0 {
			waitedFor++
		}
	}
	var found []FUSEServer
	by := byConnection(devices)
	for _, d := range devices {
		number := uint64(d.Connection)
		if number == 0 || mounted[number] || waiting[number] == 0 {
			continue
		}
		mounted[number] = true
		for _, s := range connected(mounts.FUSEDevice(number), by) {
			s.Detached, s.OnlyWaiting = true, waitedFor == 1
			found = append(found, s)
		}
	}
	return found
}

// A claim is what FUSE file systems the command line of a process names, by their superblocks: by a mount point in the
// process's own mount namespace, by one in any namespace, by their source.
type claim struct {
	pid                   int
	own, anywhere, source []string
}

// claimsOf reads the command lines of the processes that have /dev/fuse open, each once.
func claimsOf(list []fuseMount, devices []procs.FUSEDevice, command func(pid int) []string) []claim {
	points, sources := map[string][]fuseMount{}, map[string][]string{}
	known := map[[2]string]bool{}
	for _, m := range list {
		points[m.MountPoint] = append(points[m.MountPoint], m)
		if of := [2]string{m.Source, m.Device}; len(m.Source) > 3 && !known[of] {
			known[of] = true
			sources[m.Source] = append(sources[m.Source], m.Device)
		}
	}
	var claims []claim
	seen := map[int]bool{}
	for _, d := range devices {
		if seen[d.PID] {
			continue
		}
		seen[d.PID] = true
		c := claim{pid: d.PID}
		for _, word := range operands(command(d.PID)) {
			for _, m := range points[word] {
				c.anywhere = append(c.anywhere, m.Device)
				if m.ns == d.MountNS {
					c.own = append(c.own, m.Device)
				}
			}
			c.source = append(c.source, sources[word]...)
		}
		claims = append(claims, c)
	}
	return claims
}

// byDevice are the claims to each superblock, in their order.
func byDevice(claims []claim) map[string][]claim {
	by := map[string][]claim{}
	for _, c := range claims {
		seen := map[string]bool{}
		for _, device := range slices.Concat(c.anywhere, c.source) {
			if !seen[device] {
				seen[device] = true
				by[device] = append(by[device], c)
			}
		}
	}
	return by
}

// guess finds the processes that most likely serve a superblock: those that name one of its mount points, in their own
// mount namespace if there are such. Only where there are none, those that name its source and no mount point of a FUSE
// file system: many mounts may have one source.
func guess(device string, claims []claim) []FUSEServer {
	for _, way := range []struct {
		fits func(claim) bool
		what string
	}{
		{func(c claim) bool { return slices.Contains(c.own, device) }, "mount point"},
		{func(c claim) bool { return len(c.own) == 0 && slices.Contains(c.anywhere, device) }, "mount point"},
		{func(c claim) bool { return len(c.anywhere) == 0 && slices.Contains(c.source, device) }, "source"},
	} {
		var found []FUSEServer
		for _, c := range claims {
			if way.fits(c) {
				found = append(found, FUSEServer{
					Device: device, PID: c.pid, Guess: true,
					Why: fmt.Sprintf("process %d has /dev/fuse open and its command line names the %s", c.pid, way.what),
				})
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// operands are the words of a command line without the program's name, which is the source of all mounts of some programs
// (s3fs, squashfuse), and the values of options.
func operands(command []string) []string {
	var words []string
	for _, word := range command[min(1, len(command)):] {
		words = append(words, word)
		if _, value, found := strings.Cut(word, "="); found {
			words = append(words, value)
		}
	}
	return words
}

// Servers lists the processes that serve a superblock.
func (m *Model) Servers(device string) []FUSEServer {
	if m.evidence.Held == nil {
		return nil
	}
	return pick(m.evidence.Held.Servers, m.index.serversOf[device])
}

// ServerTrouble says what is wrong with a process that serves a file system: it is stopped, has ended or itself waits in
// a file system. "" is nothing that can be seen; waits is the thread in the last case.
func (m *Model) ServerTrouble(pid int) (trouble string, waits *procs.Thread) {
	p, ok := m.Process(pid)
	if !ok {
		return "", nil
	}
	switch p.State {
	case "T", "t":
		return "is stopped (state " + p.State + ")", nil
	case "Z", "X": // it has descriptors: another thread of it is alive, or was a moment ago
		return "has ended, or its first thread has (state " + p.State + ")", nil
	}
	if strings.Contains(p.Cgroup, "/") && m.frozen(pid) {
		return "is frozen by its cgroup", nil
	}
	for _, i := range m.index.threadsOf[pid] {
		t := m.evidence.Threads[i]
		if !t.Gone && t.Wait.Kind != procs.WaitWriteback && t.Wait.Kind != procs.WaitFileLock {
			seconds, _ := m.Waited(t)
			if seconds >= cmp.Or(m.evidence.Collector.HungAfterSeconds, DefaultHungAfter.Seconds()) || m.waitsForHung(t) {
				return "is itself blocked: it " + DescribeWait(t), &m.evidence.Threads[i]
			}
		}
	}
	return "", nil
}

// waitsForHung says whether a thread waits for a file system of which it is known that it does not answer, however long that
// thread has waited.
func (m *Model) waitsForHung(t procs.Thread) bool {
	h, _ := m.Health(t.Device)
	list := m.MountsOf(t.Device)
	return h.Status == mounts.StatusHung && len(list) > 0 && WaitsFor(t.Wait, list[0])
}

// frozen says whether a thread of a process was seen in the freezer.
func (m *Model) frozen(pid int) bool {
	return slices.ContainsFunc(m.index.threadsOf[pid], func(i int32) bool {
		t := &m.evidence.Threads[i]
		return !t.Gone && t.Wait.Kind == procs.WaitFreezer
	})
}

// servedBadly are the processes that explain why a FUSE file system does not answer: each of its servers has trouble.
func (m *Model) servedBadly(device string) []Entity {
	var bad []Entity
	for _, s := range m.Servers(device) {
		if s.PID == 0 || s.Guess {
			return nil
		}
		trouble, waits := m.ServerTrouble(s.PID)
		if trouble == "" || waits != nil && waits.Device == device {
			return nil
		}
		bad = append(bad, Entity{KindProcess, strconv.Itoa(s.PID)})
	}
	return bad
}

// CopiesOf lists the mounts that somebody uses, and by which a mount is busy, since propagation ties them to it.
func (m *Model) CopiesOf(mountID int) []mounts.Copy {
	copies := []mounts.Copy{}
	if h := m.evidence.Held; h != nil {
		copies = append(copies, pick(h.Copies, m.index.copiesOf[mountID])...)
	}
	return copies
}

// DescribeCopy names a copy: "mount 99 at /x", with its namespace if that is not the host's.
func (m *Model) DescribeCopy(c mounts.Copy) string {
	text := fmt.Sprintf("mount %d at %s", c.MountID, c.MountPoint)
	if m.IsElsewhere(c.Namespace) {
		text += fmt.Sprintf(" in mount namespace %d", c.Namespace)
	}
	return text
}

// busyBy are the ids of the mounts whose use makes a mount busy: its own, and those of its copies.
func (m *Model) busyBy(mountID int) map[int]bool {
	ids := map[int]bool{mountID: mountID != 0}
	for _, c := range m.CopiesOf(mountID) {
		ids[c.MountID] = true
	}
	return ids
}

// at is where mounts are in an index.
func (m *Model) at(index map[int][]int32, ids map[int]bool) []int32 {
	var lists [][]int32
	for id := range ids {
		lists = append(lists, index[id])
	}
	return merged(lists...)
}

// HeldBy lists who holds a mount, or one of its copies: the processes, and what in the kernel uses the mount.
func (m *Model) HeldBy(mountID int) (holders []procs.Holder, kernel []mounts.KernelUser) {
	h := m.evidence.Held
	if h == nil {
		return nil, nil
	}
	return pick(h.Holders, m.at(m.index.holdersOf, m.busyBy(mountID))), pick(h.Kernel, m.index.kernelOf[mountID])
}
