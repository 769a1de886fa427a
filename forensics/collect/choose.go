package collect

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	procslive "github.com/nodeforensics/nodeforensics/forensics/procs/live"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/poduid"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// A keeper chooses what becomes evidence.
type keeper struct {
	want      wanted
	evidence  *forensics.Evidence
	model     *forensics.Model
	held      *forensics.MountUse
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

	listApart func(t *mounts.Table, most int) []mounts.Mount
}

func newKeeper(e *forensics.Evidence, w wanted) *keeper {
	k := &keeper{
		want: w, evidence: e, model: forensics.NewModel(e), count: map[int]int{}, classes: map[string]mounts.Class{}, locals: map[string]bool{},
		nested: nestedNodes(e), copies: mounts.NewCopies(&e.Mounts, w.mount), through: map[uint64]int{},
		leaks: mounts.NewLeaks(&e.Mounts),
		held: &forensics.MountUse{
			Holders: []holders.Holder{}, Kernel: []holders.KernelUser{}, Servers: []forensics.FUSEServer{}, Leaked: []forensics.LeakedMount{},
			Namespaces: []holders.NamespaceHold{}, Deleted: []holders.DeletedFile{}, Pinned: []forensics.PinnedNamespace{}, Users: []forensics.User{},
			Copies: []mounts.Copy{}, Uninhabited: []uint64{}, Unseen: []string{}, Queries: w.asked,
		},
	}
	k.known(&e.Mounts)
	k.look(&e.Mounts)
	k.listApart = mounts.SameRoot(&e.Mounts, func(m *mounts.Mount) bool { return k.want.mount(m) && m.MountPoint != "/" })
	k.pinned(&e.Mounts) // there need be no process but this one in that namespace
	return k
}

func (k *keeper) keep(h *holders.Holder) bool {
	if h.Path == "/" && (h.Kind == holders.HoldCwd || h.Kind == holders.HoldRoot) && h.MountNS == k.evidence.Mounts.Namespace {
		if p, ok := k.model.Process(h.PID); ok && p.Kernel {
			return false // the kernel's threads stand in the root, for ever
		}
	}
	return h.Deleted || k.wants(h)
}

// wants says whether a holder is to be listed, and not only looked at for the space that its deleted file takes.
func (k *keeper) wants(h *holders.Holder) bool {
	return h.Detached || k.want.ids[h.MountID] || k.want.devices[h.Device]
}

// matters says whether the holders of a mount in this program's own namespace can be wanted. What is wanted on the way is in
// other namespaces than the host's.
func (k *keeper) matters(id int, device string) bool {
	_, ofHost := k.model.Host().ByID(id)
	return !ofHost || k.want.ids[id] || k.want.devices[device]
}

// explains says whether something that was found keeps each of some mounts busy, of which there is one at least.
func (k *keeper) explains(ids []int) bool {
	busy := map[int]bool{}
	for _, h := range k.held.Holders {
		busy[h.MountID] = true
	}
	for _, t := range k.evidence.Threads {
		busy[t.MountID] = busy[t.MountID] || !t.Gone
	}
	for _, u := range k.held.Kernel {
		busy[u.MountID] = busy[u.MountID] || u.Blocks
	}
	for _, c := range k.held.Copies { // only those that are used
		busy[c.Of] = true
	}
	return len(ids) > 0 && !slices.ContainsFunc(ids, func(id int) bool { return !busy[id] })
}

// known remembers what sorts of file systems there are.
func (k *keeper) known(t *mounts.Table) {
	for _, m := range t.Mounts {
		if _, ok := k.classes[m.Device]; !ok {
			k.classes[m.Device] = m.Class
		}
		if m.Class == mounts.ClassFUSE && k.fuseBytes < maxFUSEBytes {
			k.fuse = append(k.fuse, fuseMount{m, t.Namespace})
			k.fuseBytes += int(unsafe.Sizeof(m)) + len(m.Root) + len(m.MountPoint) + len(m.SuperOptions)
		}
	}
}

// look finds what may be copies of the mounts that are wanted: who holds those is wanted, too.
func (k *keeper) look(t *mounts.Table) {
	for _, id := range k.copies.Look(t) {
		k.want.ids[id] = true
	}
}

