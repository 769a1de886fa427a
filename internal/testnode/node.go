// Package testnode makes evidence of a sick node on which one kind of thing is there as often as wanted. For tests: what
// anybody can multiply must cost time in proportion, in every check and in every section of a report.
package testnode

import (
	"fmt"
	"strconv"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/v1"
)

// A Kind is something that a node can have many of. Add puts n of them into evidence that [Node] made.
type Kind struct {
	Name string
	Add  func(e *forensics.Evidence, n int)
}

const (
	podsDir     = "/var/lib/kubelet/pods/"
	hostNS      = uint64(4026531841)
	kubeletPID  = 900
	firstMount  = 1000 // ids below are of the node itself
	hungDevice  = "0:46"
	hungMount   = 59
	firstThread = 100_000
)

var collected = time.Date(2026, 11, 20, 10, 46, 12, 0, time.UTC)

// With is a node with n of a kind.
func With(k Kind, n int) forensics.Evidence {
	e := Node()
	k.Add(&e, n)
	return e
}

// Node is a small node with one hung mount, on which the kubelet's housekeeping waits. All sources were read.
func Node() forensics.Evidence {
	e := forensics.NewEvidence()
	e.Collected, e.Root = collected, "/"
	boot := collected.Add(-time.Hour)
	e.Node = forensics.Node{Name: "node-1", Kernel: "6.1.0", Boot: &boot}
	e.Collector.HungAfterSeconds = 15
	for _, s := range []string{
		forensics.SourceNode, forensics.SourceMounts, forensics.SourceProcesses, forensics.SourceThreads, forensics.SourceHealth,
		forensics.SourceKubelet, forensics.SourceKubeletHealth, forensics.SourceKubeletPods, forensics.SourceMetrics,
		forensics.SourceGoroutines, forensics.SourcePodDirs, forensics.SourceStaticPods, forensics.SourceCgroups, forensics.SourcePodLogs,
		forensics.SourceHolders, forensics.SourceAPIDump, forensics.SourceDisks, forensics.SourceRuntime, forensics.SourceRuntimeAnswer,
		forensics.SourceBackings, forensics.SourceLogs + ":kubelet.log",
	} {
		e.Coverage = append(e.Coverage, forensics.Source{Source: s, Status: forensics.SourceRead})
	}
	volume := podsDir + UID(0) + "/volumes/kubernetes.io~nfs/data"
	e.Mounts = mounts.Table{Namespace: hostNS, PID: 1, Root: "/", Mounts: []mounts.Mount{
		{ID: 27, ParentID: 1, Device: "8:1", Root: "/", MountPoint: "/", FSType: "ext4", Class: mounts.ClassBlock, Source: "/dev/sda1", Shared: 1},
		nfs(hungMount, hungDevice, volume),
	}}
	v1.AddHealth(&e, mounts.Health{MountID: hungMount, Device: hungDevice, MountPoint: volume, Status: mounts.StatusHung, Method: "probe", Seconds: 900})
	e.Kubelet = &kubelet.Instance{
		PID: kubeletPID, Version: "1.34.4", RootDir: "/var/lib/kubelet", CanonicalRoot: "/var/lib/kubelet", MountNS: hostNS,
		Flags: map[string]string{}, Sources: []kubelet.Source{}, Endpoints: []kubelet.Endpoint{}, Metrics: map[string]float64{},
	}
	e.Processes = []procs.Process{
		{PID: 1, Comm: "systemd", State: "S", MountNS: hostNS, Command: []string{"/sbin/init"}},
		{PID: kubeletPID, PPID: 1, Comm: "kubelet", State: "S", MountNS: hostNS, Command: []string{"/usr/bin/kubelet"}, Threads: 20},
	}
	e.Threads = []procs.Thread{thread(kubeletPID, kubeletPID+1, volume)}
	e.Dumps = []forensics.Dump{{Source: "kubelet", PID: kubeletPID, Dump: goroutines.Dump{Form: goroutines.FormDebug2, Goroutines: []goroutines.Goroutine{
		goroutine(142, kubeletPID+1, "k8s.io/kubernetes/pkg/kubelet.(*Kubelet).HandlePodCleanups"),
	}}}}
	e.MountUse = &forensics.MountUse{}
	e.Cgroups = []runtimes.PodCgroup{{PodUID: UID(0), Path: "/kubepods/pod" + UID(0)}}
	e.Runtimes = []runtimes.Runtime{{Name: "containerd", Root: "/var/lib/containerd", Answer: &runtimes.Answer{Status: "ok"}}}
	e.Disks = &eviction.State{
		Places:      []eviction.Place{{Role: eviction.RoleNode, Path: "/var/lib/kubelet", Device: "8:1"}, {Role: eviction.RoleImage, Path: "/var/lib/containerd", Device: "8:1"}},
		FileSystems: []eviction.FileSystem{{Device: "8:1", MountPoint: "/", CapacityBytes: 100 << 30, FreeBytes: 4 << 30, AvailableBytes: 4 << 30}},
		Thresholds:  []eviction.Threshold{{Signal: "nodefs.available", Kind: "hard", Value: "10%", Percent: 10, Origin: "default"}},
	}
	dump := apidump.NewDump()
	dump.Nodes = []apidump.Node{{Object: apidump.Object{Kind: "Node", Name: "node-1"}, Ready: "True"}}
	e.Cluster = &dump
	e.Logs = &logs.Story{
		First: at(0), Last: at(86_000), Lives: []logs.Life{{PID: kubeletPID, Started: at(0), Last: at(86_000), Version: "v1.34.4", Verbosity: 4, End: "running"}},
		Loop:    &logs.Loop{LastSeen: map[string]time.Time{"housekeeping": *at(40_000)}, Last: at(40_000), OthersLast: at(86_000), OthersCount: 100},
		Files:   []logs.File{{Path: "/var/log/kubelet.log", Origin: "kubelet", Format: "klog", Status: "read"}},
		Dropped: map[logs.Kind]int64{},
	}
	return e
}

