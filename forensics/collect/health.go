package collect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	mountslive "github.com/nodeforensics/nodeforensics/forensics/mounts/live"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	procslive "github.com/nodeforensics/nodeforensics/forensics/procs/live"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// mountHealth says how each mount answers: from threads that provably wait, else by asking.
func (c *collector) mountHealth(ctx context.Context) {
	began := c.opt.Now()
	e := c.seen()
	model := forensics.NewModel(&e)
	waiting := map[string][]int{}
	health := []mounts.Health{}
	working := make(chan map[string]bool, 1)
	go func() { working <- c.workingDisks(ctx, model) }()
	tables := append([]mounts.Table{e.Mounts}, e.Namespaces...)
	done := map[int]bool{}
	for i, table := range tables {
		index := table.Index()
		var ask []mounts.Mount
		claims := map[int]mounts.Health{} // by mount id: what waits in vain, which proves nothing yet
		for _, m := range table.Mounts {
			if done[m.ID] || !c.wanted(model, m) {
				continue
			}
			done[m.ID] = true
			if m.Class == mounts.ClassFUSE && waiting[m.Device] == nil {
				if n, ok := mounts.FUSEWaiting(c.fs, m.Device); ok {
					waiting[m.Device] = []int{n}
				}
			}
			h, proof := c.passive(model, m, waiting[m.Device])
			switch {
			case proof:
				health = append(health, h)
				continue
			case h.Status != mounts.StatusNotProbed:
				claims[m.ID] = h
			}
			ask = append(ask, m)
		}
		probed := c.probe(ctx, index, ask, prefix(tables, i, ownNamespace(c.fs)))
		for i := range probed {
			if claim, ok := claims[probed[i].MountID]; ok {
				weigh(&probed[i], claim)
			}
		}
		health = append(health, probed...)
	}
	works := <-working
	for i := range health {
		h := &health[i]
		h.Waiting = slices.Clone(waiting[h.Device])
		if works[h.Device] && h.Method == "passive" && h.Status == mounts.StatusHung {
			h.Status, h.Reason = mounts.StatusOK, h.Reason+"; its disk goes on completing requests"
			h.Since = nil
		}
	}
	source := forensics.Source{Source: forensics.SourceHealth, Status: forensics.SourceRead, Seconds: c.opt.Now().Sub(began).Seconds()}
	switch {
	case c.opt.NoProbe:
		source.Status, source.Detail = forensics.SourceTruncated, "no mount was probed (--no-probe): only what others wait for is known"
	case ctx.Err() != nil:
		source.Status, source.Detail = forensics.SourceTruncated, "ended before every mount had had its time"
	}
	c.tell(forensics.Evidence{Health: health, Coverage: []forensics.Source{source}})
}

// wanted says which mounts are looked at: what can hang, wherever it is; overlays only where the kubelet would look.
func (c *collector) wanted(m *forensics.Model, mount mounts.Mount) bool {
	switch mount.Class {
	case mounts.ClassNetwork, mounts.ClassFUSE, mounts.ClassBlock, mounts.ClassUnknown, mounts.ClassAutofs:
		return true
	case mounts.ClassOverlay:
		return m.BelowKubelet(mount.MountPoint)
	}
	return false
}

// prefix is how this process reaches a namespace: by its own paths, or through the root of a process in it.
func prefix(tables []mounts.Table, i int, own uint64) string {
	if own == 0 || tables[i].Namespace == own || tables[i].PID == 0 {
		return ""
	}
	return fmt.Sprintf("/proc/%d/root", tables[i].PID)
}

