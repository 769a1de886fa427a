package checks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// kubeletHousekeepingBlocked finds a kubelet whose housekeeping is blocked.
var kubeletHousekeepingBlocked = forensics.Check{
	ID:    "kubelet-housekeeping-blocked",
	Title: "The kubelet's housekeeping is blocked",
	Doc: `Every two seconds the kubelet's sync loop calls HandlePodCleanups (housekeeping) on its only goroutine
(pkg/kubelet/kubelet.go, syncLoopIteration). For every orphaned pod directory, housekeeping checks each volume with os.Stat
or statx(2) (podVolumesExist, getMountedVolumePathListFromDisk; versions 1.10 to 1.36). On a dead mount that call never
returns. Then no pod is added, changed or removed, and the log goes silent. From 1.14 on the node stays Ready.

Housekeeping can also block on a lock, the container runtime, the API server, the cgroup file system, a child process
(nsenter, up to 1.15) or the pod killer (up to 1.17). The finding names the cause.

Evidence: a goroutine with HandlePodCleanups on its stack that has waited for at least a minute by the dump, or whose thread
provably waits longer than --hung-after.

- The Go runtime can print up to 2 minutes too many. 2 minutes are therefore subtracted: "12 minutes" proves at least 10,
  "1 minutes" and "2 minutes" prove nothing.
- A dump of the debug=0 or debug=1 form has no durations. A stack in a file system call is then "likely" and only a warning.
- A second dump some seconds later (--interval) excludes goroutines that have continued.
- Without a dump, a kubelet thread blocked on a pod volume counts as housekeeping in two cases: the kubelet's own health
  check says that the sync loop has failed, or the pod is orphaned. The finding is then "likely".
- The kubelet limits how long it waits for the runtime or the API server. Such a wait is critical only from 5 minutes on.
- By the kubelet's log alone ("Housekeeping took longer than expected"), three rounds of which one took five seconds are "slow".
- Waits that often take long on a healthy node (a child process, the API server) are information where no age is proven.

The other checks of goroutines judge ages in the same way.

Known steps and functions (what each does, kubelet versions):` + stall.DocOf(housekeepingSites()),
	Severity: forensics.Critical,
	Needs:    []forensics.Need{{forensics.SourceGoroutines, forensics.SourceThreads, forensics.SourceLogs}},
	Run: func(p *forensics.Pass) {
		list, alone := stall.BlockedHousekeeping(p)
		switch {
		case len(list) > 0:
			p.Report(housekeepingFinding(p, list[:1])) // it has one goroutine
		case alone != nil:
			p.Report(threadFinding(p, *alone))
		default:
			reportSlowHousekeeping(p)
			if ok, why := p.Evidence.Saw(forensics.SourceGoroutines); !ok {
				p.Unjudged("threads do not show it, and no goroutine dump is available: %s", why)
			}
		}
	},
}

// reportSlowHousekeeping reports rounds that take long again and again, by the kubelet's log. Nothing was added, changed or removed meanwhile.
func reportSlowHousekeeping(p *forensics.Pass) {
	const slow = 5 // seconds; one or two is what busy nodes have
	spec := incident.Spec{Few: logview.FewFailures, Window: 10 * time.Minute, Subject: func(logs.Event) forensics.Entity { return stall.HousekeepingEntity }}
	for _, i := range spec.Find(p, logview.Events(p, "housekeeping-long")) {
		longest := slices.MaxFunc(i.Events, func(a, b logs.Event) int { return cmp.Compare(a.Max, b.Max) })
		if longest.Max < slow || !i.Current {
			continue
		}
		i.Said = true
		f := i.Finding(p, fmt.Sprintf("kubelet is slow: each round of housekeeping takes up to %s", text.Duration(longest.Max)), "")
		f.Effect = "pods start and stop late"
		f.Detail = findings.Sentences(f.Detail, housekeepingEffect(p), "Most often the mount of a volume, the runtime or the disk answers slowly. A goroutine dump during a round shows which.")
		f.Remedies = []forensics.Remedy{remedy.KeepEvidence()}
		byNode(p, &f, i.First, i.Last)
		p.Report(f)
	}
}

