package forensics

import (
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

// RuntimeEntity is the container runtime that the kubelet uses: by its configured endpoint, else the only one that
// runs, else the only one of which containers run, else plain "runtime".
func (m *Model) RuntimeEntity() Entity {
	if name := runtimes.OfEndpoint(m.RuntimeEndpoint()); name != "" {
		return Entity{KindRuntime, name}
	}
	name := "runtime"
	if list := m.runtimeProcesses(); len(list) == 1 {
		name = runtimes.OfProcess(list[0].Comm)
	} else if used := m.runtimesInUse(); len(list) == 0 && len(used) == 1 {
		name = used[0]
	}
	return Entity{KindRuntime, name}
}

// RuntimeProcess is the process of the container runtime; false where it is not known or there are several.
func (m *Model) RuntimeProcess() (procs.Process, bool) {
	var found []procs.Process
	name := m.RuntimeEntity().ID
	for _, p := range m.runtimeProcesses() {
		if runtimes.OfProcess(p.Comm) == name {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		return procs.Process{}, false
	}
	return found[0], true
}

// runtimesInUse are the names of the runtimes of which a container runs. Files alone prove nothing: they stay behind when a
// node changes its runtime.
func (m *Model) runtimesInUse() []string {
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

// KubeletRuntime is what is known of the container runtime that the kubelet uses: the one at its configured endpoint, else
// the only one of that name; nil if there is none or it is not known which.
func (m *Model) KubeletRuntime() *runtimes.Runtime {
	endpoint := strings.TrimPrefix(m.RuntimeEndpoint(), "unix://")
	name := m.RuntimeEntity().ID
	var found []*runtimes.Runtime
	for i := range m.evidence.Runtimes {
		r := &m.evidence.Runtimes[i]
		if endpoint != "" && strings.TrimPrefix(endpoint, "/var") == strings.TrimPrefix(r.Socket, "/var") {
			return r
		}
		if r.Name == name || name == "cri-dockerd" && r.Name == "docker" {
			found = append(found, r)
		}
	}
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

// RuntimeRuns says whether a process of the kubelet's runtime runs on the host.
func (m *Model) RuntimeRuns() bool {
	name := m.RuntimeEntity().ID
	return slices.ContainsFunc(m.runtimeProcesses(), func(p procs.Process) bool { return runtimes.OfProcess(p.Comm) == name && p.State != "Z" })
}

// runtimeEndpoint is the socket that the kubelet was told to use. Flags rule over the configuration file.
func (m *Model) RuntimeEndpoint() string {
	k := m.evidence.Kubelet
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

// runtimeProcesses are the runtimes that run on the host.
func (m *Model) runtimeProcesses() []procs.Process { return RuntimeProcesses(m.evidence.Processes) }

// waitingThread is why a process does not get on: its thread that has waited longest for a file system.
func (m *Model) waitingThread(id string) []Entity {
	pid, err := strconv.Atoi(id)
	if err != nil {
		return nil
	}
	var longest *procs.Thread
	most := -1.0
	for _, i := range m.index.threadsOf[pid] {
		t := &m.evidence.Threads[i]
		if t.Gone || len(m.waitedFor(*t)) == 0 {
			continue
		}
		if age, _ := m.Waited(*t); age > most {
			longest, most = t, age
		}
	}
	if longest == nil {
		return nil
	}
	return []Entity{ThreadEntity(*longest)}
}

// RuntimeProcesses are the container runtimes of this node among some processes. One inside a container (kind, docker in
// docker) serves another kubelet, and what is called like a runtime in a pod is none.
func RuntimeProcesses(list []procs.Process) []procs.Process {
	var found []procs.Process
	for _, p := range list {
		if runtimes.OfProcess(p.Comm) != "" && p.ContainerID == "" && p.Daemon(p.Comm, "k3s").Status != procs.Impostor { // older k3s have containerd in them
			found = append(found, p)
		}
	}
	return found
}