func (c *collector) probe(ctx context.Context, x *mounts.Index, list []mounts.Mount, prefix string) []mounts.Health {
	if !c.opt.NoProbe {
		return mountslive.Check(ctx, x, list, mountslive.CheckOptions{
			HungAfter: c.opt.HungAfter, SlowAfter: c.opt.SlowAfter, Group: c.opt.Calls, Prefix: prefix, FS: c.fs, Now: c.opt.Now,
		})
	}
	var health []mounts.Health
	for _, m := range list {
		health = append(health, mounts.Health{
			MountID: m.ID, Device: m.Device, MountPoint: m.MountPoint, Reason: "probing is off",
		})
	}
	return health
}

// passive says who waits for a mount in vain, and whether that proves that it hangs. A thread counts if the kernel says that
// it waits for a file server of the mount's kind, the path that it asked for lies on the mount, and it has not run for
// --hung-after. For FUSE the connection must also have a request waiting.
//
// Of a server, only a question that it answers at once from any state proves that: reading, writing and storing may take
// minutes in one call while it answers everybody else, an object store for example, and so may whatever waits for one of
// these. And a path below the mount point can lead across a symbolic link to another mount.
func (c *collector) passive(m *forensics.Model, mount mounts.Mount, waiting []int) (h mounts.Health, proof bool) {
	if len(waiting) > 0 && waiting[0] == 0 {
		return h, false
	}
	for _, t := range m.Evidence().Threads {
		wait := m.Waited(t)
		age, from := wait.Seconds, wait.From
		if t.Device != mount.Device || !forensics.WaitsFor(t.Wait, mount) || age < c.opt.HungAfter.Seconds()*patience(mount) {
			continue
		}
		since := c.started.Add(-time.Duration(age * float64(time.Second))).UTC().Truncate(time.Second)
		claim := mounts.Health{
			MountID: mount.ID, Device: mount.Device, MountPoint: mount.MountPoint, Status: mounts.StatusHung,
			Method: "passive", Seconds: age, Since: &since, Witness: forensics.ThreadEntity(t).ID,
			Reason: fmt.Sprintf("thread %s waits for it in %s (%s)", forensics.ThreadEntity(t).ID, t.Wait.Function, from),
		}
		if t.Syscall != nil {
			claim.Call = t.Syscall.Name
		}
		if t.Wait.Kind == procs.WaitFrozen {
			claim.Status = mounts.StatusFrozen
		}
		if mount.Class == mounts.ClassBlock || asksForLittle(m, t) {
			return claim, true
		}
		if age > h.Seconds {
			h = claim
		}
	}
	return h, false
}

// asksForLittle says whether a thread asks a file server what that knows of the mount itself, not of what lies below it.
func asksForLittle(m *forensics.Model, t procs.Thread) bool {
	if t.Syscall == nil {
		return false
	}
	switch t.Syscall.Name {
	case "stat", "lstat", "fstat", "newfstatat", "statx", "statfs", "fstatfs", "access", "faccessat", "faccessat2", "chdir", "fchdir":
	default:
		return false
	}
	return t.PathFrom == "descriptor" || slices.ContainsFunc(m.MountsOf(t.Device), func(mount mounts.Mount) bool {
		return mount.MountPoint == t.Path
	})
}

// weigh combines how a mount answered with who waits for it in vain.
func weigh(h *mounts.Health, claim mounts.Health) {
	switch h.Status {
	case mounts.StatusHung:
		h.Witness = claim.Witness
		if claim.Seconds > h.Seconds {
			h.Seconds, h.Since = claim.Seconds, claim.Since
		}
	case mounts.StatusOK, mounts.StatusSlow:
	case mounts.StatusNotProbed:
		h.Reason = fmt.Sprintf("%s, and %s may take that long by itself: %s", claim.Reason, cmp.Or(claim.Call, "that"), h.Reason)
		return
	default:
		return
	}
	h.Reason = strings.TrimPrefix(h.Reason+"; "+claim.Reason, "; ")
}

