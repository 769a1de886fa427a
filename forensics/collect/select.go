package collect

import (
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// A selector chooses what becomes evidence.
type selector struct {
	want      wanted
	evidence  *forensics.Evidence
	model     *forensics.Model
	use       *forensics.MountUse
	count     map[int]int // of holders, by mount; kept are those within the bounds
	kept      int
	deleted   []holders.Holder
	fuse      []fuseMount
	fuseBytes int                     // what they take
	classes   map[string]mounts.Class // by superblock
	locals    map[string]bool         // by superblock, as far as asked for
	nested    nested
	copies    *mounts.Copies
	leaks     *mounts.Leaks
	through   map[uint64]int // of namespaces with leaks: a process that is in it
	strange   int            // leaks that are on no directory of the host

	listOtherRoots func(t *mounts.Table, most int) []mounts.Mount
}

func newSelector(e *forensics.Evidence, w wanted) *selector {
	k := &selector{
		want: w, evidence: e, model: forensics.NewModel(e), count: map[int]int{}, classes: map[string]mounts.Class{}, locals: map[string]bool{},
		nested: nestedNodes(e), copies: mounts.NewCopies(&e.Mounts, w.mount), through: map[uint64]int{},
		leaks: mounts.NewLeaks(&e.Mounts),
		use: &forensics.MountUse{
			Holders: []holders.Holder{}, Kernel: []holders.KernelUser{}, Servers: []forensics.FUSEServer{}, Leaked: []forensics.LeakedMount{},
			Namespaces: []holders.NamespaceHold{}, Deleted: []holders.DeletedFile{}, Pinned: []forensics.PinnedNamespace{}, Users: []forensics.User{},
			Copies: []mounts.Copy{}, Uninhabited: []uint64{}, Unseen: []string{}, Queries: w.queries,
		},
	}
	k.known(&e.Mounts)
	k.look(&e.Mounts)
	k.listOtherRoots = mounts.SameRoot(&e.Mounts, func(m *mounts.Mount) bool { return k.want.mount(m) && m.MountPoint != "/" })
	k.pinned(&e.Mounts) // there need be no process but this one in that namespace
	return k
}

func (k *selector) keep(h *holders.Holder) bool {
	if h.Path == "/" && (h.Kind == holders.HoldCwd || h.Kind == holders.HoldRoot) && h.MountNS == k.evidence.Mounts.Namespace {
		if p, ok := k.model.Process(h.PID); ok && p.Kernel {
			return false // the kernel's threads stand in the root, for ever
		}
	}
	return h.Deleted || k.wants(h)
}

// wants says whether a holder is to be listed, and not only looked at for the space that its deleted file takes.
func (k *selector) wants(h *holders.Holder) bool {
	return h.Detached || k.want.ids[h.MountID] || k.want.devices[h.Device]
}

// matters says whether the holders of a mount in this program's own namespace can be wanted. What is wanted on the way is in
// other namespaces than the host's.
func (k *selector) matters(id int, device string) bool {
	_, ofHost := k.model.Host().ByID(id)
	return !ofHost || k.want.ids[id] || k.want.devices[device]
}

// explains says whether something that was found keeps each of some mounts busy, of which there is one at least.
func (k *selector) explains(ids []int) bool {
	busy := map[int]bool{}
	for _, h := range k.use.Holders {
		busy[h.MountID] = true
	}
	for _, t := range k.evidence.Threads {
		busy[t.MountID] = busy[t.MountID] || !t.Gone
	}
	for _, u := range k.use.Kernel {
		busy[u.MountID] = busy[u.MountID] || u.Blocks
	}
	for _, c := range k.use.Copies { // only those that are used
		busy[c.Of] = true
	}
	return len(ids) > 0 && !slices.ContainsFunc(ids, func(id int) bool { return !busy[id] })
}

// servers finds who serves the FUSE mounts that were seen. complete says that no process can have been missed.
func (k *selector) servers(fsys *hostfs.FS, devices []holders.FUSEDevice, complete bool) []forensics.FUSEServer {
	list := guessServers(k.fuse, devices, func(pid int) []string {
		p, _ := k.model.Process(pid)
		return p.Command
	}, complete)
	list = append(list, detachedServers(k.fuse, devices, mounts.FUSEConnectionsWaiting(fsys))...)
	for i := range list {
		if n, ok := mounts.FUSEWaiting(fsys, list[i].Device); ok {
			list[i].Waiting = &n
		}
	}
	return list
}

// foundCopies tells the copies that an unmount takes along from those that it does not reach.
func (k *selector) foundCopies() {
	copies := k.copies.Found()
	ids := map[int]bool{}
	for _, c := range copies {
		ids[c.MountID] = true
	}
	k.use.Private = slices.DeleteFunc(k.use.Private, func(l forensics.LeakedMount) bool { return ids[l.Mount.ID] })
	k.use.Copies = k.used(copies)
}

// used are the copies that somebody holds or is in a call on.
func (k *selector) used(copies []mounts.Copy) []mounts.Copy {
	using := map[int]bool{}
	for _, h := range k.use.Holders {
		using[h.MountID] = true
	}
	for _, t := range k.evidence.Threads {
		using[t.MountID] = using[t.MountID] || !t.Gone
	}
	return slices.DeleteFunc(copies, func(c mounts.Copy) bool { return !using[c.MountID] })
}

// callers are the processes that are in a call on a mount that is wanted.
func (k *selector) callers() []holders.Holder {
	var list []holders.Holder
	for _, t := range k.evidence.Threads {
		if k.want.ids[t.MountID] || k.want.devices[t.Device] {
			list = append(list, holders.Holder{PID: t.PID})
		}
	}
	return list
}

// addAll takes holders over in their order. Where there are too many, it is better to know one hold of each process than all
// of the first, and better to know strangers than the processes of the pod that a mount is of.
func (k *selector) addAll(list []holders.Holder) {
	type by struct{ mount, pid int }
	known := map[by]bool{}
	ranks := make([]int, len(list))
	for i, h := range list {
		switch {
		case known[by{h.MountID, h.PID}]:
			ranks[i] = 2
		case k.ofItsPod(h):
			ranks[i] = 1
		}
		known[by{h.MountID, h.PID}] = true
	}
	added := make([]bool, len(list))
	for rank := range 3 {
		for i, h := range list {
			if ranks[i] == rank {
				added[i] = k.add(h)
			}
		}
	}
	for i, h := range list {
		if added[i] {
			k.use.Holders = append(k.use.Holders, h)
		}
	}
}

// ofItsPod says whether a process holds a mount of its own pod.
func (k *selector) ofItsPod(h holders.Holder) bool {
	p, _ := k.model.Process(h.PID)
	if p.PodUID == "" {
		return false
	}
	m, _ := k.model.Mount(h.MountID)
	uid, _ := forensics.PodOf(m.MountPoint)
	return uid == p.PodUID
}

// add says whether a holder is within the bounds, which it uses up.
func (k *selector) add(h holders.Holder) bool {
	// Only open files are asked for their size: libraries that an update has replaced are mapped by every process.
	if h.Deleted && h.Kind == holders.HoldFD && k.local(h.Device) && len(k.deleted) < maxDeleted {
		k.deleted = append(k.deleted, h)
	}
	if !k.wants(&h) {
		return false
	}
	if k.count[h.MountID]++; k.count[h.MountID] > k.want.most || k.kept >= maxHolders {
		k.use.LeftOut++
		return false
	}
	k.kept++
	return true
}
