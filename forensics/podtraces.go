package forensics

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// A podTraces is what the node tells about its pods where the kubelet's list was not read: by default, a kubelet refuses it to who
// has no token (HTTP 401).
//
// The kubelet works on a pod in this order (kubelet.go, syncPod; 1.17 to 1.36): it waits for the network, makes the cgroup, makes the
// directory, waits for the volumes, makes the sandbox. So a pod that waits for its first volume has a cgroup, and one that waits for the
// network has nothing but the volumes that the volume manager mounts meanwhile, and a message in the log each time that it is tried.
// Of a pod that has ended (completed, evicted), the kubelet removes the volumes and the cgroup and keeps the directory, the last sandbox
// and the log directory until the API server deletes the pod. Of a pod that it does not know, it removes sandboxes, containers
// and logs every minute (container garbage collection).
type podTraces struct {
	// judged says whether a pod without a sign of life can be judged at all, and lacks why not.
	judged bool
	lacks  string
	// of has what outlives a pod, and why it says that the pod may exist.
	of map[string]string
	// orphaned are the pods that the kubelet's log calls so.
	orphaned map[string]bool
	// admitted are the pods of allocated_pods_state. Whole says that the kubelet keeps all of its pods there.
	admitted map[string]bool
	whole    bool
}

// Orphaned is how sure it is that a pod in this state is orphaned; "" if it is not.
func (s PodState) Orphaned() Confidence {
	switch s {
	case PodOrphaned:
		return Certain
	case PodLikelyOrphaned:
		return Likely
	case PodPossiblyOrphaned:
		return Possible
	}
	return ""
}

func newPodTraces(m *Model) *podTraces {
	t := &podTraces{of: map[string]string{}, orphaned: map[string]bool{}, admitted: map[string]bool{}}
	for _, p := range m.evidence.Pods {
		switch {
		case p.FromAllocation():
			t.admitted[p.UID] = true
		case p.FromLogDir():
			t.of[p.UID] = "its log directory exists"
		case p.FromState():
			t.of[p.UID] = "a state file of the kubelet names it"
		}
	}
	eachTask(m.evidence, func(_, uid string, _ runtimes.Task) {
		t.of[uid] = "the container runtime still has a sandbox or container of it"
	})
	t.readLog(m.evidence)
	t.whole = t.isWhole(m)
	t.judged, t.lacks = canJudgeUnlisted(m)
	return t
}

// readLog notes the pods that the kubelet's log names. That of a kubelet that ended before proves nothing, except for orphans: the API
// server gives no UID twice.
func (t *podTraces) readLog(e *Evidence) {
	if e.Logs == nil {
		return
	}
	now := func(at *time.Time) bool {
		return e.Kubelet == nil || e.Kubelet.Started == nil || at == nil || !at.Before(*e.Kubelet.Started)
	}
	removed := map[string]bool{}
	for _, d := range e.Logs.Deletions {
		removed[d.PodUID] = d.Done
	}
	for _, event := range e.Logs.Events {
		switch {
		case event.PodUID == "" || event.Origin != "kubelet":
		case event.Kind.Orphaned():
			t.orphaned[event.PodUID] = t.orphaned[event.PodUID] || now(event.Last) || fromAPI(event.PodUID)
		case now(event.Last) && !removed[event.PodUID]:
			t.of[event.PodUID] = "the kubelet's log names it since the kubelet started"
		}
	}
	for _, o := range e.Logs.Operations {
		if o.PodUID != "" && (now(o.Started) || o.Failed != nil && now(o.Failed)) {
			t.of[o.PodUID] = "the kubelet's log shows a volume operation for it"
		}
	}
}

// fromAPI says of a UID that the API server gave it. The kubelet makes those of static pods from the manifest, without dashes
// (pkg/kubelet/config/common.go, applyDefaults), and the same manifest makes the same UID.
func fromAPI(uid string) bool { return strings.Contains(uid, "-") }

// isWhole says whether the kubelet keeps all of its pods in allocated_pods_state: since 1.33 by default (feature gate
// InPlacePodVerticalScaling), each one that it admits, until it forgets the pod (allocation_manager.go, AddPod, RemovePod and
// RemoveOrphanedPods). A file without a pod that runs is from before the gate was closed.
func (t *podTraces) isWhole(m *Model) bool {
	k := m.evidence.Kubelet
	if k == nil || k.PID == 0 || m.KubeletMinor() < 33 {
		return false
	}
	running := 0
	for _, uid := range runningPods(m) {
		if !t.admitted[uid] {
			return false
		}
		running++
	}
	return running > 0
}

// runningPods are the pods of this kubelet with a cgroup, a directory, and a process in both.
func runningPods(m *Model) (uids []string) {
	for _, c := range m.evidence.Cgroups {
		if _, dir := podDir(m, c.PodUID); dir && len(m.index.processesOf[c.PodUID]) > 0 {
			uids = append(uids, c.PodUID)
		}
	}
	return uids
}

