package checks

import (
	"fmt"
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
)

// manyZombies is from when zombies of one parent are a leak rather than a moment.
const manyZombies = 100

// zombieBuildup finds processes that do not reap their children.
var zombieBuildup = forensics.Check{
	ID:    "zombie-buildup",
	Title: "A process does not reap its children",
	Doc: `A hundred or more zombies (state Z) with the same parent. Each takes a process id and counts against pids.max of its
cgroup; when these run out, nothing can be started. Typical are containers whose first process is no init and gets exec
probes, and a shim or runtime that is itself blocked: then the parent waits, and the zombies are only a symptom. A zombie
with a thread that is still alive is process-unkillable. Children of a process outside of the PID namespace that was examined
are not judged: it shows them all with parent 0.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceProcesses}},
	Run: func(p *forensics.Pass) {
		alive := map[int]bool{}
		for _, t := range p.Evidence.Threads {
			alive[t.PID] = true
		}
		children, order := map[int]int{}, []int{}
		for _, process := range p.Evidence.Processes {
			if process.State != "Z" || alive[process.PID] {
				continue
			}
			if children[process.PPID]++; children[process.PPID] == manyZombies {
				order = append(order, process.PPID)
			}
		}
		slices.Sort(order)
		for _, parent := range order {
			if parent == 0 {
				p.Unjudged("the parent of %d zombies is outside of the PID namespace that was examined", children[parent])
				continue
			}
			p.Report(zombieFinding(p, parent, children[parent]))
		}
	},
}

func zombieFinding(p *forensics.Pass, parent, count int) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: findings.ProcessEntity(parent), Confidence: forensics.Certain, ConfidenceWhy: "counted in /proc",
		Title:  fmt.Sprintf("%s has not reaped %d children that have ended", findings.ProcessName(p, parent), count),
		Detail: "They hold nothing but their process ids.",
		Refs:   []forensics.Ref{{Source: fmt.Sprintf("%s:%d", forensics.SourceProcesses, parent), Excerpt: fmt.Sprintf("%d children in state Z", count)}},
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

// reapRemedy is how zombies go: by a parent that waits for them.
func reapRemedy(p *forensics.Pass, parent int) forensics.Remedy {
	if process, _ := p.Model.Process(parent); parent == 1 || process.Kernel {
		proc := fmt.Sprintf("/proc/%d/", parent)
		return forensics.Remedy{
			Action: remedy.ActionLook, Command: []string{"cat", proc + "status", proc + "wchan"},
			Why:  findings.ProcessName(p, parent) + " is to reap them, and cannot be stopped: this shows whether it is stopped or waits",
			Risk: "none: it reads",
		}
	}
	return remedy.StopProcess(p, parent, "when the parent has ended, init reaps its children; in a container, an init process (tini, shareProcessNamespace) keeps it from coming back")
}
