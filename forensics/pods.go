package forensics

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// PodState says whether a pod with traces on the node still exists.
type PodState string

// The states of a pod. Orphaned needs a proof: the kubelet's list of pods was read, is not empty and does not have the pod. The list is
// empty while the last pod terminates, so an empty list proves nothing. Where the list was not read, a pod is likely orphaned if the
// kubelet's log calls it so, or if the kubelet has all its pods but this one in allocated_pods_state (1.33 and later). It is possibly
// orphaned if no source knows it and its directory has not changed for ten minutes. [PodState.Orphaned] has that as a confidence.
const (
	PodUnknown          PodState = "unknown"
	PodLive             PodState = "live"
	PodTerminating      PodState = "terminating"
	PodOrphaned         PodState = "orphaned"
	PodLikelyOrphaned   PodState = "likely-orphaned"
	PodPossiblyOrphaned PodState = "possibly-orphaned"
)

// Words is the state where the word before it does not say that it is one.
func (s PodState) Words() string {
	if s == PodUnknown {
		return "state unknown"
	}
	return strings.ReplaceAll(string(s), "-", " ")
}

// livePods collects the evidence that each pod exists: the kubelet's list, static manifests, an API dump, cgroups, processes.
func livePods(m *Model) map[string]podFacts {
	pods := make(map[string]podFacts, max(len(m.evidence.Pods), len(m.evidence.PodDirs)))
	note := func(uid, why string) podFacts {
		f := pods[uid]
		if f.why != "" {
			why = f.why + ", " + why
		}
		f.live, f.why = true, why
		return f
	}
	for _, p := range m.evidence.Pods {
		if p.UID == "" {
			continue
		}
		f := pods[p.UID]
		if !p.FromLogDir() && !p.FromState() && p.Source != kubelet.PodFromRuntime { // which outlive the pod
			f = note(p.UID, "listed by "+p.Source)
			f.listed = true
		}
		if p.Name != "" {
			f.namespace, f.name = p.Namespace, p.Name
		}
		f.deleting = f.deleting || p.Deleting != nil
		pods[p.UID] = f
		if p.MirrorUID != "" && p.MirrorUID != p.UID {
			pods[p.MirrorUID] = f
		}
	}
	if m.evidence.Cluster != nil {
		for _, p := range m.evidence.Cluster.Pods {
			why := "in the API dump"
			if p.Node != "" && p.Node == m.evidence.Cluster.NodeName {
				why = "listed by the API server"
			}
			f := note(p.UID, why)
			f.namespace, f.name, f.deleting, f.listed = p.Namespace, p.Name, f.deleting || p.Deleting != nil, true
			pods[p.UID] = f
		}
	}
	for _, c := range m.evidence.Cgroups {
		pods[c.PodUID] = note(c.PodUID, "its cgroup exists")
	}
	seen := map[string]bool{}
	for _, p := range m.evidence.Processes {
		if p.PodUID != "" && !seen[p.PodUID] {
			seen[p.PodUID] = true
			pods[p.PodUID] = note(p.PodUID, fmt.Sprintf("process %d runs in it", p.PID))
		}
	}
	eachTask(m.evidence, func(id, uid string, t runtimes.Task) {
		if p, state := m.Init(id, t); state == InitRunning && uid != "" && !seen[uid] {
			seen[uid] = true
			pods[uid] = note(uid, fmt.Sprintf("process %d is the init process of its container %.12s", p.PID, id))
		}
	})
	for _, d := range m.evidence.PodDirs {
		if f := pods[d.UID]; f.name == "" && d.HostName != "" {
			f.name, f.hearsay = d.HostName, true
			pods[d.UID] = f
		}
	}
	namesInLogs(m, pods)
	return pods
}

// namesInLogs adds the names that logs give pods. A message about a pod does not prove that it exists.
func namesInLogs(m *Model, pods map[string]podFacts) {
	if m.evidence.Logs == nil {
		return
	}
	name := func(uid, name string) {
		namespace, pod, ok := strings.Cut(name, "/")
		if f := pods[uid]; ok && uid != "" && f.name == "" {
			f.namespace, f.name, f.hearsay = namespace, pod, true
			pods[uid] = f
		}
	}
	for _, d := range m.evidence.Logs.Deletions {
		name(d.PodUID, d.PodName)
	}
	for _, e := range m.evidence.Logs.Events {
		name(e.PodUID, e.PodName)
	}
}

// deletionInLog says whether the kubelet's log shows a deletion that has not ended. Where a log is all there is, unmounts alone do not: the
// pod may be an orphan, or have ended by itself.
func deletionInLog(m *Model, uid string) bool {
	dirs, _ := m.evidence.Saw(SourcePodDirs)
	return slices.ContainsFunc(m.index.deletionsOf[uid], func(i int32) bool {
		return dirs || m.index.podsSeen.ok || !m.evidence.Logs.Deletions[i].Inferred
	})
}

// PodName is the namespace and name of a pod as far as any source knows them.
func (m *Model) PodName(uid string) (namespace, name string) {
	f := m.pods[uid]
	return f.namespace, f.name
}

// PodNameKnown says whether the name of a pod is from a trusted source: the kubelet, the API server, the runtime, the kubelet's log
// directory. A pod can write another name into its /etc/hosts, and into many logs.
func (m *Model) PodNameKnown(uid string) bool {
	f := m.pods[uid]
	return f.name != "" && f.namespace != "" && !f.hearsay
}

// Pod is a pod as a report names it.
func (m *Model) Pod(uid string) AffectedPod {
	state, _ := m.PodState(uid)
	ns, name := m.PodName(uid)
	return AffectedPod{UID: uid, Namespace: ns, Name: name, State: state}
}

