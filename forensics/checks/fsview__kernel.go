package checks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// The kinds of the kernel that speak of a file system or what is behind it.
var (
	serverLost  = []logs.Kind{logs.KindKernelNFSDown, logs.KindKernelNFSTimeout, logs.KindKernelCephDown, logs.KindKernelCephRejected, logs.KindKernelCIFSDown}
	serverBack  = []logs.Kind{logs.KindKernelNFSBack, logs.KindKernelCephBack}
	deviceFails = []logs.Kind{
		logs.KindKernelIOError, logs.KindKernelIOTimeout, logs.KindKernelDeviceReset, logs.KindKernelDeviceOffline,
		logs.KindKernelFSError, logs.KindKernelFSShutdown, logs.KindKernelFSReadOnly, logs.KindKernelThinPool,
	}
)

// kernelSaid is what the kernel's log tells of one file system.
type kernelSaid struct {
	events []logs.Event
	// since is when the trouble began that has not ended by the log; absent where the server came back.
	since *time.Time
	back  *time.Time
}

// kernelOf collects what the kernel said of a mount's server or device.
func kernelOf(p *forensics.Pass, m mounts.Mount) kernelSaid {
	var k kernelSaid
	k.events = kernelEventsOf(p, "trouble", slices.Concat(serverLost, deviceFails), m)
	for _, e := range kernelEventsOf(p, "servers that are back", serverBack, m) {
		k.back = latest(k.back, lastSaid([]logs.Event{e}))
	}
	if last := lastSaid(k.events); k.back == nil || last != nil && last.After(*k.back) {
		k.since = firstSaid(k.events)
		if k.back != nil && k.since != nil && k.since.Before(*k.back) {
			k.since = last // it came back in between, and was lost again
		}
	}
	return k
}

// kernelEvents are those since the machine was started, and about a device those since it was mounted: an earlier kernel spoke
// of other mounts, and gave the names of devices to others.
func kernelEvents(p *forensics.Pass, kinds ...logs.Kind) []logs.Event {
	boot := p.Evidence.Node.Boot
	return slices.DeleteFunc(events(p, kinds...), func(e logs.Event) bool {
		last := lastSaid([]logs.Event{e})
		return last != nil && (boot != nil && last.Before(boot.Add(-time.Minute)) || mountedSince(p, e.Device, *last))
	})
}

// mountedSince says whether a file system on a device has been mounted since some moment. What was said before then is about
// the one that had the device, or its name, before that.
func mountedSince(p *forensics.Pass, device string, moment time.Time) bool {
	mounted := forensics.Once(p, "when devices were mounted", func() map[string]time.Time {
		at := map[string]time.Time{}
		for _, e := range events(p, logs.KindKernelFSMounted) {
			if e.Last != nil && e.Last.After(at[e.Device]) {
				at[e.Device] = *e.Last
			}
		}
		return at
	})
	return device != "" && mounted[device].After(moment)
}

// kernelEventsOf are those of kernelEvents that are about a mount. The name is for the kinds.
func kernelEventsOf(p *forensics.Pass, name string, kinds []logs.Kind, m mounts.Mount) []logs.Event {
	type index struct {
		events []logs.Event
		by     map[string][]int
	}
	x := forensics.Once(p, "kernel: "+name, func() index {
		x := index{kernelEvents(p, kinds...), map[string][]int{}}
		for i, e := range x.events {
			for _, key := range []string{"device " + e.Device, "server " + hostOf(e.Server), "ceph"} {
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

// withKernel adds what the kernel said of a file system to a finding about it.
func withKernel(p *forensics.Pass, m mounts.Mount, f forensics.Finding) forensics.Finding {
	k := kernelOf(p, m)
	if len(k.events) == 0 {
		return f
	}
	f.Detail = sentences(f.Detail, k.text())
	f.Refs = append(f.Refs, quotesOf(k.events...)...)
	if k.since != nil && soonBefore(k.since, cmp.Or(f.Since, k.since), 24*time.Hour) {
		f.Since = earliest(f.Since, k.since)
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
		parts = append(parts, fmt.Sprintf("%s, %s from %s", part, times(e.Count), moment(e.First)))
	}
	text := "The kernel's log: " + some(parts)
	switch {
	case k.back != nil && k.since == nil:
		text += "; the server was back at " + moment(k.back)
	case k.back != nil:
		text += "; the server was back in between, at " + clock(k.back)
	}
	return text + "."
}
