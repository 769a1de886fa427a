package forensics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/hostfs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/sorting"
)

// Bounds of what is kept in the evidence.
const (
	maxHoldersOfMount = 32
	maxHoldersAsked   = 1024 // of one mount that somebody asks for
	maxHolders        = 4096
	maxKernelUsers    = 4096
	maxLeaked         = 1024
	maxDeleted        = 1024
	maxPinned         = 1024
	maxUninhabited    = 1024
	maxFUSEMounts     = 1 << 16 // of all namespaces
)

// CollectHolders looks only for what keeps the mounts that the queries name in use; see [FindMounts]. It touches none of them,
// and is quick also when they do not answer. What is said of Collect holds for it.
func CollectHolders(ctx context.Context, opt Options, queries ...string) (Evidence, error) {
	c, err := newCollector(ctx, opt)
	if err != nil {
		return c.evidence, err
	}
	c.read(ctx, SourceMounts, readLimit, c.hostMounts)
	c.read(ctx, SourceProcesses, 2*readLimit, c.processes)
	c.read(ctx, SourceHolders, 2*readLimit, func(ctx context.Context) (Evidence, error) {
		e := c.seen()
		w := wanted{devices: map[string]bool{}, ids: map[int]bool{}, most: maxHoldersAsked, apart: true, asked: c.asked(ctx, queries, &e.Mounts)}
		for _, query := range queries {
			for _, m := range FindMounts(&e.Mounts, (&Held{Asked: w.asked}).AskedPath(query)) {
				w.ids[m.ID] = true
				w.devices[m.Device] = w.devices[m.Device] || m.MountPoint != "/" && m.Root == "/"
			}
		}
		return c.held(ctx, &e, w)
	})
	c.finish(ctx)
	return c.evidence, nil
}

// holders finds what keeps the mounts in use that matter to the kubelet or are in trouble.
func (c *collector) holders(ctx context.Context) (Evidence, error) {
	e := c.seen()
	return c.held(ctx, &e, wantedBy(&e))
}

// wanted are the mounts whose users are looked for: by id, and by superblock where all of that is meant.
type wanted struct {
	ids     map[int]bool
	devices map[string]bool
	asked   []Asked
	most    int  // holders of one mount
	apart   bool // also what other namespaces have of them
}

func wantedBy(e *Evidence) wanted {
	w := wanted{ids: map[int]bool{}, devices: map[string]bool{}, most: maxHoldersOfMount}
	model := NewModel(e)
	for _, table := range append([]mounts.Table{e.Mounts}, e.Namespaces...) {
		for _, m := range table.Mounts {
			h, _ := model.Health(m.Device)
			bad := h.Status != mounts.StatusOK && h.Status != mounts.StatusNotProbed
			if model.BelowKubelet(m.MountPoint) || bad {
				w.ids[m.ID] = true
			}
			if m.Class == mounts.ClassFUSE || m.Class == mounts.ClassNetwork {
				w.devices[m.Device] = true
			}
		}
	}
	return w
}

func (w wanted) mount(m *mounts.Mount) bool { return w.ids[m.ID] || w.devices[m.Device] }

