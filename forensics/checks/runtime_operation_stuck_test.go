package checks

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/read"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

// The servers of testdata/servers were read from memory while a pod's volume was on a FUSE mount that did not respond: containerd 1.6.20 of
// Debian 12 (Go 1.19, stripped) with a blocked CreateContainer, and a StartContainer and StopPodSandbox that wait for its shim; and a CSI driver
// of spec 1.9 with mount-utils 0.31 with a blocked NodeUnpublishVolume.
const (
	containerdPID, csiPID, shimPID, runcPID = 889, 2071, 3001, 3002
	creating, unpublishing                  = 460, 47 // goroutines with a thread
)

// withServer adds the dump of a server, as its memory shows it: with the thread of the goroutine that is in a system call.
func withServer(file, program string, pid int, change ...string) func(testing.TB, *forensics.Evidence) {
	return func(tb testing.TB, e *forensics.Evidence) {
		tb.Helper()
		text, err := os.ReadFile("testdata/servers/" + file + ".txt")
		if err != nil {
			tb.Fatal(err)
		}
		dumps, err := read.Dumps("memory of process", strings.NewReader(strings.NewReplacer(change...).Replace(string(text))))
		if err != nil || len(dumps) != 1 {
			tb.Fatalf("%d dumps, %v", len(dumps), err)
		}
		d := dumps[0]
		d.PID, d.Program = pid, program
		for i := range d.Goroutines {
			if g := &d.Goroutines[i]; g.State == "syscall" && (g.ID == creating || g.ID == unpublishing) {
				g.Thread = pid + 7
			}
		}
		e.Dumps = append(e.Dumps, d)
		e.Processes = append(e.Processes, procs.Process{PID: pid, PPID: 1, Comm: program, State: "S", Command: []string{program}})
	}
}

// deadMount is a node with a volume whose server does not respond. The kubelet does not use it.
func deadMount(tb testing.TB) forensics.Evidence {
	tb.Helper()
	e, sick := wellNode(tb), sickNode(tb)
	e.Probes, e.FUSEQueues, e.PodDirs = sick.Probes, sick.FUSEQueues, sick.PodDirs
	return e
}

// waits makes a thread of a process wait for the dead file system, for so many seconds.
func waits(pid, tid int, comm string, seconds float64) func(testing.TB, *forensics.Evidence) {
	return func(tb testing.TB, e *forensics.Evidence) {
		t := sickNode(tb).Threads[0]
		t.PID, t.TID, t.Comm, t.WaitSeconds = pid, tid, comm, ptr(seconds)
		t.Syscall = nil
		e.Threads = append(e.Threads, t)
	}
}

// shim has a shim with runc below it, which sets up a container of the pod.
func shim(uid string) func(testing.TB, *forensics.Evidence) {
	return func(_ testing.TB, e *forensics.Evidence) {
		e.Processes = append(e.Processes,
			procs.Process{PID: shimPID, PPID: 1, Comm: "containerd-shim", State: "S", Command: []string{"/usr/bin/containerd-shim-runc-v2", "-id", "1fb3"}},
			procs.Process{PID: runcPID, PPID: shimPID, Comm: "runc:[2:INIT]", State: "S", Command: []string{"runc", "init"}, PodUID: uid})
	}
}

// only leaves of a server's goroutines those whose stack contains a text.
func only(text string) func(testing.TB, *forensics.Evidence) {
	return func(_ testing.TB, e *forensics.Evidence) {
		d := &e.Dumps[len(e.Dumps)-1]
		d.Goroutines = slices.DeleteFunc(d.Goroutines, func(g goroutines.Goroutine) bool {
			return !slices.ContainsFunc(g.Frames, func(f goroutines.Frame) bool { return strings.Contains(f.Func, text) })
		})
	}
}

// elsewhere takes the path of a pod from the last thread, as that of a container's bundle.
func elsewhere(path string) func(testing.TB, *forensics.Evidence) {
	return func(_ testing.TB, e *forensics.Evidence) {
		t := &e.Threads[len(e.Threads)-1]
		t.Path, t.MountID = path, 0
	}
}

// lacksContainer gives a pod a sandbox, and the directory of a container that the runtime does not have.
func lacksContainer(uid string) func(testing.TB, *forensics.Evidence) {
	return func(_ testing.TB, e *forensics.Evidence) {
		e.Sandboxes = append(e.Sandboxes, runtimes.Sandbox{ID: "of-" + uid, PodUID: uid})
		e.PodDirs = append(e.PodDirs, kubelet.PodDir{UID: uid, Path: "/var/lib/kubelet/pods/" + uid, Containers: []string{"late"}})
	}
}

