package forensics

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

// runtimes are the programs that serve the container runtime interface, by the names of their processes and sockets.
var knownRuntimes = []struct{ name, process, socket string }{
	{"containerd", "containerd", "containerd"},
	{"cri-o", "crio", "crio"},
	{"cri-dockerd", "cri-dockerd", "cri-dockerd"},
	{"docker", "dockerd", "dockershim"},
}

// RuntimeEntity is the container runtime that the kubelet uses: by its configured endpoint, else the only one that
// runs, else the only one of which containers run, else plain "runtime".
func (m *Model) RuntimeEntity() Entity {
	if name := runtimeOfEndpoint(m.runtimeEndpoint()); name != "" {
		return Entity{KindRuntime, name}
	}
	name := "runtime"
	if list := m.runtimeProcesses(); len(list) == 1 {
		name = runtimeOfProcess(list[0].Comm)
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
		if runtimeOfProcess(p.Comm) == name {
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
	endpoint := strings.TrimPrefix(m.runtimeEndpoint(), "unix://")
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
	return slices.ContainsFunc(m.runtimeProcesses(), func(p procs.Process) bool { return runtimeOfProcess(p.Comm) == name && p.State != "Z" })
}

// runtimeEndpoint is the socket that the kubelet was told to use. Flags rule over the configuration file.
func (m *Model) runtimeEndpoint() string {
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

func runtimeOfEndpoint(endpoint string) string {
	socket := path.Base(strings.TrimPrefix(endpoint, "unix://"))
	for _, r := range knownRuntimes {
		if strings.HasPrefix(socket, r.socket) {
			return r.name
		}
	}
	return ""
}

func runtimeOfProcess(comm string) string {
	for _, r := range knownRuntimes {
		if comm == r.process {
			return r.name
		}
	}
	return ""
}

// runtimeProcesses are the runtimes that run on the host.
func (m *Model) runtimeProcesses() []procs.Process { return runtimesAmong(m.evidence.Processes) }

// runtimesAmong are the container runtimes of this node. One inside a container (kind, docker in docker) serves another
// kubelet, and what is called like a runtime in a pod is none.
func runtimesAmong(list []procs.Process) []procs.Process {
	var found []procs.Process
	for _, p := range list {
		if runtimeOfProcess(p.Comm) != "" && p.ContainerID == "" && p.Daemon(p.Comm, "k3s").Status != procs.Impostor { // older k3s have containerd in them
			found = append(found, p)
		}
	}
	return found
}

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
