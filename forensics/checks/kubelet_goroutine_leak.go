package checks

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// Limits of the leak check. A kubelet with 250 pods has a few thousand goroutines, and up to some 1,000 with one stack
// (reflectors of secrets and config maps, probe workers), which rest.
const (
	manyBlocked = 100    // goroutines with one stack that stand still
	manyAtAll   = 10_000 // goroutines with one stack, also if they rest
	fewRemovals = 5      // removals of one pod's cgroup, of which there is one every two seconds
	maxPileUps  = 8      // kinds that one report names
	grown       = 10     // goroutines by which a group that stands still grew between two dumps
	// threadLimit is the number of threads at which the Go runtime ends the program (runtime/debug.SetMaxThreads).
	threadLimit = 10_000
)

// kubeletGoroutineLeak finds goroutines that pile up.
var kubeletGoroutineLeak = forensics.Check{
	ID:    "kubelet-goroutine-leak",
	Title: "Goroutines pile up",
	Doc: `Goroutines that never end, each with what it holds:

- cadvisor/fs.getVfsStats.func1: from kubelet 1.32 on (cAdvisor 0.51) statfs(2) runs in a goroutine that is given up after
  2 seconds. Each one left over is a thread stuck in a file system that does not answer. The kubelet ends itself at 10,000
  threads. In 1.31 and older the caller itself hangs (kubelet-start-blocked, kubelet-eviction-blocked).
- volumeStatCalculator: the statistics of a pod's volumes, one goroutine a pod (1.10 to 1.36). One that stands in statfs is
  harmless itself and shows a dead volume.
- cAdvisor's walk over a container's files (trackUsage, GetDirUsage): the disk or file system below the runtime hangs.
- cm.(*podContainerManagerImpl).Destroy: removal of one pod's cgroup, started anew every 2 seconds (1.10 to 1.36).
- any 100 goroutines that stand still with one stack, any 10,000 with one stack, and any group that stands still and grew
  by 10 or more between two dumps of one run.

A goroutine stands still if it has for at least a minute, or longer than --hung-after by the kernel; where a dump has no
durations (debug=0, debug=1), numbers alone speak, and the finding says "likely".`,
	Severity: forensics.Critical,
	Needs:    []forensics.Need{{forensics.SourceGoroutines}},
	Run: func(p *forensics.Pass) {
		reported := map[string]bool{}
		for _, l := range knownPileUps() {
			if list := l.stalledIn(p); l.enough(list) {
				reported[l.subsystem] = true
				p.Report(pileUpFinding(p, l, list))
			}
		}
		for _, f := range largeGroups(p) {
			if !reported[f.Subject.ID] && len(reported) < maxPileUps {
				reported[f.Subject.ID] = true
				p.Report(f)
			}
		}
	},
}

// pileUp is a kind of goroutine that is known to pile up.
type pileUp struct {
	frame     string
	subsystem string // as the role is called
	least     int    // from how many on it is reported
	what      string
	meaning   string
}

// knownPileUps are the kinds of goroutines that pile up in known ways.
func knownPileUps() []pileUp {
	return []pileUp{
		{
			"cadvisor/fs.getVfsStats.func1", goroutines.RoleCadvisorStatfs, 1, "asked a file system for its size and got no answer",
			"cAdvisor gives such a question up after 2 seconds and asks again, and each one left over holds a thread: at 10,000 threads the kubelet ends itself.",
		},
		{
			"server/stats.(*volumeStatCalculator)", goroutines.RoleVolumeStats, 1, "measured a volume and got no answer",
			"That is harmless itself (the kubelet goes on with what it measured before), but the volume does not answer.",
		},
		{
			"container/common.(*realFsHandler)", goroutines.RoleCadvisorDisk, 1, "measured the disk usage of a container and got no answer",
			"The disk or file system below the container runtime does not answer, or very slowly.",
		},
		{
			"cm.(*podContainerManagerImpl).Destroy", goroutines.RoleCgroupRemoval, fewRemovals, "removed the cgroup of a pod and did not get through",
			"The kubelet tries again every two seconds, each time with one more goroutine.",
		},
	}
}

// stalledIn lists the goroutines of a leak that stand still in the kernel, or for cgroups in systemd: not for an
// answer, which has a time limit, and not for a child (du, find), which may take long on a large volume.
func (l pileUp) stalledIn(p *forensics.Pass) []stall.Goroutine {
	return slices.DeleteFunc(stall.All(p, l.frame), func(t stall.Goroutine) bool {
		return t.Wait.Kind != stall.WaitFile && t.Wait.Kind != stall.WaitSystemd && t.Wait.Kind != stall.WaitLock
	})
}