var _ = scenariosOf("runtime-operation-stuck", runtimeOperations())

func runtimeOperations() []scenario {
	const sandboxID = "1fb3701fcff1b0b8809ff565d54dc584d19e1cfabaf3a2e7c9ce6887b964ab68"
	runtime, clean := []string{"warning runtime containerd"}, forensics.OutcomeClean
	containerd := withServer("containerd-1.6.20", "containerd", containerdPID)
	create := both(containerd, only("_CreateContainer_Handler"))
	return []scenario{
		{
			name: "CreateContainer looks at a dead mount", base: deadMount, change: both(create, waits(containerdPID, containerdPID+7, "containerd", 740)),
			want: runtime, says: "containerd has not answered CreateContainer for 12 min (blocked by CephFS 10.0.0.5:6789:/k8s); 1 pod waits",
		},
		{
			name: "and the shim waits for runc, which looks there, too", base: deadMount,
			change: both(containerd, waits(containerdPID, containerdPID+7, "containerd", 740), shim(deadUID), waits(runcPID, runcPID, "runc:[2:INIT]", 741)),
			want:   runtime, says: "waits for a shim to answer Create; thread 3002/3002 (runc:[2:INIT]) is in",
		},
		{
			name: "StopPodSandbox waits behind runc", base: deadMount,
			change: both(containerd, only("_StopPodSandbox_Handler"), shim(deadUID), waits(runcPID, runcPID, "runc:[2:INIT]", 741)),
			want:   runtime, says: "not answered StopPodSandbox for 12 min (blocked by CephFS 10.0.0.5:6789:/k8s); 1 pod waits",
		},
		{
			name: "the pod of a sandbox's directory", base: deadMount,
			change: both(create, waits(containerdPID, containerdPID+7, "containerd", 740), elsewhere("/run/containerd/io.containerd.runtime.v2.task/k8s.io/"+sandboxID+"/rootfs"),
				func(_ testing.TB, e *forensics.Evidence) {
					e.Sandboxes = append(e.Sandboxes, runtimes.Sandbox{ID: sandboxID, PodUID: liveUID})
				}),
			want: runtime, says: "; 1 pod waits",
		},
		{
			name: "a pull writes to a dead mount", base: deadMount,
			change: both(withServer("containerd-1.6.20", "containerd", containerdPID, "_RuntimeService_CreateContainer_Handler", "_ImageService_PullImage_Handler"),
				only("_PullImage_Handler"), waits(containerdPID, containerdPID+7, "containerd", 740)),
			want: runtime, says: "containerd has not answered PullImage",
		},
		{
			name: "a list that is blocked concerns the whole runtime", base: deadMount,
			change: both(withServer("containerd-1.6.20", "containerd", containerdPID, "_CreateContainer_Handler", "_ListContainers_Handler"),
				only("_ListContainers_Handler"), waits(containerdPID, containerdPID+7, "containerd", 740)),
			want: []string{"critical runtime containerd"},
		},
		{
			name: "a lock for nine minutes", base: deadMount,
			change: both(withServer("containerd-1.6.20", "containerd", containerdPID, "[syscall]", "[sync.Mutex.Lock, 9 minutes]", "syscall.Syscall6(", "sync.runtime_SemacquireMutex(",
				"syscall.fstatat(", "sync.(*Mutex).lockSlow(", "syscall.Stat(", "sync.(*Mutex).Lock(", "os.statNolog.func1(", "github.com/containerd/containerd/pkg/cri/store/container.(*Store).Add("), only("_CreateContainer_Handler")),
			want: runtime, says: "has not answered CreateContainer for at least 7 min (blocked by the lock of container store)",
		},
		// Near misses.
		{name: "it has just begun", base: deadMount, change: both(create, waits(containerdPID, containerdPID+7, "containerd", 3)), outcome: clean},
		{
			name: "its goroutines were not read", base: deadMount, outcome: forensics.OutcomeNotChecked,
			change: both(create, waits(containerdPID, containerdPID+7, "containerd", 740), func(_ testing.TB, e *forensics.Evidence) { e.Dumps = e.Dumps[:0] }),
		},
		{name: "its thread waits for no file system", base: deadMount, change: create, outcome: clean},
		{name: "the shim works", base: deadMount, change: both(containerd, only("ttrpc.(*Client).Call"), shim(deadUID)), outcome: clean},
		{
			name: "the container hangs, not what the runtime does with it", base: deadMount,
			change: both(containerd, only("ttrpc.(*Client).Call"), shim(deadUID), waits(runcPID, runcPID, "postgres", 740), renamed(runcPID, "postgres")), outcome: clean,
		},
		{
			name: "statistics are asked for while runc hangs", base: deadMount,
			change: both(withServer("containerd-1.6.20", "containerd", containerdPID, "(*taskClient).Create(", "(*taskClient).Stats(", "(*taskClient).Kill(", "(*taskClient).State("),
				only("ttrpc.(*Client).Call"), shim(deadUID), waits(runcPID, runcPID, "runc:[2:INIT]", 741)), outcome: clean,
		},
		{
			name: "a pull that downloads for nine minutes", base: deadMount,
			change: both(withServer("containerd-1.6.20", "containerd", containerdPID, "[select]", "[select, 9 minutes]", "_RuntimeService_StartContainer_Handler", "_ImageService_PullImage_Handler",
				"(*taskClient).Create(", "(*taskClient).Wait("), only("_PullImage_Handler")), outcome: clean,
		},
		{
			name: "a stream of events for nine minutes", base: deadMount,
			change: both(withServer("containerd-1.6.20", "containerd", containerdPID, "[select]", "[select, 9 minutes]", "_StartContainer_Handler", "_GetContainerEvents_Handler"), only("_GetContainerEvents_Handler")), outcome: clean,
		},
		{
			name: "no request, but a loop of the runtime", base: deadMount,
			change: both(withServer("containerd-1.6.20", "containerd", containerdPID, "_CreateContainer_Handler", "_CreateContainer_Helper"), waits(containerdPID, containerdPID+7, "containerd", 740), only("_Helper")), outcome: clean,
		},
		{
			name: "a pod's program with the functions of a runtime", base: deadMount,
			change: both(create, renamed(containerdPID, "app"), waits(containerdPID, containerdPID+7, "app", 740)), outcome: clean,
		},
		{
			name: "the same frames in the kubelet", base: deadMount,
			change: both(withServer("containerd-1.6.20", "", containerdPID), only("_CreateContainer_Handler"), waits(containerdPID, containerdPID+7, "containerd", 740)), outcome: "",
		},
	}
}

