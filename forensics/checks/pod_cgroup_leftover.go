package checks

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/deletion"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// maxMemoryCgroups is how many memory cgroups the kernel can have, including removed ones that still have charged memory (mm/memcontrol.c, MEM_CGROUP_ID_MAX).
const maxMemoryCgroups = 65_535

// manyMemoryCgroups is the count from which on that limit is near.
const manyMemoryCgroups = 50_000

// podCgroupLeftover finds leftover cgroups of pods that no longer exist.
var podCgroupLeftover = forensics.Check{
	ID:    "pod-cgroup-leftover",
	Title: "Leftover cgroup of a pod that no longer exists",
	Doc: `The kubelet removes a pod's cgroup after its containers have ended and its volumes are unmounted, and then its
directory. A cgroup is left over if its pod is not in the kubelet's list and has no directory. The list must have been
read to its end and must not be empty. Where the kubelet refuses it, its file allocated_pods_state counts (1.33 and later).
Without both, a cgroup without a directory is possibly left over if its processes have run for ten minutes. An empty one is
not judged: its pod may be starting.

Every 2 s, housekeeping kills the processes in such a cgroup and removes it (cleanupOrphanedPodCgroups, kubelet 1.6 to
1.36). A cgroup that remains has processes that cannot be killed, is frozen, or cannot be removed in one of the controllers
of cgroup v1. Or housekeeping does not reach it. Cgroups below that of another container belong to a cluster inside it
(kind) and are ignored. A cgroup that is removed during the examination can be reported wrongly, hence "likely".

The check also reports a kernel with so many memory cgroups that soon no new one can be created: mkdir in /sys/fs/cgroup
fails with "no space left on device". A removed cgroup remains in the kernel while memory is charged to it, mostly page
cache.

Where cgroups were not read, the kubelet's log shows that it fails to delete the cgroup of a pod again and again: five times or more,
until the log's end.`,
	Severity: forensics.Warning,
	Needs:    orLogs([]forensics.Need{{forensics.SourceCgroups}}),
	Run: func(p *forensics.Pass) {
		for _, source := range []string{forensics.SourceCgroups, forensics.SourcePodDirs, forensics.SourceProcesses} {
			if seen, why := p.Evidence.Saw(source); !seen {
				reportUndeletedCgroups(p)
				reportMemoryCgroups(p)
				p.Unjudged("%s: %s", source, why)
				return
			}
		}
		listed, why := p.Model.ListedPods()
		var empty []runtimes.PodCgroup
		for _, g := range leftCgroups(p, listed) {
			list := p.Model.ProcessesOf(g.PodUID)
			switch {
			case listed == nil && !runForLong(p, list):
				p.Unjudged("the cgroup of pod %s has no pod directory, but %s", g.PodUID, why)
			case listed == nil:
				p.Report(unlistedFinding(p, g, list, why))
			case len(list) > 0:
				p.ReportAlike(len(g.Frozen) > 0, func(n int) string {
					return "Processes of " + findings.Plural(n, "pod") + " are still running although the pods no longer exist" + frozenTitle(g)
				}, occupiedFinding(p, g, list))
			default:
				empty = append(empty, g)
			}
		}
		if len(empty) > 0 {
			p.Report(emptyFinding(p, empty))
		}
		reportMemoryCgroups(p)
	},
}

func reportMemoryCgroups(p *forensics.Pass) {
	if t := p.Evidence.CgroupTotals; t != nil && t.MemoryCgroups >= manyMemoryCgroups {
		p.Report(dyingFinding(p, t.MemoryCgroups))
	}
}

// reportUndeletedCgroups reports cgroups that the kubelet cannot delete, by its log alone. While a pod ends, a few tries may fail.
func reportUndeletedCgroups(p *forensics.Pass) {
	const tries = 5
	stuck := map[string]bool{}
	for _, s := range deletion.InLog(p) { // pod-terminating-stuck
		stuck[s.Subject.ID] = true
	}
	spec := incident.Spec{Few: tries, Subject: func(e logs.Event) forensics.Entity {
		if e.PodUID == "" || stuck[e.PodUID] {
			return forensics.Entity{}
		}
		return findings.PodEntity(e.PodUID)
	}}
	if end := logview.Last(logview.Events(p, logs.KindCgroupDeleteFailed)); logview.Picked(p, end) || logview.SaidRepeated(p, logview.Events(p, logs.KindCgroupDeleteFailed)...) { // runc itself tries five times within a second
		spec.Few = 1
	}
	for _, i := range spec.Find(p, logview.Events(p, logs.KindCgroupDeleteFailed)) {
		long := slices.ContainsFunc(i.Events, func(e logs.Event) bool { return e.Cause() == "slow-systemd" }) // one try of half a minute
		if i.Expect(p, tries); i.Count < tries && logview.Between(i.First, i.Last) < 1 && !long && !logview.SaidRepeated(p, i.Events...) {
			continue
		}
		name := "Cgroup of " + lower(findings.PodTitle(p, i.Subject.ID))
		f := i.Finding(p, name+" cannot be deleted", name+" could not be deleted")
		f.Effect = "the pod's cgroup cannot be removed"
		f.Detail = findings.Sentences(f.Detail, "Processes in it cannot be killed, it is frozen, or the kernel keeps it in one of its controllers.")
		if i.Grave() {
			f.Remedies = []forensics.Remedy{incident.Look("shows whether the cgroup still has processes",
				"sh", "-c", "find /sys/fs/cgroup -path '*"+strings.ReplaceAll(i.Subject.ID, "-", "?")+"*' -name cgroup.procs -exec grep -H . {} +")}
		}
		p.ReportAlike("undeleted cgroups", func(n int) string { return "Cgroups of " + findings.Plural(n, "pod") + " cannot be deleted" }, f)
	}
}

