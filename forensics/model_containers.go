package forensics

import (
	"regexp"

	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

// InitState is what has become of the first process of a sandbox or container. When it ends, the kernel ends all others
// of its process namespace.
type InitState string

// The states of a first process.
const (
	InitUnknown InitState = "unknown" // no pid is recorded, or the processes were not read
	InitRunning InitState = "running"
	InitZombie  InitState = "zombie" // it has ended, and its parent has not taken notice or a thread of it cannot end
	InitGone    InitState = "gone"
)

// Init finds the first process of a sandbox or container. The pid alone is no proof, since pids are used again: the
// recorded start has to be the same, or else its cgroup has to name the container.
func (m *Model) Init(id string, t runtimes.Task) (procs.Process, InitState) {
	if !m.index.processesSeen.ok || t.InitPID == 0 {
		return procs.Process{}, InitUnknown
	}
	p, ok := m.process[t.InitPID]
	switch {
	case !ok, t.InitStart != 0 && p.StartTicks != t.InitStart:
		return procs.Process{}, InitGone
	case t.InitStart == 0 && p.ContainerID != id:
		return procs.Process{}, InitUnknown
	case p.State == "Z" || p.State == "X":
		return p, InitZombie
	}
	return p, InitRunning
}

// eachTask calls visit for every sandbox and container.
func (m *Model) eachTask(visit func(id, podUID string, t runtimes.Task)) {
	for i := range m.evidence.Sandboxes {
		s := &m.evidence.Sandboxes[i]
		visit(s.ID, s.PodUID, s.Task)
	}
	for i := range m.evidence.Containers {
		c := &m.evidence.Containers[i]
		visit(c.ID, c.PodUID, c.Task)
	}
}

// ContainerName is what a person calls a container: "name of its pod/its own", as far as is known.
func (m *Model) ContainerName(id string) string {
	for _, i := range m.index.containersOf[id] {
		if name := m.evidence.Containers[i].Name; name != "" {
			return name
		}
	}
	if len(m.index.sandboxesOf[id]) > 0 {
		return "sandbox"
	}
	return ""
}

// ProcessesOf lists the processes in the cgroup of a pod, by pid.
func (m *Model) ProcessesOf(podUID string) []procs.Process {
	return pick(m.evidence.Processes, m.index.processesOf[podUID])
}

// WaitsOf lists the waiting threads of a process that were not seen to go on.
func (m *Model) WaitsOf(pid int) []procs.Thread {
	var found []procs.Thread
	for _, t := range pick(m.evidence.Threads, m.index.threadsOf[pid]) {
		if !t.Gone {
			found = append(found, t)
		}
	}
	return found
}

// nestedPod says that a cgroup lies below that of another container: the pod is one of a cluster inside (kind, Docker
// in Docker), of which this node's kubelet knows nothing.
var nestedPod = regexp.MustCompile(`[0-9a-f]{64}(?:\.scope)?/.*pod[0-9a-f]{8}`)

// LeftCgroups lists the cgroups of pods that are gone by all other accounts: the kubelet's list, read to its end and not
// empty, lacks them, and so does its directory, which it removes after the cgroup. The second result says why nothing can be
// said, "" if it can.
func (m *Model) LeftCgroups() (left []runtimes.PodCgroup, why string) {
	if m.listed == nil {
		if seen := m.index.podsSeen; !seen.ok {
			return nil, "the kubelet's list of pods was not read: " + seen.why
		}
		return nil, "the kubelet lists no pod at all, which proves nothing"
	}
	dirs := map[string]bool{}
	for i := range m.evidence.PodDirs {
		dirs[m.evidence.PodDirs[i].UID] = true
	}
	for _, c := range m.evidence.Cgroups {
		if m.listed[c.PodUID] || dirs[c.PodUID] || nestedPod.MatchString(c.Path) {
			continue
		}
		left = append(left, c)
	}
	return left, ""
}
