package checks

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/read"
)

// judgePasted judges one pasted text.
func judgePasted(t *testing.T, text string) forensics.Analysis {
	t.Helper()
	saved := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	f := read.FSFile(fstest.MapFS{"paste.txt": {Data: []byte(text), ModTime: saved}}, "paste.txt")
	nodes, _ := read.Files(t.Context(), read.Options{Now: saved}, f)
	return forensics.Analyze(&nodes[0], All())
}

// TestRulesOfPastedEvidence has what was once judged wrongly, by the rules that came of it.
func TestRulesOfPastedEvidence(t *testing.T) {
	const shim = `Nov 20 08:30:01 w1 containerd[900]: time="2026-11-20T08:30:01Z" level=info msg="`
	const dockerd = `Nov 20 08:30:01 w1 dockerd[900]: time="2026-11-20T08:30:01Z" level=info msg="`
	const docker = "rpc error: code = Unknown desc = Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
	for _, tt := range []struct {
		name, text string
		has, not   []string // parts of the findings, of any severity
	}{
		{"2: a server is back by the order of lines without times", "[ 10.1] nfs: server 192.0.2.4 not responding, still trying\n[ 16.2] nfs: server 192.0.2.4 OK\n", nil, []string{"kernel-server-unresponsive"}},
		{"2: a server that is gone again", "[ 10.1] nfs: server 192.0.2.4 OK\n[ 16.2] nfs: server 192.0.2.4 not responding, still trying\n", []string{"kernel-server-unresponsive"}, nil},
		{"2: another server is back", "[ 10.1] nfs: server 192.0.2.4 not responding, still trying\n[ 16.2] nfs: server 192.0.2.5 OK\n", []string{"NFS server 192.0.2.4"}, nil},
		{"no mount is left of a server", "[ 10.1] nfs: server 192.0.2.4 not responding, still trying\n$ grep -c 192.0.2.4 /proc/mounts\n0\n", nil, []string{"kernel-server-unresponsive"}},
		{"no mount is left of another server", "[ 10.1] nfs: server 192.0.2.4 not responding, still trying\n$ grep -c 192.0.2.5 /proc/mounts\n0\n", []string{"NFS server 192.0.2.4"}, nil},
		{"2: silence of a log is no recovery", "I1120 10:08:14.122231   13008 kubelet.go:1794] skipping pod synchronization - container runtime is down\n" +
			"I1120 10:40:14.122231   13008 prober.go:116] Liveness probe succeeded\n", []string{"no later line repeats it"}, []string{"recovered"}},
		{"2: docker that is not there, by the relist alone", "I1120 10:08:14.122231   13008 kubelet.go:1794] skipping pod synchronization - container runtime is down\n" +
			"E1120 10:12:11.700251   13008 generic.go:197] GenericPLEG: Unable to retrieve pods: " + docker + "\n", []string{"runtime-unresponsive: Container runtime has not responded"}, []string{"did not respond"}},
		{"2: REMOVE of a static pod is a request", `I1120 07:00:11.100120    1010 kubelet.go:2087] "SyncLoop REMOVE" source="file" pods=["kube-system/kube-apiserver-cp1"]` + "\n", nil, []string{"pod-terminating-stuck", "removed"}},
		{"3: no space left on device of inotify", "E1120 10:00:02.118101     610 raw.go:146] Failed to watch directory \"/sys/fs/cgroup/memory\": inotify_add_watch /sys/fs/cgroup/memory: no space left on device\n", []string{"limit-exhausted"}, []string{"disk-pressure", "disk-near"}},
		{"4: an F line is no panic", "F1120 08:40:11.902113    3310 server.go:273] failed to run Kubelet: Running with swap on is not supported\ngoroutine 1 [running]:\n", []string{"kubelet-restarting"}, []string{"panic"}},
		{"1: a dump of dockerd in its log is no panic of a kubelet", `time="2026-11-20T08:30:01Z" level=info msg="=== BEGIN goroutine stack dump ===\ngoroutine 61 [running]:\ngithub.com/docker/docker/daemon.(*Daemon).x(0x0)\n\t/d.go:1 +0x1\n"` + "\n", nil, []string{"kubelet-restarting", "panic"}},
		{"4: a failing unmount is no deletion", klogAt + strings.Replace(csiText, "not found in the list of registered CSI drivers", "busy", 1) + "\n", []string{"volume-unmount-failing"}, []string{"Terminating"}},
		{"4: the kubelet's wait tells how often it failed", klogAt + strings.NewReplacer("not found in the list of registered CSI drivers", "busy", "2m2s", "500ms").Replace(csiText) + "\n", []string{"volume-unmount-failing: Volume data"}, []string{"Terminating"}},
		{"9: a container that docker killed ends", dockerd + `Container 6798 failed to exit within 10 seconds of signal 15 - using the force"` + "\n", nil, []string{"container-stop-failing"}},
		{"a container that docker cannot kill", dockerd + `Container 6798 failed to exit within 10 seconds of kill - trying direct SIGKILL"` + "\n", []string{"container-stop-failing: Container 6798"}, nil},
		{"9: an orphan that was cleaned", strings.Replace(orphanLine, "total of 3", "total of 1", 1) + `I1120 10:02:47.000001    2588 kubelet_volumes.go:163] "Cleaned up orphaned pod volumes dir" podUID="` + uid + `" path="/var/lib/kubelet/pods/` + uid + `/volumes"` + "\n", nil, []string{"pod-orphaned"}},
		{"9: of three orphans one was cleaned", orphanLine + `I1120 10:02:47.000001    2588 kubelet_volumes.go:163] "Cleaned up orphaned pod volumes dir" podUID="` + uid + `" path="/var/lib/kubelet/pods/` + uid + `/volumes"` + "\n", []string{"pod-orphaned"}, nil},
		{"a shim that ends with its container", shim + `shim disconnected" id=a0b1` + "\n" + shim + `StopContainer for \"a0b1\" returns successfully"` + "\n", nil, []string{"container-stop-failing"}},
		{"an NFS server that comes and goes while housekeeping takes long", slowServer(true), []string{"kernel-server-unresponsive: NFS server 192.0.2.4 is slow: it stopped responding 3 times"}, nil},
		{"2: an NFS server that came and went, and nothing waited", slowServer(false), []string{"did not respond"}, []string{"slow"}},
		{"a cgroup that the kubelet cannot delete again and again", undeletedCgroup(6), []string{"pod-cgroup-leftover: Cgroup of pod " + uid + " cannot be deleted"}, nil},
		{"a cgroup that the kubelet could not delete at first", undeletedCgroup(3), nil, []string{"pod-cgroup-leftover"}},
		{"the kubelet cannot begin an unmount, and its err is short", strings.Repeat(`E1120 10:02:45.100633    2588 reconciler_common.go:166] "operationExecutor.UnmountVolume failed (controllerAttachDetachEnabled true) for volume \"data\" (UniqueName: \"kubernetes.io/csi/csi.example.org^h1\") pod \"`+uid+`\" (UID: \"`+uid+`\") : UnmountVolume.NewUnmounter failed for volume \"data\" (UniqueName: \"kubernetes.io/csi/csi.example.org^h1\") pod \"`+uid+`\" (UID: \"`+uid+`\") : kubernetes.io/csi: unmounter failed to load volume data file [/var/lib/kubelet/pods/`+uid+`/volumes/kubernetes.io~csi/data/mount]: kubernetes.io/csi: failed to open volume data file [/v/vol_data.json]: open /v/vol_data.json: no such file or directory" err="UnmountVolume.NewUnmounter failed"`+"\n", 5), []string{"volume-unmount-failing: Volume data cannot be unmounted: its vol_data.json is missing"}, nil},
		{"a runtime that has started since", runtimeRefuses + runtimeBoots("10:01:06"), []string{"did not respond"}, []string{"has not responded"}},
		{"a runtime that refuses since it has started", runtimeBoots("10:00:06") + runtimeRefuses, []string{"has not responded"}, nil},
		{"a driver that has registered since", driverMissing + driverRegisters("10:01:06", "csi.example.org"), []string{"was not registered"}, []string{"has not been registered"}},
		{"another driver that has registered since", driverMissing + driverRegisters("10:01:06", "csi.example.com"), []string{"has not been registered"}, nil},
		{"a driver that is gone after it had registered", driverRegisters("10:00:06", "csi.example.org") + driverMissing, []string{"has not been registered"}, nil},
		{"a thin pool in the runtime's answer", `E1120 10:01:01.190215    1740 remote_runtime.go:92] RunPodSandbox from runtime service failed: rpc error: code = Unknown desc = error creating pod sandbox with name "k8s_a": devmapper: Thin Pool has 5833 free data blocks which is less than minimum required 7781 free data blocks` + "\n", []string{"disk-pressure: Thin pool of the runtime has too few free blocks"}, nil},
		{"a containerd of k3s that ends by itself", `time="2026-11-20T10:01:00Z" level=fatal msg="containerd exited: exit status 2"` + "\n", []string{"runtime-unresponsive"}, nil},
		{"a program of Kubernetes that ended is no kubelet", `E1120 10:00:20.103811       1 run.go:74] "command failed" err="failed complete: too many open files"` + "\n", nil, []string{"kubelet"}},
		{"a kubelet that ended by its configuration", `E1120 10:00:20.103811    3911 run.go:74] "command failed" err="failed to load kubelet config file, path: /var/lib/kubelet/config.yaml, error: x"` + "\n", []string{"kubelet-restarting"}, nil},
		{"a crash of an application below an event of its pod", crash("example.com/shop/cart.(*Store).Get") + "Warning  BackOff  12s  kubelet  Back-off restarting failed container cart in pod cart-1\n", nil, []string{"kubelet-restarting"}},
		{"a crash of kube-proxy", crash("k8s.io/kubernetes/pkg/proxy/iptables.(*Proxier).syncProxyRules") + orphanLine, nil, []string{"kubelet-restarting"}},
		{"a crash of the kubelet", crash("k8s.io/kubernetes/pkg/volume/csi.(*csiMountMgr).SetUpAt") + orphanLine, []string{"kubelet-restarting"}, nil},
		{"a crash in a library of Kubernetes, cut", crash("k8s.io/client-go/tools/cache.(*Reflector).Run") + orphanLine, []string{"kubelet-restarting"}, nil},
		{"an API server that is back, by the node", strings.Repeat(noAPI, 3) + "$ kubectl get nodes\nNAME   STATUS   ROLES    AGE    VERSION\nw2     Ready    <none>   120d   v1.27.2\n", []string{"kubelet could not reach"}, []string{"cannot reach"}},
		{"an API server that is back, by a sentence", strings.Repeat(noAPI, 3) + "An hour later `w2` is back to Ready. Why?\n", []string{"kubelet could not reach"}, []string{"cannot reach"}},
		{"another node is ready", strings.Repeat(noAPI, 3) + "w1     Ready    <none>   120d   v1.27.2\n", []string{"kubelet cannot reach"}, nil},
		{"a node that was ready above", "w2     Ready    <none>   120d   v1.27.2\n" + strings.Repeat(noAPI, 3), []string{"kubelet cannot reach"}, nil},
		{"a node that is ready now and then", strings.Repeat(noAPI, 3) + "w2 is Ready for a minute when I restart it, then NotReady\n", []string{"kubelet cannot reach"}, nil},
		{"a clock before the certificate, by the lease alone", strings.Replace(noAPI, "dial tcp 192.0.2.10:6443: connect: no route to host", "x509: certificate has expired or is not yet valid: current time 1970-01-01T00:00:41Z is before 2021-05-29T15:48:22Z", 1), []string{"certificate-expired"}, nil},
		{"a health check below a log line", "I1120 10:02:45.000001    2588 kubelet.go:1994] SyncLoop (housekeeping)\n[root@w1 ~]# curl localhost:10255/healthz?verbose\n[+]ping ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n", []string{"kubelet-syncloop-stalled"}, nil},
		{"a health check that passes below a log line", "I1120 10:02:45.000001    2588 kubelet.go:1994] SyncLoop (housekeeping)\n$ curl localhost:10255/healthz?verbose\n[+]ping ok\n[+]syncloop ok\nhealthz check passed\n", nil, []string{"kubelet-syncloop-stalled"}},
		{"a Russian month as glibc writes it since 2.27", strings.Repeat("нояб. "+strings.TrimPrefix(noAPI, "Nov "), 3), []string{"api-server-unreachable"}, nil},
		{"a driver that refuses a call of the kubelet", nodeBusy("nodeserver.go:134"), []string{"csi-operation-stuck: A CSI driver"}, nil},
		{"a driver that refuses a call of a controller", nodeBusy("controllerserver.go:134"), nil, []string{"csi-operation-stuck"}},
		{"a root file system of a container that is busy", rootIsBusy, []string{"container-stop-failing: Container 018f7944fe07 cannot be"}, nil},
		{"a sandbox whose first creation still runs", sandboxTimedOut + sandboxReserved, []string{"sandbox-create-failing: Pod sandboxes cannot be created"}, nil},
		{"a containerd of k3s that is ended", `time="2026-11-20T10:01:00Z" level=info msg="containerd exited: signal: terminated"` + "\n", nil, []string{"runtime-unresponsive"}},
		{"a task that waits for a frozen file system", hungIn("__sb_start_write+0x5f/0x70"), []string{"mount-frozen: A file system is frozen"}, nil},
		{"a task that waits for a lock", hungIn("rwsem_down_write_slowpath+0x2ed/0x4a0"), []string{"kernel-hung-task"}, []string{"mount-frozen"}},
		{"a dead mount in the runtime's answer", strings.Repeat(`E1120 10:01:09.117004    2871 remote_runtime.go:1300] "CreateContainer in sandbox from runtime service failed" err="rpc error: code = Unknown desc = failed to generate spec: failed to stat \"/var/lib/kubelet/pods/`+uid+`/volumes/kubernetes.io~csi/b/mount\": stat /var/lib/kubelet/pods/`+uid+`/volumes/kubernetes.io~csi/b/mount: transport endpoint is not connected"`+"\n", 3), []string{"mount-disconnected"}, nil},
		{"the process limit of the runtime", "[Fri Nov 20 10:00:01 2026] cgroup: fork rejected by pids controller in /system.slice/containerd.service\n", []string{"limit-exhausted: Process limit of a cgroup has been reached"}, nil},
		{"a lockup at which the kernel panicked", softLockup + "[ 90.2] Kernel panic - not syncing: softlockup: hung tasks\n", []string{"kernel-lockup: CPUs were stuck"}, nil},
		{"process ids that were short for a minute", pidsShort("12:01:10"), nil, []string{"Process ids of the node have been", "Memory pressure"}},
		{"process ids that were short for just under five minutes", pidsShort("12:05:29"), nil, []string{"Process ids of the node have been"}},
		{"process ids that are short for five minutes", pidsShort("12:05:30"), []string{"limit-exhausted: Process ids of the node have been nearly used up"}, nil},
		{"process ids that are short", pidsShort("12:12:10"), []string{"limit-exhausted: Process ids of the node have been nearly used up"}, []string{"Memory pressure"}},
		{"a watch that ended", "E1120 10:00:02.118101     610 reflector.go:138] object-\"shop\"/\"db\": Failed to watch *v1.Secret: Get \"https://192.0.2.4:6443/api/v1/x\": http2: client connection lost\n", nil, []string{"api-server-unreachable"}},
		{"an API server without a route", "E1120 10:00:02.118101     610 controller.go:187] failed to update lease, error: Put \"https://192.0.2.4:6443/x\": dial tcp 192.0.2.4:6443: connect: no route to host\n", []string{"api-server-unreachable: kubelet cannot reach the API server"}, nil},
		{"an image that must not be pulled, after one was removed", imageRemovedLine + "  Warning  ErrImageNeverPull  3s (x9 over 96s)  kubelet  Container image \"example.com/app:1\" is not present with pull policy of Never\n", []string{"image-gc-removed-in-use: 1 image removed by the kubelet to free space: example.com/app:1 cannot be pulled"}, nil},
		{"a record of an eviction", "  message: 'The node was low on resource: ephemeral-storage. '\n  reason: Evicted\n", []string{"disk-pressure: The kubelet evicts pods: the node is low on ephemeral-storage"}, nil},
		{"a record of an eviction for memory", "  message: 'The node was low on resource: memory. '\n  reason: Evicted\n", nil, []string{"disk-pressure"}},
		{"deletions of the pod garbage collector without their rule", `I1120 10:02:45.530044       1 gc_controller.go:337] "PodGC is force deleting Pod" pod="shop/cart-1"` + "\n", []string{"pod-podgc: Pod shop/cart-1 was deleted by pod garbage collection: their node may not exist"}, nil},
		{"deletions of the pod garbage collector by its threshold", `I1120 10:02:45.510044       1 gc_controller.go:161] "Garbage collecting pods" numPods=1` + "\n" + `I1120 10:02:45.530044       1 gc_controller.go:337] "PodGC is force deleting Pod" pod="shop/cart-1"` + "\n", []string{"pod-podgc: Terminated pods"}, []string{"may not exist"}},
		{"a cgroup that systemd does not remove", undeletedSlice, []string{"pod-cgroup-leftover: Cgroup of pod " + uid + " cannot be deleted"}, nil},
		{"a cgroup that was not deleted once", undeletedCgroup(1), nil, []string{"pod-cgroup-leftover"}},
		{"the main goroutine in statfs, by a signal", "SIGABRT: abort\n\ngoroutine 1 gp=0xc0000061c0 m=9 mp=0xc000680808 [syscall]:\n" + statfsOfMain, []string{"kubelet-start-blocked: kubelet may be unable to finish starting"}, nil},
		{"the main goroutine in statfs, at one moment", "goroutine 1 [syscall]:\n" + statfsOfMain, nil, []string{"kubelet-start-blocked"}},
		{"the main goroutine in statfs for long", "goroutine 1 [syscall, 37 minutes]:\n" + statfsOfMain, []string{"kubelet-start-blocked: kubelet cannot finish starting"}, nil},
		{"another goroutine in statfs, by a signal", "SIGABRT: abort\n\ngoroutine 71 gp=0xc0000061c0 m=9 mp=0xc000680808 [syscall]:\n" + statfsOfMain, nil, []string{"kubelet-start-blocked"}},
		{"certificates that were renewed below", expired + renewed, []string{"was refused"}, []string{"has been refused"}},
		{"certificates that were renewed above", renewed + expired, []string{"has been refused"}, nil},
		{"a network that flannel does not make, by what repeats it", networkEcho + networkEcho + flannelExits, []string{"sandbox-create-failing: Network plugin cannot set up pods"}, nil},
		{"files whose owner is changed", ownership + ownership, []string{"changes the ownership of all files"}, nil},
		{"files whose owner was changed", ownership + ownership + `I1120 10:03:15.000000    1701 operation_generator.go:722] "MountVolume.SetUp succeeded for volume \"data\" (UniqueName: \"kubernetes.io/csi/x^y\") pod \"cart-1\" (UID: \"` + uid + `\") " pod="shop/cart-1"` + "\n", nil, []string{"changes the ownership"}},
		{"a pod that waits for its volumes, of which the owner is changed", ownership + ownership + strings.Repeat(waitsForData, 3), []string{"volume-mount-failing: Pod shop/cart-1 has been waiting"}, []string{"changes the ownership"}},
		{"a lock in containerd, of which the program is known by its modules alone", lockOfMetrics, nil, []string{"kubelet-lock-contention"}},
		{"a lock in a kubelet whose callers are cut off", strings.ReplaceAll(lockOfMetrics, "github.com/containerd/containerd/vendor", "k8s.io/kubernetes/vendor"), []string{"kubelet-lock-contention"}, nil},
		{"a volume on a host that is down", hostDown("lstat /var/lib/kubelet/x"), []string{"mount-disconnected"}, nil},
		{"a driver that cannot connect to a host that is down", hostDown("dial tcp 192.0.2.7:443: connect"), nil, []string{"mount-disconnected"}},
		{"pods of a removed node, by the ends of their deletions alone", `I1120 10:02:45.530044       1 gc_controller.go:261] "Forced deletion of orphaned Pod succeeded" pod="shop/cart-1"` + "\n", []string{"pod-podgc: Pod shop/cart-1 was deleted by pod garbage collection: the Node object does not exist"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var all []string
			for _, f := range judgePasted(t, tt.text).Findings {
				all = append(all, f.ID+": "+f.Title)
			}
			said := strings.Join(all, "\n")
			for _, part := range tt.has {
				if !strings.Contains(said, part) {
					t.Errorf("%q is missing in:\n%s", part, said)
				}
			}
			for _, part := range tt.not {
				if strings.Contains(said, part) {
					t.Errorf("%q is said:\n%s", part, said)
				}
			}
		})
	}
}

