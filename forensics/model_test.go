package forensics_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/v1"
)

// kubeletPod shortens tables.
type kubeletPod = kubelet.Pod

func TestPodOf(t *testing.T) {
	const static = "2fa11937efabc40db85278b553e1ceeb"
	for _, tt := range []struct{ name, path, uid, volume string }{
		{"a volume", deadPoint, DeadUID, DeadUID + "/kubernetes.io/cephfs/cephfs-data"},
		{"a CSI volume's mount", kubeletRoot + "/pods/" + DeadUID + "/volumes/kubernetes.io~csi/pvc-1/mount", DeadUID, DeadUID + "/kubernetes.io/csi/pvc-1"},
		{"a file in a volume", deadPoint + "/a/b", DeadUID, DeadUID + "/kubernetes.io/cephfs/cephfs-data"},
		{"another root", "/media/ssd1/kubelet/pods/" + DeadUID + "/volumes/a~b/c", DeadUID, DeadUID + "/a/b/c"},
		{"a static pod", kubeletRoot + "/pods/" + static + "/volumes/kubernetes.io~empty-dir/sub", static, static + "/kubernetes.io/empty-dir/sub"},
		{"a subpath", kubeletRoot + "/pods/" + DeadUID + "/volume-subpaths/pvc-1/app/0", DeadUID, DeadUID + "/subpath/pvc-1"},
		{"a block device", kubeletRoot + "/pods/" + DeadUID + "/volumeDevices/kubernetes.io~csi/pvc-2", DeadUID, DeadUID + "/kubernetes.io/csi/pvc-2"},
		{"the pod's directory", kubeletRoot + "/pods/" + DeadUID, DeadUID, ""},
		{"the pod's directory with a slash", kubeletRoot + "/pods/" + DeadUID + "/", DeadUID, ""},
		{"the plugin's directory", kubeletRoot + "/pods/" + DeadUID + "/volumes/kubernetes.io~csi", DeadUID, ""},
		{"containers of a pod", kubeletRoot + "/pods/" + DeadUID + "/containers/app/1234", DeadUID, ""},
		{"seen from another namespace", "/proc/4711/root" + deadPoint, DeadUID, DeadUID + "/kubernetes.io/cephfs/cephfs-data"},
		{"a name with blanks", kubeletRoot + "/pods/" + DeadUID + "/volumes/fstab~cifs/share with blanks", DeadUID, DeadUID + "/fstab/cifs/share with blanks"},
		{"no pod", kubeletRoot + "/plugins/kubernetes.io/csi/pv/pvc-1/globalmount", "", ""},
		{"no UID", kubeletRoot + "/pods/web-0/volumes/a~b/c", "", ""},
		{"a UID that is too long", kubeletRoot + "/pods/" + DeadUID + "0/volumes/a~b/c", "", ""},
		{"a UID in capitals", kubeletRoot + "/pods/5C948341-C030-4996-B888-F032577D97B0/volumes", "", ""},
		{"logs", "/var/log/pods/default_web_" + DeadUID + "/app/0.log", "", ""},
		{"nothing", "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if uid, volume := forensics.PodOf(tt.path); uid != tt.uid || volume != tt.volume {
				t.Errorf("PodOf(%q) = %q, %q; want %q, %q", tt.path, uid, volume, tt.uid, tt.volume)
			}
		})
	}
}

