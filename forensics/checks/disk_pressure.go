package checks

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/diskview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/headline"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// diskPressure finds file systems that are full or past an eviction threshold.
var diskPressure = forensics.Check{
	ID:    "disk-pressure",
	Title: "A disk is full or past an eviction threshold",
	Doc: `The figures of statfs(2) are past an eviction threshold for nodefs (the kubelet's root directory) or imagefs (the
runtime's images). df(1) shows the same figures; the kubelet compares them every 10 seconds. The thresholds are those of
the kubelet's flags and configuration, with the defaults of its version (1.10 to 1.36): nodefs.available<10%,
nodefs.inodesFree<5%, imagefs.available<15%, and since 1.30 imagefs.inodesFree<5%. Setting one evictionHard threshold
disables the defaults of the others, unless mergeDefaultEvictionSettings is set (1.33 and later).

Past a hard threshold the finding is critical. The node gets the condition DiskPressure and accepts no new pods. The
kubelet deletes terminated containers, then every unused image, then evicts pods. Past a soft threshold the kubelet does
so after the grace period: a warning. A file system without space or inodes is critical also without a threshold, if the
kubelet or the runtime writes to it. If the kubelet's configuration could not be read, thresholds are only assumed; then
only a full disk is critical. Images outside of the runtime's directory (a remote snapshotter) are not counted.

Where no disk was measured, logs and events show it: "no space left on device" of the kubelet or the runtime, twice or as the error that
ends it, or a condition DiskPressure that lasts for minutes. One that ends and comes again within hours counts, too. In a text, so does a
full /run: runtimes keep the state of containers there. A thin pool in which the runtime finds too few free blocks is no file system: only
logs show it.`,
	Severity: forensics.Critical,
	Needs:    orLogs(diskview.Needs),
	Run: func(p *forensics.Pass) {
		reportThinPool(p)
		if seen, why := p.Evidence.Saw(forensics.SourceDisks); !seen {
			reportFullByLog(p)
			p.Unjudged("the disks were not measured: %s", why)
			return
		}
		d := diskview.State(p)
		measured := false
		for _, f := range d.FileSystems {
			if f.Error != "" {
				p.Unjudged("%s: %s", strings.Join(d.Roles(f.Device), ", "), f.Error)
				continue
			}
			if diskview.ReadOnly(f) {
				continue
			}
			if what, full := f.Full(); full {
				measured = true
				p.Report(fullFinding(p, f, what))
				continue
			}
			met := diskview.Met(d, f)
			if measured = measured || len(met) > 0; len(met) > 0 {
				p.Report(withPressureInLog(p, pressureFinding(p, f, met)))
			} else if list := lowOnDisk(p); kubeletWrites(d, f) && len(list) > 0 && f.Inodes > 0 && f.InodesFree*20 < f.Inodes && strings.Contains(list[len(list)-1].Reason, "inodes") {
				p.Report(fewInodesFinding(p, f, list))
			}
		}
		if !measured && logview.Written(p) { // df may be of another moment, or of another node
			reportFullByLog(p)
		}
		diskview.Doubt(p)
	},
}

// fewInodesFinding is of a file system for which pods were evicted, by a threshold that is not known: for images, there is none by default
// before 1.30.
func fewInodesFinding(p *forensics.Pass, f eviction.FileSystem, list []logs.Event) forensics.Finding {
	found := recordedFinding(list)
	found.Subject, found.Refs, found.Remedies, found.Detail = diskview.Entity(f), append(found.Refs, diskview.Ref(f)), diskview.Remedies(p, f), diskview.Fillers(p, f)
	found.Confidence, found.ConfidenceWhy = forensics.Likely, "df shows the inodes, and pods were evicted for want of them; the threshold is not known"
	found.Title = fmt.Sprintf("%s has %.1f %% of its inodes left, and pods were evicted for want of inodes", diskview.Label(diskview.State(p), f), 100*float64(f.InodesFree)/float64(f.Inodes))
	return found
}

