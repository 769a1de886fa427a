package checks

import (
	"cmp"
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// Limits of the leak check. A kubelet with 250 pods has a few thousand goroutines, and up to some 1,000 idle ones with one stack
// (reflectors of secrets and config maps, probe workers).
const (
	manyBlocked = 100   // blocked goroutines with one stack
	manyAtAll   = 5_000 // goroutines with one stack, idle ones included
	fewRemovals = 5     // removals of one pod's cgroup, of which there is one every two seconds
	maxPileUps  = 8     // kinds that one report names
	grown       = 10    // goroutines by which a blocked group grew between two dumps
	// threadLimit is the number of threads at which the Go runtime exits (runtime/debug.SetMaxThreads).
	threadLimit = 10_000
	// manyInMetrics are more goroutines, of all stacks together, than a kubelet with 500 pods has.
	manyInMetrics = 12_000
)

// kubeletGoroutineLeak finds goroutines whose number grows.
var kubeletGoroutineLeak = forensics.Check{
	ID:    "kubelet-goroutine-leak",
	Title: "The number of goroutines grows",
	Doc: `Goroutines that never end and whose number grows:

- cadvisor/fs.getVfsStats.func1: from kubelet 1.32 on (cAdvisor 0.51) statfs(2) runs in a goroutine that is abandoned after
  2 seconds. Each abandoned one is a thread stuck in a file system that does not respond. The kubelet exits at 10,000
  threads. In 1.31 and older the caller itself hangs (kubelet-start-blocked, kubelet-eviction-blocked).
- volumeStatCalculator: the statistics of a pod's volumes, one goroutine a pod (1.10 to 1.36). A goroutine blocked in statfs
  is harmless itself, but its volume does not respond.
- cAdvisor's walk over a container's files (trackUsage, GetDirUsage): the disk or file system below the runtime hangs.
- cm.(*podContainerManagerImpl).Destroy: removal of one pod's cgroup, started again every 2 seconds (1.10 to 1.36).
- Any 100 goroutines blocked with one stack, any 5,000 with one stack, and any blocked group that grew by 10 or more between
  two dumps of one run. Of goroutines that each probe, secret or pod has, 10,000.

Without a dump, 12,000 goroutines by the kubelet's metrics are reported: 250 pods need a few thousand.

A goroutine counts as blocked after at least a minute, or longer than --hung-after by the kernel. A dump without durations
(debug=0, debug=1) has only the numbers: the finding is then "likely".`,
	Severity: forensics.Critical,
	Needs:    []forensics.Need{{forensics.SourceGoroutines, forensics.SourceMetrics}},
	Run: func(p *forensics.Pass) {
		if saw, why := p.Evidence.Saw(forensics.SourceGoroutines); !saw {
			if k := p.Evidence.Kubelet; k != nil && k.Metrics["go_goroutines"] >= manyInMetrics {
				p.Report(metricFinding(int(k.Metrics["go_goroutines"])))
			}
			p.Unjudged("the goroutines were not read: %s", why)
			return
		}
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

// pileUp is a kind of goroutine whose number is known to grow.
type pileUp struct {
	frame     string
	subsystem string // as the role is called
	least     int    // from how many on it is reported
	part      string // what is blocked, for the headline
	meaning   string
}

// knownPileUps are the kinds of goroutines whose number grows in known ways.
func knownPileUps() []pileUp {
	return []pileUp{
		{
			"cadvisor/fs.getVfsStats.func1", goroutines.RoleCadvisorStatfs, 1, "disk statistics (cAdvisor)",
			"Each of these goroutines called statfs on a file system that does not respond. cAdvisor abandons the call after 2 seconds and tries again. " +
				"Each abandoned call occupies a thread. At 10,000 threads the kubelet exits.",
		},
		{
			"server/stats.(*volumeStatCalculator)", goroutines.RoleVolumeStats, 1, "volume statistics",
			"The wait is harmless itself: the kubelet continues with the previous measurement. But the volume does not respond.",
		},
		{
			"container/common.(*realFsHandler)", goroutines.RoleCadvisorDisk, 1, "container disk usage (cAdvisor)",
			"The disk or file system below the container runtime does not respond, or is very slow.",
		},
		{
			"cm.(*podContainerManagerImpl).Destroy", goroutines.RoleCgroupRemoval, fewRemovals, "pod cgroup removal",
			"The kubelet retries every two seconds, each time in another goroutine.",
		},
	}
}

// metricFinding is about a number of goroutines of which no stack is known.
func metricFinding(n int) forensics.Finding {
	return forensics.Finding{
		Severity: forensics.Warning, Confidence: forensics.Likely, ConfidenceWhy: "by their number alone",
		Subject:  forensics.Entity{Kind: forensics.KindSubsystem, ID: "goroutines"},
		Title:    fmt.Sprintf("kubelet has %s goroutines: far more than normal", stall.Number(n)),
		Effect:   fmt.Sprintf("kubelet has %s goroutines", stall.Number(n)),
		Detail:   "Goroutines that never end keep memory, and those that are in a call to the kernel a thread. A dump of them shows where they wait.",
		Refs:     []forensics.Ref{{Source: forensics.SourceMetrics, Excerpt: fmt.Sprintf("go_goroutines %d", n)}},
		Remedies: []forensics.Remedy{remedy.KeepEvidence()},
	}
}

// stalledIn lists the goroutines of a leak that are blocked in the kernel or, for cgroups, by systemd. An answer has a time limit, and a
// child process (du, find) may take long on a large volume: such waits do not count.
func (l pileUp) stalledIn(p *forensics.Pass) []stall.Goroutine {
	return sorting.Delete(stall.All(p, l.frame), func(t stall.Goroutine) bool {
		return t.Wait.Kind != stall.WaitFile && t.Wait.Kind != stall.WaitSystemd && t.Wait.Kind != stall.WaitLock
	})
}

// enough says whether there are too many for a coincidence.
func (l pileUp) enough(list []stall.Goroutine) bool {
	if len(list) > 0 && !list[0].Proven {
		return stall.Count(list) >= max(l.least, stall.FewAsking)
	}
	return len(list) > 0 && stall.Count(list) >= l.least
}

func pileUpFinding(p *forensics.Pass, l pileUp, list []stall.Goroutine) forensics.Finding {
	n := stall.Count(list)
	subject, stuck := forensics.Entity{Kind: forensics.KindSubsystem, ID: l.subsystem}, "1 stuck goroutine"
	if n > 1 {
		stuck = stall.Number(n) + " stuck goroutines"
	}
	f := stall.Finding(p, subject, stall.Headline{
		Is: "kubelet has " + stuck, May: "kubelet may have " + stuck, Part: l.part,
		Effect: "kubelet has " + stuck,
	}, list, nil)
	f.Severity = stall.NotCritical(f.Severity)
	if l.subsystem == goroutines.RoleCadvisorStatfs && n >= threadLimit*8/10 && list[0].Proven {
		f.Severity = forensics.Critical
	}
	f.Detail = findings.Sentences(l.meaning, f.Detail)
	f.Remedies = []forensics.Remedy{remedy.KeepEvidence()}
	return f
}

// largeGroups finds other groups of goroutines that are too large or that grew.
func largeGroups(p *forensics.Pass) []forensics.Finding {
	var found []forensics.Finding
	for _, i := range p.Model.LatestDumps() {
		for _, g := range goroutines.GroupBy(p.Evidence.Dumps[i].Dump) {
			switch {
			case g.Count >= manyBlocked && pilesUp(g) && (g.MaxWaitMinutes > 0 || len(g.States) == 0):
				found = append(found, groupFinding(p, i, g, "blocked"))
			case tooMany(g):
				found = append(found, groupFinding(p, i, g, "far more than normal"))
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

// tooMany says whether no healthy kubelet has so many goroutines with one stack.
func tooMany(g goroutines.Group) bool {
	return g.Count >= manyAtAll && (g.Count >= 2*manyAtAll || !ofEachPod(g))
}

// hugeGroups are the goroutines of which there are so many that they cost memory, as the check reports them.
func hugeGroups(p *forensics.Pass) (list []forensics.Entity) {
	for _, i := range p.Model.LatestDumps() {
		for _, g := range goroutines.GroupBy(p.Evidence.Dumps[i].Dump) {
			if tooMany(g) {
				list = append(list, forensics.Entity{Kind: forensics.KindSubsystem, ID: g.Role.ID})
			}
		}
	}
	return list
}

// ofEachPod says whether a healthy kubelet has such goroutines for each probe, secret, config map or pod: 500 pods with sidecars have thousands.
func ofEachPod(g goroutines.Group) bool {
	return stall.HasFrame(goroutines.Goroutine{Frames: g.Frames}, "prober.(*worker).run", "cache.(*Reflector).ListAndWatch", "cache.(*Reflector).watch", "cache.(*Reflector).Run",
		"cache.(*controller).processLoop", "cache.(*sharedProcessor).run", "cache.(*processorListener).run", "cache.(*processorListener).pop", "watch.(*StreamWatcher).receive",
		"kubelet.(*podWorkers).podWorkerLoop", "kubelet.(*podWorkers).managePodLoop")
}

// pilesUp says whether goroutines of a group are blocked without a time limit. Those that wait for a lock belong to
// kubelet-lock-contention.
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
	s := stall.Stack{Dump: dump, Of: &p.Evidence.Dumps[dump], Goroutine: goroutines.Goroutine{Count: g.Count, Frames: g.Frames, WaitMinutes: g.MaxWaitMinutes}}
	f := forensics.Finding{
		Severity: forensics.Warning, Confidence: forensics.Likely,
		Subject:       forensics.Entity{Kind: forensics.KindSubsystem, ID: g.Role.ID},
		Title:         fmt.Sprintf("kubelet has %s with one stack (%s): %s", stall.Goroutines(g.Count), g.Role.Name, words),
		Detail:        "They are in " + stall.CallIn(s.Goroutine) + ".",
		Effect:        fmt.Sprintf("kubelet has %s with one stack", stall.Goroutines(g.Count)),
		ConfidenceWhy: "by their number alone",
		Refs:          []forensics.Ref{s.Ref()},
		Remedies:      []forensics.Remedy{remedy.KeepEvidence()},
	}
	if seconds := s.Goroutine.WaitAtLeast().Seconds(); seconds > 0 {
		f.Title += ", the longest for at least " + text.Duration(seconds)
		f.ConfidenceWhy, f.Since = "by their number and age", stall.Since(p, seconds)
	}
	for _, id := range g.IDs[:min(len(g.IDs), 1)] {
		f.Because = []forensics.Entity{forensics.GoroutineEntity(s.Of, id)}
	}
	return f
}
