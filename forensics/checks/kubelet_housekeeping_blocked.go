package checks

import (
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// kubeletHousekeepingBlocked finds a kubelet whose housekeeping does not return.
var kubeletHousekeepingBlocked = forensics.Check{
	ID:    "kubelet-housekeeping-blocked",
	Title: "The kubelet's housekeeping does not return",
	Doc: `Every two seconds the kubelet's sync loop calls HandlePodCleanups on its only goroutine (pkg/kubelet/kubelet.go,
syncLoopIteration). For every orphaned pod directory that looks at each volume with os.Stat or statx(2)
(podVolumesExist, getMountedVolumePathListFromDisk; versions 1.10 to 1.36). On a dead mount that never returns: no pod is
added, changed or removed any more, while the log goes silent and, from 1.14 on, the node stays Ready. Housekeeping can
also wait for a lock, for the container runtime or the API server, for a child process (nsenter, up to 1.15), for
whoever kills pods (up to 1.17), or for the cgroup file system: the finding says for which, and blames that.

It rests on a goroutine with HandlePodCleanups on its stack that has waited for at least a minute by the dump, or whose
thread provably waits longer than --hung-after. Of the minutes that a dump prints the Go runtime can have added 2, so
that "1 minutes" and "2 minutes" prove nothing; a dump of the debug=0 or debug=1 form has no durations. A stack that
stands in a file system call is then "likely", and only a warning. A second dump some seconds later (--interval) drops
what has gone on since. Without a dump a thread of the kubelet that waits on a volume of a pod is taken for housekeeping
only if the kubelet's own health check says that the sync loop has failed, or the pod is orphaned; the finding then says
"likely". An answer of the runtime or the API server has a time limit of the kubelet's own: waiting for it is critical
only from 5 minutes on. Waits that often take their time in a node that is well (a child process, the API server) are
only worth a look where no age is proven. The other checks of goroutines judge ages in the same way.

Steps and places that are told apart (function, what it does, kubelet versions):` + stall.DocOf(housekeepingSites()),
	Severity: forensics.Critical,
	Needs:    []forensics.Need{{forensics.SourceGoroutines, forensics.SourceThreads}},
	Run: func(p *forensics.Pass) {
		list, alone := stall.BlockedHousekeeping(p)
		switch {
		case len(list) > 0:
			p.Report(housekeepingFinding(p, list[:1])) // it has one goroutine
		case alone != nil:
			p.Report(threadFinding(p, *alone))
		default:
			if ok, why := p.Evidence.Saw(forensics.SourceGoroutines); !ok {
				p.Unjudged("threads show nothing, and no goroutine dump was to be had: %s", why)
			}
		}
	},
}

// housekeepingSites are the steps of HandlePodCleanups and below them the places where they look at volumes, outermost
// first (kubernetes pkg/kubelet/kubelet_pods.go, kubelet_volumes.go, kubelet_getters.go, read in 1.10 to 1.36).
func housekeepingSites() []stall.Site {
	return append([]stall.Site{
		{Frame: "cm.(*podContainerManagerImpl).GetAllPodsFromCgroups", Versions: "1.10 to 1.36", What: "lists the cgroups of pods"},
		{Frame: "kubelet.(*podWorkers).ForgetNonExistingPodWorkers", Versions: "1.10 to 1.21", What: "forgets workers of pods that are gone"},
		{Frame: "kubelet.(*podWorkers).SyncKnownPods", Versions: "1.22 to 1.36", What: "forgets workers of pods that are gone"},
		{Frame: "kubelet.(*podWorkers).UpdatePod", Versions: "1.10 to 1.36", What: "tells a pod worker"},
		{Frame: "prober.(*manager).CleanupPods", Versions: "1.10 to 1.36", What: "stops probes of pods that are gone"},
		{Frame: "container.(*runtimeCache)", Versions: "1.10 to 1.36", What: "lists the running pods"},
		{Frame: "kuberuntime.(*kubeGenericRuntimeManager).GetPods", Versions: "1.10 to 1.36", What: "asks the runtime for all pods"},
		{Frame: "status.(*manager).RemoveOrphanedStatuses", Versions: "1.10 to 1.36", What: "forgets statuses of pods that are gone"},
		{Frame: "kubelet.(*Kubelet).cleanupOrphanedPodDirs", Versions: "1.10 to 1.36", What: "looks into the directories of orphaned pods"},
		{Frame: "kubelet.(*Kubelet).cleanupOrphanedPodCgroups", Versions: "1.10 to 1.36", What: "removes cgroups of pods that are gone"},
		{Frame: "pod.(*basicMirrorClient).DeleteMirrorPod", Versions: "1.10 to 1.36", What: "deletes mirror pods of static pods that are gone"},
	}, stall.VolumeSites()...)
}

func housekeepingFinding(p *forensics.Pass, list []stall.Goroutine) forensics.Finding {
	f := stall.Finding(p, stall.HousekeepingEntity, "housekeeping has not returned", list, housekeepingSites())
	f.Detail = findings.Sentences(aboutVolume(p, list[0].Thread), housekeepingEffect(p), f.Detail)
	f.Remedies = []forensics.Remedy{remedy.Cordon(p), remedy.KeepEvidence(), remedy.NoRestart()}
	return f
}

// housekeepingEffect says what stands still.
func housekeepingEffect(p *forensics.Pass) string {
	s := "Housekeeping runs on the sync loop's only goroutine: until it returns, no pod of this node is started, changed or removed, and containers that end are not restarted. Running containers go on."
	if p.Model.KubeletMinor() >= 14 {
		s += " The node stays Ready, so new pods keep coming and stay Pending."
	}
	return s
}

// aboutVolume says to which pod and volume the path of a thread belongs.
func aboutVolume(p *forensics.Pass, t *procs.Thread) string {
	if t == nil {
		return ""
	}
	uid, volume := forensics.PodOf(t.Path)
	if uid == "" {
		return ""
	}
	state, why := p.Model.PodState(uid)
	s := "The path belongs to pod " + p.Model.Pod(uid).String()
	if volume != "" {
		s += ", volume " + strings.TrimPrefix(volume, uid+"/")
	}
	return s + fmt.Sprintf("; the pod is %s (%s).", state, why)
}

func threadFinding(p *forensics.Pass, l stall.HousekeepingThread) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Critical, Subject: stall.HousekeepingEntity, Confidence: forensics.Likely, ConfidenceWhy: l.Why,
		Title: fmt.Sprintf("%s housekeeping has not returned for %s: thread %d/%d %s", p.Model.KubeletName(),
			text.Duration(l.Seconds), l.Thread.PID, l.Thread.TID, stall.ThreadCall(p, l.Thread)),
		Because: []forensics.Entity{forensics.ThreadEntity(l.Thread)}, Since: stall.ThreadSince(p, l.Thread, l.Seconds),
		Detail:   findings.Sentences(aboutVolume(p, &l.Thread), housekeepingEffect(p)),
		Refs:     []forensics.Ref{stall.ThreadRef(l.Thread)},
		Remedies: []forensics.Remedy{remedy.Cordon(p), remedy.KeepEvidence(), remedy.NoRestart()},
	}
	if uid, _ := forensics.PodOf(l.Thread.Path); uid != "" {
		f.Pods = []string{uid}
	}
	return f
}
