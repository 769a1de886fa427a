package forensics

import (
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
func eachTask(e *Evidence, visit func(id, podUID string, t runtimes.Task)) {
	for i := range e.Sandboxes {
		s := &e.Sandboxes[i]
		visit(s.ID, s.PodUID, s.Task)
	}
	for i := range e.Containers {
		c := &e.Containers[i]
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
