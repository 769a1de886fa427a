package checks

import (
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// KubeletHousekeepingBlocked finds a kubelet whose housekeeping does not return.
var KubeletHousekeepingBlocked = forensics.Check{
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

Steps and places that are told apart (function, what it does, kubelet versions):` + docOf(housekeepingSites()),
	Severity: forensics.Critical,
	Needs:    []forensics.Need{{forensics.SourceGoroutines, forensics.SourceThreads}},
	Run: func(p *forensics.Pass) {
		list, alone := blockedHousekeeping(p)
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
func housekeepingSites() []site {
	return append([]site{
		{"cm.(*podContainerManagerImpl).GetAllPodsFromCgroups", "1.10 to 1.36", "lists the cgroups of pods"},
		{"kubelet.(*podWorkers).ForgetNonExistingPodWorkers", "1.10 to 1.21", "forgets workers of pods that are gone"},
		{"kubelet.(*podWorkers).SyncKnownPods", "1.22 to 1.36", "forgets workers of pods that are gone"},
		{"kubelet.(*podWorkers).UpdatePod", "1.10 to 1.36", "tells a pod worker"},
		{"prober.(*manager).CleanupPods", "1.10 to 1.36", "stops probes of pods that are gone"},
		{"container.(*runtimeCache)", "1.10 to 1.36", "lists the running pods"},
		{"kuberuntime.(*kubeGenericRuntimeManager).GetPods", "1.10 to 1.36", "asks the runtime for all pods"},
		{"status.(*manager).RemoveOrphanedStatuses", "1.10 to 1.36", "forgets statuses of pods that are gone"},
		{"kubelet.(*Kubelet).cleanupOrphanedPodDirs", "1.10 to 1.36", "looks into the directories of orphaned pods"},
		{"kubelet.(*Kubelet).cleanupOrphanedPodCgroups", "1.10 to 1.36", "removes cgroups of pods that are gone"},
		{"pod.(*basicMirrorClient).DeleteMirrorPod", "1.10 to 1.36", "deletes mirror pods of static pods that are gone"},
	}, volumeSites()...)
}

func housekeepingFinding(p *forensics.Pass, list []standing) forensics.Finding {
	f := finding(p, housekeepingEntity, "housekeeping has not returned", list, housekeepingSites())
	f.Detail = sentences(aboutVolume(p, list[0].thread), housekeepingEffect(p), f.Detail)
	f.Remedies = []forensics.Remedy{cordon(p), keepEvidence(), noRestart()}
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
	uid, volume := p.Model.PodOf(t.Path)
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

func threadFinding(p *forensics.Pass, l loneThread) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Critical, Subject: housekeepingEntity, Confidence: forensics.Likely, ConfidenceWhy: l.why,
		Title: fmt.Sprintf("%s housekeeping has not returned for %s: thread %d/%d %s", p.Model.KubeletName(),
			text.Duration(l.seconds), l.thread.PID, l.thread.TID, threadCall(p, l.thread)),
		Because: []forensics.Entity{forensics.ThreadEntity(l.thread)}, Since: threadSince(p, l.thread, l.seconds),
		Detail:   sentences(aboutVolume(p, &l.thread), housekeepingEffect(p)),
		Refs:     []forensics.Ref{threadRef(l.thread)},
		Remedies: []forensics.Remedy{cordon(p), keepEvidence(), noRestart()},
	}
	if uid, _ := p.Model.PodOf(l.thread.Path); uid != "" {
		f.Pods = []string{uid}
	}
	return f
}