func renamed(pid int, comm string) func(testing.TB, *forensics.Evidence) {
	return func(_ testing.TB, e *forensics.Evidence) {
		for i := range e.Processes {
			if e.Processes[i].PID == pid {
				e.Processes[i].Comm = comm
			}
		}
	}
}

var _ = scenariosOf("csi-operation-stuck", csiDriversBlocked())

func csiDriversBlocked() []scenario {
	clean := forensics.OutcomeClean
	driver := withServer("csi-1.9.0", "csi-driver", csiPID)
	blocked := both(driver, waits(csiPID, csiPID+7, "csi-driver", 740))
	// A driver that waits for mount, by its own wait4.
	mounting := withServer("csi-1.9.0", "csi-driver", csiPID, "syscall.fstatat(", "syscall.wait4(", "syscall.Stat(", "syscall.Wait4(",
		"os.statNolog.func1(", "os.(*Process).wait.func1(", "os.statNolog(", "os.(*Process).wait(", "os.Stat(", "os/exec.(*Cmd).Wait(", "NodeUnpublishVolume", "NodeStageVolume")
	child := func(comm string) func(testing.TB, *forensics.Evidence) {
		return func(_ testing.TB, e *forensics.Evidence) {
			e.Processes = append(e.Processes, procs.Process{PID: 2090, PPID: csiPID, Comm: comm, State: "D", Command: []string{comm, "/dev/sdb"}})
		}
	}
	return []scenario{
		{
			name: "NodeUnpublishVolume looks at a dead mount", base: deadMount, change: blocked, want: []string{"warning process 2071"},
			says: "CSI driver (process 2071) has not answered NodeUnpublishVolume for 12 min (blocked by CephFS 10.0.0.5:6789:/k8s); 1 pod waits for volumes",
		},
		{
			name: "the socket names the driver", base: deadMount, want: []string{"warning csi-driver ceph.csi.example.org"}, says: "its socket is in the driver's directory",
			change: both(blocked, argument(csiPID, "--endpoint=unix:///var/lib/kubelet/plugins/ceph.csi.example.org/csi.sock")),
		},
		{
			name: "its pod's registrar names the driver", base: deadMount, want: []string{"warning csi-driver ceph.csi.example.org"}, says: "process 2080 of its pod registers it",
			change: both(blocked, argument(csiPID, "--endpoint=unix:///csi/csi.sock"), func(_ testing.TB, e *forensics.Evidence) {
				for i := range e.Processes {
					if e.Processes[i].PID == csiPID {
						e.Processes[i].PodUID = liveUID
					}
				}
				e.Processes = append(e.Processes, procs.Process{PID: 2080, Comm: "csi-node-driver", PodUID: liveUID, Command: []string{
					"/csi-node-driver-registrar", "--kubelet-registration-path=/var/lib/kubelet/plugins/ceph.csi.example.org/csi.sock",
				}})
			}),
		},
		{
			name: "the kubelet waits for it, too: one finding", base: deadMount, want: []string{"warning csi-driver ceph.csi.example.org"}, says: "by CephFS",
			change: both(withStack("kubelet-1.22", "B.4 two operations, one of them with a driver"), blocked, argument(csiPID, "--drivername=ceph.csi.example.org")),
		},
		{
			name: "NodeStageVolume waits for mount, which hangs", base: deadMount, want: []string{"warning process 2071"}, says: "not answered NodeStageVolume for 12 min (blocked by CephFS",
			change: both(mounting, child("mount.ceph"), waits(2090, 2090, "mount.ceph", 740)),
		},
		{name: "NodeStageVolume waits for mkfs", base: deadMount, change: both(mounting, child("mkfs.ext4")), outcome: clean},
		{name: "its FUSE server hangs elsewhere", base: deadMount, change: both(mounting, child("mkfs.ext4"), child("ceph-fuse"), waits(2090, 2090, "ceph-fuse", 740), renamed(2090, "ceph-fuse")), outcome: clean},
		{name: "NodeUnpublishVolume has just begun", base: deadMount, change: both(driver, waits(csiPID, csiPID+7, "csi-driver", 3)), outcome: clean},
		{
			name: "a pod that may not mount", base: deadMount, outcome: clean,
			change: both(blocked, func(_ testing.TB, e *forensics.Evidence) {
				p := &e.Processes[len(e.Processes)-1]
				p.PodUID, p.Identity = liveUID, &procs.Identity{UIDs: []int{0, 0, 0}, Capabilities: "00000000a80425fb"}
			}),
		},
		{
			name: "the word of a pod for a lock", base: deadMount, outcome: clean,
			change: both(withServer("csi-1.9.0", "csi-driver", csiPID, "[syscall]", "[sync.Mutex.Lock, 9 minutes]", "syscall.Syscall6(", "sync.(*Mutex).Lock("),
				func(_ testing.TB, e *forensics.Evidence) { e.Processes[len(e.Processes)-1].PodUID = liveUID }),
		},
		{name: "a driver at rest", base: deadMount, change: both(driver, only("Serve")), outcome: clean},
	}
}