func (c *collector) held(ctx context.Context, e *Evidence, w wanted) (Evidence, error) {
	held := Held{
		Holders: []procs.Holder{}, Kernel: []mounts.KernelUser{}, Servers: []FUSEServer{}, Leaked: []LeakedMount{},
		Namespaces: []procs.NamespaceHold{}, Deleted: []procs.DeletedFile{}, Pinned: []PinnedNamespace{}, Users: []User{}, Copies: []mounts.Copy{},
		Uninhabited: []uint64{}, Unseen: []string{}, Asked: w.asked,
	}
	k := keeper{
		want: w, model: NewModel(e), held: &held, count: map[int]int{}, classes: map[string]mounts.Class{}, locals: map[string]bool{},
		nested: nestedNodes(e), copies: mounts.NewCopies(&e.Mounts, w.mount),
	}
	k.known(&e.Mounts)
	k.look(&e.Mounts)
	k.pinned(&e.Mounts) // there need be no process but this one in that namespace
	result, err := procs.Holders(ctx, c.fs, procs.HoldersOptions{
		Group: c.opt.Calls, Self: c.opt.self(), Keep: k.keep, Table: k.table, Queues: w.most == maxHoldersAsked,
	})
	if err != nil {
		return Evidence{}, err
	}
	if len(held.Leaked) > 0 {
		held.Leaked = stillLeaked(ctx, c.fs, &e.Mounts, held.Leaked)
	}
	held.Namespaces, held.Unseen = result.Namespaces, c.unseen(ctx, result.Problems)
	for _, q := range result.Queued {
		where := map[bool]string{false: "in the queue of its socket", true: "registered with its io_uring"}[q.Ring]
		held.Unseen = append(held.Unseen, fmt.Sprintf("process %d: %s %s %d, of files that nothing tells", q.PID, Plural(q.Count, "descriptor"), where, q.FD))
	}
	held.Unseen = append(held.Unseen, closing(e.Threads)...)
	has := func(what error) bool {
		return slices.ContainsFunc(result.Problems, func(err error) bool { return errors.Is(err, what) })
	}
	listed := ctx.Err() == nil && seesAllProcesses(c.fs) && !has(hostfs.ErrTruncated)
	complete := listed && !has(fs.ErrPermission)
	held.Servers = guessServers(k.fuse, result.FUSE, func(pid int) []string {
		p, _ := k.model.Process(pid)
		return p.Command
	}, complete)
	held.Servers = append(held.Servers, detachedServers(k.fuse, result.FUSE, mounts.FUSEConnectionsWaiting(c.fs))...)
	for i := range held.Servers {
		if n, ok := mounts.FUSEWaiting(c.fs, held.Servers[i].Device); ok {
			held.Servers[i].Waiting = &n
		}
	}
	for i := range result.Holders { // otherwise it may be in the table of a namespace whose processes are not seen
		result.Holders[i].Detached = result.Holders[i].Detached && listed
	}
	k.addAll(result.Holders)
	k.nested.forgive(&held)
	copies := k.copies.Found()
	held.Apart = slices.DeleteFunc(held.Apart, func(l LeakedMount) bool {
		return slices.ContainsFunc(copies, func(c mounts.Copy) bool { return c.MountID == l.Mount.ID })
	})
	held.Copies = k.used(copies)
	if _, ok := c.sameHere(ctx, &e.Mounts)(passwd); ok {
		held.Users = userNames(ctx, c.fs, c.opt.Calls, e, append(k.callers(), held.Holders...))
	}
	var errs []error
	held.Kernel, errs = mounts.KernelHolders(ctx, c.fs, &e.Mounts, w.mount)
	held.Kernel = slices.DeleteFunc(held.Kernel, func(u mounts.KernelUser) bool { // those are among the holders, with their process
		return u.Use == mounts.UseSocket && slices.Contains(result.Sockets, u.Socket)
	})
	held.Kernel = append(held.Kernel, k.marks(result.Marks)...)
	held.LeftOut += k.boundKernel()
	held.Deleted = slices.DeleteFunc(procs.DeletedFiles(ctx, c.fs, k.deleted, k.local, c.opt.Calls), func(f procs.DeletedFile) bool {
		return !f.Written && k.model.DiskOf(f.Device) != f.Device
	})
	part := Evidence{Held: &held}
	if errs = append(result.Problems, errs...); len(errs) > 0 && ctx.Err() == nil {
		part.Coverage = append(part.Coverage, Source{
			Source: SourceHolders, Status: SourceTruncated, Detail: fmt.Sprintf("%s; first: %v", Plural(len(errs), "problem"), errs[0]),
		})
	}
	return part, ctx.Err()
}

