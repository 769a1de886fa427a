package goroutines

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/golden"
)

func TestSymbolKey(t *testing.T) {
	tests := []struct {
		symbol, key string
		closure     bool
	}{
		{"k8s.io/kubernetes/pkg/kubelet.(*Kubelet).syncLoop", "pkg/kubelet.(*Kubelet).syncLoop", false},
		{"k8s.io/kubernetes/pkg/kubelet/pleg.(*GenericPLEG).Relist-fm", "kubelet/pleg.(*GenericPLEG).Relist", false},
		{"k8s.io/kubernetes/pkg/kubelet.(*Kubelet).Run.func1.2", "pkg/kubelet.(*Kubelet).Run", true},
		{"k8s.io/kubernetes/cmd/kubelet/app.startKubelet.gowrap1", "kubelet/app.startKubelet", true},
		{"k8s.io/klog/v2.(*flushDaemon).run.func1", "k8s.io/klog.(*flushDaemon).run", true},
		{"k8s.io/client-go/util/workqueue.(*Typed[...]).updateUnfinishedWorkLoop", "util/workqueue.(*Typed).updateUnfinishedWorkLoop", false},
		{"k8s.io/client-go/util/workqueue.newQueue[...]", "util/workqueue.newQueue", false},
		{"os/signal.loop", "os/signal.loop", false},
		{"main.main", "main.main", false},
		{"runtime.gopark", "runtime.gopark", false},
		{"github.com/a/b/v1beta1.(*server).Start.func1", "b/v1beta1.(*server).Start", true},
		{"non-Go function", "non-Go function", false},
		{"x.(*", "x.(*", false},
		{"x.(*T)", "x.(*T)", false},
		{"", "", false},
		{".", ".", false},
		{"/v2.f", ".f", false},
	}
	for _, test := range tests {
		key, closure := symbolKey(test.symbol)
		if key != test.key || closure != test.closure {
			t.Errorf("symbolKey(%q) = %q, %v; want %q, %v", test.symbol, key, closure, test.key, test.closure)
		}
	}
}