// nestedPod says that a cgroup is below that of another container: the pod belongs to a cluster inside (kind, Docker in Docker), which
// this node's kubelet does not know.
var nestedPod = pattern.New(`[0-9a-f]{64}(?:\.scope)?/.*pod[0-9a-f]{8}`)

// leftCgroups lists the cgroups of pods that are not in the kubelet's list, which may be nil, and have no directory, which the kubelet
// makes after the cgroup and removes after it.
func leftCgroups(p *forensics.Pass, listed map[string]bool) (left []runtimes.PodCgroup) {
	dirs := map[string]bool{}
	for i := range p.Evidence.PodDirs {
		dirs[p.Evidence.PodDirs[i].UID] = true
	}
	for _, c := range p.Evidence.Cgroups {
		if listed[c.PodUID] || dirs[c.PodUID] || nestedPod.MatchString(c.Path) {
			continue
		}
		left = append(left, c)
	}
	return left
}

// runForLong says whether there are processes, all of which have run for longer than a pod takes to start.
func runForLong(p *forensics.Pass, list []procs.Process) bool {
	const starting = 10 * time.Minute
	return len(list) > 0 && !slices.ContainsFunc(list, func(x procs.Process) bool {
		return x.Started.IsZero() || p.Evidence.Collected.Sub(x.Started) < starting
	})
}

// unlistedFinding is about processes of a pod without a directory, where the kubelet did not say which pods it has.
func unlistedFinding(p *forensics.Pass, g runtimes.PodCgroup, list []procs.Process, why string) forensics.Finding {
	f := processesFinding(p, g, list)
	f.Severity, f.Confidence, f.Effect = forensics.Info, forensics.Possible, ""
	f.ConfidenceWhy = "the pod has no directory and its processes have run for more than 10 min, but " + why
	f.Title = findings.Plural(len(list), "process") + " of " + lower(findings.PodTitle(p, g.PodUID)) + " without a pod directory: the pod may no longer exist" + frozenTitle(g)
	f.Detail = "The kubelet makes the directory of a pod before its containers, and removes it after the cgroup. " + f.Detail
	f.Remedies = []forensics.Remedy{remedy.ListPods(p, g.PodUID)}
	return f
}

func occupiedFinding(p *forensics.Pass, g runtimes.PodCgroup, list []procs.Process) forensics.Finding {
	f := processesFinding(p, g, list)
	f.Detail = "Pod " + p.Model.Pod(g.PodUID).String() + " no longer exists. " + f.Detail +
		" The kubelet repeatedly kills them and cannot remove the cgroup while they exist."
	return f
}

// processesFinding is an occupiedFinding whose detail only names the processes.
func processesFinding(p *forensics.Pass, g runtimes.PodCgroup, list []procs.Process) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: forensics.Entity{Kind: forensics.KindPath, ID: g.Path}, Pods: []string{g.PodUID},
		Confidence: forensics.Likely, ConfidenceWhy: "the pod is not listed, it has no directory, and its processes are in /proc",
		Title:  stillRun(len(list), findings.PodTitle(p, g.PodUID)) + frozenTitle(g),
		Effect: "the pod's cgroup cannot be removed",
	}
	var lines []string
	for _, process := range list[:min(len(list), findings.MaxQuoted)] {
		lines = append(lines, processLine(p, &f, process))
		f.Refs = append(f.Refs, forensics.Ref{
			Source:  fmt.Sprintf("%s:%d", forensics.SourceProcesses, process.PID),
			Excerpt: fmt.Sprintf("%s, state %s, cgroup %s", process.Comm, process.State, process.Cgroup),
		})
	}
	if more := len(list) - len(lines); more > 0 {
		lines = append(lines, text.Plural(more, "more process"))
	}
	f.Detail = "Processes in its cgroup: " + strings.Join(lines, "; ") + "." + frozenText(g)
	return f
}

