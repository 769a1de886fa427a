package live

import (
	"context"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// A superblock asks the mounts of one superblock, one after the other.
type superblock struct {
	*checker
	roots map[string]*task // by root: the mount that was asked for it
	last  *task            // the mount that was asked last
	spent time.Duration    // on all of them
}

// examine fills in the probe of a task, by asking or from what is known already.
func (s *superblock) examine(ctx context.Context, t *task) {
	if a := t.silent(); a != nil {
		t.probe.Skipped, t.probe.Other = mounts.SkipSilent, a.mount.ID
		return
	}
	if same, ok := s.roots[t.mount.Root]; ok {
		t.inherit(same, true)
		return
	}
	if s.last != nil && (s.last.probe.Pending || s.spent >= s.opt.HungAfter) {
		t.inherit(s.last, false)
		return
	}
	began := s.opt.Now()
	s.ask(ctx, t)
	s.spent += s.opt.Now().Sub(began)
	if answers := t.probe.Error == "" || t.probe.Failed(); t.probe.Skipped == "" && answers {
		s.last, s.roots[t.mount.Root] = t, t
	}
}

// silent waits for the mounts that the path is on and returns one that did not answer: the path cannot be followed.
func (t *task) silent() *task {
	for _, a := range t.above {
		<-a.done // every task ends, at the latest with its context
		if a.probe.Pending {
			return a
		}
	}
	return nil
}

// failing returns a mount that the path is on and that answers with an error. The kernel may still find the way,
// through what it remembers.
func (t *task) failing() *task {
	for _, a := range t.above {
		if a.probe.Failed() {
			return a
		}
	}
	return nil
}

func (t *task) inherit(from *task, sameRoot bool) {
	own := t.probe
	t.probe = from.probe
	t.probe.MountID, t.probe.Device, t.probe.MountPoint = own.MountID, own.Device, own.MountPoint
	t.probe.SameAs, t.probe.SameRoot = from.mount.ID, sameRoot
}

// Review looks again, without asking anything, for calls that had not returned when [Check] did, and marks those that have since.
// It works on list and needs the group of the check.
func Review(list []mounts.Probe, group *probe.Group) {
	outstanding := map[string]bool{}
	for _, call := range group.Outstanding() {
		outstanding[call.Key] = true
	}
	for i := range list {
		if p := &list[i]; p.Pending && !outstanding[p.Device] {
			p.Returned = true
		}
	}
}
