package checks

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/fsview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// kernelIOError finds disks and controllers that fail, by the kernel log alone.
var kernelIOError = forensics.Check{
	ID:    "kernel-io-error",
	Title: "A disk or its controller fails, by the kernel log",
	Doc: `I/O errors, timeouts and resets of a disk or of its controller, a device that went offline or lost its last path, a thin pool
without space. Where the mounts are known, a disk of one is left to mount-io-error, and others are information. A device that is offline, or a full thin pool, counts until a file
system is mounted on it again, also under another name. It is over when multipathd, iscsid or NVMe over a network
have paths again. A connection that was lost and came back twice within ten minutes at the log's end is not over. Errors, timeouts and resets are a warning if there are three or more, the last within half an hour. One is,
if a file system on the disk fails within a minute after it, or if the disk itself cannot read a sector. So is one that is the only cause that a hung task can have.`,
	Severity: forensics.Warning,
	Needs:    logview.Needs,
	Run: func(p *forensics.Pass) {
		incident.SawKernel(p)
		for _, i := range failingDisks(p) {
			if i.Minor && i.Current && !fsview.KnowsMounts(p) && hangsTask(p, i.Subject) {
				i.Minor = false
			}
			p.Report(diskFinding(p, i))
		}
	},
}

// failingDisks are disks of no known mount with errors.
func failingDisks(p *forensics.Pass) []incident.Incident {
	return forensics.Once(p, "failing disks", func() []incident.Incident {
		spec := incident.Spec{Window: 30 * time.Minute, Subject: diskOf, Ended: func(disk forensics.Entity) *time.Time {
			return logview.Last(pathsBack(p, disk))
		}}
		list := spec.Find(p, fsview.OfNoMount(p, "disks of no mount", logs.KindKernelIOError, logs.KindKernelIOTimeout, logs.KindKernelDeviceReset,
			logs.KindKernelDeviceOffline, logs.KindKernelThinPool))
		for n, i := range list {
			grave, broke := gravity(worstOf(i).Kind) > 0, breaksFileSystem(p, i)
			list[n].Current = !pathBack(p, i) && (i.Last != nil || !logview.Below(i.Events, pathsBack(p, i.Subject))) && (i.Current || i.Ended == nil && !sessionBack(list, i) && (grave || broke) || comesBack(p, i))
			list[n].Minor = fsview.KnowsMounts(p) || !grave && !broke && i.Count < logview.FewFailures && !unreadable(list[n])
		}
		return list
	})
}

// pathsBack are the messages that a disk has paths again.
func pathsBack(p *forensics.Pass, disk forensics.Entity) []logs.Event {
	return sorting.Delete(logview.Events(p, "kernel-paths-back"), func(e logs.Event) bool { return e.Device != disk.ID })
}

// comesBack says whether a connection to a disk was lost again and again until the log's end, and came back each time.
func comesBack(p *forensics.Pass, disk incident.Incident) bool {
	back := sorting.Delete(pathsBack(p, disk.Subject), func(e logs.Event) bool { return e.Number > 0 }) // of multipath, which counts its paths
	const near = 10 * time.Minute
	return logview.Count(back) > 1 && disk.Ended != nil && logview.Within(disk.Ended, logview.KubeletEnd(p), near) && logview.Between(disk.First, disk.Ended) <= near.Seconds()
}

// sessionBack says whether an offline disk was one of a session of iSCSI that is back: its disks take requests again then.
func sessionBack(list []incident.Incident, disk incident.Incident) bool {
	ofHost := strings.Count(disk.Subject.ID, ":") == 3
	return ofHost && slices.ContainsFunc(list, func(i incident.Incident) bool {
		return i.Ended != nil && !i.Current && strings.Trim(i.Subject.ID, "0123456789") == "" && cameFirst(i, disk) && disk.Last != nil && !disk.Last.After(*i.Ended)
	})
}

// pathBack says whether an offline disk was a path of multipath, whose disks have all their paths but perhaps one again.
func pathBack(p *forensics.Pass, disk incident.Incident) bool {
	return strings.Count(disk.Subject.ID, ":") == 3 && slices.ContainsFunc(logview.Events(p, "kernel-paths-back"), func(e logs.Event) bool {
		return e.Number > 1 && e.Last != nil && disk.Last != nil && e.Last.After(*disk.Last)
	})
}

// mediumError is what a disk answers about a sector that it cannot read: no timeout or reset, which the path to it can cause.
var mediumError = pattern.New(`critical medium error|nrecovered read error|error: \{ UNC `)

// unreadable says whether the disk itself says, at the end of the log, that it cannot read a sector.
func unreadable(i incident.Incident) bool {
	return i.Current && slices.ContainsFunc(i.Events, func(e logs.Event) bool {
		return slices.ContainsFunc(e.Quotes, func(q logs.Quote) bool { return mediumError.MatchString(q.Text) })
	})
}

// breaksFileSystem says whether a file system of the disk failed within a minute of an error of the disk, and fails still.
func breaksFileSystem(p *forensics.Pass, disk incident.Incident) bool {
	return slices.ContainsFunc(failingFileSystems(p), func(i incident.Incident) bool {
		return i.Current && fsview.SameDisk(i.Subject.ID, disk.Subject.ID) && cameFirst(disk, i) && logview.Between(disk.Last, i.First) <= 60
	})
}

// cameFirst says whether one incident began before another: by time, by the order of lines where there is none.
func cameFirst(a, b incident.Incident) bool {
	if a.First != nil && b.First != nil && !a.First.Equal(*b.First) {
		return a.First.Before(*b.First)
	}
	x, y := a.Events[0].Quotes, b.Events[0].Quotes
	return len(x) > 0 && len(y) > 0 && x[0].File == y[0].File && x[0].Line < y[0].Line
}

// diskOf is the disk or file system of a message of the kernel.
func diskOf(e logs.Event) forensics.Entity {
	return incident.Thing(forensics.KindDisk, cmp.Or(e.Device, "unnamed"))
}

// worstOf is the gravest message of an incident.
func worstOf(i incident.Incident) logs.Event {
	return slices.MaxFunc(i.Events, func(a, b logs.Event) int { return cmp.Compare(gravity(a.Kind), gravity(b.Kind)) })
}

func diskFinding(p *forensics.Pass, i incident.Incident) forensics.Finding {
	now, then := "Disk "+i.Subject.ID+" has failed", "Disk "+i.Subject.ID+" failed"
	switch worstOf(i).Kind {
	case logs.KindKernelDeviceOffline:
		i.Said = true
		now, then = "Disk "+i.Subject.ID+" has been offline", "Disk "+i.Subject.ID+" was offline"
	case logs.KindKernelThinPool:
		i.Said = true
		now, then = "Thin pool "+i.Subject.ID+" has been full", "Thin pool "+i.Subject.ID+" was full"
	}
	f := i.Finding(p, now, then)
	if i.Events[0].Origin == "kernel" {
		f = incident.Certain(f)
	}
	f.Lone = f.Lone && (i.Count > 1 || logview.Brief(p) || logview.SaidRepeated(p, i.Events...)) // a path of several may have failed
	if i.Grave() {
		f.Detail = findings.Sentences(f.Detail, "The log does not show whether the device has recovered since.")
		f.Remedies = []forensics.Remedy{dmesgRemedy()}
	}
	return f
}
