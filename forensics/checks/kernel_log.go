package checks

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/backing"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
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

// kernelNames are the names by which messages about a mount may be found; see aboutMount for which of them are.
func kernelNames(model *forensics.Model, m mounts.Mount) []string {
	var names []string
	for _, part := range serverParts(m.Source) {
		names = append(names, "server "+part)
	}
	if m.FSType == "ceph" {
		names = append(names, "ceph")
	}
	if m.Class != mounts.ClassBlock {
		return names
	}
	device := strings.TrimPrefix(m.Source, "/dev/")
	disk := wholeDisk(device)
	devices := []string{m.Device, device, disk, strings.TrimPrefix(device, "mapper/"), disk[:max(0, strings.LastIndexByte(disk, 'n'))]}
	b, _ := model.Backing(m.Device)
	for _, d := range b.Disks {
		devices = append(devices, d.Name, d.Map)
	}
	for _, d := range devices {
		if d != "" {
			names = append(names, "device "+d)
		}
	}
	return names
}

// aboutMount says whether a message names the server or the device of a mount, or a part of that device.
func aboutMount(model *forensics.Model, e logs.Event, m mounts.Mount) bool {
	kind := string(e.Kind)
	switch { // a server may serve several clients
	case strings.HasPrefix(kind, "kernel-cifs-") && !isSMB(m):
		return false
	case e.Server != "" && serverNamed(m.Source, e.Server):
		return true
	case strings.HasPrefix(kind, "kernel-ceph-"): // it names "mds0" and "osd3", of one cluster or another
		return m.FSType == "ceph"
	}
	if m.Class != mounts.ClassBlock || e.Device == "" {
		return false
	}
	if b, _ := model.Backing(m.Device); e.Device == m.Device || slices.ContainsFunc(b.Disks, func(d backing.DiskState) bool { return d.Name == e.Device || d.Map == e.Device }) {
		return true
	}
	device := strings.TrimPrefix(m.Source, "/dev/")
	return e.Device == device || e.Device == wholeDisk(device) || strings.TrimPrefix(device, "mapper/") == e.Device ||
		strings.HasPrefix(wholeDisk(device), e.Device+"n") && strings.HasPrefix(e.Device, "nvme")
}

// serverNamed says whether a mount's source names a server: "10.0.0.5:/export", "10.0.0.5:6789,10.0.0.6:6789:/k8s",
// "//server/share".
func serverNamed(source, server string) bool {
	host := hostOf(server)
	return host != "" && slices.Contains(serverParts(source), host)
}

// hostOf is the host of a server that a message names, in small letters.
func hostOf(server string) string {
	host := strings.Trim(server, "[]/\\")
	if h, port, ok := strings.Cut(host, ":"); ok && !strings.Contains(port, ":") {
		host = h
	}
	return strings.ToLower(host)
}

// serverParts are the parts of a mount's source that may be a host, in small letters.
func serverParts(source string) []string {
	var parts []string
	for _, part := range strings.FieldsFunc(source, func(r rune) bool { return r == ',' || r == '/' || r == '\\' }) {
		part = strings.TrimSuffix(part, ":")
		if h, port, ok := strings.Cut(part, ":"); ok && !strings.Contains(port, ":") {
			part = h
		}
		parts = append(parts, strings.ToLower(strings.Trim(part, "[]")))
	}
	return parts
}

