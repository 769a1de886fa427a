package collect

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	mountslive "github.com/nodeforensics/nodeforensics/forensics/mounts/live"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	procslive "github.com/nodeforensics/nodeforensics/forensics/procs/live"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// mountHealth measures how each mount answers. It asks those of which the threads that wait do not prove already that they
// would not: nobody else has to be left behind in the kernel then.
func (c *collector) mountHealth(ctx context.Context) {
	began := c.opt.Now()
	e := c.seen()
	wanted := mayHang(&e)
	e.FUSEQueues = fuseQueues(c.fs, wanted)
	e.Probes = skippedProbes(wanted, mounts.SkipWaited)
	model := forensics.NewModel(&e)
	for i := range wanted { // overlays only where the kubelet would look
		wanted[i] = sorting.Delete(wanted[i], func(m mounts.Mount) bool { return m.Class == mounts.ClassOverlay && !model.BelowKubelet(m.MountPoint) })
	}
	waited := map[int]bool{} // by mount id
	for _, h := range model.MountHealth() {
		waited[h.MountID] = h.Status == mounts.StatusHung || h.Status == mounts.StatusFrozen
	}
	progress := make(chan []mounts.DiskProgress, 1)
	go func() { progress <- c.diskProgress(ctx, model) }()
	part := forensics.Evidence{FUSEQueues: e.FUSEQueues, Probes: []mounts.Probe{}}
	tables := append([]mounts.Table{e.Mounts}, e.Namespaces...)
	for i, table := range tables {
		var ask, leave []mounts.Mount
		for _, m := range wanted[i] {
			if waited[m.ID] {
				leave = append(leave, m)
			} else {
				ask = append(ask, m)
			}
		}
		part.Probes = append(part.Probes, skippedProbes([][]mounts.Mount{leave}, mounts.SkipWaited)...)
		part.Probes = append(part.Probes, c.probe(ctx, table.Index(), ask, prefix(tables, i, ownNamespace(c.fs)))...)
	}
	part.DiskProgress = <-progress
	source := forensics.Source{Source: forensics.SourceHealth, Status: forensics.SourceRead, Seconds: c.opt.Now().Sub(began).Seconds()}
	switch {
	case c.opt.NoProbe:
		source.Status, source.Detail = forensics.SourceTruncated, "no mount was probed (--no-probe): only mounts on which threads wait are known to be hung"
	case ctx.Err() != nil:
		source.Status, source.Detail = forensics.SourceTruncated, "the timeout expired before all mounts were probed"
	}
	part.Coverage = []forensics.Source{source}
	c.tell(part)
}

// mayHang are the mounts of each table whose file system can hang, each once.
func mayHang(e *forensics.Evidence) [][]mounts.Mount {
	done := map[int]bool{}
	var list [][]mounts.Mount
	for _, table := range append([]mounts.Table{e.Mounts}, e.Namespaces...) {
		var of []mounts.Mount
		for _, m := range table.Mounts {
			switch m.Class {
			case mounts.ClassNetwork, mounts.ClassFUSE, mounts.ClassBlock, mounts.ClassUnknown, mounts.ClassAutofs, mounts.ClassOverlay:
				if !done[m.ID] {
					done[m.ID] = true
					of = append(of, m)
				}
			}
		}
		list = append(list, of)
	}
	return list
}

// fuseQueues reads the requests that wait in the connections of FUSE mounts.
func fuseQueues(fsys *hostfs.FS, lists [][]mounts.Mount) []mounts.FUSEQueue {
	queues, done := []mounts.FUSEQueue{}, map[string]bool{}
	for _, list := range lists {
		for _, m := range list {
			if m.Class != mounts.ClassFUSE || done[m.Device] {
				continue
			}
			done[m.Device] = true
			if n, ok := mounts.FUSEWaiting(fsys, m.Device); ok {
				queues = append(queues, mounts.FUSEQueue{Device: m.Device, Requests: []int{n}})
			}
		}
	}
	return queues
}

// skippedProbes are the probes of mounts that are left alone.
func skippedProbes(lists [][]mounts.Mount, why mounts.Skip) []mounts.Probe {
	probes := []mounts.Probe{}
	for _, list := range lists {
		for _, m := range list {
			probes = append(probes, mounts.Probe{MountID: m.ID, Device: m.Device, MountPoint: m.MountPoint, Skipped: why})
		}
	}
	return probes
}