const (
	undeletedSlice = `I1120 10:02:45.420991    1701 pod_container_manager_linux.go:210] "Failed to delete cgroup paths" cgroupName=["kubepods","burstable","pod` + uid +
		`"] err="unable to destroy cgroup paths for cgroup [kubepods burstable pod` + uid + `] : Timed out while waiting for systemd to remove kubepods-burstable-pod1.slice"` + "\n"
	statfsOfMain = "syscall.Syscall(0x89, 0xc0009a4120, 0xc00058b8a0, 0x0)\n\t/s.go:69 +0x25\nsyscall.Statfs({0xc000a1c0f0?, 0xc00058b8c0?}, 0xc00058b8a0)\n\t/z.go:1376 +0x78\n" +
		"github.com/google/cadvisor/fs.getVfsStats({0xc000a1c0f0?, 0x5?})\n\tvendor/github.com/google/cadvisor/fs/fs.go:720 +0x5d\ngithub.com/google/cadvisor/fs.(*RealFsInfo).GetFsInfoForPath(0xc000c0a8d0, 0x0)\n\tvendor/github.com/google/cadvisor/fs/fs.go:446 +0x76f\n"
	ownership     = `I1120 10:02:15.000000    1701 volume_linux.go:110] "Setting volume ownership for /var/lib/kubelet/pods/` + uid + `/volumes/kubernetes.io~csi/data/mount and fsGroup set. If the volume has a lot of files then setting volume ownership could be slow, see https://github.com/kubernetes/kubernetes/issues/69699"` + "\n"
	waitsForData  = `E1120 10:03:40.000000    1701 kubelet.go:1922] "Unable to attach or mount volumes for pod; skipping pod" err="unmounted volumes=[data], unattached volumes=[data]: timed out waiting for the condition" pod="shop/cart-1"` + "\n"
	lockOfMetrics = "goroutine 233 [sync.Mutex.Lock, 239 minutes]:\nsync.runtime_SemacquireMutex(0x7f10db575650?, 0xd0?, 0x55e6169b6452?)\n\t/usr/lib/go-1.23/src/runtime/sema.go:95 +0x25\n" +
		"sync.(*Mutex).lockSlow(0xc0003aad98)\n\t/usr/lib/go-1.23/src/sync/mutex.go:173 +0x15d\nsync.(*Mutex).Lock(...)\n\t/usr/lib/go-1.23/src/sync/mutex.go:92\n" +
		"github.com/docker/go-metrics.(*Namespace).WithConstLabels(0xc0003aad70, 0xc0403f1b30)\n\t/src/github.com/containerd/containerd/vendor/github.com/docker/go-metrics/namespace.go:43 +0x55\n"
	softLockup       = "[ 61.2] watchdog: BUG: soft lockup - CPU#2 stuck for 22s! [kworker/2:1:31877]\n"
	imageRemovedLine = `I1120 02:10:44.301270    1210 image_gc_manager.go:375] "Removing image to free bytes" imageID="sha256:1c3d6ab0f26a" size=648112345` + "\n"
)

