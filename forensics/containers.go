package forensics

import (
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

// InitState is the state of the first process of a sandbox or container. When it ends, the kernel kills all other processes of its PID
// namespace.
type InitState string

// The states of a first process.
const (
	InitUnknown InitState = "unknown" // no pid is recorded, or the processes were not read
	InitRunning InitState = "running"
	InitZombie  InitState = "zombie" // it has ended, but its parent has not reaped it, or one of its threads cannot end
	InitGone    InitState = "gone"
)

// Init finds the first process of a sandbox or container. The pid alone is no proof, because pids are reused: the recorded start time
// must match, or the cgroup must name the container.
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

// ContainerName is the name of a container: "name of its pod/its own", as far as is known.
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

// WaitsOf lists the waiting threads of a process that were not seen to continue.
func (m *Model) WaitsOf(pid int) []procs.Thread {
	var found []procs.Thread
	for _, t := range pick(m.evidence.Threads, m.index.threadsOf[pid]) {
		if !t.Gone {
			found = append(found, t)
		}
	}
	return found
}
