package checks

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/backing"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/fsview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// mountIOError finds file systems that fail.
var mountIOError = forensics.Check{
	ID:    "mount-io-error",
	Title: "A mount answers with an I/O error",
	Doc: `The mount answers EIO or another error of its device or server: a lost disk, a file system that has shut itself
down, a soft mount with a server that did not answer in time.

The kernel log also reports errors of the device behind a mount: I/O errors, a device that went offline, a file system that
shut itself down or was remounted read-only. They count even if the mount answers, because ext4 and xfs answer from memory
while their disk is dead. The confidence is then "likely". A few errors without such an end are information. Messages
from before the last mount of the device, by the same log, are about another file system and do not count.

Where mounts were not read, "input/output error" of paths shows it: twice, in messages of the kubelet, of the runtime or of Talos, or as the
error that ends the kubelet.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceMounts, forensics.SourceLogs}, {forensics.SourceHealth, forensics.SourceLogs}},
	Run: func(p *forensics.Pass) {
		if ok, why := p.Evidence.Saw(forensics.SourceHealth); !ok {
			p.Unjudged("mounts were not probed: %s %s", forensics.SourceHealth, why)
		}
		fsview.ReportStatus(mounts.StatusIOError,
			func(s fsview.Superblock) string { return s.Label() + " answers with an error: " + s.Health.Error },
			"Reading from it fails.", func(*forensics.Pass, mounts.Mount) []forensics.Remedy { return []forensics.Remedy{dmesgRemedy()} })(p)
		for _, f := range failingByKernel(p) {
			p.Report(f)
		}
		for _, i := range failingPaths(p) {
			p.Report(pathsFinding(p, i))
		}
	},
}

// failingPaths are paths that answer with EIO, by messages, where no mount has an answer. A disk or a server that fails has many.
func failingPaths(p *forensics.Pass) []incident.Incident {
	return forensics.Once(p, "paths that answer with an I/O error", func() []incident.Incident {
		if probed, _ := p.Evidence.Saw(forensics.SourceHealth); probed && p.Evidence.Collector.PID != 0 {
			return nil
		}
		spec := incident.Spec{Window: 30 * time.Minute, Subject: func(e logs.Event) forensics.Entity {
			switch {
			case e.Cause() != "io-error":
				return forensics.Entity{}
			case isVolumeMount(e.Path):
				return mountInMessage(p, e)
			}
			return incident.Thing(forensics.KindPath, "/")
		}}
		list := spec.Find(p, logview.Events(p, "path-io-error", kubeletFatal))
		for n, i := range list {
			if !slices.ContainsFunc(i.Events, func(e logs.Event) bool { return e.Kind == kubeletFatal }) {
				list[n].ExpectAgain(p, 2, time.Minute)
			}
		}
		return list
	})
}

// pathsFinding is of paths that answer with EIO.
func pathsFinding(p *forensics.Pass, i incident.Incident) forensics.Finding {
	name := "Mount " + i.Events[0].Path
	if i.Subject.ID == "/" {
		name = "Files of the node"
		if path := i.Events[0].Path; path != "" {
			name = "Path " + path
		}
	}
	i.Said = true
	f := i.Finding(p, name+" answers with an I/O error", name+" answered with an I/O error")
	f.Effect = "reading or writing it fails"
	f.Detail = findings.Sentences(f.Detail, "The mount table was not collected. A disk, or a file server, fails behind it.")
	if i.Grave() {
		f.Remedies = []forensics.Remedy{dmesgRemedy()}
	}
	return f
}

func dmesgRemedy() forensics.Remedy {
	return forensics.Remedy{
		Action: remedy.ActionLook, Command: []string{"dmesg", "-T"},
		Why:  "the last lines of the kernel log show the reason: a lost disk, a file system that was shut down, a server that did not answer",
		Risk: "none: read-only. Check a file system (fsck, xfs_repair) only while it is unmounted",
	}
}

// failingByKernel are file systems that answer, or were not probed, with a device that is offline, or of whose device the
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
		list := fsview.KernelEvents(p, "devices that fail", fsview.DeviceFailures, m)
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
	s := fsview.Superblock{Device: m.Device, Health: h, Mounts: p.Model.MountsOf(m.Device)}
	f := forensics.Finding{
		Severity: forensics.Info, Subject: s.Entity(), Pods: p.Model.PodsOf(m.Device), Since: logview.First(list), Refs: logview.EventRefs(list...),
		Title: "The disk of " + s.Label() + " does not accept requests", Confidence: forensics.Certain,
		ConfidenceWhy: "the kernel shows this state of the device (/sys/dev/block)",
	}
	grave := dead || logview.Count(list) >= logview.FewFailures
	if len(list) > 0 {
		worst := slices.MaxFunc(list, func(a, b logs.Event) int { return cmp.Compare(gravity(a.Kind), gravity(b.Kind)) })
		grave = grave || gravity(worst.Kind) > 0
		f.Detail = fmt.Sprintf("Kernel log: %s, %s, last at %s. ", logs.Words(worst.Kind), findings.Times(logview.Count(list)), logview.Moment(logview.Last(list)))
		if !dead {
			f.Title = fmt.Sprintf("%s has errors in the kernel log: %s (%s)", s.Label(), logs.Words(worst.Kind), worst.Device)
			f.Confidence, f.ConfidenceWhy = forensics.Likely, "the kernel log names the device; it does not show whether the device has recovered since"
		}
	}
	f.Detail += "Mounted at " + s.Where() + "."
	if known := h.Status == mounts.StatusOK; known {
		f.Detail += " The mount itself answers, but local file systems answer from memory even if their disk is dead."
	}
	text, refs := fsview.Behind(p, m.Device)
	f.Detail += text
	f.Refs = append(f.Refs, refs...)
	if grave {
		f.Severity = forensics.Warning
		f.Remedies = []forensics.Remedy{dmesgRemedy()}
	}
	return f
}
