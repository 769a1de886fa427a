package fsview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// The kinds of kernel messages about a file system, its server or its device.
var (
	serverLost     = []logs.Kind{logs.KindKernelNFSDown, logs.KindKernelNFSTimeout, logs.KindKernelCephDown, logs.KindKernelCephRejected, logs.KindKernelCIFSDown}
	serverBack     = []logs.Kind{logs.KindKernelNFSBack, logs.KindKernelCephBack}
	DeviceFailures = []logs.Kind{
		logs.KindKernelIOError, logs.KindKernelIOTimeout, logs.KindKernelDeviceReset, logs.KindKernelDeviceOffline,
		logs.KindKernelFSError, logs.KindKernelFSShutdown, logs.KindKernelFSReadOnly, logs.KindKernelThinPool,
	}
)

// kernelSaid is what the kernel log shows about one file system.
type kernelSaid struct {
	events []logs.Event
	// since is when the trouble began that has not ended by the log; absent where the server came back.
	since *time.Time
	back  *time.Time
}

// kernelOf collects the kernel messages about a mount's server or device.
func kernelOf(p *forensics.Pass, m mounts.Mount) kernelSaid {
	var k kernelSaid
	k.events = KernelEvents(p, "trouble", slices.Concat(serverLost, DeviceFailures), m)
	for _, e := range KernelEvents(p, "servers that are back", serverBack, m) {
		k.back = logview.Latest(k.back, logview.Last([]logs.Event{e}))
	}
	if last := logview.Last(k.events); k.back == nil || last != nil && last.After(*k.back) {
		k.since = logview.First(k.events)
		if k.back != nil && k.since != nil && k.since.Before(*k.back) {
			k.since = last // it came back in between, and was lost again
		}
	}
	return k
}

// sinceBoot are those since the machine was started, and about a device those since it was mounted: an earlier kernel spoke
// of other mounts, and gave the names of devices to others.
func sinceBoot(p *forensics.Pass, kinds ...logs.Kind) []logs.Event {
	boot, logged := p.Evidence.Node.Boot, logview.Boot(p)
	return sorting.Delete(logview.Events(p, kinds...), func(e logs.Event) bool {
		last := logview.Last([]logs.Event{e})
		if backSince(p, e) {
			return true
		}
		if last == nil {
			return mountedBelow(p, e) || logview.BootedBelow(p, e)
		}
		return boot != nil && last.Before(boot.Add(-time.Minute)) || logged != nil && last.Before(*logged) || mountedSince(p, e.Device, *last)
	})
}

// backSince says whether the disk of a message has come back since, at the same place of another host or under another name, and a file system
// was mounted on it. A session of iSCSI is back with the disks that were removed after it had failed.
func backSince(p *forensics.Pass, e logs.Event) bool {
	session := e.Kind == logs.KindKernelDeviceOffline && strings.Trim(e.Device, "0123456789") == ""
	lost := sorting.Delete(logview.Events(p, "kernel-disk-removed"), func(r logs.Event) bool {
		return !session && e.Device != r.Path && e.Device != r.Device || !after(r, e)
	})
	return e.Device != "" && len(lost) > 0 && !slices.ContainsFunc(lost, func(r logs.Event) bool { return !replaced(p, r) })
}

// replaced says whether a disk that was removed was attached again and mounted.
func replaced(p *forensics.Pass, removed logs.Event) bool {
	unit := func(e logs.Event) string { _, u, _ := strings.Cut(e.Path, ":"); return u } // without the host, which is another one
	for _, a := range logview.Events(p, "kernel-disk-attached") {
		if unit(a) == unit(removed) && after(a, removed) && slices.ContainsFunc(logview.Events(p, logs.KindKernelFSMounted), func(m logs.Event) bool {
			return m.Device == a.Device && after(m, a)
		}) {
			return true
		}
	}
	return false
}

// after says whether the last message of one event was written after that of another: by time, or by the order of the lines where they have none.
func after(e, than logs.Event) bool {
	if e.Last != nil && than.Last != nil && !e.Last.Equal(*than.Last) {
		return e.Last.After(*than.Last)
	}
	return logview.Below([]logs.Event{than}, []logs.Event{e})
}

// mountedSince says whether a file system on a device has been mounted since some moment. What was said before then is about
// the one that had the device, or its name, before that.
func mountedSince(p *forensics.Pass, device string, moment time.Time) bool {
	mounted := forensics.Once(p, "when devices were mounted", func() map[string]time.Time {
		at := map[string]time.Time{}
		for _, e := range logview.Events(p, logs.KindKernelFSMounted) {
			if e.Last != nil && e.Last.After(at[e.Device]) {
				at[e.Device] = *e.Last
			}
		}
		return at
	})
	return device != "" && mounted[device].After(moment)
}