func TestPodState(t *testing.T) {
	deleted := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	listed := kubelet.Pod{UID: liveUID, Namespace: "default", Name: "web", Source: "kubelet"}
	unfinished := &logs.Story{Deletions: []logs.Deletion{{PodUID: DeadUID, Stage: "volumes", Proven: true}}}
	all := []string{forensics.SourceKubeletPods, forensics.SourceCgroups, forensics.SourceProcesses}
	for _, tt := range []struct {
		name   string
		saw    []string
		change func(*forensics.Evidence)
		want   forensics.PodState
	}{
		{"not in a list that was read", all, func(e *forensics.Evidence) {}, forensics.PodOrphaned},
		{"in the list", all, func(e *forensics.Evidence) { e.Pods = append(e.Pods, kubelet.Pod{UID: DeadUID, Source: "kubelet"}) }, forensics.PodLive},
		{"being deleted", all, func(e *forensics.Evidence) {
			e.Pods = append(e.Pods, kubelet.Pod{UID: DeadUID, Source: "kubelet", Deleting: &deleted})
		}, forensics.PodTerminating},
		{"the static pod of a mirror pod", all, func(e *forensics.Evidence) {
			e.Pods = append(e.Pods, kubelet.Pod{UID: "api", MirrorUID: DeadUID, Source: "kubelet"})
		}, forensics.PodLive},
		{"a manifest only", all, func(e *forensics.Evidence) { e.Pods = append(e.Pods, kubelet.Pod{UID: DeadUID, Source: "manifest"}) }, forensics.PodTerminating},
		{"a cgroup only", all, func(e *forensics.Evidence) { e.Cgroups = []runtimes.PodCgroup{{PodUID: DeadUID}} }, forensics.PodTerminating},
		{"a process only", all, func(e *forensics.Evidence) { e.Processes = []procs.Process{{PID: 5, PodUID: DeadUID}} }, forensics.PodTerminating},
		{"in no list, of which a part was left out", all, func(e *forensics.Evidence) { e.Kubelet = &kubelet.Instance{PodsLeftOut: 1} }, forensics.PodUnknown},
		{"in no list, of which a part was left out, but its directory is there", all, func(e *forensics.Evidence) {
			e.Kubelet, e.PodDirs = &kubelet.Instance{PodsLeftOut: 1}, []kubelet.PodDir{{UID: DeadUID}}
		}, forensics.PodOrphaned},
		{"logs only", all, func(e *forensics.Evidence) { e.Pods = append(e.Pods, kubelet.Pod{UID: DeadUID, Source: "log-dir"}) }, forensics.PodOrphaned},
		{"an empty list", all, func(e *forensics.Evidence) { e.Pods = nil }, forensics.PodUnknown},
		{"a list that was denied", all[1:], func(e *forensics.Evidence) {
			e.Pods = nil
			e.Cover(forensics.Source{Source: forensics.SourceKubeletPods, Status: forensics.SourceDenied})
		}, forensics.PodUnknown},
		{"a list that broke off", all[1:], func(e *forensics.Evidence) {
			e.Cover(forensics.Source{Source: forensics.SourceKubeletPods, Status: forensics.SourceAbsent})
		}, forensics.PodUnknown},
		{"a list that was cut", all[1:], func(e *forensics.Evidence) {
			e.Cover(forensics.Source{Source: forensics.SourceKubeletPods, Status: forensics.SourceTruncated})
		}, forensics.PodUnknown},
		{"a cgroup, and a deletion in the log", all, func(e *forensics.Evidence) {
			e.Pods, e.Cgroups, e.Logs = nil, []runtimes.PodCgroup{{PodUID: DeadUID}}, unfinished
		}, forensics.PodTerminating},
		{"a cgroup, and an earlier deletion of a pod that is listed", all, func(e *forensics.Evidence) {
			e.Pods, e.Logs = append(e.Pods, kubelet.Pod{UID: DeadUID, Source: "kubelet"}), unfinished
		}, forensics.PodLive},
		{"processes not seen", all[:2], func(*forensics.Evidence) {}, forensics.PodUnknown},
		{"cgroups not seen", []string{all[0], all[2]}, func(*forensics.Evidence) {}, forensics.PodUnknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := saw(tt.saw...)
			e.Pods = []kubelet.Pod{listed}
			tt.change(&e)
			got, why := forensics.NewModel(&e).PodState(DeadUID)
			if got != tt.want || why == "" {
				t.Errorf("PodState = %s (%s), want %s, with a reason", got, why, tt.want)
			}
		})
	}
}