// enough says whether there are so many that they are no coincidence.
func (l pileUp) enough(list []stall.Goroutine) bool {
	if len(list) > 0 && !list[0].Proven {
		return stall.Count(list) >= max(l.least, stall.FewAsking)
	}
	return len(list) > 0 && stall.Count(list) >= l.least
}

func pileUpFinding(p *forensics.Pass, l pileUp, list []stall.Goroutine) forensics.Finding {
	n := stall.Count(list)
	verb := "has"
	if n > 1 {
		verb = "have"
	}
	subject := forensics.Entity{Kind: forensics.KindSubsystem, ID: l.subsystem}
	f := stall.Finding(p, subject, fmt.Sprintf("%s %s %s", text.Plural(n, "goroutine"), verb, l.what), list, nil)
	f.Severity = stall.NotCritical(f.Severity)
	if l.subsystem == goroutines.RoleCadvisorStatfs && n >= threadLimit*8/10 && list[0].Proven {
		f.Severity = forensics.Critical
	}
	f.Detail = findings.Sentences(l.meaning, f.Detail)
	f.Remedies = []forensics.Remedy{remedy.KeepEvidence()}
	return f
}

// largeGroups finds other groups of goroutines that are too large, or that grew.
func largeGroups(p *forensics.Pass) []forensics.Finding {
	var found []forensics.Finding
	for _, i := range p.Model.LatestDumps() {
		for _, g := range goroutines.GroupBy(p.Evidence.Dumps[i].Dump) {
			switch {
			case g.Count >= manyBlocked && pilesUp(g) && (g.MaxWaitMinutes > 0 || len(g.States) == 0):
				found = append(found, groupFinding(p, i, g, "they stand still"))
			case g.Count >= manyAtAll:
				found = append(found, groupFinding(p, i, g, "far more than a kubelet needs"))
			}
		}
	}
	for _, growth := range stall.Growths(p) {
		g := growth.Group
		if more := g.Count - growth.Before; more >= grown && pilesUp(g) {
			found = append(found, groupFinding(p, growth.Dump, g, fmt.Sprintf("%d more than %s before", more, text.Duration(growth.Seconds))))
		}
	}
	sorting.Stable(found, func(a, b forensics.Finding) int {
		return cmp.Or(cmp.Compare(b.Severity.Rank(), a.Severity.Rank()))
	})
	return found
}

// pilesUp says whether goroutines of a group stand still for something that has no time limit. Those that wait for a lock
// are kubelet-lock-contention.
func pilesUp(g goroutines.Group) bool {
	state := ""
	for s := range g.States {
		state = max(state, s) // "syscall" after "runnable"
	}
	switch stall.WaitOf(goroutines.Goroutine{Frames: g.Frames, State: state, WaitMinutes: g.MaxWaitMinutes}).Kind {
	case stall.WaitFile, stall.WaitChild, stall.WaitSend:
		return true
	}
	return false
}

func groupFinding(p *forensics.Pass, dump int, g goroutines.Group, words string) forensics.Finding {
	s := stall.Stack{Dump: dump, Source: p.Evidence.Dumps[dump].Source, Goroutine: goroutines.Goroutine{Count: g.Count, Frames: g.Frames, WaitMinutes: g.MaxWaitMinutes}}
	f := forensics.Finding{
		Severity: forensics.Warning, Confidence: forensics.Likely,
		Subject:       forensics.Entity{Kind: forensics.KindSubsystem, ID: g.Role.ID},
		Title:         fmt.Sprintf("%s has %d goroutines with one stack (%s): %s", p.Model.KubeletName(), g.Count, g.Role.Name, words),
		Detail:        "They stand in " + stall.CallIn(s.Goroutine) + ".",
		ConfidenceWhy: "by their number alone",
		Refs:          []forensics.Ref{s.Ref()},
		Remedies:      []forensics.Remedy{remedy.KeepEvidence()},
	}
	if seconds := s.Goroutine.WaitAtLeast().Seconds(); seconds > 0 {
		f.Title += ", the first for " + text.Duration(seconds)
		f.ConfidenceWhy, f.Since = "by their number and age", stall.Since(p, seconds)
	}
	for _, id := range g.IDs[:min(len(g.IDs), 1)] {
		f.Because = []forensics.Entity{forensics.GoroutineEntity(id)}
	}
	return f
}