// pidsShort are tries to reclaim process ids up to a time.
func pidsShort(end string) string {
	const line = ` 610 eviction_manager.go:369] "Eviction manager: attempting to reclaim" resourceName="pids"` + "\n"
	return "W1120 12:00:30.000000" + line + "W1120 12:00:50.000000" + line + "W1120 " + end + ".000000" + line
}

// TestMonitors has a Ceph client that looks for a monitor: it needs one.
func TestMonitors(t *testing.T) {
	const none = "[ 4870.107545] libceph: mon0 10.99.224.21:6789 connect error\n[ 4884.155752] libceph: mon1 10.100.170.14:6789 connect error\n"
	for _, test := range []struct{ name, text, root string }{
		{"none answers", none + "[ 4914.171956] libceph: mon2 10.111.184.2:6789 connect error\n", "kernel-server-unresponsive"},
		{"another one answers", none + "[ 4914.171956] libceph: mon0 10.99.224.21:6789 connect error\n[ 4915.001] libceph: mon2 10.111.184.2:6789 session established\n", ""},
		{"a few tries", none, ""},
		{"connections were closed", strings.ReplaceAll(none, "connect error", "socket closed (con state OPEN)") + "[ 4914.171956] libceph: mon2 10.111.184.2:6789 socket closed (con state OPEN)\n", ""},
	} {
		if root := pastedRoot(t, test.text); root != test.root {
			t.Errorf("%s: %q, want %q", test.name, root, test.root)
		}
	}
}