// withPressureInLog adds what the kubelet's log says about the same pressure.
func withPressureInLog(p *forensics.Pass, f forensics.Finding) forensics.Finding {
	if inLog := logview.PressureInLog(p); inLog != nil && inLog.Disk() {
		return inLog.Join(p, f)
	}
	return f
}

// kubeletWrites says whether the kubelet or the runtime writes to a file system.
func kubeletWrites(d *eviction.Index, f eviction.FileSystem) bool {
	return slices.ContainsFunc(d.Roles(f.Device), func(role string) bool {
		return role == eviction.RoleNode || role == eviction.RoleImage || role == eviction.RoleContainer
	})
}

func fullFinding(p *forensics.Pass, f eviction.FileSystem, what string) forensics.Finding {
	d := diskview.State(p)
	found := forensics.Finding{
		Severity: forensics.Warning, Subject: diskview.Entity(f), Refs: []forensics.Ref{diskview.Ref(f)},
		Title:    diskview.WithLargest(p, f, fmt.Sprintf("%s is full: no %s left", diskview.Label(d, f), what)),
		Detail:   "Every write to it fails with ENOSPC. " + diskview.Fillers(p, f),
		Remedies: diskview.Remedies(p, f),
	}
	found.Confidence, found.ConfidenceWhy = diskview.Figures(f)
	if kubeletWrites(d, f) {
		found.Severity = forensics.Critical
		found.Detail += diskview.Reclaim(p, f)
	}
	return found
}

func pressureFinding(p *forensics.Pass, f eviction.FileSystem, met []eviction.Reach) forensics.Finding {
	d := diskview.State(p)
	first := met[0]
	found := forensics.Finding{
		Severity: forensics.Warning, Subject: diskview.Entity(f), Refs: []forensics.Ref{diskview.Ref(f)},
		Title:    diskview.WithLargest(p, f, fmt.Sprintf("%s has %s, past %s eviction threshold %s", diskview.Label(d, f), diskview.Left(first), first.Threshold.Kind, first.Threshold)),
		Remedies: diskview.Remedies(p, f),
	}
	found.Confidence, found.ConfidenceWhy = diskview.Figures(f)
	found.ConfidenceWhy += "; the thresholds are those of the kubelet's configuration"
	found.Because = mistakes(d, met)
	found.Detail = diskview.ReachText(met...) + ". " + diskview.Fillers(p, f) + diskview.Reclaim(p, f)
	switch {
	case d.Assumed != "":
		found.Confidence = forensics.Possible
		found.ConfidenceWhy = "the kubelet's thresholds may differ: " + d.Assumed
	case first.Threshold.Hard():
		found.Severity = forensics.Critical
		found.Detail = "The kubelet sets the node condition DiskPressure, and the node accepts no new pods. The condition lasts until evictionPressureTransitionPeriod (5 min by default) after space was freed. " + found.Detail
	default:
		found.Detail = fmt.Sprintf("The kubelet acts after the grace period (%s). ", first.Threshold.Grace) + found.Detail
	}
	return found
}

// mistakes are the thresholds that a file system is past, if each of them is one that is met with hardly anything in use.
func mistakes(d *eviction.Index, met []eviction.Reach) (because []forensics.Entity) {
	for _, r := range met {
		if !slices.ContainsFunc(d.Problems, func(p eviction.Problem) bool { return p.Signal != "" && p.Signal == r.Threshold.Signal }) {
			return nil
		}
		because = append(because, diskview.ThresholdEntity(r.Threshold.Signal))
	}
	return because
}

