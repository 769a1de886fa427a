package checks

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// allScenarios are those of all files.
func allScenarios() map[string][]scenario {
	all := maps.Clone(scenarios)
	for _, more := range []map[string][]scenario{goroutineScenarios(), logScenarios()} {
		for id, list := range more {
			all[id] = append(slices.Clone(all[id]), list...)
		}
	}
	return all
}

// goroutineScenarios are those that rest on a goroutine dump. Whether a stack is known at all is tested with
// testdata/stacks; here it stands on a node of which more is known.
func goroutineScenarios() map[string][]scenario {
	return map[string][]scenario{
		"kubelet-housekeeping-blocked": {
			{
				name: "the second dump shows the same call", base: wellNode, change: twoDumps(housekeepingDump, housekeepingDump),
				want: []string{"critical subsystem housekeeping"},
			},
			{
				name: "it went on before the second dump", base: wellNode,
				change:  twoDumps(housekeepingDump, strings.Replace(dropFrame(housekeepingDump, "HandlePodCleanups"), "syscall, 12 minutes", "select", 1)),
				outcome: forensics.OutcomeClean,
			},
			{name: "a second dump that was cut proves nothing", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				twoDumps(housekeepingDump, "goroutine 118 [IO wait]:\nnet.(*netFD).accept(0x63d86879300)\n\t/x.go:1 +0x1\n")(tb, e)
				e.Dumps[1].Truncated = true
			}, want: []string{"critical subsystem housekeeping"}},
			{name: "an aggregated dump beside a full one counts for nothing", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				addDump(tb, e, housekeepingDump, 9825)
				full := e.Dumps
				addDump(tb, e, aggregate(tb, housekeepingDump), 9825)
				e.Dumps = append(full, e.Dumps...)
			}, want: []string{"critical subsystem housekeeping"}},
			{name: "an aggregated dump and the kubelet's only waiting thread", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
				addDump(tb, e, aggregate(tb, housekeepingDump), 9825)
			}, want: []string{"warning subsystem housekeeping"}},
		},
		"kubelet-syncloop-stalled": {
			{
				name: "a dump alone", base: wellNode, change: withStack("kubelet-1.22", "H.34 the sync loop waits for the lock of the pod workers"),
				want: []string{"critical subsystem syncloop"}, says: "sync loop has not come round",
			},
			{name: "a dump of a sync loop at rest", base: wellNode, change: withStack("kubelet-1.22", "the sync loop at rest"), outcome: forensics.OutcomeClean},
		},
		"kubelet-start-blocked": {
			{
				name: "dead file system", base: wellNode, change: withStack("kubelet-1.22", "A.6 start: statfs of a dead NFS mount"),
				want: []string{"critical subsystem start"}, says: "calls statfs",
			},
			{name: "mounts of the length are named", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				withStack("kubelet-1.22", "A.6 start: statfs of a dead NFS mount")(tb, e)
				e.Mounts.Mounts[2].MountPoint = "/mnt/backup-of-db-01"
				e.Health = e.Health[:1]
			}, want: []string{"critical subsystem start"}, says: "path of 20 bytes: /mnt/backup-of-db-01 (mount 60)"},
			{name: "a mount that answers is none of them", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				withStack("kubelet-1.22", "A.6 start: statfs of a dead NFS mount")(tb, e)
				e.Mounts.Mounts[2].MountPoint = "/mnt/backup-of-db-01"
			}, want: []string{"critical subsystem start"}, says: "path of 20 bytes"},
			{name: "started", base: wellNode, change: withStack("kubelet-1.34", "A.3 the worker of a pod whose volumes are not gone polls"), outcome: forensics.OutcomeClean},
		},
		"kubelet-volume-manager-blocked": {
			{
				name: "reconstruction", base: wellNode, change: withStack("kubelet-1.34", "B.2 reconstruction before the loop"),
				want: []string{"critical subsystem volume-manager"},
			},
			{name: "an operation and its child", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				withStack("kubelet-1.13", "B.4 umount waits in the kernel")(tb, e)
				e.Processes = append(e.Processes, procs.Process{PID: 12081, PPID: 9825, Comm: "umount", State: "D", Command: []string{"umount", "/x"}})
			}, want: []string{"warning subsystem volume-manager"}, says: "its child process 12081 (umount), state D"},
			{
				name: "a child that is gone is still named", base: wellNode, change: withStack("kubelet-1.13", "B.4 umount waits in the kernel"),
				want: []string{"warning subsystem volume-manager"}, says: "its child process 12081",
			},
			{name: "slow is not hung", base: wellNode, change: withStack("kubelet-1.22", "B.4 deleting the files of an emptyDir is slow, not hung"), outcome: forensics.OutcomeClean},
		},
		"kubelet-status-manager-blocked": {
			{name: "volume of a pod to be deleted", base: wellNode, change: withStack("kubelet-1.13", "A.3 status manager"), want: []string{"critical subsystem status-manager"}},
			{name: "housekeeping is another check", base: wellNode, change: withStack("kubelet-1.13", "A.3 stat of a volume directory"), outcome: forensics.OutcomeClean},
		},
		"kubelet-pod-worker-blocked": {
			{name: "volume of a terminated pod", base: wellNode, change: withStack("kubelet-1.34", "A.3 the worker of a terminated pod"), want: []string{"warning subsystem pod-worker"}},
			{name: "pulling an image", base: wellNode, change: withStack("kubelet-1.22", "pulling an image takes as long as it takes"), outcome: forensics.OutcomeClean},
		},
		"kubelet-eviction-blocked": {
			{name: "size of a dead file system", base: wellNode, change: withStack("kubelet-1.22", "A.6 eviction manager asks for the size of a dead file system"), want: []string{"warning subsystem eviction"}},
			{name: "grace period", base: wellNode, change: withStack("kubelet-1.22", "an evicted pod has its grace period"), outcome: forensics.OutcomeClean},
		},
		"kubelet-pleg-unhealthy": {
			{
				name: "runtime", base: wellNode, change: withStack("kubelet-1.34", "A.7 PLEG waits for the runtime, and pods for the PLEG"),
				want: []string{"critical subsystem pleg"}, says: "It waits for a daemon, the container runtime, not for a file system",
			},
			{name: "at rest", base: wellNode, change: withStack("kubelet-1.34", "A.3 the worker of a terminated pod"), outcome: forensics.OutcomeClean},
		},
		"kubelet-goroutine-leak": {
			{
				name: "statfs", base: wellNode, change: withStack("kubelet-1.34", "A.6 start goes on although file systems are dead: each costs a thread"),
				want: []string{"warning subsystem cadvisor-statfs"}, says: "2 goroutines",
			},
			{name: "statfs of most threads that there can be", base: wellNode, change: many(8500, "cadvisor"), want: []string{"critical subsystem cadvisor-statfs"}},
			{name: "removals of cgroups pile up", base: wellNode, change: many(6, "cgroup"), want: []string{"warning subsystem cgroup-removal"}},
			{name: "a few removals of cgroups", base: wellNode, change: many(3, "cgroup"), outcome: forensics.OutcomeClean},
			{name: "many that stand still with one stack", base: wellNode, change: many(120, "other"), want: []string{"warning subsystem other"}, says: "120 goroutines with one stack"},
			{name: "many that rest with one stack", base: wellNode, change: many(2000, "resting"), outcome: forensics.OutcomeClean},
			{name: "far too many, though they rest", base: wellNode, change: many(12000, "resting"), want: []string{"warning subsystem pod-worker"}, says: "far more than a kubelet needs"},
			{
				name: "a group that grew between two dumps", base: wellNode, change: twoDumps(crowd(10, "other", ""), crowd(25, "other", "")),
				want: []string{"warning subsystem other"}, says: "15 more than 5 s before",
			},
			{name: "a group that rests grew", base: wellNode, change: twoDumps(crowd(10, "resting", ""), crowd(80, "resting", "")), outcome: forensics.OutcomeClean},
		},
		"kubelet-lock-contention": {
			{
				name: "holder blocked elsewhere", base: wellNode, change: withStack("kubelet-1.22", "A.2 lock of the pod workers, held by a worker that waits for a disk"),
				want: []string{"warning goroutine 402"}, says: "most likely holds",
			},
			{name: "a lock that was waited for under a minute", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				addDump(tb, e, minutes.ReplaceAllString(stackNamed(tb, "kubelet-1.22", "A.2 nobody stands out as the holder").dump, "]:"), 9825)
			}, outcome: forensics.OutcomeClean},
		},
		"runtime-unresponsive": {
			{name: "configured endpoint", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				withStack("kubelet-1.34", "A.7 PLEG waits for the runtime, and pods for the PLEG")(tb, e)
				e.Kubelet.Config = &kubelet.Config{ContainerRuntimeEndpoint: "unix:///run/containerd/containerd.sock"}
			}, want: []string{"critical runtime containerd"}, says: "containerd has not answered kubelet 1.17.4 for at least 3 min: 1 goroutine waits in ListPodSandbox"},
			{name: "its process is stopped", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				withStack("kubelet-1.34", "a runtime that does not answer at once, of no proven age")(tb, e)
				e.Processes = append(e.Processes, procs.Process{PID: 812, Comm: "containerd", State: "T"})
			}, want: []string{"critical runtime containerd"}, says: "Its process 812 is stopped by a signal (state T)"},
			{name: "its thread waits in a file system", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
				withStack("kubelet-1.34", "a runtime that does not answer at once, of no proven age")(tb, e)
				e.Processes = append(e.Processes, procs.Process{PID: 812, Comm: "containerd", State: "S"})
				e.Threads[0].PID, e.Threads[0].TID = 812, 820
			}, want: []string{"warning runtime containerd"}, says: "Its thread 820 is in newfstatat"},
			{name: "pulling an image", base: wellNode, change: withStack("kubelet-1.22", "pulling an image takes as long as it takes"), outcome: forensics.OutcomeClean},
			{name: "two questions under way in a dump without states", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				addDump(tb, e, aggregate(tb, stackNamed(tb, "kubelet-1.34", "A.7 PLEG waits for the runtime, and pods for the PLEG").dump), 9825)
			}, outcome: forensics.OutcomeClean},
		},
		"csi-operation-stuck": {
			{name: "the driver of all volumes on disk", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				withStack("kubelet-1.22", "B.4 two operations, one of them with a driver")(tb, e)
				e.PodDirs[0].Volumes = append(e.PodDirs[0].Volumes, kubelet.Volume{Plugin: "kubernetes.io/csi", VolData: &kubelet.VolData{Driver: "a.example.org"}})
			}, want: []string{"warning csi-driver a.example.org"}},
			{name: "two drivers, so neither is blamed", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				withStack("kubelet-1.22", "B.4 two operations, one of them with a driver")(tb, e)
				for _, driver := range []string{"a.example.org", "b.example.org"} {
					e.PodDirs[0].Volumes = append(e.PodDirs[0].Volumes, kubelet.Volume{Plugin: "kubernetes.io/csi", VolData: &kubelet.VolData{Driver: driver}})
				}
			}, want: []string{"warning subsystem volume-manager"}},
			{name: "no call under way", base: wellNode, change: withStack("kubelet-1.13", "B.4 waiting for an attachment is the controller's business"), outcome: forensics.OutcomeClean},
		},
	}
}