// nodeBusy is what a driver says of a call that it refuses, by a source file.
func nodeBusy(source string) string {
	return "E1120 10:01:50.190052       1 " + source + "] ID: 35 Req-ID: 0001-a an operation with the given Volume ID 0001-a already exists\n" +
		"E1120 10:01:50.190267       1 utils.go:200] ID: 35 Req-ID: 0001-a GRPC error: rpc error: code = Aborted desc = an operation with the given Volume ID 0001-a already exists\n"
}

const (
	rootIsBusy      = `time="2026-11-20T10:01:13Z" level=error msg="failed to handle container TaskExit event &TaskExit{ContainerID:018f7944fe07,ID:018f7944fe07,Pid:18911,ExitStatus:137}" error="failed to stop container: failed rootfs umount: failed to unmount target /run/containerd/io.containerd.runtime.v2.task/k8s.io/018f7944fe07/rootfs: device or resource busy: unknown"` + "\n"
	sandboxTimedOut = `E1120 10:01:40.738973   24578 remote_runtime.go:176] "RunPodSandbox from runtime service failed" err="rpc error: code = DeadlineExceeded desc = context deadline exceeded"` + "\n"
	sandboxReserved = `time="2026-11-20T10:01:52Z" level=error msg="RunPodSandbox for &PodSandboxMetadata{Name:cart-1,Uid:` + uid + `,Namespace:shop,Attempt:0,} failed, error" error="failed to reserve sandbox name \"cart-1_shop_` + uid + `_0\": name \"cart-1_shop_` + uid + `_0\" is reserved for \"5d1f0c5b\""` + "\n"
)