// stillRun is the headline about processes of a pod that no longer exists.
func stillRun(n int, pod string) string {
	is := "is"
	if n > 1 {
		is = "are"
	}
	return fmt.Sprintf("%s of %s %s still running although the pod no longer exists", findings.Plural(n, "process"), strings.Replace(pod, "Pod ", "pod ", 1), is)
}

// frozenTitle says that a cgroup is frozen, where that keeps a signal from ending its processes.
func frozenTitle(g runtimes.PodCgroup) string {
	if len(g.Frozen) > 0 && g.Frozen[0].V1 {
		return ", frozen"
	}
	return ""
}

// processLine describes a process and what it waits for, and adds that to the causes.
func processLine(p *forensics.Pass, f *forensics.Finding, process procs.Process) string {
	line := fmt.Sprintf("%d (%s), state %s", process.PID, process.Comm, process.State)
	if waits := p.Model.WaitsOf(process.PID); len(waits) > 0 {
		f.Because = append(f.Because, forensics.ThreadEntity(waits[0]))
		f.Refs = append(f.Refs, stall.ThreadRef(waits[0]))
		line += ", " + forensics.DescribeWait(waits[0], p.Model.Waited(waits[0]))
	}
	return line
}

func frozenText(g runtimes.PodCgroup) string {
	if len(g.Frozen) == 0 {
		return ""
	}
	return fmt.Sprintf(" %s is %s.", g.Frozen[0].Path, g.Frozen[0].State)
}

func emptyFinding(p *forensics.Pass, empty []runtimes.PodCgroup) forensics.Finding {
	g := empty[0]
	f := forensics.Finding{
		Severity: forensics.Info, Subject: forensics.Entity{Kind: forensics.KindPath, ID: path.Dir(g.Path)},
		Confidence: forensics.Likely, ConfidenceWhy: "the kubelet does not list the pods, they have no directories, and no process is in their cgroups",
		Title: findings.Plural(len(empty), "empty cgroup") + " of pods that no longer exist",
	}
	if len(empty) == 1 {
		f.Title = "1 empty cgroup of a pod that no longer exists"
	}
	f.Detail = findings.Sentences(emptyPod(p, empty),
		"Every 2 s the kubelet removes such cgroups by itself. If they remain, search its log for \"delete cgroup\", and check whether housekeeping runs.")
	for _, g := range empty {
		f.Pods = append(f.Pods, g.PodUID)
		f.Refs = append(f.Refs, forensics.Ref{Source: forensics.SourceCgroups + ":" + g.PodUID, Excerpt: strings.Join(g.Paths, "\n") + frozenText(g)})
	}
	return f
}

// emptyPod names the pod of a single cgroup.
func emptyPod(p *forensics.Pass, empty []runtimes.PodCgroup) string {
	if len(empty) > 1 {
		return ""
	}
	return "The cgroup is of pod " + p.Model.Pod(empty[0].PodUID).String() + "."
}

func dyingFinding(p *forensics.Pass, n int) forensics.Finding {
	most := "Most of them"
	if len(p.Evidence.Cgroups) > 0 { // otherwise they were not read
		most = fmt.Sprintf("Pods have %s of their own. The others", findings.Plural(len(p.Evidence.Cgroups), "cgroup"))
	}
	return forensics.Finding{
		Severity: forensics.Warning, Subject: forensics.Entity{Kind: forensics.KindPath, ID: "/sys/fs/cgroup"}, Confidence: forensics.Certain,
		ConfidenceWhy: "the kernel counts them in /proc/cgroups",
		Title: fmt.Sprintf("The kernel has %s of at most %s memory cgroups; at the limit no container can start",
			findings.Thousands(int64(n)), findings.Thousands(maxMemoryCgroups)),
		Detail: most + " were removed, but remain in the kernel while memory is charged to them. At the limit, mkdir in /sys/fs/cgroup fails with \"no space left on device\".",
		Refs:   []forensics.Ref{{Source: forensics.SourceCgroups, Excerpt: fmt.Sprintf("memory num_cgroups %d", n)}},
		Remedies: []forensics.Remedy{{
			Action: remedy.ActionFree, Command: []string{"sysctl", "-w", "vm.drop_caches=2"}, Why: "frees dentries and inodes, the usual reason why removed cgroups remain",
			OnlyIf: "the node has spare CPU: this can take minutes",
			Risk:   "file systems are slower until the caches are filled again. It does not fix a kernel that leaks memory cgroups (kernel memory accounting before Linux 4.x)",
		}},
	}
}