// mountedBelow says the same of lines without times: the mount stands below, in each file that has them.
func mountedBelow(p *forensics.Pass, e logs.Event) bool {
	mounts := map[string]int64{}
	for _, m := range logview.Events(p, logs.KindKernelFSMounted) {
		for _, q := range m.Quotes {
			if m.Device == e.Device && m.Last == nil {
				mounts[q.File] = max(mounts[q.File], q.Line)
			}
		}
	}
	return e.Device != "" && len(e.Quotes) > 0 && !slices.ContainsFunc(e.Quotes, func(q logs.Quote) bool { return mounts[q.File] <= q.Line })
}

// KernelEvents are those of sinceBoot that are about a mount. The name is for the kinds.
func KernelEvents(p *forensics.Pass, name string, kinds []logs.Kind, m mounts.Mount) []logs.Event {
	type index struct {
		events []logs.Event
		by     map[string][]int
	}
	x := forensics.Once(p, "kernel: "+name, func() index {
		x := index{sinceBoot(p, kinds...), map[string][]int{}}
		for i, e := range x.events {
			for _, key := range []string{"device:" + e.Device, "server:" + hostOf(e.Server), "ceph"} {
				if key != "ceph" || strings.HasPrefix(string(e.Kind), "kernel-ceph-") {
					x.by[key] = append(x.by[key], i)
				}
			}
		}
		return x
	})
	var at []int
	for _, key := range kernelNames(p.Model, m) {
		at = append(at, x.by[key]...)
	}
	slices.Sort(at)
	var found []logs.Event
	for _, i := range slices.Compact(at) {
		if aboutMount(p.Model, x.events[i], m) {
			found = append(found, x.events[i])
		}
	}
	return found
}

// WithKernel adds what the kernel said of a file system to a finding about it.
func WithKernel(p *forensics.Pass, m mounts.Mount, f forensics.Finding) forensics.Finding {
	k := kernelOf(p, m)
	if len(k.events) == 0 {
		return f
	}
	f.Detail = findings.Sentences(f.Detail, k.text())
	f.Refs = append(f.Refs, logview.EventRefs(k.events...)...)
	if k.since != nil && logview.Within(k.since, cmp.Or(f.Since, k.since), 24*time.Hour) {
		f.Since = logview.Earliest(f.Since, k.since)
	}
	return f
}

func (k kernelSaid) text() string {
	var parts []string
	for _, e := range k.events {
		part := logs.Words(e.Kind)
		if about := cmp.Or(e.Server, e.Device); about != "" {
			part += " (" + about + ")"
		}
		parts = append(parts, fmt.Sprintf("%s, %s from %s", part, findings.Times(e.Count), logview.Moment(e.First)))
	}
	text := "Kernel log: " + findings.Some(parts)
	switch {
	case k.back != nil && k.since == nil:
		text += "; the server was back at " + logview.Moment(k.back)
	case k.back != nil:
		text += "; the server was back in the meantime, at " + logview.Clock(k.back)
	}
	return text + "."
}

// OfNoMount are the messages since boot that name the server or the device of no mount of the node's table: the checks of mounts do not
// see them.
func OfNoMount(p *forensics.Pass, name string, kinds ...logs.Kind) []logs.Event {
	type identity struct {
		kind logs.Kind
		logs.Subject
	}
	mounted, seen := map[identity]bool{}, map[string]bool{}
	for _, m := range p.Evidence.Mounts.Mounts {
		if !seen[m.Device+m.Source] {
			seen[m.Device+m.Source] = true
			for _, e := range KernelEvents(p, name, kinds, m) {
				mounted[identity{e.Kind, e.Subject}] = true
			}
		}
	}
	return sorting.Delete(sinceBoot(p, kinds...), func(e logs.Event) bool { return mounted[identity{e.Kind, e.Subject}] })
}

// KnowsMounts says whether the mounts of the node were read. Then what the kernel says of a server or device of no mount is about a past
// mount, or about one that the node does not use.
func KnowsMounts(p *forensics.Pass) bool {
	return p.Evidence.SawAll(forensics.SourceMounts) && len(p.Evidence.Mounts.Mounts) > 0
}

// MountOf is the first mount whose server a message names.
func MountOf(p *forensics.Pass, e logs.Event) (mounts.Mount, bool) {
	for _, m := range p.Evidence.Mounts.Mounts {
		if e.Server != "" && aboutMount(p.Model, e, m) {
			return m, true
		}
	}
	return mounts.Mount{}, false
}
