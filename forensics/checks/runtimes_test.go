package checks

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/cri"
)

// TestEveryRuntimeIsADaemon: no remedy kills a runtime or what looks after its containers, and its services have containers.
func TestEveryRuntimeIsADaemon(t *testing.T) {
	for _, r := range cri.Runtimes() {
		daemon := procs.Process{PID: 4000, Comm: r.Process, Command: []string{"/usr/bin/" + r.Process}}
		if !remedy.IsDaemon(daemon) {
			t.Errorf("%s is no daemon", r.Process)
		}
		if daemon.PodUID = deadUID; remedy.IsDaemon(daemon) {
			t.Errorf("%s in a pod is one of the node", r.Process)
		}
		for _, name := range append([]string{r.Process}, r.Shims...) {
			e := wellNode(t)
			e.Processes = append(e.Processes, procs.Process{PID: 4000, Comm: name, Command: []string{name}})
			p := pass(&e)
			if stop := remedy.StopProcess(p, 4000, "it is in the way"); stop.Action == remedy.ActionStop {
				t.Errorf("%s is to be killed: %+v", name, stop)
			}
		}
		for _, unit := range r.Units {
			if !runsContainers(unit + ".service") {
				t.Errorf("restarting %s.service ends its containers' shims", unit)
			}
		}
	}
	for unit, want := range map[string]bool{"kubelet.service": true, "k3s-agent.service": true, "containerd.socket": false, "nfs.service": false, "containerd-extra.service": false} {
		if runsContainers(unit) != want {
			t.Errorf("%s runs containers: %t", unit, !want)
		}
	}
}

// TestEveryRuntimeIsTheKubelets names each by its socket and by its process, and finds it again by its store.
func TestEveryRuntimeIsTheKubelets(t *testing.T) {
	for _, r := range cri.Runtimes() {
		e := wellNode(t)
		e.Kubelet.Flags = map[string]string{}
		e.Kubelet.Config = &kubelet.Config{ContainerRuntimeEndpoint: "unix:///run/" + r.Socket + ".sock"}
		e.Processes = []procs.Process{{PID: 4000, Comm: r.Process}}
		e.Runtimes = e.Runtimes[:0]
		for _, other := range cri.Runtimes() {
			if other.StoreOf == "" {
				e.Runtimes = append(e.Runtimes, runtimes.Runtime{Name: other.Name, Socket: other.Store.Installs[0].Socket})
			}
		}
		p := pass(&e)
		if got := p.Model.RuntimeEntity().ID; got != r.Name {
			t.Errorf("the runtime at %s is %s, want %s", e.Kubelet.Config.ContainerRuntimeEndpoint, got, r.Name)
		}
		if !runtimeRuns(p) {
			t.Errorf("%s does not run", r.Name)
		}
		if got := kubeletRuntime(p); got == nil || got.Name != cri.StoreName(r.Name) {
			t.Errorf("the store of %s is that of %+v", r.Name, got)
		}
		for _, s := range r.Scopes {
			inPod := procs.Process{PID: 1, UserNS: 1, Identity: &procs.Identity{
				ReaderUserNS: 1, UIDs: []int{0}, Capabilities: "ffffffffffffffff", Cgroups: []string{"/system.slice/" + s + "-" + strings.Repeat("a", 64) + ".scope"},
			}}
			if inPod.OfNode().Status != procs.Impostor {
				t.Errorf("a process in a scope of %s passes for one of the node", r.Name)
			}
		}
	}
}