// withStack gives the node's kubelet a dump of testdata/stacks.
func withStack(file, name string) func(testing.TB, *forensics.Evidence) {
	return func(tb testing.TB, e *forensics.Evidence) { addDump(tb, e, stackNamed(tb, file, name).dump, 9825) }
}

func stackNamed(tb testing.TB, file, name string) stackCase {
	tb.Helper()
	cases := readStacks(tb, "testdata/stacks/"+file+".txt")
	i := slices.IndexFunc(cases, func(c stackCase) bool { return c.name == name })
	if i < 0 {
		tb.Fatalf("%s has no stack %q", file, name)
	}
	return cases[i]
}

// twoDumps are dumps of the same kubelet, five seconds apart.
func twoDumps(first, second string) func(testing.TB, *forensics.Evidence) {
	return func(tb testing.TB, e *forensics.Evidence) {
		addDump(tb, e, first, 9825)
		dumps := e.Dumps
		addDump(tb, e, second, 9825)
		e.Dumps = append(dumps, e.Dumps...)
		at := e.Collected
		for i := range e.Dumps {
			taken := at.Add(time.Duration(i) * 5 * time.Second)
			e.Dumps[i].Taken = &taken
		}
	}
}

func many(n int, kind string) func(testing.TB, *forensics.Evidence) {
	return func(tb testing.TB, e *forensics.Evidence) { addDump(tb, e, crowd(n, kind, ", 9 minutes"), 9825) }
}