// PodState says whether a pod exists, and why.
func (m *Model) PodState(uid string) (PodState, string) {
	if uid == "" {
		return PodUnknown, "it has no UID"
	}
	f := m.pods[uid]
	switch {
	case f.live && f.deleting:
		return PodTerminating, f.why
	case f.live && m.listed != nil && !m.listed[uid] && m.listedBy.lists(uid):
		return PodTerminating, f.why + ", but " + m.listedBy.words() + " no longer lists it"
	case f.live && !f.listed && deletionInLog(m, uid):
		return PodTerminating, f.why + ", but the kubelet's log shows a deletion in progress"
	case f.live:
		return PodLive, f.why
	}
	if m.listed != nil {
		missing := "not in " + m.listedBy.words() + "'s list of " + text.Plural(m.listedCount, "pod") + ", "
		if !m.listedBy.lists(uid) {
			return PodUnknown, missing + "but a static pod can be without a mirror pod there"
		}
		if k := m.evidence.Kubelet; m.listedBy == byKubelet && k != nil && k.PodsLeftOut > 0 && !onNode(m, uid) {
			return PodUnknown, fmt.Sprintf("not among the %s kept of the kubelet's list, but %d more were not kept", text.Plural(m.listedCount, "pod"), k.PodsLeftOut)
		}
		if ok, lack := sawLife(m); !ok {
			return PodUnknown, missing + "but " + lack
		}
		if d, ok := podDir(m, uid); ok && youngerThanExamination(m, d) {
			return PodUnknown, missing + "but its directory is younger than the examination"
		}
		return PodOrphaned, missing + "no cgroup, no process"
	}
	if deletionInLog(m, uid) && (m.index.podsSeen.ok || !m.index.traces().disowned(uid)) {
		return PodTerminating, "the kubelet's log shows a deletion in progress"
	}
	if m.index.podsSeen.ok {
		return PodUnknown, unlistedWhy(m)
	}
	return m.index.traces().unlisted(m, uid)
}

// onNode says whether something on the node is of a pod that no log alone names: then a list of the kubelet's that is not whole has
// it, too, if the kubelet lists it.
func onNode(m *Model, uid string) bool {
	if _, dir := podDir(m, uid); dir || len(m.byPod[uid]) > 0 {
		return true
	}
	return slices.ContainsFunc(m.evidence.Pods, func(p kubelet.Pod) bool { return p.UID == uid })
}

// A lister is whose list of pods is known.
type lister int

const (
	byKubelet lister = iota
	byAPI            // the API server's, of this node, where the kubelet's list is not known
)

func (l lister) words() string {
	if l == byAPI {
		return "the API server"
	}
	return "the kubelet"
}

// lists says whether a pod with this UID would be in the list. The UID of a static pod is a hash without dashes, and the API server has
// its mirror pod, which the kubelet may have failed to create.
func (l lister) lists(uid string) bool { return l == byKubelet || strings.Contains(uid, "-") }

// listedPods are the UIDs in the kubelet's own list, those of mirror pods included, and how many pods that are; nil if
// the list is not whole, or empty. Then the API server's list of the node's pods is taken, if it was read.
func listedPods(m *Model) (listed map[string]bool, n int, by lister) {
	listed = map[string]bool{}
	add := func(uid, mirror string) {
		n++
		listed[uid] = true
		if mirror != "" {
			listed[mirror] = true
		}
	}
	if m.index.podsSeen.ok {
		for _, p := range m.evidence.Pods {
			if p.FromKubelet() {
				add(p.UID, p.MirrorUID)
			}
		}
	}
	if c := m.evidence.Cluster; n == 0 && c != nil && c.NodeName != "" {
		by = byAPI
		for _, p := range c.Pods {
			if p.Node == c.NodeName {
				add(p.UID, p.Mirror)
			}
		}
		for _, g := range m.evidence.Cgroups { // of which that list says nothing
			listed[g.PodUID] = listed[g.PodUID] || !by.lists(g.PodUID)
		}
	}
	if n == 0 {
		return nil, 0, byKubelet
	}
	return listed, n, by
}

// ListedPods are the UIDs in the kubelet's own list, those of mirror pods included; where that was not read to its end or is empty, those
// in the API server's list of this node's pods; where the kubelet refuses it, those in allocated_pods_state, if the kubelet has all its pods
// there (1.33). Nil without any, and why so.
func (m *Model) ListedPods() (listed map[string]bool, why string) {
	switch seen := m.index.podsSeen; {
	case m.listed != nil:
		return m.listed, ""
	case !seen.ok && m.index.traces().whole:
		return m.index.traces().admitted, ""
	}
	return nil, unlistedWhy(m)
}

// unlistedWhy says why there is no list of the kubelet.
func unlistedWhy(m *Model) string {
	switch seen := m.index.podsSeen; {
	case !seen.ok && seen.why == notCollected:
		return "the kubelet's list of pods was " + notCollected
	case !seen.ok:
		return "the kubelet's list of pods was not read: " + seen.why
	}
	return "the kubelet's list of pods is empty, which proves nothing"
}

// sawLife says whether cgroups and processes were read: a terminating pod still has them.
func sawLife(m *Model) (bool, string) {
	switch x := &m.index; {
	case !x.processesSeen.ok:
		return false, SourceProcesses + " were not read: " + x.processesSeen.why
	case !x.cgroupsSeen.ok:
		return false, SourceCgroups + " were not read: " + x.cgroupsSeen.why
	}
	return true, ""
}

// PodKind is "static" or "mirror" where a source says so, else "".
func PodKind(m *Model, uid string) string {
	kind := ""
	for _, p := range pick(m.evidence.Pods, m.index.podsOf[uid]) {
		if kind != kubelet.KindMirror {
			kind = p.Kind
		}
	}
	return kind
}
