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
)

// linesOf is the evidence of a log that was written for a test.
func linesOf(tb testing.TB, name, text string) forensics.Evidence {
	tb.Helper()
	source := logs.Source{Path: name, Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(strings.TrimLeft(text, "\n"))), nil
	}}
	story := logs.Read(context.Background(), []logs.Source{source}, logs.Options{Now: time.Date(2026, 11, 20, 23, 0, 0, 0, time.UTC)})
	part, err := forensics.LogsEvidence(story)
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
			"pod-terminating-stuck warning pod " + uid + " because volume " + uid + "/kubernetes.io/nfs/data",
			"unmount-busy warning volume " + uid + "/kubernetes.io/nfs/data",
		}, "waits 2 min until its next try"},
		{"1.22: a leftover vol_data.json", `
E1120 10:00:02.000001    2588 kubelet_volumes.go:245] "There were many similar errors. Turn up verbosity to see them." err="orphaned pod \"` + uid + `\" found, but error not a directory occurred when trying to remove the volumes dir" numErrs=3
E1120 10:00:04.000001    2588 kubelet_volumes.go:245] "There were many similar errors. Turn up verbosity to see them." err="orphaned pod \"` + uid + `\" found, but error not a directory occurred when trying to remove the volumes dir" numErrs=3
`, []string{"pod-orphaned warning pod " + uid}, "most often vol_data.json"},
		{"1.34: the runtime's socket refuses", `
E1120 10:00:00.000001    2588 log.go:32] "ListPodSandbox with filter from runtime service failed" err="rpc error: code = Unavailable desc = connection error: desc = \"transport: Error while dialing: dial unix /run/containerd/containerd.sock: connect: connection refused\"" filter="nil"
E1120 10:00:01.000001    2588 generic.go:254] "GenericPLEG: Unable to retrieve pods" err="rpc error: code = Unavailable desc = connection error"
E1120 10:02:00.000001    2588 log.go:32] "ListPodSandbox with filter from runtime service failed" err="rpc error: code = Unavailable desc = connection error: desc = \"transport: Error while dialing: dial unix /run/containerd/containerd.sock: connect: connection refused\"" filter="nil"
`, []string{"kubelet-pleg-unhealthy info subsystem pleg because runtime runtime", "runtime-unresponsive critical runtime runtime"}, "has not answered kubelet since"},
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
`, []string{"pod-podgc warning subsystem podgc"}, "default/web-0"},
		{"PodGC, new", `
I1120 10:00:00.000001       1 gc_controller.go:240] "Found orphaned Pod assigned to the Node, deleting" pod="default/web-0" node="node-9"
I1120 10:00:00.000002       1 gc_controller.go:355] "PodGC is force deleting Pod" pod="default/web-0"
`, []string{"pod-podgc warning subsystem podgc"}, "default/web-0"},
		{"evictions that free nothing", `
I1120 10:00:00.000001    2588 eviction_manager.go:376] "Eviction manager: attempting to reclaim" resourceName="ephemeral-storage"
E1120 10:00:30.000001    2588 eviction_manager.go:627] "Eviction manager: pod failed to evict" err="timeout waiting to kill pod" pod="default/db-0"
I1120 10:00:31.000001    2588 eviction_manager.go:210] "Eviction manager: timed out waiting for pods to be cleaned up" pods=["default/db-0"]
`, []string{"eviction-stuck warning subsystem eviction because pod default/db-0"}, "did not go away in time"},
		{"an image that a registry cannot give back", `
I1120 10:00:00.000001    2588 image_gc_manager.go:514] "Removing image to free bytes" imageID="sha256:4e13ac714925c6eb8b00e6a968f749e64c490f6969ff515b90fdc4cbb3476c55" size=1997488 runtimeHandler=""
E1120 10:05:00.000001    2588 log.go:32] "PullImage from image service failed" err="rpc error: code = Unknown desc = failed to pull and unpack image \"registry.local/app:1.0\": dial tcp 10.0.0.9:443: i/o timeout" image="registry.local/app:1.0"
E1120 10:05:01.000001    2588 pod_workers.go:1324] "Error syncing pod, skipping" err="failed to \"StartContainer\" for \"app\" with ErrImagePull: \"rpc error: code = Unknown desc = failed to pull and unpack image \\\"registry.local/app:1.0\\\": dial tcp 10.0.0.9:443: i/o timeout\"" pod="default/app-0" podUID="` + uid + `"
`, []string{"image-gc-removed-in-use warning subsystem image-gc"}, "default/app-0"},
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