// crash is what the Go runtime prints of a program in which a function uses a nil pointer.
func crash(function string) string {
	return "panic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV: segmentation violation code=0x1 addr=0x18 pc=0x7c1f2a]\n\n" +
		"goroutine 34 [running]:\n" + function + "(0x0, {0xc00021c0f0, 0x24})\n\t/src/x.go:41 +0x2a\ncreated by net/http.(*Server).Serve\n\t/usr/local/go/src/net/http/server.go:3086 +0x5cb\n\n"
}

// slowServer is an NFS server that stops responding three times, with long rounds of housekeeping or without.
func slowServer(long bool) string {
	var b strings.Builder
	for _, minute := range []string{"01", "04", "07"} {
		b.WriteString("Nov 20 10:" + minute + ":06 n1 kernel: nfs: server 192.0.2.4 not responding, still trying\nNov 20 10:" + minute + ":26 n1 kernel: nfs: server 192.0.2.4 OK\n")
		if line := "Nov 20 10:" + minute + ":57 n1 kubelet[1301]: E1120 10:" + minute + ":57.678632    1301 kubelet.go:2573] "; long {
			b.WriteString(line + `"Housekeeping took longer than expected" err="housekeeping took too long" expected="1s" actual="14.154s"` + "\n")
		} else {
			b.WriteString(line + `"Something else"` + "\n")
		}
	}
	return b.String()
}

