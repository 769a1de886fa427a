package collect

import (
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/foreign"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// A selector chooses what becomes evidence.
type selector struct {
	want      wanted
	evidence  *forensics.Evidence
	host      *mounts.Index
	model     *forensics.Model // this and nested are there once the processes are known
	use       *forensics.MountUse
	count     map[int]int // of holders, by mount; kept are those within the bounds
	kept      int
	deleted   []holders.Holder
	fuse      []fuseMount
	fuseBytes int                     // what they take
	classes   map[string]mounts.Class // by superblock
	locals    map[string]bool         // by superblock, as far as asked for
	nested    nested
	copies    *foreign.Copies
	leaks     *foreign.Leaks
	through   map[uint64]int           // of namespaces with leaks: a process that is in it
	foreign   []forensics.ForeignMount // that the host has not
	private   []forensics.ForeignMount // of those that are asked for, that the host has
	strange   int                      // leaks that are on no directory of the host

	listOtherRoots func(t *mounts.Table, most int) []mounts.Mount
}

func newSelector(e *forensics.Evidence, w wanted) *selector {
	k := &selector{
		want: w, evidence: e, host: e.Mounts.Index(), count: map[int]int{}, classes: map[string]mounts.Class{}, locals: map[string]bool{},
		copies: foreign.NewCopies(&e.Mounts, w.mount), through: map[uint64]int{},
		leaks: foreign.NewLeaks(&e.Mounts),
		use: &forensics.MountUse{
			Holders: []holders.Holder{}, Kernel: []holders.KernelUser{}, Foreign: []forensics.ForeignMount{},
			Namespaces: []holders.NamespaceHold{}, Deleted: []holders.DeletedFile{}, Pinned: []forensics.PinnedNamespace{}, Users: []forensics.User{},
			Copies: []mounts.Copy{}, Uninhabited: []uint64{}, Unseen: []string{}, Queries: w.queries,
		},
	}
	k.known(&e.Mounts)
	k.look(&e.Mounts)
	k.listOtherRoots = foreign.SameRoot(&e.Mounts, func(m *mounts.Mount) bool { return k.want.mount(m) && m.MountPoint != "/" })
	k.pinned(&e.Mounts) // there need be no process but this one in that namespace
	return k
}

// know learns of the processes.
func (k *selector) know() {
	if k.want.asks() {
		k.want.processes(k.evidence)
	}
	k.model, k.nested = forensics.NewModel(k.evidence), nestedNodes(k.evidence)
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
	_, ofHost := k.host.ByID(id)
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
	for _, c := range k.use.Copies {
		busy[c.Of] = busy[c.Of] || c.Tied() && busy[c.MountID]
	}
	return len(ids) > 0 && !slices.ContainsFunc(ids, func(id int) bool { return !busy[id] })
}

// fuseUse is what was seen of who serves the FUSE mounts. complete says that no process can have been missed.
func (k *selector) fuseUse(fsys *hostfs.FS, devices []holders.FUSEDevice, complete bool) forensics.FUSEUse {
	use := fuseUse(k.fuse, devices, func(pid int) []string {
		p, _ := k.model.Process(pid)
		return p.Command
	}, mounts.FUSEConnectionsWaiting(fsys))
	use.Complete = complete
	return use
}

// foundCopies keeps the copies that somebody holds or is in a call on, and those that were asked for.
func (k *selector) foundCopies() {
	keep := map[int]bool{}
	for _, h := range k.use.Holders {
		keep[h.MountID] = true
	}
	for _, t := range k.evidence.Threads {
		keep[t.MountID] = keep[t.MountID] || !t.Gone
	}
	for _, f := range k.private {
		keep[f.Mount.ID] = true
	}
	k.use.Copies = sorting.Delete(k.copies.Found(), func(c mounts.Copy) bool { return !keep[c.MountID] })
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
