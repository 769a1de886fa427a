package checks

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/read"
)

// linesOf is the evidence of a log that was written for a test.
func linesOf(tb testing.TB, name, text string) forensics.Evidence {
	tb.Helper()
	source := logs.Source{Path: name, Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(strings.TrimLeft(text, "\n"))), nil
	}}
	story := logs.Read(context.Background(), []logs.Source{source}, logs.Options{Now: time.Date(2026, 11, 20, 23, 0, 0, 0, time.UTC)})
	part, err := read.Logs(story)
	if err != nil {
		tb.Fatal(err)
	}
	e := forensics.NewEvidence()
	e.Merge(part)
	return e
}

const uid = "11111111-2222-3333-4444-555555555555"

// TestLines judges short logs in old and new spelling, as kubelets of different versions, kernels and controllers write
// them: from the text to the finding.
func TestLines(t *testing.T) {
	for _, tt := range []struct {
		name, log string
		want      []string
		says      string
	}{
		{"1.17: a driver that is not registered, and a deletion that waits for it", `
I1120 10:00:00.000001    2588 server.go:416] Version: v1.17.4
I1120 10:00:02.000001    2588 kubelet.go:1930] SyncLoop (DELETE, "api"): "web-0_default(` + uid + `)"
I1120 10:00:02.100001    2588 kuberuntime_container.go:600] Killing container "docker://abcd" with 30 second grace period
I1120 10:00:40.000001    2588 reconciler.go:183] operationExecutor.UnmountVolume started for volume "data" (UniqueName: "kubernetes.io/csi/nfs.csi.k8s.io^h#1") pod "` + uid + `" (UID: "` + uid + `")
E1120 10:00:41.000001    2588 nestedpendingoperations.go:301] Operation for "{volumeName:kubernetes.io/csi/nfs.csi.k8s.io^h#1 podName:` + uid + ` nodeName:}" failed. No retries permitted until 2026-11-20 10:00:42 +0000 UTC m=+7.5 (durationBeforeRetry 500ms). Error: "UnmountVolume.TearDown failed for volume \"data\" (UniqueName: \"kubernetes.io/csi/nfs.csi.k8s.io^h#1\") pod \"` + uid + `\" (UID: \"` + uid + `\") : kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: driver name nfs.csi.k8s.io not found in the list of registered CSI drivers"
E1120 10:02:45.000001    2588 nestedpendingoperations.go:301] Operation for "{volumeName:kubernetes.io/csi/nfs.csi.k8s.io^h#1 podName:` + uid + ` nodeName:}" failed. No retries permitted until 2026-11-20 10:04:47 +0000 UTC m=+7.5 (durationBeforeRetry 2m2s). Error: "UnmountVolume.TearDown failed for volume \"data\" (UniqueName: \"kubernetes.io/csi/nfs.csi.k8s.io^h#1\") pod \"` + uid + `\" (UID: \"` + uid + `\") : kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: driver name nfs.csi.k8s.io not found in the list of registered CSI drivers"
I1120 10:03:00.000001    2588 prober.go:116] Liveness probe for "x" succeeded
`, []string{
			"csi-driver-missing warning csi-driver nfs.csi.k8s.io",
			"pod-terminating-stuck warning pod " + uid + " because csi-driver nfs.csi.k8s.io",
		}, "CSI driver nfs.csi.k8s.io does not unmount volume data"},
		{"1.34: a call that the driver still works on", `
E1120 10:00:41.000001    2588 nestedpendingoperations.go:348] Operation for "{volumeName:kubernetes.io/csi/rbd.csi.ceph.com^h podName:` + uid + ` nodeName:}" failed. No retries permitted until 2026-11-20 10:02:43 +0000 UTC m=+7.5 (durationBeforeRetry 2m2s). Error: MountVolume.MountDevice failed for volume "pvc-1" (UniqueName: "kubernetes.io/csi/rbd.csi.ceph.com^h") pod "db-0" (UID: "` + uid + `") : rpc error: code = Aborted desc = an operation with the given Volume ID h already exists
I1120 10:01:00.000001    2588 prober.go:116] "Probe succeeded" probeType="Liveness"
`, []string{"csi-operation-stuck warning csi-driver rbd.csi.ceph.com"}, "is stuck in a call"},
		{"1.34: umount speaks Chinese", `
E1120 10:00:41.000001    2588 nestedpendingoperations.go:348] Operation for "{volumeName:kubernetes.io/nfs/` + uid + `-data podName:` + uid + ` nodeName:}" failed. No retries permitted until 2026-11-20 10:02:43 +0000 UTC m=+7.5 (durationBeforeRetry 2m2s). Error: UnmountVolume.TearDown failed for volume "data" (UniqueName: "kubernetes.io/nfs/` + uid + `-data") pod "` + uid + `" (UID: "` + uid + `") : unmount failed: exit status 32
Unmounting arguments: /var/lib/kubelet/pods/` + uid + `/volumes/kubernetes.io~nfs/data
Output: umount: /var/lib/kubelet/pods/` + uid + `/volumes/kubernetes.io~nfs/data：目标忙。

I1120 10:01:00.000001    2588 prober.go:116] "Probe succeeded" probeType="Liveness"
`, []string{
			"unmount-busy warning volume " + uid + "/kubernetes.io/nfs/data", // the pod may have ended by itself, or be an orphan
		}, "waits 2 min until its next try"},
		{"1.22: a leftover vol_data.json", `
E1120 10:00:02.000001    2588 kubelet_volumes.go:245] "There were many similar errors. Turn up verbosity to see them." err="orphaned pod \"` + uid + `\" found, but error not a directory occurred when trying to remove the volumes dir" numErrs=3
E1120 10:00:04.000001    2588 kubelet_volumes.go:245] "There were many similar errors. Turn up verbosity to see them." err="orphaned pod \"` + uid + `\" found, but error not a directory occurred when trying to remove the volumes dir" numErrs=3
`, []string{"pod-orphaned-vol-data warning pod " + uid}, "Most often it is vol_data.json"},
		{"1.34: the runtime's socket refuses", `
E1120 10:00:00.000001    2588 log.go:32] "ListPodSandbox with filter from runtime service failed" err="rpc error: code = Unavailable desc = connection error: desc = \"transport: Error while dialing: dial unix /run/containerd/containerd.sock: connect: connection refused\"" filter="nil"
E1120 10:00:01.000001    2588 generic.go:254] "GenericPLEG: Unable to retrieve pods" err="rpc error: code = Unavailable desc = connection error"
E1120 10:02:00.000001    2588 log.go:32] "ListPodSandbox with filter from runtime service failed" err="rpc error: code = Unavailable desc = connection error: desc = \"transport: Error while dialing: dial unix /run/containerd/containerd.sock: connect: connection refused\"" filter="nil"
`, []string{"kubelet-pleg-unhealthy info subsystem pleg because runtime runtime", "runtime-unresponsive critical runtime runtime"}, "has not responded since"},
		{"1.13: an unhealthy PLEG and a loop that skips", `
I1120 09:50:00.000001    2588 server.go:407] Version: v1.13.5
I1120 10:00:00.000001    2588 kubelet.go:1823] skipping pod synchronization - [PLEG is not healthy: pleg was last seen active 3m0.1s ago; threshold is 3m0s]
I1120 10:05:00.000001    2588 kubelet.go:1823] skipping pod synchronization - [PLEG is not healthy: pleg was last seen active 8m0.1s ago; threshold is 3m0s]
`, []string{"kubelet-pleg-unhealthy critical subsystem pleg because subsystem syncloop", "kubelet-syncloop-stalled critical subsystem syncloop because subsystem pleg"}, "since 2026-11-20 09:56:59 UTC"},
		{"a kubelet that panics", `
I1120 10:00:00.000001    2588 server.go:416] Version: v1.17.4
panic: runtime error: invalid memory address or nil pointer dereference
goroutine 1 [running]:
I1120 10:01:00.000001    2999 server.go:416] Version: v1.17.4
`, []string{"kubelet-restarting warning kubelet kubelet"}, "by a panic"},
		{"PodGC, old", `
I1120 10:00:00.000001       1 gc_controller.go:200] Found orphaned Pod default/web-0 assigned to the Node node-9. Deleting.
I1120 10:00:00.000002       1 gc_controller.go:85] PodGC is force deleting Pod: default/web-0
`, []string{"pod-podgc warning controller pod-garbage-collector"}, "default/web-0"},
		{"PodGC, new", `
I1120 10:00:00.000001       1 gc_controller.go:240] "Found orphaned Pod assigned to the Node, deleting" pod="default/web-0" node="node-9"
I1120 10:00:00.000002       1 gc_controller.go:355] "PodGC is force deleting Pod" pod="default/web-0"
`, []string{"pod-podgc warning controller pod-garbage-collector"}, "default/web-0"},
		{"evictions that free nothing", `
I1120 10:00:00.000001    2588 eviction_manager.go:376] "Eviction manager: attempting to reclaim" resourceName="ephemeral-storage"
E1120 10:00:30.000001    2588 eviction_manager.go:627] "Eviction manager: pod failed to evict" err="timeout waiting to kill pod" pod="default/db-0"
I1120 10:00:31.000001    2588 eviction_manager.go:210] "Eviction manager: timed out waiting for pods to be cleaned up" pods=["default/db-0"]
`, []string{"eviction-stuck warning subsystem eviction because pod default/db-0"}, "could not remove default/db-0 in time"},
		{"an image that a registry cannot give back", `
I1120 10:00:00.000001    2588 image_gc_manager.go:514] "Removing image to free bytes" imageID="sha256:4e13ac714925c6eb8b00e6a968f749e64c490f6969ff515b90fdc4cbb3476c55" size=1997488 runtimeHandler=""
E1120 10:05:00.000001    2588 log.go:32] "PullImage from image service failed" err="rpc error: code = Unknown desc = failed to pull and unpack image \"registry.local/app:1.0\": dial tcp 10.0.0.9:443: i/o timeout" image="registry.local/app:1.0"
E1120 10:05:01.000001    2588 pod_workers.go:1324] "Error syncing pod, skipping" err="failed to \"StartContainer\" for \"app\" with ErrImagePull: \"rpc error: code = Unknown desc = failed to pull and unpack image \\\"registry.local/app:1.0\\\": dial tcp 10.0.0.9:443: i/o timeout\"" pod="default/app-0" podUID="` + uid + `"
`, []string{"image-gc-removed-in-use warning subsystem image-gc"}, "default/app-0"},
		{"1.34: a deletion from beginning to end", `
I1120 10:00:00.000001    2588 kubelet.go:2538] "SyncLoop DELETE" source="api" pods=["default/web-0"]
I1120 10:00:00.000002    2588 pod_workers.go:853] "Pod is marked for graceful deletion, begin teardown" pod="default/web-0" podUID="` + uid + `" updateType="update"
I1120 10:00:00.200001    2588 kuberuntime_container.go:866] "Killing container with a grace period" pod="default/web-0" podUID="` + uid + `" containerName="app" containerID="containerd://abcd" gracePeriod=30
I1120 10:00:20.000001    2588 kubelet.go:2214] "Pod termination stopped all running containers" pod="default/web-0" podUID="` + uid + `"
I1120 10:00:21.000001    2588 reconciler_common.go:163] "operationExecutor.UnmountVolume started for volume \"data\" (UniqueName: \"kubernetes.io/nfs/x-data\") pod \"` + uid + `\" (UID: \"` + uid + `\") "
I1120 10:00:21.100001    2588 operation_generator.go:781] UnmountVolume.TearDown succeeded for volume "kubernetes.io/nfs/x-data" (OuterVolumeSpecName: "data") pod "` + uid + `" (UID: "` + uid + `"). InnerVolumeSpecName "data". PluginName "kubernetes.io/nfs", VolumeGIDValue ""
I1120 10:00:21.200001    2588 kubelet.go:2280] "Pod termination unmounted volumes" pod="default/web-0" podUID="` + uid + `"
I1120 10:00:21.300001    2588 kubelet.go:2310] "Pod termination removed cgroups" pod="default/web-0" podUID="` + uid + `"
I1120 10:00:21.400001    2588 kubelet.go:2330] "Pod is terminated and will need no more status updates" pod="default/web-0" podUID="` + uid + `"
I1120 10:00:21.500001    2588 status_manager.go:954] "Pod fully terminated and removed from etcd" pod="default/web-0"
I1120 10:00:21.600001    2588 kubelet.go:2532] "SyncLoop REMOVE" source="api" pods=["default/web-0"]
I1120 10:20:00.000001    2588 prober.go:116] "Probe succeeded" probeType="Liveness"
`, []string{}, ""},
		{"1.34: the same, stuck where the containers are killed", `
I1120 10:00:00.000001    2588 kubelet.go:2538] "SyncLoop DELETE" source="api" pods=["default/web-0"]
I1120 10:00:00.200001    2588 kuberuntime_container.go:866] "Killing container with a grace period" pod="default/web-0" podUID="` + uid + `" containerName="app" containerID="containerd://abcd" gracePeriod=30
E1120 10:02:30.200001    2588 log.go:32] "StopContainer from runtime service failed" err="rpc error: code = DeadlineExceeded desc = context deadline exceeded" containerID="abcd"
E1120 10:02:30.300001    2588 pod_workers.go:1324] "Error syncing pod, skipping" err="failed to \"KillContainer\" for \"app\" with KillContainerError: \"rpc error: code = DeadlineExceeded desc = context deadline exceeded\"" pod="default/web-0" podUID="` + uid + `"
I1120 10:03:00.000001    2588 prober.go:116] "Probe succeeded" probeType="Liveness"
`, []string{"pod-terminating-stuck warning pod " + uid}, "the runtime cannot stop its containers"},
		{"1.34: the same, within its grace period", `
I1120 10:00:00.000001    2588 kubelet.go:2538] "SyncLoop DELETE" source="api" pods=["default/web-0"]
I1120 10:00:00.200001    2588 kuberuntime_container.go:866] "Killing container with a grace period" pod="default/web-0" podUID="` + uid + `" containerName="app" containerID="containerd://abcd" gracePeriod=3600
I1120 10:30:00.000001    2588 prober.go:116] "Probe succeeded" probeType="Liveness"
`, []string{}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := linesOf(t, "kubelet.log", tt.log)
			a := forensics.Analyze(&e, All())
			got := slices.DeleteFunc(summaries(a), func(s string) bool { return strings.HasPrefix(s, "log-noise info") })
			if diff := cmp.Diff(sorted(tt.want), sorted(got)); diff != "" {
				t.Errorf("findings (-want +got):\n%s\n%s", diff, texts(a))
			}
			if !strings.Contains(texts(a), tt.says) {
				t.Errorf("nothing says %q:\n%s", tt.says, texts(a))
			}
		})
	}
}