// TestPodStateByTheAPIServer: where the kubelet refuses its list, that of the API server counts, if it is of this node.
func TestPodStateByTheAPIServer(t *testing.T) {
	const static = "0123456789abcdef0123456789abcdef"
	deleted := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	bound := func(uid, node string) apidump.Pod {
		return apidump.Pod{Object: apidump.Object{UID: uid, Name: uid}, Node: node}
	}
	for _, tt := range []struct {
		name   string
		uid    string
		change func(*forensics.Evidence)
		want   forensics.PodState
	}{
		{"not in its list", DeadUID, func(*forensics.Evidence) {}, forensics.PodOrphaned},
		{"in its list", liveUID, func(*forensics.Evidence) {}, forensics.PodLive},
		{"in its list, being deleted", liveUID, func(e *forensics.Evidence) { e.Cluster.Pods[0].Deleting = &deleted }, forensics.PodTerminating},
		{"not in its list, but a process runs", DeadUID, func(e *forensics.Evidence) { e.Processes = []procs.Process{{PID: 5, PodUID: DeadUID}} }, forensics.PodTerminating},
		{"processes were not seen", DeadUID, func(e *forensics.Evidence) {
			e.Cover(forensics.Source{Source: forensics.SourceProcesses, Status: forensics.SourceDenied})
		}, forensics.PodUnknown},
		{"an empty list", DeadUID, func(e *forensics.Evidence) { e.Cluster.Pods = nil }, forensics.PodUnknown},
		{"only pods of other nodes, of a dump", DeadUID, func(e *forensics.Evidence) { e.Cluster.Pods[0].Node = "node-2" }, forensics.PodUnknown},
		{"a dump, which may be old", DeadUID, func(e *forensics.Evidence) { e.Cluster.NodeName = "" }, forensics.PodUnknown},
		{"a static pod without a mirror pod", static, func(*forensics.Evidence) {}, forensics.PodUnknown},
		{"a static pod that runs without a mirror pod", static, func(e *forensics.Evidence) { e.Cgroups = []runtimes.PodCgroup{{PodUID: static}} }, forensics.PodLive},
		{"a static pod with a mirror pod", static, func(e *forensics.Evidence) { e.Cluster.Pods[0].Mirror = static }, forensics.PodUnknown},
		{"the kubelet's own list is there", DeadUID, func(e *forensics.Evidence) {
			e.Pods = []kubelet.Pod{{UID: DeadUID, Source: "kubelet"}}
			e.Cover(forensics.Source{Source: forensics.SourceKubeletPods, Status: forensics.SourceRead})
		}, forensics.PodLive},
		{"the kubelet's own list does not have what the API server has", liveUID, func(e *forensics.Evidence) {
			e.Pods = []kubelet.Pod{{UID: DeadUID, Source: "kubelet"}}
			e.Cover(forensics.Source{Source: forensics.SourceKubeletPods, Status: forensics.SourceRead})
		}, forensics.PodTerminating},
		{"the kubelet's own list was cut", DeadUID, func(e *forensics.Evidence) {
			e.Pods = []kubelet.Pod{{UID: "other", Source: "kubelet"}}
			e.Cover(forensics.Source{Source: forensics.SourceKubeletPods, Status: forensics.SourceTruncated})
		}, forensics.PodOrphaned},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := saw(forensics.SourceCgroups, forensics.SourceProcesses)
			e.Cover(forensics.Source{Source: forensics.SourceKubeletPods, Status: forensics.SourceDenied})
			e.Cover(forensics.Source{Source: forensics.SourceKubeletPods + ":api", Status: forensics.SourceRead})
			e.Cluster = &apidump.Dump{NodeName: "node-1", Pods: []apidump.Pod{bound(liveUID, "node-1")}}
			tt.change(&e)
			got, why := forensics.NewModel(&e).PodState(tt.uid)
			if got != tt.want || why == "" {
				t.Errorf("PodState = %s (%s), want %s, with a reason", got, why, tt.want)
			}
			if strings.Contains(why, "kubelet's list") && tt.want == forensics.PodOrphaned {
				t.Errorf("%s: the list was the API server's", why)
			}
		})
	}
}