// undeletedCgroup is so many tries to delete the cgroup of a pod.
func undeletedCgroup(tries int) string {
	return strings.Repeat(`W1120 10:02:45.186415    1701 pod_container_manager_linux.go:200] "Failed to delete cgroup paths" cgroupName=[kubepods burstable pod`+uid+
		`] err="unable to destroy cgroup paths for cgroup [kubepods burstable pod`+uid+`] : Failed to remove paths: map[pids:/sys/fs/cgroup/pids/kubepods/burstable/pod`+uid+`]"`+"\n", tries)
}

// TestEffectsAreNoSecondCause has signs of one stall, of which the cause is known.
func TestEffectsAreNoSecondCause(t *testing.T) {
	const nfs = "Nov 20 10:00:01 w3 kernel: nfs: server 192.0.2.7 not responding, still trying\n"
	const pleg = `Nov 20 10:05:00 w3 kubelet[2588]: I1120 10:05:00.000001    2588 kubelet.go:1823] ` + plegText + "\n"
	const health = `Nov 20 10:05:01 w3 kubelet[2588]: I1120 10:05:01.000001    2588 healthz.go:261] "healthz check failed" err="sync Loop took longer than expected"` + "\n"
	for name, text := range map[string]string{"PLEG": nfs + pleg, "the health check": nfs + health, "both": nfs + pleg + health} {
		a := judgePasted(t, text)
		if len(a.Diagnoses) != 1 || a.Diagnoses[0].Root.ID != "192.0.2.7" {
			t.Errorf("6: %s: %d diagnoses, of %v", name, len(a.Diagnoses), a.Diagnoses)
		}
	}
	before := strings.Replace(nfs, "10:00:01", "10:09:01", 1)
	if a := judgePasted(t, pleg+before+strings.ReplaceAll(pleg, "10:05:00", "10:05:02")); len(a.Diagnoses) < 2 {
		t.Errorf("a server that was lost after the PLEG is its cause: %v", a.Diagnoses)
	}
	back := "Nov 20 10:01:01 w3 kernel: nfs: server 192.0.2.7 OK\n"
	if a := judgePasted(t, nfs+back+pleg); len(a.Diagnoses) != 1 || a.Diagnoses[0].Root.ID == "192.0.2.7" {
		t.Errorf("9: a server that is back is the cause: %v", a.Diagnoses)
	}
}

