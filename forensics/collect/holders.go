package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	mountslive "github.com/nodeforensics/nodeforensics/forensics/mounts/live"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	procslive "github.com/nodeforensics/nodeforensics/forensics/procs/live"
	"github.com/nodeforensics/nodeforensics/internal/foreign"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// Bounds of what is kept in the evidence.
const (
	maxHoldersOfMount = 32
	maxHoldersOfQuery = 1024 // of one mount that somebody asks for
	maxHolders        = 4096
	maxKernelUsers    = 4096
	maxLeaked         = 1024
	maxDeleted        = 1024
	maxPinned         = 1024
	maxUninhabited    = 1024
	maxFUSEBytes      = 2 << 20 // of the FUSE mounts of all namespaces, some 5,000
)

// Holders looks only for what keeps the mounts in use that the queries name. A query is what [FindMounts] knows, or a pod as
// "namespace/name", whose UID Evidence.Pods then has. Holders touches none of the mounts, and is quick also when they do not respond.
// What is said of Collect is true of it, too.
func Holders(ctx context.Context, opt Options, queries ...string) (forensics.Evidence, error) {
	c, err := newCollector(ctx, opt)
	if err != nil {
		return c.evidence, err
	}
	c.read(ctx, forensics.SourceMounts, readLimit, c.hostMounts)
	processes := c.brief(ctx)
	c.podsByName(ctx, queries)
	queries = c.meant(queries)
	c.read(ctx, forensics.SourceHolders, 4*readLimit, func(ctx context.Context) (forensics.Evidence, error) {
		e := c.seen()
		own, here := c.sameHere(ctx, &e.Mounts)
		w := wanted{devices: map[string]bool{}, ids: map[int]bool{}, most: maxHoldersOfQuery, processes: processes, own: own, here: here}
		w.queries = c.resolved(ctx, queries, &e.Mounts, w.here)
		for _, query := range queries {
			for _, m := range FindMounts(&e.Mounts, (&forensics.MountUse{Queries: w.queries}).ResolvedPath(query)) {
				w.ids[m.ID] = true
				w.devices[m.Device] = w.devices[m.Device] || m.MountPoint != "/" && m.Root == "/"
			}
		}
		return c.findUses(ctx, &e, w)
	})
	c.finish(ctx)
	return c.evidence, nil
}

// brief begins to read who the processes are, and which of their threads wait, while something else is done. It returns a function
// that waits for that, and adds it to the evidence.
func (c *collector) brief(ctx context.Context) func(e *forensics.Evidence) {
	limit := 2 * readLimit
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, deadline.Sub(c.opt.Now())/2) // the other half is for what needs them
	}
	options := c.procsOptions()
	options.Brief = c.seen().Mounts.Namespace
	list, done := make(chan []procs.Process, 1), make(chan struct{})
	go func() {
		defer close(done)
		c.read(ctx, forensics.SourceProcesses, limit, func(ctx context.Context) (forensics.Evidence, error) {
			snapshot, err := procslive.Collect(ctx, c.fs, options)
			list <- snapshot.Processes
			snapshot.Processes = nil
			return c.processPart(snapshot, err)
		})
	}()
	return func(e *forensics.Evidence) {
		<-done
		select {
		case e.Processes = <-list:
		default: // it was given up
		}
		e.Threads = c.seen().Threads
	}
}

// holders finds what keeps the mounts in use that matter to the kubelet or are in trouble.
func (c *collector) holders(ctx context.Context) (forensics.Evidence, error) {
	e := c.seen()
	w := wantedBy(&e)
	w.own, w.here = c.sameHere(ctx, &e.Mounts)
	return c.findUses(ctx, &e, w)
}

// wanted are the mounts whose users are looked for: by id, and by superblock where all of that is meant.
type wanted struct {
	ids     map[int]bool
	devices map[string]bool
	queries []forensics.Query
	own     *mounts.Table                          // that this program sees, nil if unknown
	here    func(name string) (mounts.Mount, bool) // see sameHere
	most    int                                    // holders of one mount
	// processes adds the processes and threads to the evidence, which are being read meanwhile: somebody asks for these mounts, and
	// for nothing else. Otherwise it is nil.
	processes func(*forensics.Evidence)
}

func (w wanted) asks() bool { return w.processes != nil }

