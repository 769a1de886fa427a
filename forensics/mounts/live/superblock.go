package live

import (
	"context"
	"fmt"
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

// judge fills in the health of a task, by asking or from what is known already.
func (s *superblock) judge(ctx context.Context, t *task) {
	if reason := t.unreachable(); reason != "" {
		t.health.Reason = reason
		return
	}
	if same, ok := s.roots[t.mount.Root]; ok {
		t.inherit(same, "same file system and root as mount %d")
		return
	}
	switch {
	case s.last == nil:
	case s.last.silent:
		t.inherit(s.last, "same file system as mount %d, not asked again")
		return
	case s.spent >= s.opt.HungAfter:
		t.inherit(s.last, "same file system as mount %d, not asked again: it has taken its time")
		return
	}
	began := s.opt.Now()
	s.ask(ctx, t)
	s.spent += s.opt.Now().Sub(began)
	if t.health.Status != mounts.StatusNotProbed {
		s.last, s.roots[t.mount.Root] = t, t
	}
}

// unreachable waits for the mounts that the path lies on and returns why it cannot be followed, or "".
func (t *task) unreachable() string {
	for _, a := range t.above {
		<-a.done // every task ends, at the latest with its context
		if a.silent {
			return fmt.Sprintf("lies below mount %d, which does not answer", a.mount.ID)
		}
	}
	return ""
}

// failing returns a mount that the path lies on and that answers with an error. The kernel may still find the way,
// through what it remembers.
func (t *task) failing() *task {
	for _, a := range t.above {
		switch a.health.Status {
		case mounts.StatusStale, mounts.StatusDisconnected, mounts.StatusIOError, mounts.StatusDenied:
			return a
		}
	}
	return nil
}

func (t *task) inherit(from *task, reason string) {
	own := t.health
	t.health, t.silent = from.health, from.silent
	t.health.MountID, t.health.Device, t.health.MountPoint = own.MountID, own.Device, own.MountPoint
	t.health.Reason = fmt.Sprintf(reason, from.mount.ID)
}

// Review looks again, without asking anything, at mounts that did not answer when [Check] returned: those whose call has
// come back since become StatusRecovered. It works on list and needs the group of the check.
func Review(list []mounts.Health, group *probe.Group) {
	outstanding := map[string]bool{}
	for _, call := range group.Outstanding() {
		outstanding[call.Key] = true
	}
	for i := range list {
		h := &list[i]
		waits := h.Status == mounts.StatusHung || h.Status == mounts.StatusUnanswered
		if h.Method != methodProbe || !waits || outstanding[h.Device] {
			continue
		}
		h.Status = mounts.StatusRecovered
		h.Reason = fmt.Sprintf("answered only after more than %.3g s", h.Seconds)
	}
}
