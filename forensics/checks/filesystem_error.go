package checks

import (
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/fsview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// fileSystemError finds file systems that fail or are read-only, by logs alone.
var fileSystemError = forensics.Check{
	ID:    "filesystem-error",
	Title: "A file system fails or is read-only, by the logs",
	Doc: `The kernel reports an error of a file system, remounts it read-only or shuts it down; the kubelet or the runtime reports "read-only
file system" or "structure needs cleaning". A file system that is read-only or shut down stays so until it is mounted again. Where the mounts are known, one of
them is left to mount-io-error, and others are information. Errors of the disk below it are its cause. A read-only path in the kubelet's log alone may also be a volume that a
pod mounts read-only: it counts from three messages on, if the last is current. A path that only the kubelet or the runtime writes
(/var/lib/containerd, /var/log/pods, …) counts at once.`,
	Severity: forensics.Warning,
	Needs:    logview.Needs,
	Run: func(p *forensics.Pass) {
		incident.SawKernel(p)
		broken := failingFileSystems(p)
		for _, i := range broken {
			p.Report(fileSystemFinding(p, i))
		}
		spec := incident.Spec{Few: logview.FewFailures, Kubelet: true, Window: 10 * time.Minute, Subject: func(e logs.Event) forensics.Entity {
			if e.Path == "" {
				return incident.Thing(forensics.KindPath, "unnamed")
			}
			return incident.Thing(forensics.KindPath, e.Path)
		}}
		for _, i := range spec.Find(p, logview.Events(p, "fs-damaged")) {
			f := i.Finding(p, "The file system of "+i.Subject.ID+" has been damaged", "The file system of "+i.Subject.ID+" was damaged")
			f.Detail = findings.Sentences(f.Detail, "The kernel has found the structure of the file system damaged (EUCLEAN, \"Structure needs cleaning\"). It must be repaired while it is unmounted, with xfs_repair or e2fsck.")
			if i.Grave() {
				f.Remedies = []forensics.Remedy{dmesgRemedy()}
			}
			p.Report(f)
		}
		ofNode := spec
		ofNode.Few = 1
		own := func(e logs.Event) bool { return nodesOwn(e.Path) }
		elsewhere := func(e logs.Event) bool { return !own(e) }
		for _, i := range slices.Concat(ofNode.Find(p, sorting.Delete(logview.Events(p, "read-only"), elsewhere)), spec.Find(p, sorting.Delete(logview.Events(p, "read-only"), own))) {
			f := i.Finding(p, i.Subject.ID+" has been read-only", i.Subject.ID+" was read-only")
			if !nodesOwn(i.Subject.ID) {
				f.Confidence, f.ConfidenceWhy = forensics.Possible, "the log says so; a volume that a pod mounts read-only looks the same"
			}
			if len(broken) == 1 && broken[0].Current {
				f.Because = []forensics.Entity{broken[0].Subject}
			}
			if i.Grave() {
				f.Remedies = []forensics.Remedy{dmesgRemedy()}
			}
			p.ReportAlike("read-only", func(n int) string { return findings.Plural(n, "path") + " on read-only file systems" }, f)
		}
	},
}

// nodesOwn says whether a path is one that the kubelet or the runtime writes for itself: no pod mounts that read-only.
// The root file systems of containers, which are below them, may be.
func nodesOwn(path string) bool {
	return !strings.Contains(path, "/rootfs/") && !strings.Contains(path, "/merged/") && slices.ContainsFunc(ownDirs, func(dir string) bool { return strings.HasPrefix(path, dir) })
}

// ownDirs are where they write; runc does so for a process that it starts in a container.
var ownDirs = []string{
	"/run/containerd/", "/tmp/runc-process", "/var/lib/containerd/", "/var/lib/containers/", "/var/lib/docker/", "/var/lib/kubelet/device-plugins/", "/var/log/pods/",
}

// failingFileSystems are those of no known mount about which the kernel reports errors.
func failingFileSystems(p *forensics.Pass) []incident.Incident {
	return forensics.Once(p, "failing file systems", func() []incident.Incident {
		spec := incident.Spec{Window: 30 * time.Minute, Subject: diskOf}
		list := spec.Find(p, fsview.OfNoMount(p, "file systems of no mount", logs.KindKernelFSError, logs.KindKernelFSShutdown, logs.KindKernelFSReadOnly))
		for n, i := range list {
			list[n].Current, list[n].Minor = i.Current || worstOf(i).Kind != logs.KindKernelFSError, fsview.KnowsMounts(p)
		}
		return list
	})
}

// readOnlyPath is the path in "mkdir /var/lib/containerd/…: read-only file system". What is below /sys and /proc is of no disk.
var readOnlyPath = pattern.New(`(/[^\s":]+)["\\]*: [Rr]ead-only file system`)

// byReadOnly explains a failure to write by the file system below the path, if the kernel reports that it fails; where the mounts are not
// known, by the only one of which the kernel does.
func byReadOnly(p *forensics.Pass, f *forensics.Finding, reasons ...string) {
	for _, reason := range reasons {
		m := readOnlyPath.FindStringSubmatch(reason)
		if m == nil || strings.HasPrefix(m[1], "/sys/") || strings.HasPrefix(m[1], "/proc/") {
			continue
		}
		if on, ok := mountBelow(p, m[1]); ok {
			if slices.ContainsFunc(fsview.KernelEvents(p, "devices that fail", fsview.DeviceFailures, on), func(e logs.Event) bool { return gravity(e.Kind) > 0 }) {
				f.Because = findings.Union(f.Because, []forensics.Entity{fsview.Superblock{Device: on.Device}.Entity()})
			}
		} else if broken := failingFileSystems(p); len(broken) == 1 && broken[0].Grave() {
			f.Because = findings.Union(f.Because, []forensics.Entity{fileSystemFinding(p, broken[0]).Subject})
		}
	}
}

// mountBelow is the mount that a path is on, as far as the mounts are known.
func mountBelow(p *forensics.Pass, path string) (below mounts.Mount, ok bool) {
	for _, m := range p.Evidence.Mounts.Mounts {
		if at := m.MountPoint; (path == at || strings.HasPrefix(path, strings.TrimSuffix(at, "/")+"/")) && len(at) >= len(below.MountPoint) {
			below, ok = m, true
		}
	}
	return below, ok
}

// sameMoment says whether two incidents began at the same time. A file system and its disk then log one error, in any order.
func sameMoment(a, b incident.Incident) bool {
	return a.First != nil && b.First != nil && a.First.Equal(*b.First)
}

func fileSystemFinding(p *forensics.Pass, i incident.Incident) forensics.Finding {
	name := "File system on " + i.Subject.ID
	now, then := name+" has had errors", name+" had errors"
	switch worstOf(i).Kind {
	case logs.KindKernelFSReadOnly:
		i.Said = true
		now = name + " has been read-only"
	case logs.KindKernelFSShutdown:
		i.Said = true
		now = name + " has been shut down"
	}
	f := incident.Certain(i.Finding(p, now, then))
	for _, disk := range failingDisks(p) {
		switch {
		case !fsview.SameDisk(i.Subject.ID, disk.Subject.ID):
		case disk.Subject != i.Subject:
			f.Because = []forensics.Entity{disk.Subject}
		case disk.Grave() && (cameFirst(disk, i) || sameMoment(disk, i)):
			f.Subject, f.Because = incident.Thing("file-system", i.Subject.ID), []forensics.Entity{disk.Subject}
		}
	}
	if i.Grave() {
		f.Remedies = []forensics.Remedy{dmesgRemedy()}
	}
	return f
}