func wantedBy(e *forensics.Evidence) wanted {
	w := wanted{ids: map[int]bool{}, devices: map[string]bool{}, most: maxHoldersOfMount}
	model := forensics.NewModel(e)
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

// findUses finds what keeps the mounts in use that are wanted.
func (c *collector) findUses(ctx context.Context, e *forensics.Evidence, w wanted) (forensics.Evidence, error) {
	first := slices.Collect(maps.Keys(w.ids)) // more will be wanted on the way
	k := newSelector(e, w)
	use := k.use
	result, err := procslive.Holders(ctx, c.fs, procslive.HoldersOptions{
		Group: c.opt.Calls, Self: c.opt.self(), Keep: k.keep, Mounts: k.matters, Table: k.table, Queues: w.asks(), Own: w.own, Read: k.know,
	})
	if err != nil {
		return forensics.Evidence{}, err
	}
	has := func(what error) bool {
		return slices.ContainsFunc(result.Problems, func(err error) bool { return errors.Is(err, what) })
	}
	listed := ctx.Err() == nil && seesAllProcesses(c.fs) && !has(nodefs.ErrTruncated)
	use.AllProcesses = listed // otherwise a mount may be in the table of a namespace whose processes are not seen
	if w.asks() {
		c.describe(ctx, e, &result, k.wants)
		k.model = forensics.NewModel(e)
	}
	use.UserNS = ownUserNS(c.fs)
	if len(k.foreign) > 0 {
		mountedSince(ctx, c.fs, &e.Mounts, k.foreign)
		c.owners(ctx, k.foreign, k.through)
	}
	use.Namespaces = result.Namespaces
	use.FUSE = k.fuseUse(c.fs, result.FUSE, listed && !has(fs.ErrPermission))
	k.addAll(result.Holders)
	k.foundCopies()
	use.Foreign = append(append(use.Foreign, k.nested.others(k.foreign)...), k.private...)
	if _, ok := w.here(passwd); ok {
		use.Users = userNames(ctx, c.fs, c.opt.Calls, e, append(k.callers(), use.Holders...))
	}
	errs := append(result.Problems, k.kernel(ctx, c.fs, &result)...)
	if w.asks() && !k.explains(first) {
		if err := result.AskQueues(ctx, c.fs); err != nil {
			errs = append(errs, err)
		}
	}
	use.Unseen = slices.Concat(c.unseen(ctx, result.Problems), queued(result.Queued), closing(e.Threads))
	use.Deleted = sorting.Delete(procslive.DeletedFiles(ctx, c.fs, k.deleted, k.local, c.opt.Calls), func(f holders.DeletedFile) bool {
		return !f.Written && forensics.DiskOf(k.model, f.Device) != f.Device
	})
	part := forensics.Evidence{MountUse: use}
	if w.asks() {
		part.Processes = sorting.Delete(e.Processes, isBrief)
	}
	if len(errs) > 0 && ctx.Err() == nil {
		part.Coverage = append(part.Coverage, forensics.Source{
			Source: forensics.SourceHolders, Status: forensics.SourceTruncated, Detail: fmt.Sprintf("%s; first: %v", text.Plural(len(errs), "problem"), errs[0]),
		})
	}
	return part, ctx.Err()
}

// describe adds who the processes are that were read in brief and have turned out to matter: on a node with thousands of
// processes these are few. Of one that has ended since, no more is known.
func (c *collector) describe(ctx context.Context, e *forensics.Evidence, result *procslive.HoldersResult, lists func(*holders.Holder) bool) {
	wanted := map[int]bool{1: true}
	for i := range result.Holders {
		wanted[result.Holders[i].PID] = wanted[result.Holders[i].PID] || lists(&result.Holders[i])
	}
	for _, d := range result.FUSE {
		wanted[d.PID] = true
	}
	for _, n := range result.Namespaces {
		wanted[n.PID] = true
	}
	for _, m := range result.Marks {
		wanted[m.PID] = true
	}
	for _, t := range e.Threads {
		wanted[t.PID] = true
	}
	var pids []int
	for _, p := range e.Processes {
		if wanted[p.PID] && isBrief(p) {
			pids = append(pids, p.PID)
		}
	}
	if len(pids) == 0 {
		return
	}
	known := map[int]procs.Process{}
	snapshot, _ := procslive.Collect(ctx, c.fs, procslive.Options{Group: c.opt.Calls, PIDs: pids, Self: pids}) // without their threads
	for _, p := range snapshot.Processes {
		known[p.PID] = p
	}
	for i, p := range e.Processes {
		if now, ok := known[p.PID]; ok && now.StartTicks == p.StartTicks {
			e.Processes[i] = now
		}
	}
}

// isBrief says that a process was not described.
func isBrief(p procs.Process) bool { return p.UID < 0 && !p.Kernel && p.Command == nil }

// queued names the processes that have descriptors of files which nothing tells.
func queued(list []holders.Queued) []string {
	var names []string
	for _, q := range list {
		where := map[bool]string{false: "in the queue of its socket", true: "registered with its io_uring"}[q.Ring]
		names = append(names, fmt.Sprintf("process %d: %s %s %d; the files are not visible", q.PID, text.Plural(q.Count, "descriptor"), where, q.FD))
	}
	return names
}

// closing names the threads that wait while they close a file, as the last thread of a killed process does. No descriptor table has the
// file any more, and its mount stays in use until the wait ends.
func closing(threads []procs.Thread) []string {
	var list []string
	for _, t := range threads {
		closes := slices.ContainsFunc(t.Stack, func(frame string) bool { return frame == "filp_close" || frame == "filp_flush" || frame == "__fput" })
		if closes && t.Device == "" && !t.Gone {
			list = append(list, fmt.Sprintf("process %d: thread %d (%s) waits in %s while it closes a file; no descriptor table lists that file any more", t.PID, t.TID, t.Comm, cmp.Or(t.Wait.Function, t.WChan)))
		}
	}
	return list
}

// mountedSince marks the mounts that the host has now, and did not have when its table was read: of pods that were started
// in between, of which a namespace that receives the host's mounts was read later.
func mountedSince(ctx context.Context, fsys *hostfs.FS, host *mounts.Table, list []forensics.ForeignMount) {
	now, err := mountslive.Read(ctx, fsys, host.PID)
	if err != nil || now.Namespace != host.Namespace {
		return
	}
	for i := range list {
		list[i].MountedSince = !foreign.Leak{Mount: list[i].Mount, On: list[i].On}.Gone(&now)
	}
}

// ownersLimit is how long it may take to ask for all owners, which takes microseconds unless a namespace ends just then.
const ownersLimit = 2 * time.Second

// owners asks which user namespaces own the mount namespaces that have leaks. through is a process of each, 0 for one without.
func (c *collector) owners(ctx context.Context, leaked []forensics.ForeignMount, through map[uint64]int) {
	ctx, cancel := context.WithTimeout(ctx, ownersLimit)
	defer cancel()
	proc, err := c.fs.OpenDir("/proc")
	if err != nil {
		return
	}
	defer func() { _ = proc.Close() }()
	owners := map[uint64]uint64{}
	for i := range leaked {
		l := &leaked[i]
		pid := through[l.Namespace]
		if l.Owner != 0 || pid == 0 {
			continue
		}
		if _, known := owners[l.Namespace]; !known {
			owners[l.Namespace], _ = probe.Do(ctx, c.opt.Calls, fmt.Sprintf("mount namespace %d", l.Namespace), func() (uint64, error) {
				is, owner, err := proc.Owner(strconv.Itoa(pid) + "/ns/mnt")
				if is != l.Namespace { // the process has gone elsewhere, or is another one
					return 0, err
				}
				return owner, err
			})
		}
		l.Owner = owners[l.Namespace]
	}
}

// unseen says of which processes not all is known.
func (c *collector) unseen(ctx context.Context, problems []error) []string {
	list := []string{}
	if !privileged() {
		list = append(list, "processes of other users: nodeforensics does not run as root")
	}
	if !seesAllProcesses(c.fs) {
		list = append(list, "processes outside the PID namespace of nodeforensics")
	}
	for _, err := range problems {
		list = append(list, err.Error())
	}
	if err := ctx.Err(); err != nil {
		list = append(list, "processes that were not read before the timeout")
	}
	return list
}

// seesAllProcesses says whether /proc is that of the first PID namespace: in another one, a server may run unseen.
func seesAllProcesses(fsys *hostfs.FS) bool {
	const first = "pid:[4026531836]" // PROC_PID_INIT_INO of include/linux/proc_ns.h
	link, err := fsys.ReadLink("/proc/" + strconv.Itoa(selfPID()) + "/ns/pid")
	return err == nil && link == first
}
