package live

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// CheckOptions say how [Check] asks. The zero value asks the mounts of the caller's own namespace.
type CheckOptions struct {
	// HungAfter is how long one system call may go without an answer until it is left behind, default 15 s.
	HungAfter time.Duration
	// Group keeps the calls that do not return. A superblock that has one in there is not asked again. Nil means a
	// group of its own, so that the calls left behind cannot be listed.
	Group *probe.Group
	// Prefix leads to the mount namespace of the table: "" if that is the caller's, "/proc/PID/root" for the one of
	// another process. It is put before every mount point, so the process has to have the root of the table.
	Prefix string
	// FS, if set, is where /sys is read: suspended devices.
	FS *hostfs.FS
	// Now is the clock, default time.Now.
	Now func() time.Time
}

func (o CheckOptions) withDefaults() CheckOptions {
	o.HungAfter = cmp.Or(o.HungAfter, 15*time.Second)
	if o.Group == nil {
		o.Group = &probe.Group{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Check probes mounts, and returns what it measured for each mount of list, in its order. [mounts.Probe.Judge] says what that
// means. The list is a selection of the mounts of x.
//
// A probe opens the mount point with O_PATH, which asks no server for the mount itself, and compares the mount id of
// the descriptor (/proc/self/fdinfo, Linux 3.15) with the one expected. Then it calls statx with AT_STATX_FORCE_SYNC
// (fstatat before Linux 4.11) and fstatfs on the descriptor, so that nothing is looked up twice and nothing is mounted.
//
// It does not probe memory and pseudo file systems, autofs, and mounts that are covered by others. Probe.Skipped then
// says why. All superblocks are probed at once, with one outstanding call each. The mounts of one superblock take their
// turn; those with the same root share one answer, and all share a missing answer. The mounts on the way to a mount point have
// to answer first, and are probed even if they are not in the list: a mount below one that hangs cannot be judged.
//
// A call is left behind if it got no answer for HungAfter, measured from its own start and while this process was
// running, or when ctx ends. So a check of mounts that do not respond takes one HungAfter, and leaves one thread behind
// for each superblock, listed by Group.Outstanding.
//
// An answer does not always come from the server. Local file systems answer from memory even if the disk is dead. FUSE
// mounted without allow_other denies access, in the kernel, to all users but the one who mounted it, and is "denied". On a kernel
// before 4.11 attributes may come from the cache of a network file system; its fstatfs does call the server.
func Check(ctx context.Context, x *mounts.Index, list []mounts.Mount, opt CheckOptions) []mounts.Probe {
	c := checker{index: x, opt: opt.withDefaults(), tasks: map[int]*task{}, queues: map[string][]*task{}}
	tasks := make([]*task, len(list))
	for i, m := range list {
		tasks[i] = c.add(m)
	}
	c.run(ctx)
	found := make([]mounts.Probe, len(list))
	for i, t := range tasks {
		found[i] = t.probe
	}
	Review(found, c.opt.Group)
	return found
}

// A checker is one run of Check.
type checker struct {
	index  *mounts.Index
	opt    CheckOptions
	tasks  map[int]*task      // by mount id
	queues map[string][]*task // those to be asked, by superblock
}

// A task is one mount and what is known about it.
type task struct {
	mount mounts.Mount
	above []*task // what the path to the mount point is on and may wait for, outermost first
	probe mounts.Probe
	done  chan struct{} // closed when probe is final
}

// add makes the task of a mount, once, and those of the mounts above it.
func (c *checker) add(m mounts.Mount) *task {
	if t, ok := c.tasks[m.ID]; ok {
		return t
	}
	t := &task{
		mount: m,
		probe: mounts.Probe{MountID: m.ID, Device: m.Device, MountPoint: m.MountPoint},
		done:  make(chan struct{}),
	}
	c.tasks[m.ID] = t
	known, ok := c.index.ByID(m.ID)
	if !ok || known.Device != m.Device || known.MountPoint != m.MountPoint {
		t.probe.Skipped = mounts.SkipUnknown
	} else {
		t.mount = known // what m has of options may be masked
		t.probe.Skipped, t.probe.Other = c.leaveAlone(known)
	}
	if t.probe.Skipped != "" {
		close(t.done)
		return t
	}
	child := m
	for _, parent := range c.index.Ancestors(m.ID) {
		// Of mounts stacked on one mount point only the topmost is looked into on the way.
		if child.MountPoint != parent.MountPoint && mayWait(parent.Class) {
			t.above = append(t.above, c.add(parent))
		}
		child = parent
	}
	slices.Reverse(t.above)
	c.queues[m.Device] = append(c.queues[m.Device], t)
	return t
}

// leaveAlone returns why a mount is not to be probed, or "", and which other mount is the reason.
func (c *checker) leaveAlone(m mounts.Mount) (why mounts.Skip, other int) {
	switch {
	case m.Class == mounts.ClassAutofs:
		return mounts.SkipAutofs, 0
	case m.Class == mounts.ClassMemory || m.Class == mounts.ClassPseudo:
		return mounts.SkipMemory, 0
	case !c.index.Visible(m.ID):
		top, _ := c.index.Covering(m.MountPoint)
		return mounts.SkipCovered, top.ID
	}
	return "", 0
}

// mayWait says whether a look-up in a file system may wait for something that is worth a probe.
func mayWait(class mounts.Class) bool {
	switch class {
	case mounts.ClassMemory, mounts.ClassPseudo, mounts.ClassAutofs:
		return false
	}
	return true
}

// run asks all superblocks at once.
func (c *checker) run(ctx context.Context) {
	var all sync.WaitGroup
	for _, queue := range c.queues {
		// A task waits for tasks with fewer mounts above them, and for those before it in its queue. With the queues in
		// this order no two can wait for each other.
		sorting.Stable(queue, func(a, b *task) int { return cmp.Compare(len(a.above), len(b.above)) })
		all.Go(func() {
			s := superblock{checker: c, roots: map[string]*task{}}
			for _, t := range queue {
				s.examine(ctx, t)
				close(t.done)
			}
		})
	}
	all.Wait()
}