// fullByLog is a disk on which the kubelet or the runtime finds no space, by their logs.
func fullByLog(p *forensics.Pass) []incident.Incident {
	spec := incident.Spec{Window: 10 * time.Minute, Subject: func(e logs.Event) forensics.Entity {
		if e.Kind == kubeletFatal && e.Cause() != "disk-full" {
			return forensics.Entity{}
		}
		return incident.Thing(forensics.KindDisk, "node")
	}}
	found := spec.Find(p, logview.Events(p, logs.KindDiskFull, kubeletFatal))
	for k := range found { // one write that failed is little, unless the kubelet needs space or has ended for it
		i := &found[k]
		i.Minor = i.Count < 2 && !logview.Reclaims(p) && !slices.ContainsFunc(i.Events, func(e logs.Event) bool { return e.Kind == kubeletFatal })
	}
	return found
}

// lowOnDisk are the records of evictions for want of disk space or inodes that have no time, the status of a pod, which somebody has shown
// without the node, or that are the last of a few lines.
func lowOnDisk(p *forensics.Pass) []logs.Event {
	list := logview.Events(p, logs.KindEvictionEvicted)
	if needs := logview.Events(p, logs.KindEvictionMustEvict, logs.KindEvictionReclaiming); len(list)+len(logview.Events(p, "eviction-relieved")) == 0 &&
		(logview.Brief(p) || logview.Written(p) && logview.Last(needs) == nil) { // who shows one line has seen what follows, as who shows the lines without times
		list = needs
	}
	return sorting.Delete(list, func(e logs.Event) bool {
		return e.Last != nil && !logview.Picked(p, e.Last) || !strings.Contains(e.Reason, "inodes") && !strings.Contains(e.Reason, "storage") && !strings.Contains(e.Reason, "fs") && !strings.Contains(strings.ToLower(e.Reason), "disk")
	})
}

// reportRefusedPods reports a condition of the node that only the pods show which the kubelet refuses meanwhile.
func reportRefusedPods(p *forensics.Pass) {
	spec := incident.Spec{Kubelet: true, Window: 5 * time.Minute, Subject: func(e logs.Event) forensics.Entity {
		if e.Cause() != logs.CausePressure || !strings.Contains(e.Reason, "Disk") {
			return forensics.Entity{}
		}
		return incident.Thing(forensics.KindDisk, "node")
	}, Ended: func(forensics.Entity) *time.Time { return logview.Last(logview.Events(p, "eviction-relieved")) }}
	for _, i := range spec.Find(p, logview.Events(p, logs.KindAdmissionRefused)) {
		if logview.Written(p) && i.Current { // the condition lasts for minutes
			i.ExpectAgain(p, logview.FewFailures, spec.Window)
		} else {
			i.Expect(p, logview.FewFailures)
		}
		i.Said = true
		f := i.Finding(p, "Disk pressure: the kubelet refuses pods", "Disk pressure: the kubelet refused pods")
		f.Effect = "the node accepts no new pods"
		if i.Grave() {
			f.Remedies = evictionRemedies()
		}
		p.Report(f)
	}
}

// recordedFinding is of evictions that have no time, where nothing else is known of the disk.
func recordedFinding(list []logs.Event) forensics.Finding {
	what := list[len(list)-1].Reason
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: incident.Thing(forensics.KindDisk, "node"), Confidence: forensics.Possible, Refs: logview.EventRefs(list...),
		ConfidenceWhy: "the status of an evicted pod says so; when that was, and whether it lasts, is not shown",
		Title:         headline.Fit("The kubelet evicts pods: the node is low on " + what),
		Detail:        "The object of an evicted pod remains until it is deleted. Look first whether the node still has the condition DiskPressure.",
		Effect:        "pods are evicted",
		Remedies: []forensics.Remedy{
			incident.Look("shows whether the node still has the condition DiskPressure", "sh", "-c", "kubectl describe nodes | grep -E '^Name:|DiskPressure'"),
			incident.Look("shows which file system is full, by bytes and by inodes", "sh", "-c", "df -h; df -i"),
		},
	}
	if list[len(list)-1].Code == "condition" {
		f.Title = "The kubelet reports disk pressure"
		f.ConfidenceWhy = "the text repeats the condition of the node; when that was, and whether it lasts, is not shown"
		f.Detail = "Under disk pressure the kubelet removes unused images and evicts pods. Look first whether the node still has the condition."
	}
	return f
}

