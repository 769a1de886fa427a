package live

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

var errChanged = errors.New("another mount is there now")

// The system calls of a probe, as Probe.Call names them.
const (
	callOpen   = "openat"
	callStatx  = "statx"
	callStatfs = "statfs"
)

// ask probes one mount and fills in what it measured.
func (c *checker) ask(ctx context.Context, t *task) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := watch{now: c.opt.Now, patience: c.opt.HungAfter, expired: cancel}
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
		c.noAnswer(t, seen)
	case err != nil:
		t.refused(failed, seen, err)
	default:
		t.probe.Call, t.probe.Seconds = seen.slowest, seen.total.Seconds()
		t.probe.Suspended = c.suspended(t)
	}
}

// noAnswer records a probe that has not returned.
func (c *checker) noAnswer(t *task, seen progress) {
	if seen.call == "" {
		t.probe.Skipped = mounts.SkipLate
		return
	}
	c.pending(t, c.opt.Now().Add(-seen.waited), seen.waited, seen.awake)
	t.probe.Call = seen.call
}

// busy records the call that an earlier probe of the superblock has left behind.
func (c *checker) busy(t *task) {
	for _, call := range c.opt.Group.Outstanding() {
		if call.Key == t.mount.Device {
			waited := c.opt.Now().Sub(call.Since)
			c.pending(t, call.Since, waited, waited)
			t.probe.Thread = call.TID
			return
		}
	}
	t.probe.Skipped = mounts.SkipBusy
}

func (c *checker) pending(t *task, since time.Time, waited, awake time.Duration) {
	since = since.UTC()
	t.probe.Pending, t.probe.Since = true, &since
	t.probe.Seconds, t.probe.Awake = waited.Seconds(), awake.Seconds()
	t.probe.Suspended = c.suspended(t)
}

func (c *checker) suspended(t *task) bool {
	return c.opt.FS != nil && suspended(c.opt.FS, t.mount.Device)
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

// refused records the error of the call that failed.
func (t *task) refused(call string, seen progress, err error) {
	p := &t.probe
	if call == callOpen {
		if a := t.failing(); a != nil {
			p.Skipped, p.Other, p.Error = mounts.SkipFailing, a.mount.ID, a.probe.Error
			return
		}
	}
	p.Call, p.Seconds, p.Errno, p.Error = call, seen.total.Seconds(), errnoName(err), err.Error()
}