// closing names the threads that wait while they close a file, as that of a process that was killed does: the file is in no
// table of descriptors any more, and its mount is held until the wait ends.
func closing(threads []procs.Thread) []string {
	var list []string
	for _, t := range threads {
		closes := slices.ContainsFunc(t.Stack, func(frame string) bool { return frame == "filp_close" || frame == "filp_flush" || frame == "__fput" })
		if closes && t.Device == "" && !t.Gone {
			list = append(list, fmt.Sprintf("process %d: its thread %d (%s) closes a file that no table lists any more, and waits in %s", t.PID, t.TID, t.Comm, cmp.Or(t.Wait.Function, t.WChan)))
		}
	}
	return list
}

// stillLeaked leaves out the mounts that the host has now, and did not have when its table was read: pods that were started
// in between, of which a namespace that receives the host's mounts was read later. Of a table that cannot be read again,
// all stay.
func stillLeaked(ctx context.Context, fsys *hostfs.FS, host *mounts.Table, leaked []LeakedMount) []LeakedMount {
	now, err := mounts.Read(ctx, fsys, host.PID)
	if err != nil || now.Namespace != host.Namespace {
		return leaked
	}
	return slices.DeleteFunc(leaked, func(l LeakedMount) bool {
		one := mounts.Table{Namespace: l.Namespace, Mounts: []mounts.Mount{l.Mount}}
		return len(mounts.Leaked(&now, &one, podPath.MatchString)) == 0
	})
}

// unseen says of which processes not all is known.
func (c *collector) unseen(ctx context.Context, problems []error) []string {
	list := []string{}
	if !privileged() {
		list = append(list, "those of other users: this program does not run as root")
	}
	if !seesAllProcesses(c.fs) {
		list = append(list, "those outside of the PID namespace that this program is in")
	}
	for _, err := range problems {
		list = append(list, err.Error())
	}
	if err := ctx.Err(); err != nil {
		list = append(list, "those that were left when the time was up")
	}
	return list
}

// seesAllProcesses says whether /proc is that of the first PID namespace: in another one, a server may run unseen.
func seesAllProcesses(fsys *hostfs.FS) bool {
	const first = "pid:[4026531836]" // PROC_PID_INIT_INO of include/linux/proc_ns.h
	link, err := fsys.ReadLink("/proc/" + strconv.Itoa(selfPID()) + "/ns/pid")
	return err == nil && link == first
}

// A keeper chooses what becomes evidence.
type keeper struct {
	want    wanted
	model   *Model
	held    *Held
	count   map[int]int // of holders, by mount; kept are those within the bounds
	kept    int
	deleted []procs.Holder
	fuse    []fuseMount
	classes map[string]mounts.Class // by superblock
	locals  map[string]bool         // by superblock, as far as asked for
	nested  nested
	copies  *mounts.Copies
}

func (k *keeper) keep(h *procs.Holder) bool {
	if h.Path == "/" && (h.Kind == procs.HoldCwd || h.Kind == procs.HoldRoot) && h.MountNS == k.model.evidence.Mounts.Namespace {
		if p, ok := k.model.Process(h.PID); ok && p.Kernel {
			return false // the kernel's threads stand in the root, for ever
		}
	}
	return h.Detached || h.Deleted || k.want.ids[h.MountID] || k.want.devices[h.Device]
}

// known remembers what sorts of file systems there are.
func (k *keeper) known(t *mounts.Table) {
	for _, m := range t.Mounts {
		if _, ok := k.classes[m.Device]; !ok {
			k.classes[m.Device] = m.Class
		}
		if m.Class == mounts.ClassFUSE && len(k.fuse) < maxFUSEMounts {
			k.fuse = append(k.fuse, fuseMount{m, t.Namespace})
		}
	}
}

// look finds what may be copies of the mounts that are wanted: who holds those is wanted, too.
func (k *keeper) look(t *mounts.Table) {
	for _, id := range k.copies.Look(t) {
		k.want.ids[id] = true
	}
}