// crowd is a dump of n goroutines of one kind.
func crowd(n int, kind, age string) string {
	kinds := map[string]string{
		"cadvisor": `syscall.Syscall(0x89, 0xc00%[1]d000, 0xc00%[1]d100, 0x0)
	/usr/local/go/src/syscall/syscall_linux.go:74 +0x25
syscall.Statfs({0xc000134000?, 0x0?}, 0xc00%[1]d100)
	/usr/local/go/src/syscall/zsyscall_linux_amd64.go:1413 +0x58
github.com/google/cadvisor/fs.getVfsStats.func1()
	/root/go/pkg/mod/github.com/google/cadvisor@v0.52.1/fs/fs.go:739 +0x5f
created by github.com/google/cadvisor/fs.getVfsStats in goroutine 339
	/root/go/pkg/mod/github.com/google/cadvisor@v0.52.1/fs/fs.go:737 +0x1a5
`,
		"cgroup": `syscall.Syscall(0x54, 0xc00%[1]d000, 0x0, 0x0)
	/usr/local/go/src/syscall/syscall_linux.go:74 +0x25
syscall.Rmdir({0xc000134000?, 0x0?})
	/usr/local/go/src/syscall/zsyscall_linux_amd64.go:1 +0x58
k8s.io/kubernetes/pkg/kubelet/cm.(*podContainerManagerImpl).Destroy(0xc000d21a40, {0xc00%[1]d200, 0x3, 0x3})
	/x/pod_container_manager_linux.go:210 +0x1f
created by k8s.io/kubernetes/pkg/kubelet.(*Kubelet).cleanupOrphanedPodCgroups in goroutine 187
	/x/kubelet_pods.go:2700 +0x1f
`,
		"other": `syscall.Syscall6(0x106, 0xffffffffffffff9c, 0xc00%[1]d000, 0xc00%[1]d100, 0x0, 0x0, 0x0)
	/usr/local/go/src/syscall/syscall_linux.go:96 +0x39
syscall.fstatat(0xffffffffffffff9c, {0xc000134000?, 0x0?}, 0xc00%[1]d100, 0x0)
	/usr/local/go/src/syscall/zsyscall_linux_amd64.go:1437 +0x96
os.Stat({0xc000134000, 0x20})
	/usr/local/go/src/os/stat.go:13 +0x2c
example.org/plugin.look()
	/x/look.go:1 +0x1
created by example.org/plugin.start in goroutine 1
	/x/look.go:2 +0x1
`,
		"resting": `k8s.io/kubernetes/pkg/kubelet.(*podWorkers).podWorkerLoop(0xc000b6c000, {0xc000e28260, 0x20}, 0xc00%[1]d000)
	/x/pod_workers.go:1240 +0x91
created by k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod in goroutine 187
	/x/pod_workers.go:965 +0x1fa5
`,
	}
	state := "syscall"
	if kind == "resting" {
		state = "chan receive"
	}
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "goroutine %d [%s%s]:\n", 1000+i, state, age)
		fmt.Fprintf(&b, kinds[kind], 100000+i)
		b.WriteString("\n")
	}
	return b.String()
}