// canJudgeUnlisted says whether a pod without a sign of life can only be one that the kubelet does not know, and if not, why: what would
// show it was not read, or the kubelet may not have come so far.
func canJudgeUnlisted(m *Model) (bool, string) {
	if ok, lack := sawLife(m); !ok {
		return false, lack
	}
	e := m.evidence
	if ok, _ := e.Saw(SourceKubeletPods); ok {
		return false, "the list is only a part"
	}
	for _, source := range []string{SourceCgroups, SourceRuntime, SourcePodLogs} {
		if ok, why := e.sawWhole(source); !ok {
			return false, source + " were not read to the end: " + why
		}
	}
	k := e.Kubelet
	switch {
	case k == nil || k.PID == 0 || k.State == "T" || k.State == "Z":
		return false, "the kubelet does not run"
	case k.Started == nil || e.Collected.Sub(*k.Started) < settled:
		return false, "the kubelet may have started a short time ago and may not have its pods yet"
	case k.Flags["keep-terminated-pod-volumes"] == "true":
		return false, "the kubelet keeps the volumes of pods that have ended (--keep-terminated-pod-volumes)"
	case e.Logs == nil || len(e.Logs.Lives) == 0 || !reaches(e.Logs.Lives, *k.Started):
		return false, "no log of this kubelet was read"
	case e.Logs.Dropped[logs.KindPodSyncFailed] > 0:
		return false, "the kubelet's log has more failures of pods than are kept"
	case !slices.ContainsFunc(runningPods(m), fromAPI):
		return false, "no pod of the API server runs, so the kubelet may not have its pods yet"
	}
	return true, ""
}

// reaches says whether the log has lines from after a moment.
func reaches(lives []logs.Life, start time.Time) bool {
	return slices.ContainsFunc(lives, func(l logs.Life) bool { return l.Last != nil && l.Last.After(start) })
}

// sawWhole says whether a source was read to its end.
func (e *Evidence) sawWhole(source string) (bool, string) {
	ok, why := e.Saw(source)
	for _, s := range e.Coverage {
		if s.Source == source && s.Status == SourceTruncated {
			return false, "it is incomplete"
		}
	}
	return ok, why
}

// disowned says that a pod is not among those that the kubelet keeps in a file, where it keeps all of them. After a start, a kubelet
// unmounts what it finds below the directories of such pods (reconstruct.go), and logs that like the deletion of one.
func (t *podTraces) disowned(uid string) bool { return t.whole && !t.admitted[uid] }

// unlisted is the state of a pod without a sign of life on a node where the kubelet's list was not read.
func (t *podTraces) unlisted(m *Model, uid string) (PodState, string) {
	why := unlistedWhy(m)
	k := m.evidence.Kubelet
	if t.admitted[uid] && k != nil && k.PID != 0 {
		return PodLive, "the kubelet has it in allocated_pods_state"
	}
	d, dir := podDir(m, uid)
	if ok, _ := sawLife(m); !ok {
		if dir && d.Searched != "" {
			return PodLikelyOrphaned, "a search of all pods of the cluster for its UID found none"
		}
		if dir && t.orphaned[uid] && m.evidence.Collector.PID == 0 {
			return PodLikelyOrphaned, "the kubelet's log calls it orphaned"
		}
		return PodUnknown, why
	}
	if dir && youngerThanExamination(m, d) {
		return PodUnknown, why + "; its directory is younger than the examination"
	}
	switch {
	case t.orphaned[uid]:
		return PodLikelyOrphaned, "the kubelet's log calls it orphaned, no cgroup, no process"
	case t.whole:
		return PodLikelyOrphaned, "not in the kubelet's allocated_pods_state, where all running pods are, no cgroup, no process"
	case !t.judged:
		return PodUnknown, why + "; " + t.lacks
	case !dir:
		return PodUnknown, why
	}
	if known, doubt := mayBeKnown(m, d); known {
		return PodUnknown, why + "; " + doubt
	}
	if trace, known := t.of[uid]; known {
		return PodUnknown, why + "; " + trace
	}
	return PodPossiblyOrphaned, fmt.Sprintf("no cgroup, process, sandbox, container, log directory or message in the kubelet's log, and no change for %s; but %s",
		text.Duration(m.evidence.Collected.Sub(*d.Changed).Seconds()), why)
}

// mayBeKnown says whether a directory without a trace of its pod may be that of one that the kubelet knows, and why.
func mayBeKnown(m *Model, d kubelet.PodDir) (bool, string) {
	switch {
	case !fromAPI(d.UID):
		return true, "it is a static pod's, whose UID can come back"
	case d.Error != "" || d.Changed == nil:
		return true, "its directory was not read to the end"
	case m.evidence.Collected.Sub(*d.Changed) < settled:
		return true, "its directory changed less than 10 min ago"
	case len(d.Volumes)+len(d.Subpaths)+len(d.Unknown)+len(pointsBelow(m, d)) == 0:
		return true, "its directory looks like that of a pod that has ended and was not deleted"
	}
	return false, ""
}

func youngerThanExamination(m *Model, d kubelet.PodDir) bool {
	return d.Modified != nil && !d.Modified.Before(m.evidence.Collected) && !m.evidence.Collected.IsZero()
}