// used are the copies that somebody holds or is in a call on.
func (k *keeper) used(copies []mounts.Copy) []mounts.Copy {
	using := map[int]bool{}
	for _, h := range k.held.Holders {
		using[h.MountID] = true
	}
	for _, t := range k.model.evidence.Threads {
		using[t.MountID] = using[t.MountID] || !t.Gone
	}
	return slices.DeleteFunc(copies, func(c mounts.Copy) bool { return !using[c.MountID] })
}

// table looks at the mounts of another namespace.
func (k *keeper) table(t mounts.Table) {
	host := &k.model.evidence.Mounts
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
	kubelet := k.model.evidence.Kubelet
	if kubelet != nil && kubelet.MountNS == t.Namespace {
		return // that is where the kubelet mounts
	}
	for _, m := range mounts.Leaked(host, &t, podPath.MatchString) {
		if len(k.held.Leaked) < maxLeaked {
			k.held.Leaked = append(k.held.Leaked, LeakedMount{t.Namespace, m})
			k.want.ids[m.ID] = true
		}
	}
}

// apart finds what another namespace has of the mounts that somebody asks for.
func (k *keeper) apart(t *mounts.Table) {
	if !k.want.apart {
		return
	}
	list := mounts.Apart(&k.model.evidence.Mounts, t, func(m *mounts.Mount) bool { return k.want.mount(m) && m.MountPoint != "/" })
	for _, m := range list[:min(len(list), maxLeaked-len(k.held.Apart))] {
		k.held.Apart = append(k.held.Apart, LeakedMount{t.Namespace, m})
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
			k.held.Pinned = append(k.held.Pinned, PinnedNamespace{Namespace: ns, MountID: m.ID, MountPoint: m.MountPoint, MountNS: t.Namespace})
		}
	}
}

// callers are the processes that are in a call on a mount that is wanted.
func (k *keeper) callers() []procs.Holder {
	var list []procs.Holder
	for _, t := range k.model.evidence.Threads {
		if k.want.ids[t.MountID] || k.want.devices[t.Device] {
			list = append(list, procs.Holder{PID: t.PID})
		}
	}
	return list
}

// marks are the users that only watch, of the host's mounts that are wanted.
func (k *keeper) marks(list []procs.Mark) []mounts.KernelUser {
	var users []mounts.KernelUser
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

func (k *keeper) mark(mark procs.Mark, m mounts.Mount) mounts.KernelUser {
	p, _ := k.model.Process(mark.PID)
	return mounts.KernelUser{
		MountID: m.ID, Device: m.Device, Use: mounts.UseMark, What: mark.Kind,
		Detail: fmt.Sprintf("%s of process %d (%s), descriptor %d; does not block%s", Plural(mark.Count, "mark"), mark.PID, p.Comm, mark.FD,
			map[bool]string{true: ", but events that it has not read do"}[mark.Kind == "fanotify"]),
	}
}

// boundKernel keeps the first of the kernel's users, those that block before the others, and counts the rest: a file system
// with many mounts has as many other users at each of them.
func (k *keeper) boundKernel() int {
	sorting.Stable(k.held.Kernel, func(a, b mounts.KernelUser) int {
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
func (k *keeper) addAll(list []procs.Holder) {
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
func (k *keeper) ofItsPod(h procs.Holder) bool {
	p, _ := k.model.Process(h.PID)
	if p.PodUID == "" {
		return false
	}
	m, _ := k.model.Mount(h.MountID)
	uid, _ := k.model.PodOf(m.MountPoint)
	return uid == p.PodUID
}

// add says whether a holder is within the bounds, which it uses up.
func (k *keeper) add(h procs.Holder) bool {
	// Only open files are asked for their size: libraries that an update has replaced are mapped by every process.
	if h.Deleted && h.Kind == procs.HoldFD && k.local(h.Device) && len(k.deleted) < maxDeleted {
		k.deleted = append(k.deleted, h)
	}
	if !h.Detached && !k.want.ids[h.MountID] && !k.want.devices[h.Device] {
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
	for _, m := range k.model.evidence.Mounts.Mounts {
		if m.Device != device {
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