func argument(pid int, arg string) func(testing.TB, *forensics.Evidence) {
	return func(_ testing.TB, e *forensics.Evidence) {
		for i := range e.Processes {
			if e.Processes[i].PID == pid {
				e.Processes[i].Command = append(e.Processes[i].Command, arg)
			}
		}
	}
}

// TestPodsWithoutContainer has a blocked CreateContainer that looks outside the directories of pods. One pod without its container waits for
// it; of two, it is not known which. A pod that has its container does not wait.
func TestPodsWithoutContainer(t *testing.T) {
	has := func(uid string) func(testing.TB, *forensics.Evidence) {
		return func(_ testing.TB, e *forensics.Evidence) {
			e.Containers = append(e.Containers, runtimes.Container{PodUID: uid, Name: "late"})
		}
	}
	for name, tc := range map[string]struct {
		change func(testing.TB, *forensics.Evidence)
		want   []string
	}{
		"none":                {has(liveUID), nil},
		"one":                 {lacksContainer(liveUID), []string{liveUID}},
		"one, and it is made": {both(lacksContainer(liveUID), has(liveUID)), nil},
		"two for one call":    {both(lacksContainer(liveUID), lacksContainer(deadUID)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			e := deadMount(t)
			e.PodDirs = nil
			both(withServer("containerd-1.6.20", "containerd", containerdPID), only("_CreateContainer_Handler"),
				waits(containerdPID, containerdPID+7, "containerd", 740), elsewhere("/srv/data"), tc.change)(t, &e)
			a := forensics.Analyze(&e, []forensics.Check{runtimeOperationStuck})
			if len(a.Findings) != 1 || !slices.Equal(a.Findings[0].Pods, tc.want) {
				t.Errorf("findings %+v; want one with the pods %q", a.Findings, tc.want)
			}
		})
	}
}
