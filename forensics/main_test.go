package forensics_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// fill sets everything below a value to something that is not its zero value, so that a test about all fields also
// holds for those that do not exist yet.
func fill(tb testing.TB, v reflect.Value) {
	tb.Helper()
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Date(2026, 11, 20, 10, 12, 30, 5e8, time.UTC)))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(tb, v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(tb, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(tb, v.Index(0))
		fill(tb, v.Index(1))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(tb, key)
		fill(tb, value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("some <text> & \u2028 \"quotes\"")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(8)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(9.25)
	default:
		tb.Fatalf("a %v in the evidence, which is no plain data", v.Type())
	}
}

// filled is a value of which every field is set.
func filled[T any](tb testing.TB) T {
	tb.Helper()
	var v T
	fill(tb, reflect.ValueOf(&v).Elem())
	return v
}

// The actors of hand-made evidence.
const (
	kubeletRoot = "/var/lib/kubelet"
	kubeletPID  = 9825
	DeadUID     = "5c948341-c030-4996-b888-f032577d97b0"
	liveUID     = "2fa11937-efab-40db-8527-8b553e1ceebb"
	deadPoint   = kubeletRoot + "/pods/" + DeadUID + "/volumes/kubernetes.io~cephfs/cephfs-data"
)

// saw is evidence in which sources were read and nothing was found.
func saw(sources ...string) forensics.Evidence {
	e := forensics.NewEvidence()
	for _, source := range sources {
		e.Cover(forensics.Source{Source: source, Status: forensics.SourceRead})
	}
	return e
}

// fuseMount is a mount as mountinfo shows it.
func fuseMount(id int, device, point string) mounts.Mount {
	return mounts.Mount{
		ID: id, ParentID: 27, Device: device, Root: "/", MountPoint: point,
		FSType: "fuse.ceph-fuse", Class: mounts.ClassFUSE, Source: "10.0.0.5:6789:/k8s",
	}
}

// fuseThread is a thread that waits for a FUSE server in newfstatat.
func fuseThread(pid, tid int, device string, args ...string) procs.Thread {
	return procs.Thread{
		PID: pid, TID: tid, Comm: "kubelet", State: "S", WChan: "request_wait_answer", Stack: []string{"request_wait_answer"},
		Wait:    procs.Wait{Kind: procs.WaitFUSE, FS: "fuse", Function: "request_wait_answer"},
		Syscall: &procs.Syscall{Number: 262, Name: "newfstatat", Args: args}, Device: device,
	}
}

// sickNode is a node with dead and healthy FUSE mounts, each the volume of a pod of its own. The pods of dead mounts are
// orphaned, a thread waits for each, and the kubelet's housekeeping for the first.
func sickNode(tb testing.TB, dead, healthy int) forensics.Evidence {
	tb.Helper()
	e := saw(forensics.SourceMounts, forensics.SourceProcesses, forensics.SourceThreads, forensics.SourceHealth, forensics.SourceKubelet,
		forensics.SourceKubeletHealth, forensics.SourceKubeletPods, forensics.SourcePodDirs, forensics.SourceCgroups, forensics.SourceGoroutines)
	e.Collected, e.Collector.HungAfterSeconds, e.Node.Name = time.Date(2026, 11, 20, 10, 12, 30, 0, time.UTC), 15, "node-1"
	e.Mounts = mounts.Table{Namespace: 1, PID: 1, Root: "/", Mounts: []mounts.Mount{
		{ID: 27, ParentID: 1, Device: "254:0", Root: "/", MountPoint: "/", FSType: "ext4", Class: mounts.ClassBlock, Source: "/dev/vda"},
	}}
	e.Kubelet = &kubelet.Instance{
		PID: kubeletPID, State: "S", Program: "kubelet", Version: "1.34.4", Flags: map[string]string{},
		RootDir: kubeletRoot, CanonicalRoot: kubeletRoot, MountNS: 1, Endpoints: []kubelet.Endpoint{{
			URL: "https://127.0.0.1:10250/healthz?verbose", Status: "unhealthy", Code: 500, Failed: []string{"syncloop"},
		}},
	}
	e.Processes = []procs.Process{{PID: kubeletPID, Comm: "kubelet", State: "S", Command: []string{"/usr/bin/kubelet"}}}
	e.Pods = []kubelet.Pod{{UID: liveUID, Namespace: "default", Name: "web", Source: "kubelet"}}
	for i := range dead + healthy {
		uid, device := fmt.Sprintf("%08x-c030-4996-b888-f032577d97b0", i), fmt.Sprintf("0:%d", 100+i)
		point := kubeletRoot + "/pods/" + uid + "/volumes/kubernetes.io~cephfs/data"
		e.Mounts.Mounts = append(e.Mounts.Mounts, fuseMount(100+i, device, point))
		e.PodDirs = append(e.PodDirs, kubelet.PodDir{
			UID: uid, Path: kubeletRoot + "/pods/" + uid, Containers: []string{}, Subpaths: []kubelet.Subpath{},
			Volumes: []kubelet.Volume{{Plugin: "kubernetes.io/cephfs", Name: "data", Path: point, MountPoints: []string{point}}},
		})
		probe := mounts.Probe{MountID: 100 + i, Device: device, MountPoint: point, Call: "statx", Seconds: 0.001}
		if i < dead {
			probe.Pending, probe.Seconds, probe.Awake = true, 15, 15
			e.Threads = append(e.Threads, deadThread(i, device, point))
		} else {
			e.Pods = append(e.Pods, kubelet.Pod{UID: uid, Source: "kubelet"})
		}
		e.Probes = append(e.Probes, probe)
	}
	e.Dumps = dumpsOf(tb, kubeletPID, housekeepingDump)
	return e
}

// deadThread waits for the i-th dead mount; the first is the kubelet's housekeeping.
func deadThread(i int, device, point string) procs.Thread {
	seconds, pid := 720.0, kubeletPID
	if i > 0 {
		pid = 20_000 + i
	}
	t := fuseThread(pid, 20_000+i, device, "0xffffffffffffff9c", fmt.Sprintf("0x%x", 0x63d87030c40+i*0x1000), "0x63d865286b8", "0x0", "0x0", "0x0")
	t.Path, t.PathFrom, t.MountID, t.MountNS, t.WaitSeconds, t.WaitFrom = point, "argument", 100+i, 1, &seconds, "sched"
	return t
}

const housekeepingDump = `goroutine 117 [syscall, 12 minutes]:
syscall.Syscall6(0x106, 0xffffffffffffff9c, 0x63d87030c40, 0x63d865286b8, 0x0, 0x0, 0x0)
	/usr/local/go/src/syscall/syscall_linux.go:96 +0x39
os.Stat({0x63d87030bd0, 0x63})
	/usr/local/go/src/os/stat.go:13 +0x2c
k8s.io/kubernetes/pkg/kubelet.(*Kubelet).getMountedVolumePathListFromDisk(0x63d86894a88, {0x63d869ca2a0?, 0x24?})
	/go/src/k8s.io/kubernetes/pkg/kubelet/kubelet_getters.go:327 +0xcf
k8s.io/kubernetes/pkg/kubelet.(*Kubelet).HandlePodCleanups(0x63d86894a88)
	/go/src/k8s.io/kubernetes/pkg/kubelet/kubelet_pods.go:1063 +0x5c8
k8s.io/kubernetes/pkg/kubelet.(*Kubelet).syncLoopIteration(0x63d86894a88)
	/go/src/k8s.io/kubernetes/pkg/kubelet/kubelet.go:1994 +0xefc
created by k8s.io/kubernetes/cmd/kubelet/app.startKubelet in goroutine 1
	/go/src/k8s.io/kubernetes/cmd/kubelet/app/server.go:1120 +0x129
`
