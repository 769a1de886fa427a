package forensics

import (
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/cri"
)

// RuntimeEntity is the container runtime that the kubelet uses: by its configured endpoint, else the only one that
// runs, else the only one with running containers, else plain "runtime".
func (m *Model) RuntimeEntity() Entity {
	if name := runtimes.OfEndpoint(RuntimeEndpoint(m.evidence)); name != "" {
		return Entity{KindRuntime, name}
	}
	name := "runtime"
	if list := RuntimeProcesses(m.evidence.Processes); len(list) == 1 {
		name = runtimes.OfProcess(list[0].Comm)
	} else if used := runtimesInUse(m); len(list) == 0 && len(used) == 1 {
		name = used[0]
	}
	return Entity{KindRuntime, name}
}

// runtimesInUse are the names of the runtimes with a running container. Files alone prove nothing: they remain when a node changes its
// runtime.
func runtimesInUse(m *Model) []string {
	var names []string
	use := func(name, id string, t runtimes.Task) {
		if _, state := m.Init(id, t); state == InitRunning && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for i := range m.evidence.Sandboxes {
		use(m.evidence.Sandboxes[i].Runtime, m.evidence.Sandboxes[i].ID, m.evidence.Sandboxes[i].Task)
	}
	for i := range m.evidence.Containers {
		use(m.evidence.Containers[i].Runtime, m.evidence.Containers[i].ID, m.evidence.Containers[i].Task)
	}
	return names
}

// RuntimeEndpoint is the socket that the kubelet is configured to use. Flags override the configuration file.
func RuntimeEndpoint(e *Evidence) string {
	k := e.Kubelet
	if k == nil {
		return ""
	}
	if e := k.Flags["container-runtime-endpoint"]; e != "" {
		return e
	}
	if k.Config != nil {
		return k.Config.ContainerRuntimeEndpoint
	}
	return ""
}

// RuntimeProcesses are the container runtimes of this node among some processes. A runtime inside a container (kind, Docker in Docker)
// serves another kubelet. A process in a pod with the name of a runtime is none.
func RuntimeProcesses(list []procs.Process) []procs.Process {
	var found []procs.Process
	for _, p := range list {
		r, ok := cri.OfProcess(p.Comm)
		if ok && p.ContainerID == "" && p.Daemon(append([]string{p.Comm}, r.Executables...)...).Status != procs.Impostor {
			found = append(found, p)
		}
	}
	return found
}
