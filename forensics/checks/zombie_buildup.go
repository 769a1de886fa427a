package checks

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// manyZombies is the number of zombies of one parent from which they are a leak.
const manyZombies = 100

// zombieBuildup finds processes that do not reap their children.
var zombieBuildup = forensics.Check{
	ID:    "zombie-buildup",
	Title: "A process does not reap its children",
	Doc: `A hundred or more zombies (state Z) with the same parent. Each occupies a process id and counts against pids.max of its
cgroup. When these run out, no process can be started.

Two typical causes: a container whose first process is no init and gets exec probes, and a shim or runtime that is itself
blocked. In the second case the zombies are only a symptom.

A zombie with a thread that is still alive belongs to process-unkillable. Children of a process outside of the examined PID
namespace are not judged: the namespace shows them all with parent 0.

In a text, eight of one program with the same parent are possible, and so is one of a container's shim that was started on an earlier day. Of ps(1) and top(1), a count of all zombies and the parent of those that are listed is enough, if it is one parent. A count of a
thousand or more is reported without a parent.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceProcesses}},
	Run: func(p *forensics.Pass) {
		children := unreaped(p.Evidence)
		var order []int
		for parent, count := range children {
			if count >= manyZombies || counted(p, parent) && parent != 0 {
				order = append(order, parent)
			}
		}
		slices.Sort(order)
		for _, parent := range order {
			switch {
			case parent == 0 && counted(p, parent):
				p.Report(zombiesOfAll(children[parent]))
				continue
			case parent == 0:
				p.Unjudged("the parent of %d zombies is outside of the examined PID namespace", children[parent])
				continue
			}
			p.Report(zombieFinding(p, parent, children[parent]))
		}
	},
}

// unreaped is how many zombies each process has as children. One with a thread that is still alive is no zombie yet.
func unreaped(e *forensics.Evidence) map[int]int {
	alive, children := map[int]bool{}, map[int]int{}
	for _, t := range e.Threads {
		alive[t.PID] = true
	}
	for _, process := range e.Processes {
		if process.State == "Z" && !alive[process.PID] {
			children[process.PPID] += 1 + process.Alike
		}
	}
	return children
}

// zombiesOfAll is the finding for zombies of which a text shows only how many there are.
func zombiesOfAll(count int) forensics.Finding {
	return forensics.Finding{
		Severity: forensics.Warning, Subject: incident.Thing("kernel", "process table"),
		Confidence: forensics.Likely, ConfidenceWhy: "by the number that ps or top printed",
		Title:  stall.Number(count) + " processes are zombies: their parents have not reaped them",
		Effect: "zombies occupy process ids",
		Detail: "A zombie occupies only its process id. The text does not show which process is the parent of most of them.",
		Refs:   []forensics.Ref{{Source: forensics.SourceProcesses, Excerpt: fmt.Sprintf("%d processes in state Z", count)}},
		Remedies: []forensics.Remedy{{
			Action: remedy.ActionLook, Command: []string{"ps", "-eo", "ppid,pid,stat,lstart,comm", "--sort", "ppid"},
			Why:  "shows the parent of each zombie (Z). When the parent has ended, init reaps its children",
			Risk: "none: read-only",
		}},
	}
}

func zombieFinding(p *forensics.Pass, parent, count int) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: findings.ProcessEntity(parent), Confidence: forensics.Certain, ConfidenceWhy: "counted in /proc",
		Title:  fmt.Sprintf("%s has not reaped %s", findings.ProcessTitle(p, parent), findings.Plural(count, "zombie child process")),
		Effect: fmt.Sprintf("%s does not reap its children", findings.ProcessTitle(p, parent)),
		Detail: fmt.Sprintf("%s is their parent. A zombie occupies only its process id.", findings.Capital(findings.ProcessName(p, parent))),
		Refs:   []forensics.Ref{{Source: fmt.Sprintf("%s:%d", forensics.SourceProcesses, parent), Excerpt: fmt.Sprintf("%d children in state Z", count)}},
	}
	switch {
	case count < manyZombies:
		f.Confidence, f.ConfidenceWhy = forensics.Possible, "the text lists them, and does not show how many there are in all"
	case counted(p, parent):
		f.Confidence, f.ConfidenceWhy = forensics.Likely, "by what ps printed: the number of zombies, and the parent of those that it lists"
	}
	for _, t := range p.Evidence.Threads {
		if t.PID == parent && !t.Gone {
			f.Because = append(f.Because, forensics.ThreadEntity(t))
		}
	}
	process, ok := p.Model.Process(parent)
	if ok && process.PodUID != "" {
		f.Pods = []string{process.PodUID}
	}
	f.Remedies = []forensics.Remedy{reapRemedy(p, parent)}
	return f
}

// counted says whether the zombies of a parent were only counted.
func counted(p *forensics.Pass, parent int) bool {
	return slices.ContainsFunc(p.Evidence.Processes, func(z procs.Process) bool { return z.PPID == parent && z.PID < 0 })
}

// reapRemedy is how zombies are removed: by a parent that waits for them.
func reapRemedy(p *forensics.Pass, parent int) forensics.Remedy {
	switch process, _ := p.Model.Process(parent); {
	case counted(p, parent): // in a text, which may be old
		return forensics.Remedy{
			Action: remedy.ActionLook, Command: []string{"ps", "-o", "pid,ppid,stat,lstart,cgroup,args", "-p", strconv.Itoa(parent)},
			Why:  "shows which container or service the parent belongs to. When the parent has ended, init reaps its children. In a container, an init process (tini, shareProcessNamespace) prevents new zombies",
			Risk: "none: read-only",
		}
	case parent == 1 || process.Kernel:
		proc := fmt.Sprintf("/proc/%d/", parent)
		return forensics.Remedy{
			Action: remedy.ActionLook, Command: []string{"cat", proc + "status", proc + "wchan"},
			Why:  findings.ProcessName(p, parent) + " must reap them, and you cannot end it. This shows whether it is stopped or waits",
			Risk: "none: read-only",
		}
	}
	return remedy.StopProcess(p, parent, "when the parent has ended, init reaps its children. In a container, an init process (tini, shareProcessNamespace) prevents new zombies")
}