// servers finds who serves the FUSE mounts that were seen. complete says that no process can have been missed.
func (k *keeper) servers(fsys *hostfs.FS, devices []holders.FUSEDevice, complete bool) []forensics.FUSEServer {
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
func (k *keeper) foundCopies() {
	copies := k.copies.Found()
	ids := map[int]bool{}
	for _, c := range copies {
		ids[c.MountID] = true
	}
	k.held.Private = slices.DeleteFunc(k.held.Private, func(l forensics.LeakedMount) bool { return ids[l.Mount.ID] })
	k.held.Copies = k.used(copies)
}

// kernel finds what in the kernel uses the mounts that are wanted.
func (k *keeper) kernel(ctx context.Context, fsys *hostfs.FS, result *procslive.HoldersResult) []error {
	own, _ := fsys.ReadLink("/proc/" + strconv.Itoa(selfPID()) + "/ns/net")
	list, errs := procslive.KernelHolders(ctx, fsys, &k.evidence.Mounts, k.want.mount, result.Bound[own])
	sockets := map[uint64]bool{}
	for _, inode := range result.Sockets {
		sockets[inode] = true
	}
	list = slices.DeleteFunc(list, func(u holders.KernelUser) bool { // those are among the holders, with their process
		return u.Use == holders.UseSocket && sockets[u.Socket]
	})
	k.held.Kernel = append(list, k.marks(result.Marks)...)
	k.held.LeftOut += k.boundKernel()
	return errs
}

// used are the copies that somebody holds or is in a call on.
func (k *keeper) used(copies []mounts.Copy) []mounts.Copy {
	using := map[int]bool{}
	for _, h := range k.held.Holders {
		using[h.MountID] = true
	}
	for _, t := range k.evidence.Threads {
		using[t.MountID] = using[t.MountID] || !t.Gone
	}
	return slices.DeleteFunc(copies, func(c mounts.Copy) bool { return !using[c.MountID] })
}

// table looks at the mounts of another namespace.
func (k *keeper) table(t mounts.Table) {
	host := &k.evidence.Mounts
	k.known(&t)
	k.look(&t)
	if t.Namespace != host.Namespace {
		k.pinned(&t)
	}
	if t.PID == 0 && len(k.held.Uninhabited) < maxUninhabited {
		k.held.Uninhabited = append(k.held.Uninhabited, t.Namespace)
	}
	if t.Namespace == host.Namespace || host.Namespace == 0 || k.nested.owns(&t) {
		return
	}
	k.apart(&t)
	kubelet := k.evidence.Kubelet
	if kubelet != nil && kubelet.MountNS == t.Namespace {
		return // that is where the kubelet mounts
	}
	for _, l := range k.leaks.In(&t, poduid.Path.MatchString) {
		k.leaked(&t, l)
	}
}

// leaked keeps a leak within the bounds. Those on no directory of the host have a bound of their own: a container can make as
// many as it likes, and must not crowd out the host's.
func (k *keeper) leaked(t *mounts.Table, l mounts.Leak) {
	if l.On == "" {
		k.strange++
	}
	if l.On == "" && k.strange > maxLeaked || l.On != "" && len(k.held.Leaked)-min(k.strange, maxLeaked) >= maxLeaked {
		return
	}
	k.held.Leaked = append(k.held.Leaked, forensics.LeakedMount{Namespace: t.Namespace, Mount: l.Mount, On: l.On, Owner: t.Owner})
	k.want.ids[l.Mount.ID] = true
	k.through[t.Namespace] = t.PID
}

// apart finds what another namespace has of the mounts that somebody asks for.
func (k *keeper) apart(t *mounts.Table) {
	if !k.want.asks {
		return
	}
	for _, m := range k.listApart(t, maxLeaked-len(k.held.Private)) {
		k.held.Private = append(k.held.Private, forensics.LeakedMount{Namespace: t.Namespace, Mount: m})
	}
}

// pinned finds mounts of mount namespaces themselves, which keep them alive (namespaces(7)).
func (k *keeper) pinned(t *mounts.Table) {
	for _, m := range t.Mounts {
		number, ok := strings.CutPrefix(m.Root, "mnt:[")
		if m.FSType != "nsfs" || !ok {
			continue
		}
		ns, err := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64)
		if err == nil && len(k.held.Pinned) < maxPinned {
			k.held.Pinned = append(k.held.Pinned, forensics.PinnedNamespace{Namespace: ns, MountID: m.ID, MountPoint: m.MountPoint, MountNS: t.Namespace})
		}
	}
}

// callers are the processes that are in a call on a mount that is wanted.
func (k *keeper) callers() []holders.Holder {
	var list []holders.Holder
	for _, t := range k.evidence.Threads {
		if k.want.ids[t.MountID] || k.want.devices[t.Device] {
			list = append(list, holders.Holder{PID: t.PID})
		}
	}
	return list
}

