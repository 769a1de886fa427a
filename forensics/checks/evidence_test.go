package checks

import (
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/read"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

const (
	kubeletRoot = "/var/lib/kubelet"
	deadUID     = "5c948341-c030-4996-b888-f032577d97b0"
	liveUID     = "2fa11937efabc40db85278b553e1ceeb"
	deadPoint   = kubeletRoot + "/pods/" + deadUID + "/volumes/kubernetes.io~cephfs/cephfs-data"
	livePoint   = kubeletRoot + "/pods/" + liveUID + "/volumes/kubernetes.io~empty-dir/sub"
)

// housekeepingDump is the goroutine of a 1.17 kubelet whose housekeeping hangs, and the one that serves its log.
const housekeepingDump = `goroutine 117 [syscall, 12 minutes]:
syscall.Syscall6(0x106, 0xffffffffffffff9c, 0x63d87030c40, 0x63d865286b8, 0x0, 0x0, 0x0)
	/usr/local/go/src/syscall/syscall_linux.go:96 +0x39
os.statNolog({0x63d87030bd0, 0x63})
	/usr/local/go/src/os/stat_unix.go:31 +0x52
os.Stat({0x63d87030bd0, 0x63})
	/usr/local/go/src/os/stat.go:13 +0x2c
k8s.io/utils/mount.(*Mounter).IsLikelyNotMountPoint(0x49e4dd?, {0x63d87030bd0, 0x63})
	/go/src/k8s.io/kubernetes/vendor/k8s.io/utils/mount/mount_linux.go:224 +0x27
k8s.io/kubernetes/pkg/kubelet.(*Kubelet).getMountedVolumePathListFromDisk(0x63d86894a88, {0x63d869ca2a0?, 0x24?})
	/go/src/k8s.io/kubernetes/pkg/kubelet/kubelet_getters.go:327 +0xcf
k8s.io/kubernetes/pkg/kubelet.(*Kubelet).podVolumesExist(0x63d86894a88, {0x63d869ca2a0, 0x24})
	/go/src/k8s.io/kubernetes/pkg/kubelet/kubelet_volumes.go:63 +0x78
k8s.io/kubernetes/pkg/kubelet.(*Kubelet).cleanupOrphanedPodDirs(0x63d86894a88, {0x63d870482c0, 0x1, 0x20?}, {0x63d85f9eb48, 0x1, 0x0?})
	/go/src/k8s.io/kubernetes/pkg/kubelet/kubelet_volumes.go:119 +0x376
k8s.io/kubernetes/pkg/kubelet.(*Kubelet).HandlePodCleanups(0x63d86894a88)
	/go/src/k8s.io/kubernetes/pkg/kubelet/kubelet_pods.go:1063 +0x5c8
k8s.io/kubernetes/pkg/kubelet.(*Kubelet).syncLoopIteration(0x63d86894a88, 0x63d86300310, {0x3d062b0, 0x63d86894a88}, 0x63d86387b90, 0x63d86387c70, 0x63d86389110)
	/go/src/k8s.io/kubernetes/pkg/kubelet/kubelet.go:1994 +0xefc
k8s.io/kubernetes/pkg/kubelet.(*Kubelet).syncLoop(0x63d86894a88, 0x63d86300310, {0x3d062b0, 0x63d86894a88})
	/go/src/k8s.io/kubernetes/pkg/kubelet/kubelet.go:1854 +0x2df
k8s.io/kubernetes/pkg/kubelet.(*Kubelet).Run(0x63d86894a88, 0x63d86300310)
	/go/src/k8s.io/kubernetes/pkg/kubelet/kubelet.go:1449 +0x771
created by k8s.io/kubernetes/cmd/kubelet/app.startKubelet in goroutine 1
	/go/src/k8s.io/kubernetes/cmd/kubelet/app/server.go:1120 +0x129

goroutine 118 [IO wait]:
internal/poll.runtime_pollWait(0x7ff9d86e2800, 0x72)
	/usr/local/go/src/runtime/netpoll.go:351 +0x85
net.(*netFD).accept(0x63d86879300)
	/usr/local/go/src/net/fd_unix.go:172 +0x29
created by k8s.io/kubernetes/cmd/kubelet/app.startKubelet in goroutine 1
	/go/src/k8s.io/kubernetes/cmd/kubelet/app/server.go:1130 +0x1aa
`

func ptr[T any](v T) *T { return &v }

// wellNode is a node on which everything was read and nothing is wrong.
func wellNode(tb testing.TB) forensics.Evidence {
	tb.Helper()
	e := forensics.NewEvidence()
	e.Schema = forensics.EvidenceSchema
	e.Collected = time.Date(2026, 11, 20, 10, 12, 30, 0, time.UTC)
	e.Collector.HungAfterSeconds = 15
	e.Node.Name = "node-1"
	e.Mounts = mounts.Table{Namespace: 4026531840, PID: 1, Root: "/", Mounts: []mounts.Mount{
		{ID: 27, ParentID: 1, Device: "254:0", Root: "/", MountPoint: "/", FSType: "ext4", Class: mounts.ClassBlock, Source: "/dev/vda"},
		{ID: 44, ParentID: 27, Device: "0:41", Root: "/", MountPoint: livePoint, FSType: "tmpfs", Class: mounts.ClassMemory, Source: "tmpfs"},
		{ID: 60, ParentID: 27, Device: "0:47", Root: "/", MountPoint: deadPoint, FSType: "fuse.ceph-fuse", Class: mounts.ClassFUSE, Source: "10.0.0.5:6789:/k8s"},
	}}
	e.Probes = []mounts.Probe{
		{MountID: 27, Device: "254:0", MountPoint: "/", Call: "statfs", Seconds: 0.00002},
		{MountID: 60, Device: "0:47", MountPoint: deadPoint, Call: "statfs", Seconds: 0.0002},
	}
	e.Kubelet = &kubelet.Instance{
		PID: 9825, State: "S", Program: "kubelet", Version: "1.17.4", VersionFrom: "metrics", Flags: map[string]string{},
		RootDir: kubeletRoot, CanonicalRoot: kubeletRoot, MountNS: 4026531840,
		Endpoints: []kubelet.Endpoint{
			{URL: "https://127.0.0.1:10250/healthz?verbose", Status: "ok", Code: 200, Passed: []string{"ping", "log", "syncloop"}},
			{URL: "http://127.0.0.1:10248/healthz?verbose", Status: "ok", Code: 200, Passed: []string{"ping"}},
		},
	}
	e.Processes = []procs.Process{
		{PID: 1, Comm: "systemd", State: "S", Command: []string{"/sbin/init"}},
		{PID: 4000, Comm: "sh", State: "S", Command: []string{"sh"}, PodUID: liveUID},
		{PID: 9825, Comm: "kubelet", State: "S", Command: []string{"/usr/bin/kubelet"}},
	}
	e.Cgroups = []runtimes.PodCgroup{{PodUID: liveUID, Path: "/sys/fs/cgroup/pids/kubepods/pod" + liveUID, Containers: []string{}}}
	e.Pods = []kubelet.Pod{{UID: liveUID, Namespace: "default", Name: "web", Source: "kubelet"}}
	e.PodDirs = []kubelet.PodDir{{
		UID: liveUID, Path: kubeletRoot + "/pods/" + liveUID, Containers: []string{"c"}, Subpaths: []kubelet.Subpath{},
		Volumes: []kubelet.Volume{{Plugin: "kubernetes.io/empty-dir", Name: "sub", Path: livePoint, MountPoints: []string{livePoint}}},
	}}
	e.Cluster = &apidump.Dump{
		Nodes: []apidump.Node{{Object: apidump.Object{Kind: "Node", Name: "node-1"}, Ready: "True", KubeletVersion: "v1.17.4"}},
		Pods:  []apidump.Pod{{Object: apidump.Object{Kind: "Pod", Namespace: "default", Name: "web", UID: liveUID}, Node: "node-1", Phase: "Running"}},
		Kinds: map[string]int{"Node": 1, "Pod": 1},
	}
	// What was looked for and not found, here or where a case empties it. All else counts as read since it is there.
	for _, source := range []string{forensics.SourceThreads, forensics.SourceHolders, forensics.SourceRuntime, forensics.SourceKubeletPods} {
		e.Cover(forensics.Source{Source: source, Status: forensics.SourceRead})
	}
	e.Disks = oneDisk(eviction.Settings{Minor: 17}, 50)
	e.Logs = wellStory()
	addDump(tb, &e, strings.ReplaceAll(housekeepingDump[strings.Index(housekeepingDump, "goroutine 118"):], "\r", ""), 9825)
	return e
}

// addDump puts a dump in place of those that are there.
func addDump(tb testing.TB, e *forensics.Evidence, text string, pid int) {
	tb.Helper()
	dumps, err := read.Dumps("dump", strings.NewReader(text))
	if err != nil {
		tb.Fatal(err)
	}
	for i := range dumps {
		dumps[i].PID = pid
	}
	e.Dumps = dumps
}

// sickNode is the same node after the file server behind the orphaned pod's volume went away.
func sickNode(tb testing.TB) forensics.Evidence {
	tb.Helper()
	e := wellNode(tb)
	e.Probes[1] = mounts.Probe{MountID: 60, Device: "0:47", MountPoint: deadPoint, Skipped: mounts.SkipWaited}
	e.FUSEQueues = []mounts.FUSEQueue{{Device: "0:47", Requests: []int{1, 1}}}
	e.Threads = []procs.Thread{{
		PID: 9825, TID: 9839, Comm: "kubelet", State: "S", WChan: "request_wait_answer",
		Stack: []string{"request_wait_answer", "__fuse_simple_request", "fuse_do_getattr"},
		Wait:  procs.Wait{Kind: procs.WaitFUSE, FS: "fuse", Function: "request_wait_answer", Meaning: "It waits for a FUSE server."},
		Syscall: &procs.Syscall{Number: 262, Name: "newfstatat", Args: []string{
			"0xffffffffffffff9c", "0x63d87030c40", "0x63d865286b8", "0x0", "0x0", "0x0",
		}},
		Path: deadPoint, PathFrom: "argument", MountID: 60, Device: "0:47", MountNS: 4026531840,
		WaitSeconds: ptr(740.0), WaitFrom: "sched", Same: true, SampledSeconds: 1.5,
	}}
	e.Kubelet.Endpoints[0] = kubelet.Endpoint{
		URL: "https://127.0.0.1:10250/healthz?verbose", Status: "unhealthy", Code: 500, Failed: []string{"syncloop"},
		Detail: "[+]ping ok\n[+]log ok\n[-]syncloop failed: reason withheld\nhealthz check failed",
	}
	e.PodDirs = append(e.PodDirs, kubelet.PodDir{
		UID: deadUID, Path: kubeletRoot + "/pods/" + deadUID, Containers: []string{}, Subpaths: []kubelet.Subpath{},
		Volumes: []kubelet.Volume{{Plugin: "kubernetes.io/cephfs", Name: "cephfs-data", Path: deadPoint, MountPoints: []string{deadPoint}}},
	})
	addDump(tb, &e, housekeepingDump, 9825)
	return e
}

// at is a moment of the day on which all evidence was taken.
func at(clock string) *time.Time {
	t, err := time.Parse(time.DateTime, "2026-11-20 "+clock)
	if err != nil {
		panic(err)
	}
	return &t
}

// wellStory is the story of logs in which nothing happened: a kubelet at -v 4 that goes on until the examination.
func wellStory() *logs.Story {
	return &logs.Story{
		Files: []logs.File{
			{Path: "kubelet.log", Origin: "kubelet", Status: "read", First: at("09:30:00"), Last: at("10:12:29")},
			{Path: "/dev/kmsg", Origin: "kernel", Status: "read"},
			{Path: "kcm.log", Origin: "kube-controller-manager", Status: "read"},
		},
		First: at("09:30:00"), Last: at("10:12:29"),
		Lives: []logs.Life{{PID: 9825, Started: at("09:30:00"), Last: at("10:12:29"), Version: "v1.17.4", Verbosity: 4, Stage: "registered", End: "running"}},
		Loop: &logs.Loop{
			LastSeen: map[string]time.Time{"housekeeping": *at("10:12:28")}, Last: at("10:12:28"), OthersLast: at("10:12:29"),
			OthersCount: 2, Cadence: 2, Gaps: []logs.Gap{}, Quote: line(8000, "10:12:28", `SyncLoop (housekeeping)`),
		},
		Deletions: []logs.Deletion{}, Operations: []logs.Operation{}, Events: []logs.Event{},
	}
}

// line is a line of the kubelet's log. All stories end at 10:12:29, one second before the examination.
func line(number int64, clock, text string) *logs.Quote {
	return &logs.Quote{File: "kubelet.log", Line: number, Time: at(clock), Text: text}
}

// event is an event of the kubelet, from and to a time of day.
func event(kind logs.Kind, count int64, from, to string, about logs.Subject) logs.Event {
	return logs.Event{
		Kind: kind, Origin: "kubelet", Subject: about, Count: count, First: at(from), Last: at(to),
		Quotes: []logs.Quote{*line(100, from, string(kind)+" first"), *line(200, to, string(kind)+" last")},
	}
}

// tells adds events to the story.
func tells(list ...logs.Event) func(testing.TB, *forensics.Evidence) {
	return func(_ testing.TB, e *forensics.Evidence) { e.Logs.Events = append(e.Logs.Events, list...) }
}