// workingDisks are the superblocks for whose disk a thread waits so long that it would count as dead, if it did not go on
// working: writing everything that is in memory to a slow disk (sync(2), a journal's commit) can take minutes.
func (c *collector) workingDisks(ctx context.Context, m *forensics.Model) map[string]bool {
	var disks []mountslive.Disk
	for _, t := range m.Evidence().Threads {
		age := m.Waited(t).Seconds
		list := m.MountsOf(t.Device)
		if len(list) == 0 || list[0].Class != mounts.ClassBlock || !forensics.WaitsFor(t.Wait, list[0]) || t.Wait.Kind == procs.WaitFrozen ||
			age < c.opt.HungAfter.Seconds()*patience(list[0]) {
			continue
		}
		at := slices.IndexFunc(disks, func(d mountslive.Disk) bool { return d.Mount.Device == t.Device })
		if at < 0 {
			at, disks = len(disks), append(disks, mountslive.Disk{Mount: list[0]})
		}
		if t.Wait.Kind == procs.WaitJournal { // it is written, whatever is read
			disks[at].Writing = true
		}
	}
	return mountslive.AwaitProgress(ctx, c.fs, disks, c.opt.HungAfter)
}

// patience is by how much longer than --hung-after a thread must wait before its mount counts as hung. A busy disk can
// keep one request in its queue for half a minute (the time limit of a SCSI command is 30 s) and is still well.
func patience(m mounts.Mount) float64 {
	if m.Class == mounts.ClassBlock {
		return 4
	}
	return 1
}

// secondLook reads the waiting threads again, and sees which of the mounts that did not answer have answered since.
func (c *collector) secondLook(ctx context.Context) {
	e := c.seen()
	if len(e.Threads) == 0 && !slices.ContainsFunc(e.Health, func(h mounts.Health) bool { return h.Status == mounts.StatusHung }) {
		return
	}
	ctx = context.WithoutCancel(ctx) // it is short, and a hang that is over must not be reported
	threads := procslive.Resample(ctx, c.fs, e.Threads, procslive.Options{Group: c.opt.Calls, Self: c.opt.self()})
	still := map[string]bool{} // superblocks that somebody still waits for
	for _, t := range threads {
		still[t.Device] = still[t.Device] || !t.Gone
	}
	health := slices.Clone(e.Health)
	mountslive.Review(health, c.opt.Calls)
	for _, t := range c.serverThreads(ctx, &e, health) {
		same := func(o procs.Thread) bool { return o.PID == t.PID && o.TID == t.TID }
		if at := slices.IndexFunc(threads, same); at < 0 {
			threads = append(threads, t)
		} else if threads[at].Gone {
			threads[at] = t
		}
	}
	sorting.Stable(threads, func(a, b procs.Thread) int { return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.TID, b.TID)) })
	for i := range health {
		h := &health[i]
		if h.Waiting != nil {
			if n, ok := mounts.FUSEWaiting(c.fs, h.Device); ok {
				h.Waiting = append(slices.Clone(h.Waiting), n)
			}
		}
		waits := h.Status == mounts.StatusHung || h.Status == mounts.StatusFrozen
		if waits && h.Method == "passive" && !still[h.Device] {
			h.Status = mounts.StatusRecovered
			h.Reason = "by the end of the examination nobody waited for it any more"
		}
	}
	c.tell(forensics.Evidence{Threads: threads, Health: health})
}

// serverThreads are the threads that wait of the processes behind FUSE file systems that do not answer. What asked such a
// file system, and so has its server wait for the one that it is made of, may have been our own probe: then nobody was seen
// to wait when all processes were read.
func (c *collector) serverThreads(ctx context.Context, e *forensics.Evidence, health []mounts.Health) []procs.Thread {
	if e.MountUse == nil {
		return nil
	}
	var pids []int
	for _, s := range e.MountUse.Servers {
		hangs := slices.ContainsFunc(health, func(h mounts.Health) bool { return h.Device == s.Device && h.Status == mounts.StatusHung })
		if s.PID != 0 && hangs && !slices.Contains(pids, s.PID) {
			pids = append(pids, s.PID)
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