const orphanLine = klogAt + orphanText + "\n"

const (
	runtimeRefuses = `E1120 10:01:01.223501    1244 remote_runtime.go:390] "ListPodSandbox with filter from runtime service failed" err="rpc error: code = Unavailable desc = connection error: desc = \"transport: Error while dialing dial unix /run/containerd/containerd.sock: connect: connection refused\""` + "\n"
	driverMissing  = `E1120 10:01:01.551812    1820 nestedpendingoperations.go:348] Operation for "{volumeName:kubernetes.io/csi/csi.example.org^h1 podName: nodeName:}" failed. No retries permitted until 2026-11-20 10:01:17.5 +0000 UTC m=+61.2 (durationBeforeRetry 16s). Error: MountVolume.MountDevice failed for volume "data" (UniqueName: "kubernetes.io/csi/csi.example.org^h1") pod "web-0" (UID: "` + uid + `") : kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient: driver name csi.example.org not found in the list of registered CSI drivers` + "\n"
)

func runtimeBoots(at string) string {
	return `Nov 20 ` + at + ` w1 containerd[78812]: time="2026-11-20T` + at + `Z" level=info msg="containerd successfully booted in 0.2s"` + "\n"
}

func driverRegisters(at, name string) string {
	return "I1120 " + at + ".001477    1820 csi_plugin.go:112] kubernetes.io/csi: Register new plugin with name: " + name + " at endpoint: /var/lib/kubelet/plugins/x/csi.sock\n"
}

func hungIn(function string) string {
	return "[962001.377120] INFO: task writer:18112 blocked for more than 120 seconds.\n[962001.377129] writer          D    0 18112  18079 0x00000104\n[962001.377133] Call Trace:\n" +
		"[962001.377142]  __schedule+0x24e/0x880\n[962001.377145]  schedule+0x2c/0x80\n[962001.377163]  " + function + "\n[962001.377167]  vfs_write+0x1ab/0x1b0\n"
}

const (
	readOnlyFS   = "[Fri Nov 20 10:00:05 2026] EXT4-fs error (device sdf): ext4_journal_check_start:83: Detected aborted journal\n[Fri Nov 20 10:00:05 2026] EXT4-fs (sdf): Remounting filesystem read-only\n"
	expired      = "Unable to connect to the server: x509: certificate has expired or is not yet valid: current time 2026-11-20T09:10:42+01:00 is after 2026-11-19T13:01:17Z\n"
	renewed      = "Done renewing certificates. You must restart the kube-apiserver, kube-controller-manager, kube-scheduler and etcd, so that they can use the new certificates.\n"
	networkEcho  = `E1120 10:01:03.110442    1022 kuberuntime_manager.go:1166] "CreatePodSandbox for pod failed" err="rpc error: code = Unknown desc = failed to setup network for sandbox \"d0\": plugin type=\"flannel\" failed (add): loadFlannelSubnetEnv failed: open /run/flannel/subnet.env: no such file or directory" pod="kube-system/a"` + "\n"
	flannelExits = `time="2026-11-20T10:01:20Z" level=error msg="flannel exited: failed to find the interface with address 192.0.2.20"` + "\n"
	netdevHeld   = "[518021.391422] unregister_netdevice: waiting for eth0 to become free. Usage count = 2\n[518031.391422] unregister_netdevice: waiting for eth0 to become free. Usage count = 2\n[518041.391422] unregister_netdevice: waiting for eth0 to become free. Usage count = 2\n"
	hungWorker   = "[518280.791102] INFO: task kworker/u8:2:9913 blocked for more than 122 seconds.\n[518280.812242] kworker/u8:2    D    0  9913      2 0x80004000\n[518280.812250] Workqueue: netns cleanup_net\n[518280.812255] Call Trace:\n" +
		"[518280.812262]  __schedule+0x26b/0x6e0\n[518280.812266]  schedule+0x4a/0xb0\n[518280.812270]  schedule_timeout+0x1d2/0x2f0\n[518280.812276]  msleep+0x2a/0x40\n[518280.812282]  netdev_run_todo+0x130/0x2f0\n[518280.812294]  cleanup_net+0x1dd/0x370\n"
)