// reportThinPool reports the thin pool of a runtime that has too few free blocks. No file system shows that, and no threshold is about it.
func reportThinPool(p *forensics.Pass) {
	spec := incident.Spec{Window: 10 * time.Minute, Subject: func(logs.Event) forensics.Entity {
		return incident.Thing(forensics.KindDisk, "thin pool of the runtime")
	}}
	for _, i := range spec.Find(p, logview.Events(p, "thin-pool-low")) {
		i.Said = true
		f := i.Finding(p, "Thin pool of the runtime has too few free blocks", "Thin pool of the runtime had too few free blocks")
		f.Effect = "no containers can be created"
		if i.Grave() {
			f.Remedies = []forensics.Remedy{incident.Look("shows how full the thin pool is, by data and by metadata", "lvs", "-a")}
		}
		p.Report(f)
	}
}

// returningPressure is a condition of the node that ends and comes again, by the events of the node. When a kubelet starts, it says several times
// within seconds that there is none.
func returningPressure(p *forensics.Pass) (f forensics.Finding, again bool) {
	s := logview.PressureInLog(p)
	if s == nil || !s.Disk() || !slices.ContainsFunc(logview.Events(p, logs.KindEvictionReclaiming), func(e logs.Event) bool { return e.Code == "condition" }) {
		return f, false
	}
	for _, e := range logview.Events(p, "eviction-relieved") {
		span := logview.Between(e.First, e.Last)
		if e.Code != "condition" || e.Count < logview.FewFailures || span < 30*60 || span > float64(e.Count-1)*3600 {
			continue
		}
		return s.Join(p, forensics.Finding{
			Severity: forensics.Warning, Subject: incident.Thing(forensics.KindDisk, "node"), Confidence: forensics.Likely, Since: e.First,
			ConfidenceWhy: "the kubelet says so; the disks were not measured",
			Title:         headline.Fit("Disk pressure comes again and again: it ended " + findings.Times(e.Count) + ", last at " + logview.Moment(e.Last)),
			Effect:        "pods are evicted",
			Remedies:      evictionRemedies(),
		}), true
	}
	return f, false
}

func reportFullByLog(p *forensics.Pass) {
	reported := false
	for _, i := range fullByLog(p) {
		f := i.Finding(p, "A disk has been full", "A disk was full")
		f.Effect = "nothing can be written to the disk"
		if i.Grave() {
			reported = true
			f.Remedies = []forensics.Remedy{incident.Look("shows which file system is full, by bytes and by inodes", "sh", "-c", "df -h; df -i")}
		}
		p.Report(f)
	}
	since, resources, ok := logview.PressureInLog(p).Lasting(p)
	if len(lowOnDisk(p)) > 0 && !reported && (logview.PressureInLog(p) == nil || (logview.Brief(p) || logview.Last(lowOnDisk(p)) == nil) && !ok && len(logview.Events(p, logs.KindEvictionEvicted)) == 0) {
		p.Report(recordedFinding(lowOnDisk(p)))
	}
	if logview.PressureInLog(p) == nil && !reported && len(lowOnDisk(p)) == 0 {
		reportRefusedPods(p)
	}
	if f, again := returningPressure(p); again && !reported {
		p.Report(f)
		return
	}
	if !ok || reported || !logview.PressureInLog(p).Disk() || evictionFails(p) {
		return
	}
	p.Report(logview.PressureInLog(p).Join(p, forensics.Finding{
		Severity: forensics.Warning, Subject: incident.Thing(forensics.KindDisk, "node"), Confidence: forensics.Likely, Since: since,
		ConfidenceWhy: "the kubelet says so; the disks were not measured",
		Title:         headline.Fit("Disk pressure since " + logview.Moment(since) + ": the kubelet cannot reclaim enough " + resources),
		Effect:        "pods are evicted",
		Remedies:      evictionRemedies(),
	}))
}
