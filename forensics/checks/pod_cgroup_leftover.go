package checks

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// maxMemoryCgroups is how many memory cgroups the kernel can have, those included that were removed and are still
// charged for memory (mm/memcontrol.c, MEM_CGROUP_ID_MAX).
const maxMemoryCgroups = 65_535

// manyMemoryCgroups is from how many on that is near.
const manyMemoryCgroups = 50_000

// podCgroupLeftover finds cgroups of pods that are gone.
var podCgroupLeftover = forensics.Check{
	ID:    "pod-cgroup-leftover",
	Title: "The cgroup of a pod remains although the pod is gone",
	Doc: `The kubelet removes a pod's cgroup after its containers have ended and its volumes are unmounted, and then its directory. A
cgroup of a pod that is neither in the kubelet's list, which was read to its end and is not empty, nor has a directory is
left over. Housekeeping kills what is in it and removes it, every 2 s (cleanupOrphanedPodCgroups, kubelet 1.6 to 1.36), so one that
stays has processes that cannot be killed, is frozen, or cannot be removed in one of the controllers of cgroup v1; or
housekeeping does not get there. Cgroups below that of another container are those of a cluster inside it (kind) and left alone. A
cgroup that was removed in the very moment can be reported wrongly, hence "likely".

Also reported is a kernel that keeps so many memory cgroups that soon none can be made ("no space left on device" from mkdir in
/sys/fs/cgroup): removed cgroups live on while memory is charged to them, page cache for the most part.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceCgroups}, {forensics.SourceKubeletPods}, {forensics.SourcePodDirs}, {forensics.SourceProcesses}},
	Run: func(p *forensics.Pass) {
		listed, why := p.Model.ListedPods()
		if listed == nil {
			p.Unjudged("%s", why)
		}
		var empty []runtimes.PodCgroup
		for _, g := range leftCgroups(p, listed) {
			if list := p.Model.ProcessesOf(g.PodUID); len(list) > 0 {
				p.ReportAlike(len(g.Frozen) > 0, func(n int) string {
					return fmt.Sprintf("Processes of %d pods outlived them", n)
				}, occupiedFinding(p, g, list))
			} else {
				empty = append(empty, g)
			}
		}
		if len(empty) > 0 {
			p.Report(emptyFinding(p, empty))
		}
		if t := p.Evidence.CgroupTotals; t != nil && t.MemoryCgroups >= manyMemoryCgroups {
			p.Report(dyingFinding(p, t.MemoryCgroups))
		}
	},
}

// nestedPod says that a cgroup lies below that of another container: the pod is one of a cluster inside (kind, Docker
// in Docker), of which this node's kubelet knows nothing.
var nestedPod = regexp.MustCompile(`[0-9a-f]{64}(?:\.scope)?/.*pod[0-9a-f]{8}`)

// leftCgroups lists the cgroups of pods that are gone by all other accounts: the kubelet's list, read to its end and not
// empty, lacks them, and so does its directory, which it removes after the cgroup. Without that list there are none.
func leftCgroups(p *forensics.Pass, listed map[string]bool) (left []runtimes.PodCgroup) {
	if listed == nil {
		return nil
	}
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

func occupiedFinding(p *forensics.Pass, g runtimes.PodCgroup, list []procs.Process) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: forensics.Entity{Kind: forensics.KindPath, ID: g.Path}, Pods: []string{g.PodUID},
		Confidence: forensics.Likely, ConfidenceWhy: "the kubelet neither lists the pod nor has a directory of it, and its processes are in /proc",
		Title: fmt.Sprintf("%s of pod %s outlived it", text.Plural(len(list), "process"), p.Model.Pod(g.PodUID)),
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
	f.Detail = "In the cgroup: " + strings.Join(lines, "; ") + "." + frozenText(g) + " The kubelet kills them again and again and cannot remove the cgroup while they are there."
	if len(g.Frozen) > 0 && g.Frozen[0].V1 {
		f.Title += ", frozen"
	}
	return f
}

// processLine describes a process by what keeps it, and adds that to the causes.
func processLine(p *forensics.Pass, f *forensics.Finding, process procs.Process) string {
	line := fmt.Sprintf("%d (%s), state %s", process.PID, process.Comm, process.State)
	if waits := p.Model.WaitsOf(process.PID); len(waits) > 0 {
		f.Because = append(f.Because, forensics.ThreadEntity(waits[0]))
		f.Refs = append(f.Refs, stall.ThreadRef(waits[0]))
		line += ", " + forensics.DescribeWait(waits[0])
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
		Confidence: forensics.Likely, ConfidenceWhy: "the kubelet neither lists the pods nor has directories of them, and no process is in their cgroups",
		Title: "The cgroup of pod " + p.Model.Pod(g.PodUID).String() + " remains, empty, although the pod is gone",
	}
	if len(empty) > 1 {
		f.Title = fmt.Sprintf("The cgroups of %s remain, empty, although the pods are gone", text.Plural(len(empty), "pod"))
	}
	f.Detail = "The kubelet removes such cgroups by itself, every 2 s. If they stay, see its log for \"delete cgroup\", and whether housekeeping runs."
	for _, g := range empty {
		f.Pods = append(f.Pods, g.PodUID)
		f.Refs = append(f.Refs, forensics.Ref{Source: forensics.SourceCgroups + ":" + g.PodUID, Excerpt: strings.Join(g.Paths, "\n") + frozenText(g)})
	}
	return f
}

func dyingFinding(p *forensics.Pass, n int) forensics.Finding {
	return forensics.Finding{
		Severity: forensics.Warning, Subject: forensics.Entity{Kind: forensics.KindPath, ID: "/sys/fs/cgroup"}, Confidence: forensics.Certain,
		ConfidenceWhy: "counted by the kernel in /proc/cgroups",
		Title:         fmt.Sprintf("The kernel keeps %d of at most %d memory cgroups", n, maxMemoryCgroups),
		Detail: fmt.Sprintf("Pods have %d cgroups of their own. The others were removed and are kept while memory is charged to them. At the limit no container can be started: mkdir in /sys/fs/cgroup fails with \"no space left on device\".",
			len(p.Evidence.Cgroups)),
		Refs: []forensics.Ref{{Source: forensics.SourceCgroups, Excerpt: fmt.Sprintf("memory num_cgroups %d", n)}},
		Remedies: []forensics.Remedy{{
			Action: remedy.ActionFree, Command: []string{"sysctl", "-w", "vm.drop_caches=2"}, Why: "frees dentries and inodes, the usual reason for which removed cgroups are kept",
			OnlyIf: "the node is not short of CPU: this can take minutes",
			Risk:   "file systems are slower until the caches are filled again; it does not repair a kernel that leaks them (kernel memory accounting before Linux 4.x)",
		}},
	}
}