// UID is that of a pod.
func UID(i int) string { return fmt.Sprintf("%08x-1d2e-4f6b-9b5e-2a7a4c1de201", i) }

func hex64(i int) string { return fmt.Sprintf("%064x", i) }

// at is a time on the day before the examination.
func at(second int) *time.Time {
	t := collected.Add(time.Duration(second%86_400-86_400) * time.Second)
	return &t
}

func nfs(id int, device, at string) mounts.Mount {
	return mounts.Mount{
		ID: id, ParentID: 27, Device: device, Root: "/", MountPoint: at, FSType: "nfs4", Class: mounts.ClassNetwork,
		Source: "10.0.0.9:/export/" + device, Options: "rw", SuperOptions: "rw,vers=4.1,hard",
	}
}

func tmpfs(id, parent int, device, at string) mounts.Mount {
	return mounts.Mount{ID: id, ParentID: parent, Device: device, Root: "/", MountPoint: at, FSType: "tmpfs", Class: mounts.ClassMemory, Source: "tmpfs", Options: "rw"}
}

func device(i int) string { return "0:" + strconv.Itoa(1000+i) }

// thread waits for the hung mount, in the same call as the goroutine of its number.
func thread(pid, tid int, path string) procs.Thread {
	seconds := 900.0
	return procs.Thread{
		PID: pid, TID: tid, Comm: "kubelet", State: "D", WChan: "rpc_wait_bit_killable", Stack: []string{"rpc_wait_bit_killable", "nfs4_proc_getattr", "vfs_statx"},
		Wait: procs.Wait{Kind: procs.WaitServer, FS: "nfs", Function: "rpc_wait_bit_killable", Kill: "yes"}, Path: path, PathFrom: "argument",
		Syscall: &procs.Syscall{Number: 262, Name: "newfstatat", Args: []string{"0xffffffffffffff9c", pointer(tid), pointer(tid + 1), "0x0", "0x0", "0x0"}},
		MountID: hungMount, Device: hungDevice, MountNS: hostNS, WaitSeconds: &seconds, WaitFrom: "sched", Same: true, SampledSeconds: 5,
	}
}

func pointer(i int) string { return fmt.Sprintf("0x%x", 0xc000000000+i*64) }

// goroutine is in newfstatat(2) with the pointers of a thread.
func goroutine(id int64, tid int, caller string) goroutines.Goroutine {
	return goroutines.Goroutine{ID: id, Count: 1, State: "syscall", WaitMinutes: 15, Frames: []goroutines.Frame{
		{Func: "syscall.Syscall6", Args: fmt.Sprintf("0x106, 0xffffffffffffff9c, %s, %s, 0x0, 0x0, 0x0", pointer(tid), pointer(tid+1))},
		{Func: "syscall.fstatat", Args: "..."},
		{Func: caller, Args: "0xc000100000"},
	}}
}
