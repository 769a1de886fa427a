package forensics

import (
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// MountUsers is everything that was seen to use one mount.
type MountUsers struct {
	Mount mounts.Mount `json:"mount"`
	// Holders use this very mount or one of its copies: umount(2) answers EBUSY while one of them does. Those that are
	// known only by path may use another mount that is stacked on the same mount point instead.
	Holders []HolderProcess `json:"holders"`
	// Copies are the mounts in use that an unmount of this one would also unmount, see [mounts.Copy].
	Copies []mounts.Copy `json:"copies"`
	// Elsewhere are processes that use the same file system through another mount, such as a private one in their
	// own namespace. They do not keep this mount busy, but the file system, its disk or its server in use.
	Elsewhere []HolderProcess `json:"elsewhere"`
	// Calls are threads in a system call on this mount or one of its copies, CallsElsewhere those on
	// another mount of the same file system. They keep it busy as well, until the call returns.
	Calls          []MountCall          `json:"calls"`
	CallsElsewhere []MountCall          `json:"calls_elsewhere"`
	Kernel         []holders.KernelUser `json:"kernel"`
	Servers        []FUSEServer         `json:"fuse_servers"`
	Leaked         []ForeignMount       `json:"leaked"` // copies in namespaces other than the host's, where the host has none
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

// Of lists what uses a mount.
func (u *Uses) Of(mount mounts.Mount) MountUsers {
	users := MountUsers{
		Mount: mount, Holders: []HolderProcess{}, Elsewhere: []HolderProcess{}, Kernel: []holders.KernelUser{},
		Servers: append([]FUSEServer{}, u.Servers(mount.Device)...), Leaked: []ForeignMount{}, Namespace: []NamespaceProcesses{},
		Calls: []MountCall{}, CallsElsewhere: []MountCall{}, Copies: u.Copies(mount.ID),
	}
	ids := u.busyBy(mount.ID)
	for _, t := range pick(u.model.evidence.Threads, merged(at(u.model.index.threadsAt, ids), u.model.index.threadsIn[mount.Device])) {
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
	for _, holder := range pick(h.Holders, merged(at(u.holdersOf, ids), u.holdersIn[mount.Device], u.byPathAt[mount.MountPoint])) {
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
	for _, l := range pick(u.leaked, u.leakedIn[mount.Device]) {
		if l.Mount.ID != mount.ID {
			users.Leaked = append(users.Leaked, l)
			others[l.Namespace] = true
		}
	}
	type place struct {
		namespace uint64
		point     string
	}
	private, listed := map[uint64][]string{}, map[place]bool{}
	for _, l := range pick(u.private, u.privateIn[mount.Device]) {
		if l.Mount.Root == mount.Root && l.Mount.ID != mount.ID {
			at := place{l.Namespace, l.Mount.MountPoint}
			if !listed[at] { // several may be stacked
				private[l.Namespace] = append(private[l.Namespace], l.Mount.MountPoint)
			}
			listed[at] = true
			others[l.Namespace] = true
		}
	}
	for ns, other := range others {
		if other && ns != 0 {
			n := u.Namespace(ns)
			n.Private = private[ns]
			users.Namespace = append(users.Namespace, n)
		}
	}
	sorting.Stable(users.Namespace, func(a, b NamespaceProcesses) int { return int(a.Namespace) - int(b.Namespace) })
	return users
}

// stacked says whether a mount of the host has the same mount point as another one, so that a path does not show which of
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