// Stacks are innermost first; "<" marks the creator.
func TestRoleOf(t *testing.T) {
	const p = "k8s.io/kubernetes/pkg/kubelet"
	tests := []struct {
		name  string
		stack []string
		want  string
	}{
		{"sync loop up to 1.16", []string{p + ".(*Kubelet).syncLoop", p + ".(*Kubelet).Run", "k8s.io/kubernetes/cmd/kubelet/app.startKubelet.func1", "k8s.io/apimachinery/pkg/util/wait.JitterUntil.func1", "k8s.io/apimachinery/pkg/util/wait.Until", "< k8s.io/kubernetes/cmd/kubelet/app.startKubelet"}, roleSyncLoop},
		{"sync loop now", []string{p + ".(*Kubelet).syncLoopIteration", p + ".(*Kubelet).syncLoop", p + ".(*Kubelet).Run", "< k8s.io/kubernetes/cmd/kubelet/app.startKubelet"}, roleSyncLoop},
		{"sync loop in housekeeping, in a debug=1 dump", []string{"os.Stat", p + ".(*Kubelet).HandlePodCleanups", p + ".(*Kubelet).syncLoop", p + ".(*Kubelet).Run", "k8s.io/kubernetes/cmd/kubelet/app.startKubelet.gowrap1"}, roleSyncLoop},
		{"sync loop calls a pod worker", []string{p + ".(*podWorkers).UpdatePod", p + ".(*Kubelet).HandlePodSyncs", p + ".(*Kubelet).syncLoop", p + ".(*Kubelet).Run"}, roleSyncLoop},
		{"sync loop cut", []string{"os.Stat", p + ".(*Kubelet).podVolumesExist", "< k8s.io/kubernetes/cmd/kubelet/app.startKubelet"}, roleSyncLoop},
		{"node status, started by a literal in Run", []string{p + ".(*Kubelet).syncNodeStatus", "k8s.io/apimachinery/pkg/util/wait.JitterUntil", p + ".(*Kubelet).Run.func2", "< " + p + ".(*Kubelet).Run"}, roleNodeStatus},
		{"node status between runs", []string{"k8s.io/apimachinery/pkg/util/wait.JitterUntil", p + ".(*Kubelet).Run.func2", "< " + p + ".(*Kubelet).Run"}, roleKubeletPeriodic},
		{"runtime status", []string{p + ".(*Kubelet).updateRuntimeUp", "k8s.io/apimachinery/pkg/util/wait.Until", "< " + p + ".(*Kubelet).Run"}, roleRuntimeStatus},
		{"PLEG up to 1.25", []string{"google.golang.org/grpc.(*ClientConn).Invoke", p + "/pleg.(*GenericPLEG).relist", p + "/pleg.(*GenericPLEG).relist-fm", "k8s.io/apimachinery/pkg/util/wait.Until", "< " + p + "/pleg.(*GenericPLEG).Start"}, rolePLEG},
		{"PLEG from 1.26", []string{p + "/pleg.(*GenericPLEG).Relist", "k8s.io/apimachinery/pkg/util/wait.Until"}, rolePLEG},
		{"PLEG from 1.36", []string{p + "/pleg.(*GenericPLEG).workerLoopIteration", p + "/pleg.(*GenericPLEG).Start.func1"}, rolePLEG},
		{"evented PLEG", []string{p + "/pleg.(*EventedPLEG).watchEventsChannel"}, roleEventedPLEG},
		{"pod worker up to 1.26", []string{p + ".(*podWorkers).managePodLoop", p + ".(*podWorkers).UpdatePod.func1", "< " + p + ".(*podWorkers).UpdatePod"}, rolePodWorker},
		{"pod worker from 1.27", []string{p + ".(*Kubelet).SyncTerminatedPod", p + ".(*podWorkers).podWorkerLoop", "< " + p + ".(*podWorkers).UpdatePod"}, rolePodWorker},
		{"pod worker in a volume call", []string{p + "/volumemanager.(*volumeManager).WaitForAttachAndMount", p + ".(*podWorkers).podWorkerLoop"}, rolePodWorker},
		{"reconciler up to 1.24", []string{p + "/volumemanager/reconciler.(*reconciler).syncStates", p + "/volumemanager/reconciler.(*reconciler).reconciliationLoopFunc.func1", p + "/volumemanager/reconciler.(*reconciler).Run", "< " + p + "/volumemanager.(*volumeManager).Run"}, roleReconciler},
		{"reconciler 1.25 to 1.29", []string{p + "/volumemanager/reconciler.(*reconciler).reconcileNew", p + "/volumemanager/reconciler.(*reconciler).runNew"}, roleReconciler},
		{"the plugin manager's reconciler is another", []string{p + "/pluginmanager/reconciler.(*reconciler).Run"}, rolePluginManager},
		{"populator", []string{p + "/volumemanager/populator.(*desiredStateOfWorldPopulator).populatorLoop", p + "/volumemanager/populator.(*desiredStateOfWorldPopulator).Run"}, rolePopulator},
		{"volume manager waits for the stop", []string{p + "/volumemanager.(*volumeManager).Run", "< " + p + ".(*Kubelet).Run"}, roleVolumeManager},
		{"volume operation", []string{"os.(*Process).Wait", "k8s.io/kubernetes/pkg/volume/util/types.(*GeneratedOperations).Run", "k8s.io/kubernetes/pkg/volume/util/nestedpendingoperations.(*nestedPendingOperations).Run.func1", "< k8s.io/kubernetes/pkg/volume/util/nestedpendingoperations.(*nestedPendingOperations).Run"}, roleVolumeOperation},
		{"plugin operation", []string{"main.x", "< k8s.io/kubernetes/pkg/util/goroutinemap.(*goRoutineMap).Run"}, rolePluginOperation},
		{"status manager", []string{p + ".(*Kubelet).podVolumesExist", p + "/status.(*manager).syncPod", p + "/status.(*manager).Start.func1", "< " + p + "/status.(*manager).Start"}, roleStatusManager},
		{"eviction manager", []string{"time.Sleep", p + "/eviction.(*managerImpl).Start.func1", "< " + p + "/eviction.(*managerImpl).Start"}, roleEviction},
		{"container GC", []string{p + "/container.(*realContainerGC).GarbageCollect", p + ".(*Kubelet).StartGarbageCollection.func1", "< " + p + ".(*Kubelet).StartGarbageCollection"}, roleContainerGC},
		{"image GC", []string{p + "/images.(*realImageGCManager).GarbageCollect", p + ".(*Kubelet).StartGarbageCollection.func2"}, roleImageGC},
		{"a GC between runs", []string{"k8s.io/apimachinery/pkg/util/wait.Until", "< " + p + ".(*Kubelet).StartGarbageCollection"}, roleGC},
		{"cAdvisor of one container", []string{"github.com/google/cadvisor/manager.(*containerData).housekeepingTick", "github.com/google/cadvisor/manager.(*containerData).housekeeping"}, roleCadvisorContainer},
		{"cAdvisor disk usage", []string{"os.Lstat", "github.com/google/cadvisor/container/common.(*realFsHandler).update", "github.com/google/cadvisor/container/common.(*realFsHandler).trackUsage"}, RoleCadvisorDisk},
		{"cAdvisor statfs, leaked", []string{"syscall.Syscall", "syscall.Statfs", "github.com/google/cadvisor/fs.getVfsStats.func1", "< github.com/google/cadvisor/fs.getVfsStats"}, RoleCadvisorStatfs},
		{"start hangs in cAdvisor", []string{"syscall.Statfs", "github.com/google/cadvisor/fs.getVfsStats", "k8s.io/kubernetes/cmd/kubelet/app.run", "main.main"}, roleMain},
		{"volume stats", []string{"golang.org/x/sys/unix.Statfs", p + "/server/stats.(*volumeStatCalculator).calcAndStoreStats", p + "/server/stats.(*volumeStatCalculator).StartOnce.func1.1"}, RoleVolumeStats},
		{"probe worker", []string{p + "/prober.(*worker).run", "< " + p + "/prober.(*manager).AddPod"}, roleProbeWorker},
		{"orphaned cgroup", []string{p + "/cm.(*podContainerManagerImpl).Destroy", "< " + p + ".(*Kubelet).cleanupOrphanedPodCgroups"}, RoleCgroupRemoval},
		{"request", []string{p + "/server.(*Server).getPods", "net/http.(*conn).serve", "< net/http.(*Server).Serve"}, roleHTTPServer},
		{"reflector", []string{"k8s.io/client-go/tools/cache.(*Reflector).ListAndWatch", "k8s.io/client-go/tools/cache.(*Reflector).Run"}, roleReflector},
		{"gRPC", []string{"internal/poll.(*FD).Read", "google.golang.org/grpc/internal/transport.(*http2Client).reader", "< google.golang.org/grpc/internal/transport.NewHTTP2Client"}, roleGRPC},
		{"runtime", []string{"runtime.gopark", "runtime.bgsweep", "< runtime.gcenable"}, roleRuntime},
		{"scheduler", []string{"runtime.futex", "runtime.mstart"}, roleRuntime},
		{"no stack", nil, roleRuntime},
		{"k3s main", []string{"main.main"}, roleMain},
		{"started by a program's main", []string{"example.org/x/y.run", "< main.main"}, roleOther},
		{"someone else's", []string{"example.org/x/y.run", "< example.org/x/y.Start"}, roleOther},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var g Goroutine
			for _, s := range test.stack {
				if creator, ok := strings.CutPrefix(s, "< "); ok {
					g.CreatedBy = &Frame{Func: creator}
				} else {
					g.Frames = append(g.Frames, Frame{Func: s})
				}
			}
			got := RoleOf(g)
			if got.ID != test.want || got.Name == "" {
				t.Errorf("RoleOf() = %+v, want %q", got, test.want)
			}
		})
	}
	if got := RoleOf(Goroutine{CreatedBy: &Frame{Func: "example.org/x/y.Start.func1"}}); got.Name != "x/y.Start" {
		t.Errorf("name of another = %q", got.Name)
	}
}

// The role of every goroutine of the captures, as a golden file to be read by people.
func TestRolesOfCaptures(t *testing.T) {
	var got bytes.Buffer
	for _, c := range captures {
		fmt.Fprintf(&got, "%s\n", c)
		lines := map[string]int{}
		for _, g := range parseOne(t, readFixture(t, c+"/debug2.txt.gz")).Goroutines {
			creator := "-"
			if g.CreatedBy != nil {
				creator = g.CreatedBy.Func
			}
			lines[fmt.Sprintf("%-28s %s", RoleOf(g).ID, creator)]++
		}
		sorted := make([]string, 0, len(lines))
		for line, n := range lines {
			sorted = append(sorted, fmt.Sprintf("  %s %d", line, n))
		}
		slices.Sort(sorted)
		fmt.Fprintln(&got, strings.Join(sorted, "\n"))
	}
	golden.Check(t, "roles.golden", got.String())
}