// prefix is how this process reaches a namespace: by its own paths, or through the root of a process in it.
func prefix(tables []mounts.Table, i int, own uint64) string {
	if own == 0 || tables[i].Namespace == own || tables[i].PID == 0 {
		return ""
	}
	return fmt.Sprintf("/proc/%d/root", tables[i].PID)
}

func (c *collector) probe(ctx context.Context, x *mounts.Index, list []mounts.Mount, prefix string) []mounts.Probe {
	if c.opt.NoProbe {
		return skippedProbes([][]mounts.Mount{list}, mounts.SkipOff)
	}
	return mountslive.Check(ctx, x, list, mountslive.CheckOptions{
		HungAfter: c.opt.HungAfter, Group: c.opt.Calls, Prefix: prefix, FS: c.fs, Now: c.opt.Now,
	})
}

// diskProgress watches the disks for which a thread waits so long that they would count as dead, if they did not go on
// working: writing everything that is in memory to a slow disk (sync(2), a journal's commit) can take minutes.
func (c *collector) diskProgress(ctx context.Context, m *forensics.Model) []mounts.DiskProgress {
	var disks []mountslive.Disk
	seen := map[string]bool{}
	for _, h := range m.MountHealth() {
		list := m.MountsOf(h.Device)
		if h.Status != mounts.StatusHung || seen[h.Device] || len(list) == 0 || list[0].Class != mounts.ClassBlock {
			continue
		}
		seen[h.Device] = true
		disks = append(disks, mountslive.Disk{Mount: list[0], Writing: slices.ContainsFunc(m.ThreadsIn(h.Device), func(t procs.Thread) bool {
			return t.Wait.Kind == procs.WaitJournal && m.Waited(t).Seconds >= c.opt.HungAfter.Seconds() // it is written, whatever is read
		})})
	}
	return mountslive.AwaitProgress(ctx, c.fs, disks, c.opt.HungAfter)
}

// secondLook reads the waiting threads again, and sees which of the mounts that did not answer have answered since.
func (c *collector) secondLook(ctx context.Context) {
	e := c.seen()
	model := forensics.NewModel(&e)
	hung := map[string]bool{} // superblocks
	for _, h := range model.MountHealth() {
		hung[h.Device] = hung[h.Device] || h.Status == mounts.StatusHung
	}
	if len(e.Threads) == 0 && !slices.Contains(slices.Collect(maps.Values(hung)), true) {
		return
	}
	ctx = context.WithoutCancel(ctx) // it is short, and a hang that is over must not be reported
	threads := procslive.Resample(ctx, c.fs, e.Threads, procslive.Options{Group: c.opt.Calls, Self: c.opt.self()})
	probes := slices.Clone(e.Probes)
	mountslive.Review(probes, c.opt.Calls)
	for _, t := range c.serverThreads(ctx, model, hung) {
		same := func(o procs.Thread) bool { return o.PID == t.PID && o.TID == t.TID }
		if at := slices.IndexFunc(threads, same); at < 0 {
			threads = append(threads, t)
		} else if threads[at].Gone {
			threads[at] = t
		}
	}
	sorting.Stable(threads, func(a, b procs.Thread) int { return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.TID, b.TID)) })
	queues := slices.Clone(e.FUSEQueues)
	for i := range queues {
		q := &queues[i]
		if n, ok := mounts.FUSEWaiting(c.fs, q.Device); ok {
			q.Requests = append(slices.Clone(q.Requests), n)
		}
	}
	c.tell(forensics.Evidence{Threads: threads, Probes: probes, FUSEQueues: queues})
}

// serverThreads are the threads that wait of the processes behind FUSE file systems that do not answer. What asked such a
// file system, and so has its server wait for the one that it is made of, may have been our own probe: then nobody was seen
// to wait when all processes were read.
func (c *collector) serverThreads(ctx context.Context, m *forensics.Model, hung map[string]bool) []procs.Thread {
	var pids []int
	for device := range hung {
		for _, s := range m.Uses().Servers(device) {
			if hung[device] && s.PID != 0 && !slices.Contains(pids, s.PID) {
				pids = append(pids, s.PID)
			}
		}
	}
	if len(pids) == 0 {
		return nil
	}
	opt := c.procsOptions()
	opt.PIDs = pids
	snapshot, err := procslive.Collect(ctx, c.fs, opt)
	if err != nil {
		return nil
	}
	return snapshot.Threads
}
