package forensics

import (
	"fmt"
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// MountUsers is everything that was seen to use one mount.
type MountUsers struct {
	Mount mounts.Mount `json:"mount"`
	// Holders hold this very mount or one of its copies: umount(2) answers EBUSY while one of them does. Of those that are
	// known by path alone, each may hold another mount that is stacked on the same mount point instead.
	Holders []HolderProcess `json:"holders"`
	// Copies are the mounts that somebody uses and that an unmount of this one would take along, see [mounts.Copy].
	Copies []mounts.Copy `json:"copies"`
	// Elsewhere are processes that hold the same file system through a mount that is none of those, as a private one in their
	// own namespace. They do not keep this mount busy, but the file system, its disk or its server in use.
	Elsewhere []HolderProcess `json:"elsewhere"`
	// Calls are threads that are in the middle of a system call on this mount or one of its copies, CallsElsewhere those on
	// another mount of the same file system: they hold it as well, until the call returns.
	Calls          []MountCall          `json:"calls"`
	CallsElsewhere []MountCall          `json:"calls_elsewhere"`
	Kernel         []holders.KernelUser `json:"kernel"`
	Servers        []FUSEServer         `json:"fuse_servers"`
	Leaked         []LeakedMount        `json:"leaked"` // copies in namespaces other than the host's, where the host has none
	Namespace      []NamespaceProcesses `json:"namespaces"`
}

// MountCall is a thread that waits in a system call on a mount, with what is known of its process.
type MountCall struct {
	procs.Thread
	UID         int    `json:"uid"` // -1 if unknown
	User        string `json:"user,omitempty"`
	Command     string `json:"process_comm,omitempty"` // the name of its process, which need not be that of the thread
	PodUID      string `json:"pod_uid,omitempty"`
	ContainerID string `json:"container_id,omitempty"`
}

// HolderProcess is a holder with what is known of its process.
type HolderProcess struct {
	holders.Holder
	UID         int      `json:"uid"`            // -1 if unknown
	User        string   `json:"user,omitempty"` // its name on the host; absent where the host has none for it
	Comm        string   `json:"comm,omitempty"`
	Command     []string `json:"command"`
	PodUID      string   `json:"pod_uid,omitempty"`
	ContainerID string   `json:"container_id,omitempty"`
}

// NamespaceProcesses says who keeps a mount namespace alive.
type NamespaceProcesses struct {
	Namespace uint64 `json:"namespace"`
	// PIDs are processes in it, at most 16 of Processes; HeldBy are processes that have it open without being in it.
	PIDs      []int `json:"pids"`
	Processes int   `json:"processes"`
	OpenedBy  []int `json:"held_by"`
	// MountedAt is where its ns/mnt file is mounted: paths, with "in mount namespace N" where that is not the host's.
	MountedAt []string `json:"mounted_at"`
	Pods      []string `json:"pods"`
	Commands  []string `json:"commands"` // names of its processes, each once
	// Apart is where it has the mount that was asked for, too, and keeps it when that is unmounted here.
	Private []string `json:"copies_apart,omitempty"`
	// Unread says that it has no process and its mount table could not be read (before Linux 6.12).
	Unread bool `json:"unread,omitempty"`
}

// Of lists who uses a mount.
func (u *Uses) Of(mount mounts.Mount) MountUsers {
	users := MountUsers{
		Mount: mount, Holders: []HolderProcess{}, Elsewhere: []HolderProcess{}, Kernel: []holders.KernelUser{},
		Servers: append([]FUSEServer{}, u.Servers(mount.Device)...), Leaked: []LeakedMount{}, Namespace: []NamespaceProcesses{},
		Calls: []MountCall{}, CallsElsewhere: []MountCall{}, Copies: u.Copies(mount.ID),
	}
	ids := u.busyBy(mount.ID)
	for _, t := range pick(u.model.evidence.Threads, merged(u.at(u.model.index.threadsAt, ids), u.model.index.threadsIn[mount.Device])) {
		list := &users.Calls
		switch {
		case t.Gone || t.MountID == 0:
			continue
		case ids[t.MountID]:
		case t.Device == mount.Device && mount.Root == "/" && mount.MountPoint != "/":
			list = &users.CallsElsewhere
		default:
			continue
		}
		*list = append(*list, u.mountCall(t))
	}
	h := u.model.evidence.MountUse
	if h == nil {
		return users
	}
	others := map[uint64]bool{}
	for _, holder := range pick(h.Holders, merged(u.at(u.holdersOf, ids), u.holdersIn[mount.Device], u.byPathAt[mount.MountPoint])) {
		switch {
		case ids[holder.MountID], holder.ByPath && u.stacked(holder.MountID, mount):
			users.Holders = append(users.Holders, u.Process(holder))
		case holder.Device == mount.Device && mount.Root == "/" && mount.MountPoint != "/":
			users.Elsewhere = append(users.Elsewhere, u.Process(holder))
			others[holder.MountNS] = others[holder.MountNS] || holder.MountNS != u.model.evidence.Mounts.Namespace
		}
	}
	for _, c := range users.Copies {
		others[c.Namespace] = others[c.Namespace] || c.Namespace != u.model.evidence.Mounts.Namespace
	}
	users.Kernel = append(users.Kernel, pick(h.Kernel, u.kernelOf[mount.ID])...)
	for _, l := range pick(h.Leaked, u.leakedIn[mount.Device]) {
		if l.Mount.ID != mount.ID {
			users.Leaked = append(users.Leaked, l)
			others[l.Namespace] = true
		}
	}
	type place struct {
		namespace uint64
		point     string
	}
	apart, listed := map[uint64][]string{}, map[place]bool{}
	for _, l := range pick(h.Private, u.privateIn[mount.Device]) {
		if l.Mount.Root == mount.Root && l.Mount.ID != mount.ID {
			at := place{l.Namespace, l.Mount.MountPoint}
			if !listed[at] { // several may be stacked
				apart[l.Namespace] = append(apart[l.Namespace], l.Mount.MountPoint)
			}
			listed[at] = true
			others[l.Namespace] = true
		}
	}
	for ns, other := range others {
		if other && ns != 0 {
			n := u.Namespace(ns)
			n.Private = apart[ns]
			users.Namespace = append(users.Namespace, n)
		}
	}
	sorting.Stable(users.Namespace, func(a, b NamespaceProcesses) int { return int(a.Namespace) - int(b.Namespace) })
	return users
}

// stacked says whether a mount of the host lies on the mount point of another one, so that a path does not tell which of
// them is meant.
func (u *Uses) stacked(id int, on mounts.Mount) bool {
	other, ok := u.model.host.ByID(id)
	return ok && on.MountPoint == other.MountPoint && on.MountPoint != "/"
}

func (u *Uses) mountCall(t procs.Thread) MountCall {
	p := u.Process(holders.Holder{PID: t.PID})
	return MountCall{t, p.UID, p.User, p.Comm, p.PodUID, p.ContainerID}
}

// Process adds what is known of a holder's process.
func (u *Uses) Process(h holders.Holder) HolderProcess {
	p, ok := u.model.Process(h.PID)
	if !ok {
		return HolderProcess{Holder: h, UID: -1, Command: []string{}}
	}
	return HolderProcess{h, p.UID, u.userNames[p.UID], p.Comm, p.Command, p.PodUID, p.ContainerID}
}

// IsElsewhere says whether a mount namespace is known and another one than the host's: paths in it are none of the host.
func (u *Uses) IsElsewhere(ns uint64) bool {
	return ns != 0 && u.model.evidence.Mounts.Namespace != 0 && ns != u.model.evidence.Mounts.Namespace
}

// Namespace says who keeps a mount namespace alive.
func (u *Uses) Namespace(ns uint64) NamespaceProcesses {
	n, ok := u.namespaces()[ns]
	if !ok {
		n = emptyNamespace(ns)
	}
	return n
}

func emptyNamespace(ns uint64) NamespaceProcesses {
	return NamespaceProcesses{Namespace: ns, PIDs: []int{}, OpenedBy: []int{}, MountedAt: []string{}, Pods: []string{}, Commands: []string{}}
}

// allNamespaces says of all mount namespaces who keeps them alive: a pod can have many processes, and many mounts in theirs.
func (u *Uses) allNamespaces() map[uint64]NamespaceProcesses {
	found := map[uint64]NamespaceProcesses{}
	for ns, at := range u.model.index.processesIn {
		found[ns] = namespaceOf(ns, pick(u.model.evidence.Processes, at))
	}
	h := u.model.evidence.MountUse
	if h == nil {
		return found
	}
	for ns := range u.descriptorsOf {
		u.addPins(found, ns)
	}
	for ns := range u.pinnedOf {
		u.addPins(found, ns)
	}
	return found
}

func namespaceOf(ns uint64, processes []procs.Process) NamespaceProcesses {
	const most = 16
	n := emptyNamespace(ns)
	n.Processes = len(processes)
	pods := map[string]bool{"": true}
	for _, p := range processes {
		if len(n.PIDs) < most {
			n.PIDs = append(n.PIDs, p.PID)
		}
		if !pods[p.PodUID] {
			pods[p.PodUID] = true
			n.Pods = append(n.Pods, p.PodUID)
		}
		if len(n.Commands) < most && !slices.Contains(n.Commands, p.Comm) {
			n.Commands = append(n.Commands, p.Comm)
		}
	}
	return n
}

// addPins adds the descriptors and the mounts of a namespace's file that keep it alive.
func (u *Uses) addPins(found map[uint64]NamespaceProcesses, ns uint64) {
	h := u.model.evidence.MountUse
	n, ok := found[ns]
	if !ok {
		n = emptyNamespace(ns)
	}
	n.OpenedBy, n.MountedAt = []int{}, []string{}
	by, points := map[int]bool{}, map[string]bool{}
	for _, hold := range pick(h.Namespaces, u.descriptorsOf[ns]) {
		if !by[hold.PID] {
			by[hold.PID] = true
			n.OpenedBy = append(n.OpenedBy, hold.PID)
		}
	}
	for _, pin := range pick(h.Pinned, u.pinnedOf[ns]) {
		at := pin.MountPoint
		if u.IsElsewhere(pin.MountNS) {
			at += fmt.Sprintf(" in mount namespace %d", pin.MountNS)
		}
		if !points[at] {
			points[at] = true
			n.MountedAt = append(n.MountedAt, at)
		}
	}
	n.Unread = n.Processes == 0 && !u.uninhabited[ns]
	found[ns] = n
}

// EmptyNamespaces lists the mount namespaces that no process is in: only a descriptor or a bind mount keeps them alive.
// Where their mount tables could not be read, a mount that is in no table may be in one of them.
func (u *Uses) EmptyNamespaces() []NamespaceProcesses {
	h := u.model.evidence.MountUse
	if h == nil {
		return nil
	}
	inhabited := map[uint64]bool{}
	for _, p := range u.model.evidence.Processes {
		inhabited[p.MountNS] = true
	}
	for _, holder := range h.Holders { // a thread may be in one for itself
		inhabited[holder.MountNS] = true
	}
	var list []NamespaceProcesses
	add := func(ns uint64) {
		if !inhabited[ns] {
			inhabited[ns] = true
			list = append(list, u.Namespace(ns))
		}
	}
	for _, hold := range h.Namespaces {
		add(hold.Namespace)
	}
	for _, pin := range h.Pinned {
		add(pin.Namespace)
	}
	for _, ns := range h.Uninhabited {
		add(ns)
	}
	return list
}