func TestPodNamesComeFromWhoeverKnowsThem(t *testing.T) {
	e := saw(forensics.SourceKubeletPods)
	e.Pods = []kubelet.Pod{
		{UID: "a", Namespace: "default", Name: "listed", Source: "kubelet"},
		{UID: "b", Namespace: "prod", Name: "logged", Source: "log-dir"},
		{UID: "a", Source: "manifest"},
	}
	e.PodDirs = []kubelet.PodDir{{UID: "a", HostName: "other"}, {UID: "c", HostName: "payroll-7"}, {UID: "d"}}
	m := forensics.NewModel(&e)
	for uid, want := range map[string]string{
		"a": "default/listed (a)", "b": "prod/logged (b)", "c": "payroll-7 (c)", "d": "d", "e": "e",
	} {
		if got := m.Pod(uid).String(); got != want {
			t.Errorf("pod %s is %q, want %q", uid, got, want)
		}
	}
}

func TestTheWorstOfASuperblockCounts(t *testing.T) {
	order := []mounts.Status{
		mounts.StatusNotProbed, mounts.StatusOK, mounts.StatusUnanswered, mounts.StatusRecovered, mounts.StatusSlow, mounts.StatusStale,
		mounts.StatusIOError, mounts.StatusDisconnected, mounts.StatusFrozen, mounts.StatusHung,
	}
	for i := range order[1:] {
		better, worse := order[i], order[i+1]
		for _, list := range [][]mounts.Health{
			{{Device: "0:1", Status: better}, {Device: "0:1", Status: worse}},
			{{Device: "0:1", Status: worse}, {Device: "0:1", Status: better}},
		} {
			var e forensics.Evidence
			v1.AddHealth(&e, list...)
			m := forensics.NewModel(&e)
			if h, ok := m.Health("0:1"); !ok || h.Status != worse {
				t.Errorf("of %q and %q the worst is %q", better, worse, h.Status)
			}
		}
	}
}

func TestMountsOfAllNamespacesAreFoundOnce(t *testing.T) {
	e := forensics.NewEvidence()
	e.Mounts = mounts.Table{Namespace: 1, Mounts: []mounts.Mount{fuseMount(59, "0:46", deadPoint), {ID: 27, Device: "8:1", MountPoint: "/"}}}
	e.Namespaces = []mounts.Table{{Namespace: 2, Mounts: []mounts.Mount{fuseMount(59, "0:46", deadPoint), fuseMount(90, "0:46", "/elsewhere")}}}
	m := forensics.NewModel(&e)
	var ids []int
	for _, mount := range m.MountsOf("0:46") {
		ids = append(ids, mount.ID)
	}
	if diff := cmp.Diff([]int{59, 90}, ids); diff != "" {
		t.Errorf("mounts of the superblock (-want +got):\n%s", diff)
	}
	if mount, ok := m.Mount(90); !ok || mount.MountPoint != "/elsewhere" {
		t.Errorf("Mount(90) = %+v, %v", mount, ok)
	}
	if _, ok := m.Mount(91); ok {
		t.Error("there is no mount 91")
	}
	if diff := cmp.Diff([]string{DeadUID}, m.PodsOf("0:46")); diff != "" {
		t.Errorf("pods of the superblock (-want +got):\n%s", diff)
	}
}

func TestBelowKubelet(t *testing.T) {
	e := forensics.Evidence{Kubelet: &kubelet.Instance{RootDir: "/var/lib/kubelet", CanonicalRoot: "/media/ssd1/kubelet"}}
	m := forensics.NewModel(&e)
	for path, want := range map[string]bool{
		"/var/lib/kubelet": true, "/var/lib/kubelet/pods": true, "/media/ssd1/kubelet/pods/x": true,
		"/var/lib/kubelet-lab": false, "/var/lib": false, "/media/ssd1": false, "/": false, "": false,
	} {
		if got := m.BelowKubelet(path); got != want {
			t.Errorf("BelowKubelet(%q) = %v", path, got)
		}
	}
	if forensics.NewModel(&forensics.Evidence{}).BelowKubelet("/var/lib/kubelet") {
		t.Error("without a kubelet nothing is below it")
	}
	everything := forensics.Evidence{Kubelet: &kubelet.Instance{RootDir: "/", CanonicalRoot: "/"}}
	if !forensics.NewModel(&everything).BelowKubelet("/pods") {
		t.Error("all is below /")
	}
}

