package report

import (
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// podFromDir is the Source of a podFact that is a pod's directory.
const podFromDir = "pod-dir"

// A podFact is what one source says of a pod.
type podFact struct {
	// Source is "kubelet", "manifest", "runtime", "cgroup", "process", "pod-dir", "log-dir", or another Source of kubelet.Pod.
	Source string
	Says   string
}

// factsByPod are all pods that any source names, by UID, and what each source says of them, in the order of kubelet, manifest,
// logs and runtime as they were read, then cgroups, processes, directories and the dump of the API. Left out are pods without
// a UID, manifests that tell none, and those of the dump that nothing on this node knows.
func factsByPod(m *forensics.Model) map[string][]podFact {
	facts := map[string][]podFact{}
	add := func(uid, source, says string) {
		if uid != "" {
			facts[uid] = append(facts[uid], podFact{source, says})
		}
	}
	tasks := podTasks(m)
	for _, p := range m.Evidence().Pods {
		says := podSays(p)
		if p.Source == kubelet.PodFromRuntime {
			says = joinWords(says, tasks[p.UID].String())
		}
		add(p.UID, p.Source, says)
	}
	for _, c := range m.Evidence().Cgroups {
		says := text.Plural(len(c.Containers), "container")
		if len(c.Frozen) > 0 {
			says += ", " + c.Frozen[0].State
		}
		if c.Dying > 0 {
			says += fmt.Sprintf(", %d dying cgroups in it", c.Dying)
		}
		add(c.PodUID, "cgroup", says)
	}
	processes := map[string]int{}
	for _, p := range m.Evidence().Processes {
		processes[p.PodUID]++
	}
	for uid, n := range processes {
		add(uid, "process", text.Plural(n, "process"))
	}
	for i := range m.Evidence().PodDirs {
		d := &m.Evidence().PodDirs[i]
		add(d.UID, podFromDir, text.Plural(len(d.Volumes), "volume"))
	}
	if m.Evidence().Cluster != nil {
		for i := range m.Evidence().Cluster.Pods {
			p := &m.Evidence().Cluster.Pods[i]
			if facts[p.UID] != nil {
				add(p.UID, "api-dump", clusterSays(p))
			}
			if facts[p.Mirror] != nil {
				add(p.Mirror, "api-dump", "mirror pod "+p.UID)
			}
		}
	}
	return facts
}

func clusterSays(p *apidump.Pod) string {
	var says []string
	if p.Mirror != "" {
		says = append(says, kubelet.KindMirror)
	}
	if p.Phase != "" {
		says = append(says, "phase "+p.Phase)
	}
	if p.Deleting != nil {
		says = append(says, "being deleted")
	}
	return joinWords(says...)
}

func podSays(p kubelet.Pod) string {
	says := p.Kind
	if p.Phase != "" {
		says = joinWords(says, "phase "+p.Phase)
	}
	if p.Deleting != nil {
		says = joinWords(says, "being deleted")
	}
	if p.MirrorUID != "" && p.MirrorUID != p.UID {
		says = joinWords(says, "static pod "+p.MirrorUID)
	}
	return says
}

func joinWords(words ...string) string {
	var list []string
	for _, w := range words {
		if w != "" {
			list = append(list, w)
		}
	}
	return strings.Join(list, ", ")
}

// taskCount counts the sandboxes and containers of a pod.
type taskCount struct{ sandboxes, containers, running, unknown int }

func (c taskCount) String() string {
	s := text.Plural(c.containers, "container") + " and " + text.Plural(c.sandboxes, "sandbox")
	if c.unknown == c.sandboxes+c.containers {
		return s
	}
	return s + fmt.Sprintf(", %d of them running", c.running)
}

func podTasks(m *forensics.Model) map[string]taskCount {
	tasks := map[string]taskCount{}
	count := func(uid string, state forensics.InitState, box bool) {
		c := tasks[uid]
		switch {
		case box:
			c.sandboxes++
		default:
			c.containers++
		}
		switch state {
		case forensics.InitRunning:
			c.running++
		case forensics.InitUnknown:
			c.unknown++
		}
		tasks[uid] = c
	}
	for i := range m.Evidence().Sandboxes {
		s := &m.Evidence().Sandboxes[i]
		_, state := m.Init(s.ID, s.Task)
		count(s.PodUID, state, true)
	}
	for i := range m.Evidence().Containers {
		c := &m.Evidence().Containers[i]
		_, state := m.Init(c.ID, c.Task)
		count(c.PodUID, state, false)
	}
	return tasks
}