// marks are the users that only watch, of the host's mounts that are wanted.
func (k *keeper) marks(list []holders.Mark) []holders.KernelUser {
	var users []holders.KernelUser
	for _, mark := range list {
		for _, m := range k.model.MountsOf(mark.Device) {
			if k.want.mount(&m) {
				users = append(users, k.mark(mark, m))
			}
		}
		if m, ok := k.model.Mount(mark.MountID); ok && mark.MountID != 0 && k.want.mount(&m) {
			users = append(users, k.mark(mark, m))
		}
	}
	return users
}

func (k *keeper) mark(mark holders.Mark, m mounts.Mount) holders.KernelUser {
	p, _ := k.model.Process(mark.PID)
	return holders.KernelUser{
		MountID: m.ID, Device: m.Device, Use: holders.UseMark, What: mark.Kind,
		Detail: fmt.Sprintf("%s of process %d (%s), descriptor %d; does not block%s", text.Plural(mark.Count, "mark"), mark.PID, p.Comm, mark.FD,
			map[bool]string{true: ", but events that it has not read do"}[mark.Kind == "fanotify"]),
	}
}

// boundKernel keeps the first of the kernel's users, those that block before the others, and counts the rest: a file system
// with many mounts has as many other users at each of them.
func (k *keeper) boundKernel() int {
	sorting.Stable(k.held.Kernel, func(a, b holders.KernelUser) int {
		if a.Blocks == b.Blocks {
			return 0
		}
		return map[bool]int{true: -1, false: 1}[a.Blocks]
	})
	all := len(k.held.Kernel)
	k.held.Kernel = k.held.Kernel[:min(all, maxKernelUsers)]
	return all - len(k.held.Kernel)
}

// addAll takes holders over in their order. Where there are too many, it is better to know one hold of each process than all
// of the first, and better to know strangers than the processes of the pod that a mount is of.
func (k *keeper) addAll(list []holders.Holder) {
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
			k.held.Holders = append(k.held.Holders, h)
		}
	}
}

// ofItsPod says whether a process holds a mount of its own pod.
func (k *keeper) ofItsPod(h holders.Holder) bool {
	p, _ := k.model.Process(h.PID)
	if p.PodUID == "" {
		return false
	}
	m, _ := k.model.Mount(h.MountID)
	uid, _ := forensics.PodOf(m.MountPoint)
	return uid == p.PodUID
}

// add says whether a holder is within the bounds, which it uses up.
func (k *keeper) add(h holders.Holder) bool {
	// Only open files are asked for their size: libraries that an update has replaced are mapped by every process.
	if h.Deleted && h.Kind == holders.HoldFD && k.local(h.Device) && len(k.deleted) < maxDeleted {
		k.deleted = append(k.deleted, h)
	}
	if !k.wants(&h) {
		return false
	}
	if k.count[h.MountID]++; k.count[h.MountID] > k.want.most || k.kept >= maxHolders {
		k.held.LeftOut++
		return false
	}
	k.kept++
	return true
}

// local says whether a file system has neither a server nor a fault, so that asking it for a size cannot block.
func (k *keeper) local(device string) bool {
	known, ok := k.locals[device]
	if !ok {
		known = k.isLocal(device)
		k.locals[device] = known
	}
	return known
}

func (k *keeper) isLocal(device string) bool {
	h, _ := k.model.Health(device)
	if h.Status != mounts.StatusOK && h.Status != mounts.StatusNotProbed {
		return false
	}
	switch k.classes[device] {
	case mounts.ClassBlock, mounts.ClassMemory:
		return true
	case mounts.ClassOverlay:
		return k.layersLocal(device)
	}
	return false
}

// layersLocal says whether all layers of an overlay are known and are on file systems that may be asked. Only overlays of
// the host's own table have layers whose paths mean something here.
func (k *keeper) layersLocal(device string) bool {
	host := k.model.Host()
	for _, m := range k.model.MountsOf(device) {
		if _, here := host.ByID(m.ID); !here {
			continue
		}
		layers := m.Layers()
		for _, layer := range layers {
			on, ok := host.Covering(layer.Dir)
			if !strings.HasPrefix(layer.Dir, "/") || !ok || on.Class == mounts.ClassOverlay || !k.local(on.Device) {
				return false
			}
		}
		return len(layers) > 0
	}
	return false
}