func TestKubeletMinor(t *testing.T) {
	for version, want := range map[string]int{
		"1.34.4": 34, "1.10.0": 10, "1.30.4+k3s1": 30, "1.16+": 16, "1.36.0-alpha.1": 36, "": 0, "2.3.4": 0, "1": 0, "1.x.3": 0,
	} {
		e := forensics.Evidence{Kubelet: &kubelet.Instance{Version: version}}
		if got := forensics.NewModel(&e).KubeletMinor(); got != want {
			t.Errorf("minor of %q = %d, want %d", version, got, want)
		}
	}
}

func TestWaited(t *testing.T) {
	const measured, bound = true, false
	seconds := func(s float64, from string) func(*procs.Thread) {
		return func(t *procs.Thread) { t.WaitSeconds, t.WaitFrom = &s, from }
	}
	args := []string{"0xffffffffffffff9c", "0x63d87030c40", "0x63d865286b8", "0x0", "0x0", "0x0"}
	const call = "0x106, 0xffffffffffffff9c, 0x63d87030c40, 0x63d865286b8, 0x0, 0x0, 0x0"
	for _, tt := range []struct {
		name     string
		pid      int
		dump     string
		change   func(*procs.Thread)
		want     float64
		known    bool
		measured bool
	}{
		{"nothing proves an age", kubeletPID, inSyscall(1, "syscall", call), func(*procs.Thread) {}, 0, false, bound},
		{"the scheduler", kubeletPID, inSyscall(1, "syscall", call), seconds(30, procs.WaitFromSched), 30, true, measured},
		{"it ran this moment", kubeletPID, inSyscall(1, "syscall", call), seconds(0, procs.WaitFromSched), 0, true, measured},
		{"an age of which nobody says whence", kubeletPID, inSyscall(1, "syscall", call), seconds(30, ""), 30, true, bound},
		{"two readings", kubeletPID, inSyscall(1, "syscall", call), func(t *procs.Thread) { t.Same, t.SampledSeconds = true, 5 }, 5, true, bound},
		{"two readings, noted as an age", kubeletPID, inSyscall(1, "syscall", call), seconds(5, procs.WaitFromSamples), 5, true, bound},
		{"two readings that differ", kubeletPID, inSyscall(1, "syscall", call), func(t *procs.Thread) { t.SampledSeconds = 5 }, 0, false, bound},
		{"the goroutine, less what the runtime can have added", kubeletPID, inSyscall(1, "syscall, 12 minutes", call), func(*procs.Thread) {}, 600, true, bound},
		{"no more minutes than that", kubeletPID, inSyscall(1, "syscall, 2 minutes", call), func(*procs.Thread) {}, 0, false, bound},
		{"the longest counts", kubeletPID, inSyscall(1, "syscall, 12 minutes", call), seconds(3600, procs.WaitFromSched), 3600, true, measured},
		{"the goroutine outlasts the sleep", kubeletPID, inSyscall(1, "syscall, 12 minutes", call), seconds(2, procs.WaitFromSched), 600, true, bound},
		{"a goroutine of a process that is not known", 0, inSyscall(1, "syscall, 12 minutes", call), func(*procs.Thread) {}, 0, false, bound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := forensics.NewEvidence()
			thread := fuseThread(kubeletPID, 9839, "0:46", args...)
			tt.change(&thread)
			e.Threads, e.Dumps = []procs.Thread{thread}, dumpsOf(t, tt.pid, tt.dump)
			if got := forensics.NewModel(&e).Waited(thread); got.Seconds != tt.want || got.Known != tt.known || got.Measured != tt.measured {
				t.Errorf("Waited = %+v, want %v, known %t, measured %t", got, tt.want, tt.known, tt.measured)
			}
		})
	}
}

