package forensics

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// mountHealth says how each mount answers: from threads that provably wait, else by asking.
func (c *collector) mountHealth(ctx context.Context) {
	began := c.opt.Now()
	e := c.seen()
	model := NewModel(&e)
	waiting := map[string][]int{}
	health := []mounts.Health{}
	tables := append([]mounts.Table{e.Mounts}, e.Namespaces...)
	done := map[int]bool{}
	for i, table := range tables {
		index := table.Index()
		var ask []mounts.Mount
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
			if h, ok := c.passive(model, m, waiting[m.Device]); ok {
				health = append(health, h)
			} else {
				ask = append(ask, m)
			}
		}
		health = append(health, c.probe(ctx, index, ask, prefix(tables, i, ownNamespace(c.fs)))...)
	}
	for i := range health {
		h := &health[i]
		h.Waiting = slices.Clone(waiting[h.Device])
	}
	source := Source{Source: SourceHealth, Status: SourceRead, Seconds: c.opt.Now().Sub(began).Seconds()}
	switch {
	case c.opt.NoProbe:
		source.Status, source.Detail = SourceTruncated, "no mount was probed (--no-probe): only what others wait for is known"
	case ctx.Err() != nil:
		source.Status, source.Detail = SourceTruncated, "ended before every mount had had its time"
	}
	c.tell(Evidence{Health: health, Coverage: []Source{source}})
}

// wanted says which mounts are looked at: what can hang, wherever it is; overlays only where the kubelet would look.
func (c *collector) wanted(m *Model, mount mounts.Mount) bool {
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
		return mounts.Check(ctx, x, list, mounts.CheckOptions{
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

// passive judges a mount by the threads that wait for it. A thread counts if the kernel says that it waits for a file
// server of the mount's kind, in a call that a healthy one answers at once, the path that it asked for lies on the mount, and
// it has not run for --hung-after. For FUSE the connection must also have a request waiting: a path can lead across a
// symlink to another mount.
func (c *collector) passive(m *Model, mount mounts.Mount, waiting []int) (mounts.Health, bool) {
	if len(waiting) > 0 && waiting[0] == 0 {
		return mounts.Health{}, false
	}
	for _, t := range m.evidence.Threads {
		age, from := m.Waited(t)
		if t.Device != mount.Device || !ShowsSilence(t, mount) || age < c.opt.HungAfter.Seconds()*patience(mount) {
			continue
		}
		since := c.started.Add(-time.Duration(age * float64(time.Second))).UTC().Truncate(time.Second)
		h := mounts.Health{
			MountID: mount.ID, Device: mount.Device, MountPoint: mount.MountPoint, Status: mounts.StatusHung,
			Method: "passive", Seconds: age, Since: &since, Witness: ThreadEntity(t).ID,
			Reason: fmt.Sprintf("thread %s waits for it in %s (%s)", ThreadEntity(t).ID, t.Wait.Function, from),
		}
		if t.Syscall != nil {
			h.Call = t.Syscall.Name
		}
		if t.Wait.Kind == procs.WaitFrozen {
			h.Status = mounts.StatusFrozen
		}
		return h, true
	}
	return mounts.Health{}, false
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
	threads := procs.Resample(ctx, c.fs, e.Threads, procs.Options{Group: c.opt.Calls, Self: []int{selfPID()}})
	still := map[string]bool{} // superblocks that somebody still waits for
	for _, t := range threads {
		still[t.Device] = still[t.Device] || !t.Gone
	}
	health := slices.Clone(e.Health)
	mounts.Review(health, c.opt.Calls)
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
	c.tell(Evidence{Threads: threads, Health: health})
}