// wholeDisk is the disk of a partition: "sda" of "sda1", "nvme0n1" of "nvme0n1p1".
func wholeDisk(device string) string {
	stem := strings.TrimRight(device, "0123456789")
	if stem == device || stem == "" {
		return device
	}
	if disk, ok := strings.CutSuffix(stem, "p"); ok && disk != "" && disk[len(disk)-1] >= '0' && disk[len(disk)-1] <= '9' {
		return disk
	}
	if strings.HasPrefix(stem, "nvme") || strings.HasPrefix(stem, "dm-") || strings.HasPrefix(stem, "md") || strings.HasPrefix(stem, "loop") {
		return device
	}
	return stem
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

// hungTask finds the kernel's complaint about one of these threads: it names threads by their id.
func hungTask(p *forensics.Pass, tids ...int) (logs.Event, bool) {
	for _, e := range events(p, logs.KindKernelHungTask) {
		if id := taskID(e.Process); id != 0 && slices.Contains(tids, id) {
			return e, true
		}
	}
	return logs.Event{}, false
}

// taskID is the number in "name (4711)"; 0 if there is none.
func taskID(process string) int {
	i := strings.LastIndexByte(process, '(')
	if i < 0 {
		return 0
	}
	id, err := strconv.Atoi(strings.TrimSuffix(process[i+1:], ")"))
	if err != nil {
		return 0
	}
	return id
}

// withHungTask adds the kernel's complaint about a thread to a finding about it.
func withHungTask(p *forensics.Pass, f forensics.Finding, threads ...procs.Thread) forensics.Finding {
	var tids []int
	for _, t := range threads {
		tids = append(tids, t.TID)
	}
	e, ok := hungTask(p, tids...)
	if !ok {
		return f
	}
	began := e.First
	if began != nil && e.Number > 0 {
		t := began.Add(-time.Duration(e.Number) * time.Second)
		began = &t
	}
	f.Detail = sentences(f.Detail, fmt.Sprintf("The kernel reported it as a hung task %s, first at %s.", times(e.Count), moment(e.First)))
	f.Refs = append(f.Refs, quotesOf(e)...)
	f.Since = earliest(f.Since, began)
	return f
}

// failingByKernel are file systems that answer, or were not asked, and whose device is offline, or of whose device the
// kernel reports errors: ext4 and xfs answer from memory when their disk is dead.
func failingByKernel(p *forensics.Pass) []forensics.Finding {
	var found []forensics.Finding
	seen := map[string]bool{}
	for _, m := range p.Evidence.Mounts.Mounts {
		h, known := p.Model.Health(m.Device)
		if seen[m.Device] || known && h.Status == mounts.StatusIOError {
			continue
		}
		seen[m.Device] = true
		list := kernelEventsOf(p, "devices that fail", deviceFails, m)
		b, _ := p.Model.Backing(m.Device)
		dead := (b.Fault == backing.FaultOffline || b.Fault == backing.FaultNoPath) && h.Status != mounts.StatusHung
		if dead || len(list) > 0 {
			found = append(found, kernelFinding(p, m, h, list, dead))
		}
	}
	return found
}

// graveKinds are those after which a file system does not work as it should, the worst last; others may have been
// survived.
var graveKinds = []logs.Kind{
	logs.KindKernelFSError, logs.KindKernelThinPool, logs.KindKernelDeviceOffline, logs.KindKernelFSReadOnly, logs.KindKernelFSShutdown,
}

// gravity orders kinds; 0 are those that may have been survived.
func gravity(k logs.Kind) int { return slices.Index(graveKinds, k) + 1 }

// kernelFinding is about a file system of whose device the kernel says something; dead is that its disk takes no requests.
func kernelFinding(p *forensics.Pass, m mounts.Mount, h mounts.Health, list []logs.Event, dead bool) forensics.Finding {
	s := superblock{device: m.Device, health: h, mounts: p.Model.MountsOf(m.Device)}
	f := forensics.Finding{
		Severity: forensics.Info, Subject: s.entity(), Pods: p.Model.PodsOf(m.Device), Since: firstSaid(list), Refs: quotesOf(list...),
		Title: s.label() + ": its disk takes no requests", Confidence: forensics.Certain, ConfidenceWhy: "the kernel says so of the device (/sys/dev/block)",
	}
	grave := dead || said(list) >= fewFailures
	if len(list) > 0 {
		worst := slices.MaxFunc(list, func(a, b logs.Event) int { return cmp.Compare(gravity(a.Kind), gravity(b.Kind)) })
		grave = grave || gravity(worst.Kind) > 0
		f.Detail = fmt.Sprintf("%s, last at %s. ", capital(times(said(list))), moment(lastSaid(list)))
		if !dead {
			f.Title = fmt.Sprintf("%s: the kernel reports %s for %s", s.label(), logs.Words(worst.Kind), worst.Device)
			f.Confidence, f.ConfidenceWhy = forensics.Likely, "the kernel's log names the device; whether it has recovered since does not stand there"
		} else {
			f.Detail = "The kernel's log: " + logs.Words(worst.Kind) + ", " + f.Detail
		}
	}
	f.Detail += "Mounted at " + s.where() + "."
	if known := h.Status == mounts.StatusOK; known {
		f.Detail += " The mount itself answers: local file systems answer from memory while their disk is dead."
	}
	text, refs := behind(p, m.Device)
	f.Detail += text
	f.Refs = append(f.Refs, refs...)
	if grave {
		f.Severity = forensics.Warning
		f.Remedies = []forensics.Remedy{dmesgRemedy()}
	}
	return f
}
