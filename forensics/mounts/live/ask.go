package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

var (
	errHung    = errors.New("no answer in time")
	errChanged = errors.New("another mount is there now")
)

const methodProbe = mounts.MethodProbe

// The system calls of a probe, as Health.Call names them.
const (
	callOpen   = "openat"
	callStatx  = "statx"
	callStatfs = "statfs"
)

// ask probes one mount and fills in its health.
func (c *checker) ask(ctx context.Context, t *task) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := watch{now: c.opt.Now, patience: c.opt.HungAfter, expired: func() { cancel(errHung) }}
	name := c.opt.Prefix + t.mount.MountPoint
	failed, err := probe.Do(ctx, c.opt.Group, t.mount.Device, func() (string, error) {
		defer w.leave()
		return examine(name, t.mount.ID, w.enter)
	})
	seen := w.read()
	switch {
	case errors.Is(err, probe.ErrBusy):
		c.busy(t)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		c.noAnswer(t, seen, errors.Is(context.Cause(ctx), errHung))
	case err != nil:
		t.refused(failed, seen, err)
	default:
		c.answered(t, seen)
	}
}

// noAnswer judges a probe that has not come back.
func (c *checker) noAnswer(t *task, seen progress, hung bool) {
	h := &t.health
	if seen.call == "" {
		h.Reason = "was not asked before the time was up"
		return
	}
	t.silent = true
	h.Method, h.Call, h.Seconds = methodProbe, seen.call, seen.waited.Seconds()
	h.Status = mounts.StatusUnanswered
	if hung {
		h.Status = mounts.StatusHung
		since := c.opt.Now().Add(-seen.waited).UTC()
		h.Since = &since
	}
	if seen.call == callOpen {
		h.Reason = "waits while its mount point is looked up: what that lies on may be the cause"
	}
	c.checkSuspended(h)
}

// busy judges a mount by the call that an earlier probe of its superblock has left behind.
func (c *checker) busy(t *task) {
	now, h := c.opt.Now(), &t.health
	for _, call := range c.opt.Group.Outstanding() {
		if call.Key != h.Device {
			continue
		}
		t.silent = true
		waited := now.Sub(call.Since)
		h.Method, h.Status, h.Seconds = methodProbe, mounts.StatusUnanswered, waited.Seconds()
		h.Reason = fmt.Sprintf("thread %d still waits for an earlier call", call.TID)
		if waited >= c.opt.HungAfter {
			since := call.Since.UTC()
			h.Status, h.Since = mounts.StatusHung, &since
		}
		c.checkSuspended(h)
		return
	}
	h.Reason = "was not asked: an earlier call had only just come back"
}

// answered judges a probe whose calls all succeeded.
func (c *checker) answered(t *task, seen progress) {
	h := &t.health
	h.Method, h.Call, h.Seconds = methodProbe, seen.slowest, seen.total.Seconds()
	h.Status = mounts.StatusOK
	if seen.total >= c.opt.SlowAfter {
		h.Status = mounts.StatusSlow
	}
	if t.mount.Class == mounts.ClassBlock {
		h.Reason = "a local file system may answer from memory: says nothing about its disk"
	}
	c.checkSuspended(h)
}

// checkSuspended explains a missing answer, or restricts a good one, by the suspended device of the file system.
func (c *checker) checkSuspended(h *mounts.Health) {
	if c.opt.FS == nil {
		return
	}
	if suspended(c.opt.FS, h.Device) {
		h.Status = mounts.StatusFrozen
		h.Reason = "its device-mapper device is suspended: what is written waits until it is resumed"
	}
}

// suspended says whether the block device of a superblock is a device-mapper device that is suspended, as while LVM takes a
// snapshot: what is written to it waits until it is resumed.
//
// The source is /sys/dev/block/MAJOR:MINOR/dm/suspended (Documentation/ABI/testing/sysfs-block-dm, Linux 2.6.29).
func suspended(fsys *hostfs.FS, device string) bool {
	if _, _, ok := mounts.DeviceNumbers(device); !ok {
		return false
	}
	text, err := fsys.ReadFile("/sys/dev/block/"+device+"/dm/suspended", 64)
	return err == nil && string(bytes.TrimSpace(text)) == "1"
}

// refused judges a probe by the error of the call that failed.
func (t *task) refused(call string, seen progress, err error) {
	h := &t.health
	status := statusOf(err)
	if call == callOpen {
		if a := t.failing(); a != nil {
			h.Reason = fmt.Sprintf("lies below mount %d, which fails: %s", a.mount.ID, a.health.Error)
			return
		}
	}
	if status == mounts.StatusNotProbed {
		h.Reason = "was not asked: " + reasonOf(err)
		return
	}
	h.Status, h.Method, h.Call, h.Seconds = status, methodProbe, call, seen.total.Seconds()
	h.Error = err.Error()
	if status == mounts.StatusDenied {
		h.Reason = "says nothing about the server"
		_, others := t.mount.SuperOption("allow_other")
		if t.mount.Class == mounts.ClassFUSE && call == callStatx && !others {
			h.Reason = "mounted without allow_other: its server was not asked"
		}
	}
}

func reasonOf(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "the mount point is not there any more"
	}
	return err.Error()
}