// TestKernelLines joins what the kernel says to the mounts of the node.
func TestKernelLines(t *testing.T) {
	log := linesOf(t, "/dev/kmsg", `
[Fri Nov 20 10:00:00 2026] EXT4-fs error (device vda): ext4_find_entry:1455: inode #2: comm ls: reading directory lblock 0
[Fri Nov 20 10:00:01 2026] EXT4-fs (vda): Remounting filesystem read-only
[Fri Nov 20 10:00:02 2026] INFO: task kubelet:9839 blocked for more than 120 seconds.
[Fri Nov 20 10:00:03 2026] nfs: server 10.0.0.5 not responding, still trying
`)
	e := sickNode(t)
	e.Merge(forensics.Evidence{Logs: log.Logs, Coverage: log.Coverage})
	a := forensics.Analyze(&e, All())
	for _, want := range []string{
		"mount-io-error warning superblock 254:0", "mount-hung critical superblock 0:47", "thread-blocked warning thread 9825/9839 because mount 60",
	} {
		if !slices.Contains(summaries(a), want) {
			t.Errorf("%s is missing: %v", want, summaries(a))
		}
	}
	for _, says := range []string{
		"has errors in the kernel log: a read-only remount (vda)", "NFS server does not respond (10.0.0.5), once from 2026-11-20 10:00:03 UTC",
		"The kernel reported this thread as a hung task once, first at 2026-11-20 10:00:02 UTC",
	} {
		if !strings.Contains(texts(a), says) {
			t.Errorf("nothing says %q:\n%s", says, texts(a))
		}
	}
}

// TestLogThatProvesNothing is the captured log of a kubelet that hangs, up to where somebody asked for its health: not a
// line of it tells, and that is what the report says.
func TestLogThatProvesNothing(t *testing.T) {
	whole := logOf(t, "kubelet-1.34.4-hung-csi")
	before := whole.Logs.Events[:0]
	for _, e := range whole.Logs.Events {
		if e.Kind != logs.KindSyncLoopHealth {
			before = append(before, e)
		}
	}
	whole.Logs.Events = before
	a := forensics.Analyze(&whole, []forensics.Check{kubeletSyncloopStalled})
	const want = "the log alone does not show whether the sync loop is stalled: at this verbosity (at least -v 2) the kubelet logs no housekeeping lines, and an idle loop logs as little as a blocked one"
	if o := a.Outcomes[0]; o.Status != forensics.OutcomeNotChecked || !strings.Contains(o.Reason, want) || len(a.Findings) != 0 {
		t.Errorf("outcome %+v, findings %v", o, summaries(a))
	}
}