// housekeepingSites are the steps of HandlePodCleanups and below them the functions that check volumes, outermost first
// (kubernetes pkg/kubelet/kubelet_pods.go, kubelet_volumes.go, kubelet_getters.go, read in 1.10 to 1.36).
func housekeepingSites() []stall.Site {
	return append([]stall.Site{
		{Frame: "cm.(*podContainerManagerImpl).GetAllPodsFromCgroups", Versions: "1.10 to 1.36", What: "lists the cgroups of pods"},
		{Frame: "kubelet.(*podWorkers).ForgetNonExistingPodWorkers", Versions: "1.10 to 1.21", What: "removes the workers of pods that no longer exist"},
		{Frame: "kubelet.(*podWorkers).SyncKnownPods", Versions: "1.22 to 1.36", What: "removes the workers of pods that no longer exist"},
		{Frame: "kubelet.(*podWorkers).UpdatePod", Versions: "1.10 to 1.36", What: "notifies a pod worker"},
		{Frame: "prober.(*manager).CleanupPods", Versions: "1.10 to 1.36", What: "stops the probes of pods that no longer exist"},
		{Frame: "container.(*runtimeCache)", Versions: "1.10 to 1.36", What: "lists the running pods"},
		{Frame: "kuberuntime.(*kubeGenericRuntimeManager).GetPods", Versions: "1.10 to 1.36", What: "lists all pods of the runtime"},
		{Frame: "status.(*manager).RemoveOrphanedStatuses", Versions: "1.10 to 1.36", What: "removes the statuses of pods that no longer exist"},
		{Frame: "kubelet.(*Kubelet).cleanupOrphanedPodDirs", Versions: "1.10 to 1.36", What: "cleans up the directories of orphaned pods"},
		{Frame: "kubelet.(*Kubelet).cleanupOrphanedPodCgroups", Versions: "1.10 to 1.36", What: "removes the cgroups of pods that no longer exist"},
		{Frame: "pod.(*basicMirrorClient).DeleteMirrorPod", Versions: "1.10 to 1.36", What: "deletes the mirror pods of static pods that no longer exist"},
	}, stall.VolumeSites()...)
}

var housekeepingHeadline = stall.Headline{Is: "kubelet is hung", May: "kubelet may be hung", Part: "housekeeping"}

func housekeepingFinding(p *forensics.Pass, list []stall.Goroutine) forensics.Finding {
	f := stall.Finding(p, stall.HousekeepingEntity, housekeepingHeadline, list, housekeepingSites())
	byLostServer(p, &f, list)
	f.Detail = findings.Sentences(housekeepingEffect(p), f.Detail, aboutVolume(p, list[0].Thread))
	f.Remedies = []forensics.Remedy{remedy.Cordon(p), remedy.KeepEvidence(), remedy.NoRestart()}
	return f
}

// housekeepingEffect says what does not work.
func housekeepingEffect(p *forensics.Pass) string {
	s := "Housekeeping"
	if v := p.Model.KubeletVersion(); v != "" {
		s += " of kubelet " + v
	}
	s += " runs on the sync loop's only goroutine. Until it returns, no pod of this node is started, changed or removed, " +
		"and containers that end are not restarted. Running containers continue."
	if p.Model.KubeletMinor() >= 14 {
		s += " The node stays Ready: new pods are still scheduled to it and stay Pending."
	}
	return s
}

// aboutVolume names the pod and volume of a thread's path.
func aboutVolume(p *forensics.Pass, t *procs.Thread) string {
	if t == nil {
		return ""
	}
	uid, volume := forensics.PodOf(t.Path)
	if uid == "" {
		return ""
	}
	state, why := p.Model.PodState(uid)
	s := "The path is in pod " + p.Model.Pod(uid).String()
	if volume != "" {
		s += ", volume " + strings.TrimPrefix(volume, uid+"/")
	}
	return s + fmt.Sprintf(". The pod is %s (%s).", strings.ReplaceAll(string(state), "-", " "), why)
}

func threadFinding(p *forensics.Pass, l stall.HousekeepingThread) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Critical, Subject: stall.HousekeepingEntity, Confidence: forensics.Likely, ConfidenceWhy: l.Why,
		Title: "kubelet is hung: housekeeping blocked for " + text.Duration(l.Seconds) + stall.OnWhat(p, l.Thread), Effect: "kubelet is hung (housekeeping blocked)",
		Because: []forensics.Entity{forensics.ThreadEntity(l.Thread)}, Since: stall.ThreadSince(p, l.Thread, l.Seconds),
		Detail: findings.Sentences(housekeepingEffect(p), fmt.Sprintf("Thread %d/%d %s.", l.Thread.PID, l.Thread.TID, stall.ThreadCall(p, l.Thread)),
			aboutVolume(p, &l.Thread)),
		Refs:     []forensics.Ref{stall.ThreadRef(l.Thread)},
		Remedies: []forensics.Remedy{remedy.Cordon(p), remedy.KeepEvidence(), remedy.NoRestart()},
	}
	if uid, _ := forensics.PodOf(l.Thread.Path); uid != "" {
		f.Pods = []string{uid}
	}
	return f
}