func TestWaitsFor(t *testing.T) {
	for _, tt := range []struct {
		wait  procs.Wait
		mount mounts.Mount
		want  bool
	}{
		{procs.Wait{Kind: procs.WaitFUSE}, mounts.Mount{Class: mounts.ClassFUSE, FSType: "fuse.ceph-fuse"}, true},
		{procs.Wait{Kind: procs.WaitFUSE}, mounts.Mount{Class: mounts.ClassNetwork, FSType: "nfs4"}, false},
		{procs.Wait{Kind: procs.WaitFUSE, FS: "fuse"}, mounts.Mount{Class: mounts.ClassNetwork, FSType: "virtiofs"}, true},
		{procs.Wait{Kind: procs.WaitServer, FS: "cifs"}, mounts.Mount{Class: mounts.ClassNetwork, FSType: "smbfs"}, true},
		{procs.Wait{Kind: procs.WaitServer, FS: "nfs"}, mounts.Mount{Class: mounts.ClassNetwork, FSType: "nfs4"}, true},
		{procs.Wait{Kind: procs.WaitServer, FS: "cifs"}, mounts.Mount{Class: mounts.ClassNetwork, FSType: "smb3"}, true},
		{procs.Wait{Kind: procs.WaitServer, FS: "ceph"}, mounts.Mount{Class: mounts.ClassNetwork, FSType: "nfs4"}, false},
		{procs.Wait{Kind: procs.WaitServer}, mounts.Mount{Class: mounts.ClassNetwork, FSType: "ceph"}, true},
		{procs.Wait{Kind: procs.WaitBlock, FS: "ext4"}, mounts.Mount{Class: mounts.ClassBlock, FSType: "ext3"}, true},
		{procs.Wait{Kind: procs.WaitJournal, FS: "ext4"}, mounts.Mount{Class: mounts.ClassBlock, FSType: "ext4"}, true},
		{procs.Wait{Kind: procs.WaitBlock, FS: "xfs"}, mounts.Mount{Class: mounts.ClassBlock, FSType: "ext4"}, false},
		{procs.Wait{Kind: procs.WaitFrozen}, mounts.Mount{Class: mounts.ClassBlock, FSType: "xfs"}, true},
		{procs.Wait{Kind: procs.WaitFSLock}, mounts.Mount{Class: mounts.ClassBlock, FSType: "xfs"}, false},
		{procs.Wait{}, mounts.Mount{Class: mounts.ClassFUSE}, false},
	} {
		if got := forensics.WaitsFor(tt.wait, tt.mount); got != tt.want {
			t.Errorf("WaitsFor(%s %s, %s) = %v", tt.wait.Kind, tt.wait.FS, tt.mount.FSType, got)
		}
	}
}

// Of a pod's processes one is named as the proof that it lives: the first, or else that of its first container.
func TestProofOfLife(t *testing.T) {
	e := forensics.NewEvidence()
	e.Cover(forensics.Source{Source: forensics.SourceProcesses, Status: forensics.SourceRead})
	e.Processes = []procs.Process{{PID: 100, PodUID: "u1"}, {PID: 101, PodUID: "u1"}, {PID: 200, StartTicks: 7}, {PID: 201, StartTicks: 8}}
	e.Sandboxes = []runtimes.Sandbox{{ID: "aa", PodUID: "u2", Task: runtimes.Task{InitPID: 200, InitStart: 7}}}
	e.Containers = []runtimes.Container{{ID: "bb", PodUID: "u2", Task: runtimes.Task{InitPID: 201, InitStart: 8}}}
	m := forensics.NewModel(&e)
	for uid, want := range map[string]string{"u1": "process 100 runs in it", "u2": "process 200 is the init process of its container aa"} {
		if state, why := m.PodState(uid); state != forensics.PodLive || why != want {
			t.Errorf("pod %s is %s, since %s; want live, since %s", uid, state, why, want)
		}
	}
}
