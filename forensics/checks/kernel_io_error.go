package checks

import (
	"cmp"
	"slices"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/fsview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// kernelIOError finds disks and controllers that fail, by the kernel log alone.
var kernelIOError = forensics.Check{
	ID:    "kernel-io-error",
	Title: "A disk or its controller fails, by the kernel log",
	Doc: `I/O errors, timeouts and resets of a disk or of its controller, a device that went offline or lost its last path, a thin pool
without space. Where the mounts are known, a disk of one is left to mount-io-error, and others are information. A device that is offline, or a full thin pool, counts until a file
system is mounted on it again. Errors, timeouts and resets are a warning if there are three or more, the last within half an hour.`,
	Severity: forensics.Warning,
	Needs:    logview.Needs,
	Run: func(p *forensics.Pass) {
		incident.SawKernel(p)
		for _, i := range failingDisks(p) {
			p.Report(diskFinding(p, i))
		}
	},
}

// failingDisks are disks of no known mount with errors.
func failingDisks(p *forensics.Pass) []incident.Incident {
	return forensics.Once(p, "failing disks", func() []incident.Incident {
		spec := incident.Spec{Window: 30 * time.Minute, Subject: diskOf}
		list := spec.Find(p, fsview.OfNoMount(p, "disks of no mount", logs.KindKernelIOError, logs.KindKernelIOTimeout, logs.KindKernelDeviceReset,
			logs.KindKernelDeviceOffline, logs.KindKernelThinPool))
		for n, i := range list {
			grave := gravity(worstOf(i).Kind) > 0
			list[n].Current, list[n].Minor = i.Current || grave, fsview.KnowsMounts(p) || !grave && i.Count < logview.FewFailures
		}
		return list
	})
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
	switch worst := worstOf(i); worst.Kind {
	case logs.KindKernelDeviceOffline:
		i.Said = true
		now, then = "Disk "+i.Subject.ID+" has been offline", "Disk "+i.Subject.ID+" was offline"
	case logs.KindKernelThinPool:
		i.Said = true
		now, then = "Thin pool "+i.Subject.ID+" has been full", "Thin pool "+i.Subject.ID+" was full"
		if worst.Device == "" {
			now, then = "Thin pool of the runtime has too few free blocks", "Thin pool of the runtime had too few free blocks"
		}
	}
	f := i.Finding(p, now, then)
	if i.Events[0].Origin == "kernel" {
		f = incident.Certain(f)
	}
	if i.Grave() {
		f.Detail = findings.Sentences(f.Detail, "The log does not show whether the device has recovered since.")
		f.Remedies = []forensics.Remedy{dmesgRemedy()}
	}
	return f
}