func diskError(disk, second string) string {
	return "[Fri Nov 20 10:00:" + second + " 2026] blk_update_request: I/O error, dev " + disk + ", sector 4720640 op 0x1:(WRITE) flags 0x800 phys_seg 2 prio class 0\n"
}

// hostDown is a volume that cannot be mounted since a host is down.
func hostDown(call string) string {
	return strings.Repeat(strings.Replace(driverMissing, "attacher.MountDevice failed to create newCsiDriverClient: driver name csi.example.org not found in the list of registered CSI drivers", call+": host is down", 1), 3)
}

// TestWhatBrokeIt has the check that is the first cause of a text, "" for none.
func TestWhatBrokeIt(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"one error of a disk, then its file system is read-only": {diskError("sdf", "04") + readOnlyFS, "kernel-io-error"},
		"an error of another disk":                               {diskError("sdb", "04") + readOnlyFS, "filesystem-error"},
		"an error after the file system had become read-only":    {readOnlyFS + diskError("sdf", "09"), "filesystem-error"},
		"a flannel that exited, of which no more is shown":       {flannelExits, "sandbox-create-failing"},
		"a flannel that exited once, and k3s that went on":       {flannelExits + `time="2026-11-20T10:03:40Z" level=info msg="Starting flannel with backend vxlan"` + "\n", ""},
		"a kernel thread that removes the network of a pod":      {netdevHeld + hungWorker, "network-device-stuck"},
		"a task that waits for a network device, alone":          {hungWorker, "kernel-hung-task"},
		"5,500 probes of a node with many pods":                  {profile("k8s.io/kubernetes/pkg/kubelet/prober.(*worker).run"), ""},
		"5,500 goroutines of connections":                        {profile("github.com/moby/spdystream.(*Connection).shutdown"), "kubelet-goroutine-leak"},
		"a root file system of a container that was busy":        {rootIsBusy + `time="2026-11-20T10:01:19Z" level=info msg="StopContainer for \"018f7944fe07\" returns successfully"` + "\n", ""},
		"a row of another node above the kubelet's own log":      {"NAME   STATUS     ROLES    AGE    VERSION\nw1     NotReady   <none>   120d   v1.27.2\nw2     NotReady   <none>   120d   v1.27.2\n" + strings.Repeat(noAPI, 3), "api-server-unreachable"},
	} {
		if root := pastedRoot(t, tt.text); root != tt.want {
			t.Errorf("%s: %q, want %q", name, root, tt.want)
		}
	}
	held := judgePasted(t, netdevHeld+strings.NewReplacer("netdev_run_todo", "jbd2_log_wait_commit", "cleanup_net", "ext4_sync_file").Replace(hungWorker))
	if len(held.Diagnoses) != 2 {
		t.Errorf("a task that waits for a journal and a network device are %d diagnoses", len(held.Diagnoses))
	}
}

const noAPI = `Nov 20 10:01:04 w2 kubelet[811]: E1120 10:01:04.550213     811 controller.go:193] "Failed to update lease" err="Put \"https://api:6443/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/w2?timeout=10s\": dial tcp 192.0.2.10:6443: connect: no route to host"` + "\n"

// profile is one of a kubelet with 5,500 goroutines of one stack.
func profile(function string) string {
	return "goroutine profile: total 6300\n5500 @ 0x43e456 0x44e5a5 0x46c3a1\n#\t0x44e5a4\t" + function + "+0x24\t\t/go/src/k8s.io/kubernetes/x.go:165\n\n" +
		"1 @ 0x43e456 0x44e5a5\n#\t0x44e5a4\tk8s.io/kubernetes/pkg/kubelet.(*Kubelet).syncLoopIteration+0x24\t\t/go/src/k8s.io/kubernetes/pkg/kubelet/kubelet.go:2400\n"
}

// What a blocked task waits for is in the stack that the kernel writes below the line.
func TestHungTaskSaysWhatItsStackShows(t *testing.T) {
	for _, f := range judgePasted(t, hungIn("rwsem_down_write_slowpath+0x2ed/0x4a0")).Findings {
		if f.ID == "kernel-hung-task" {
			if !strings.Contains(f.Detail, "Its stack shows that it waits in vfs_write. Another thread has locked") {
				t.Errorf("the detail does not say what the stack shows: %s", f.Detail)
			}
			return
		}
	}
	t.Error("the task is not found")
}
