package logs

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// fold tells the story of lines; those that are not known are seen.
func fold(origin string, lines ...string) Story {
	f := newFolder()
	foldInto(f, "kubelet.log", origin, lines...)
	return f.story(nil)
}

func foldInto(f *folder, file, origin string, lines ...string) {
	for i, line := range lines {
		e := entryOf(ids(line), origin)
		e.Line = int64(i + 1)
		if o, ok := classify(e); ok {
			f.add(file, o)
		} else {
			f.seen("kubelet.log", e)
		}
	}
}

// k is a klog line of a second after 10:00, of process 2588.
func k(severity string, second float64, source, message string) string {
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC).Add(time.Duration(second * float64(time.Second)))
	return severity + at.Format("0102 15:04:05.000000") + "    2588 " + source + ":1] " + message
}

const podFields = ` pod="default/web-0" podUID="U1"`

func events(s Story, kind Kind) []Event {
	return slices.DeleteFunc(slices.Clone(s.Events), func(e Event) bool { return e.Kind != kind })
}

func only(t *testing.T, s Story) Deletion {
	t.Helper()
	if len(s.Deletions) != 1 {
		t.Fatalf("%d deletions, want 1: %+v", len(s.Deletions), s.Deletions)
	}
	return s.Deletions[0]
}

func stagesOf(d Deletion) string {
	names := make([]string, len(d.Steps))
	for i, s := range d.Steps {
		names[i] = string(s.Stage)
	}
	return strings.Join(names, " ")
}

var housekeeping = k("I", 0, "kubelet.go", `"SyncLoop (housekeeping)"`) // proves -v 4

// The way of a pod through a kubelet of 1.22 or later at -v 4. Each test cuts it somewhere.
var newFlow = []string{
	housekeeping,
	k("I", 1, "kubelet.go", `"SyncLoop DELETE" source="api" pods=["default/web-0"]`),
	k("I", 1.1, "pod_workers.go", `"Pod is marked for graceful deletion, begin teardown"`+podFields),
	k("I", 1.2, "kubelet.go", `"SyncTerminatingPod enter"`+podFields),
	k("I", 1.3, "kuberuntime_container.go", `"Killing container with a grace period"`+podFields+` containerName="app" containerID="containerd://abcd" gracePeriod=30`),
	k("I", 31, "generic.go", `"Generic (PLEG): container finished" podID="U1" containerID="abcd" exitCode=137`),
	k("I", 31.5, "kubelet.go", `"Pod termination stopped all running containers"`+podFields),
	k("I", 32, "reconciler_common.go", `"operationExecutor.UnmountVolume started for volume \"data\" (UniqueName: \"kubernetes.io/nfs/U1-data\") pod \"U1\" (UID: \"U1\") "`),
	k("I", 33, "operation_generator.go", `UnmountVolume.TearDown succeeded for volume "kubernetes.io/nfs/U1-data" (OuterVolumeSpecName: "data") pod "U1" (UID: "U1"). InnerVolumeSpecName "data". PluginName "kubernetes.io/nfs", VolumeGIDValue ""`),
	k("I", 34, "kubelet.go", `"Pod termination cleaned up volume paths"`+podFields),
	k("I", 35, "kubelet.go", `"Pod termination removed cgroups"`+podFields),
	k("I", 36, "kubelet.go", `"Pod is terminated and will need no more status updates"`+podFields),
	k("I", 37, "status_manager.go", `"Pod fully terminated and removed from etcd" pod="default/web-0"`),
	k("I", 38, "kubelet.go", `"SyncLoop REMOVE" source="api" pods=["default/web-0"]`),
}

const allStages = "requested killing containers volumes cgroup status api"

func TestDeletionThatEnds(t *testing.T) {
	d := only(t, fold("kubelet", newFlow...))
	if !d.Done || d.Stage != StageRemoved || d.Waits != "" {
		t.Errorf("done %v at %s, waits %q", d.Done, d.Stage, d.Waits)
	}
	if d.PodUID != uid1 || d.PodName != "default/web-0" {
		t.Errorf("pod %q %q: the line without a UID was not joined", d.PodName, d.PodUID)
	}
	if got := stagesOf(d); got != allStages {
		t.Errorf("steps %q, want %q", got, allStages)
	}
	if d.GraceSeconds == nil || *d.GraceSeconds != 30 {
		t.Errorf("grace %v, want 30", d.GraceSeconds)
	}
}

// TestReconstructionIsNoDeletion: a kubelet that has started cannot unmount what it finds of a pod that it does not have.
func TestReconstructionIsNoDeletion(t *testing.T) {
	const failed = `UnmountVolume.NewUnmounter failed for volume \"\" (UniqueName: \"pvc-1\") pod \"` + uid1 + `\" (UID: \"` + uid1 + `\") : ` +
		`kubernetes.io/csi: unmounter failed to load volume data file [/var/lib/kubelet/pods/` + uid1 + `/volumes/kubernetes.io~csi/pvc-1/mount]: no such file or directory"`
	cleanup := k("E", 1, "reconstruct_common.go", `"volumeHandler.UnmountVolumeHandler for UnmountVolume failed for volume \"\" (UniqueName: \"pvc-1\") pod \"`+uid1+`\" (UID: \"`+uid1+`\") : `+failed)
	if s := fold("kubelet", cleanup); len(s.Deletions) != 0 || len(s.Events) != 1 {
		t.Errorf("%d deletions, %d events, want the event alone", len(s.Deletions), len(s.Events))
	}
	unmount := k("E", 1, "reconciler_common.go", `"operationExecutor.UnmountVolume failed for volume \"\" (UniqueName: \"pvc-1\") pod \"`+uid1+`\" (UID: \"`+uid1+`\") : `+failed)
	if s := fold("kubelet", unmount); len(s.Deletions) != 1 {
		t.Errorf("%d deletions by an unmount that fails, want 1", len(s.Deletions))
	}
}

func TestDeletionStandsWhereItsLinesEnd(t *testing.T) {
	later := k("I", 900, "kubelet.go", `"SyncLoop (housekeeping)"`)
	for _, c := range []struct {
		lines int
		stage Stage
		waits string
	}{
		{2, StageRequested, "pod worker"},
		{4, StageKilling, "pod worker"},
		{5, StageContainers, "its containers to stop"},
		{7, StageVolumes, "unmount of its volumes, not started"},
		{8, StageVolumes, "started at 2026-11-20 10:00:32 UTC, has not returned"},
		{10, StageCgroup, "cgroup"},
		{11, StageStatus, "status manager"},
		{13, StageAPI, "finalizers"},
	} {
		t.Run(string(c.stage), func(t *testing.T) {
			d := only(t, fold("kubelet", append(slices.Clone(newFlow[:c.lines]), later)...))
			if d.Done || d.Stage != c.stage {
				t.Errorf("done %v at %s, want %s", d.Done, d.Stage, c.stage)
			}
			if !strings.Contains(d.Waits, c.waits) {
				t.Errorf("waits %q, want %q in it", d.Waits, c.waits)
			}
			if !d.Proven {
				t.Error("not proven, though -v 4 shows every stage")
			}
		})
	}
}

// In the grace period nothing is wrong yet.
func TestDeletionWithinItsGracePeriod(t *testing.T) {
	d := only(t, fold("kubelet", append(slices.Clone(newFlow[:5]), k("I", 10, "kubelet.go", `"SyncLoop (housekeeping)"`))...))
	if !strings.Contains(d.Waits, "until 2026-11-20 10:00:31 UTC") {
		t.Errorf("waits %q", d.Waits)
	}
}

func TestDeletionAtLowVerbosity(t *testing.T) {
	v2 := slices.DeleteFunc(slices.Clone(newFlow), func(l string) bool {
		o, _ := classify(entryOf(ids(l), "kubelet"))
		return o.level > 2
	})
	if d := only(t, fold("kubelet", v2...)); !d.Done {
		t.Errorf("-v 2: stuck at %s, waits %q", d.Stage, d.Waits)
	}
	// Without the lines of -v 2 a pod whose volumes are all unmounted may as well have run to its end.
	if s := fold("kubelet", newFlow[7], newFlow[8], k("I", 900, "server.go", `"something"`)); len(s.Deletions) != 0 {
		t.Errorf("-v 0, all unmounted: %+v; nothing can be known", s.Deletions)
	}
	d := only(t, fold("kubelet", newFlow[7], k("I", 900, "server.go", `"something"`)))
	if d.Done || !d.Proven || !strings.Contains(d.Waits, "has not returned") {
		t.Errorf("-v 0, an unmount that hangs: done %v, proven %v, waits %q", d.Done, d.Proven, d.Waits)
	}
}

func TestDeletionOfOldKubelets(t *testing.T) {
	old := []string{
		k("I", 1, "kubelet.go", `SyncLoop (DELETE, "api"): "web-0_default(U1), web-1_default(U2)"`),
		k("I", 1.2, "kuberuntime_container.go", `Killing container "docker://abcd" with 30 second grace period`),
		k("I", 31, "kubelet.go", `SyncLoop (PLEG): "web-0_default(U1)", event: &pleg.PodLifecycleEvent{ID:"U1", Type:"ContainerDied", Data:"abcd"}`),
		k("I", 32, "reconciler.go", `operationExecutor.UnmountVolume started for volume "data" (UniqueName: "kubernetes.io/nfs/U1-data") pod "U1" (UID: "U1")`),
		k("I", 33, "kubelet_pods.go", `Pod "web-0_default(U1)" is terminated, but some volumes have not been cleaned up`),
	}
	s := fold("kubelet", old...)
	if len(s.Deletions) != 2 {
		t.Fatalf("%d deletions, want those of both pods of the line", len(s.Deletions))
	}
	i := slices.IndexFunc(s.Deletions, func(d Deletion) bool { return d.PodUID == uid1 })
	if d := s.Deletions[i]; d.Stage != StageVolumes || len(d.Complaints) != 1 || !strings.Contains(d.Waits, "volume data") {
		t.Errorf("at %s, %d complaints, waits %q", d.Stage, len(d.Complaints), d.Waits)
	}
	done := fold("kubelet", append(old,
		k("I", 34, "operation_generator.go", `UnmountVolume.TearDown succeeded for volume "kubernetes.io/nfs/U1-data" (OuterVolumeSpecName: "data") pod "U1" (UID: "U1"). InnerVolumeSpecName "data"`),
		k("I", 35, "status_manager.go", `Pod "web-0_default(U1)" fully terminated and removed from etcd`),
		k("I", 36, "kubelet.go", `SyncLoop (REMOVE, "api"): "web-0_default(U1)"`))...)
	if i := slices.IndexFunc(done.Deletions, func(d Deletion) bool { return d.PodUID == uid1 }); !done.Deletions[i].Done {
		t.Errorf("stuck at %s", done.Deletions[i].Stage)
	}
}

// A Job's pod that has ended is torn down, and stays in the API server.
func TestPodThatRanToItsEnd(t *testing.T) {
	lines := slices.Clone(newFlow[:12])
	lines = slices.Delete(lines, 1, 2)
	lines[1] = k("I", 1.1, "pod_workers.go", `"Pod is in a terminal phase (success/failed), begin teardown"`+podFields)
	if s := fold("kubelet", lines...); len(s.Deletions) != 0 {
		t.Errorf("%+v", s.Deletions)
	}
	if d := only(t, fold("kubelet", append(lines[:7:7], k("I", 900, "kubelet.go", `"SyncLoop (housekeeping)"`))...)); d.Stage != StageVolumes {
		t.Errorf("its volume cannot be unmounted, but it is stuck at %s", d.Stage)
	}
}

// The line of old kubelets that kills names a container alone.
func TestContainerJoinsItsPod(t *testing.T) {
	kill := k("I", 1.2, "kuberuntime_container.go", `Killing container "docker://abcd" with a 30 second grace period`)
	deleted := k("I", 1, "kubelet.go", `SyncLoop (DELETE, "api"): "web-0_default(U1)"`)
	other := k("I", 1.1, "kubelet.go", `SyncLoop (DELETE, "api"): "web-1_default(U2)"`)
	if d := only(t, fold("kubelet", deleted, kill)); d.Stage != StageContainers || *d.GraceSeconds != 30 {
		t.Errorf("at %s", d.Stage)
	}
	for _, d := range fold("kubelet", deleted, other, kill).Deletions {
		if d.Stage != StageRequested {
			t.Errorf("%s at %s: two pods were deleted, and none is known to have the container", d.PodUID, d.Stage)
		}
	}
	started := k("I", 0.5, "kubelet.go", `SyncLoop (PLEG): "web-1_default(U2)", event: &pleg.PodLifecycleEvent{ID:"U2", Type:"ContainerStarted", Data:"abcd"}`)
	for _, d := range fold("kubelet", started, deleted, other, kill).Deletions {
		if want := map[string]Stage{uid1: StageRequested, uid2: StageContainers}[d.PodUID]; d.Stage != want {
			t.Errorf("%s at %s, want %s", d.PodUID, d.Stage, want)
		}
	}
}

// What a kubelet that is no more was doing says nothing of the next one.
func TestDeletionInAnEarlierLife(t *testing.T) {
	d := only(t, fold("kubelet", append(slices.Clone(newFlow[:8]), kp(7000, "1120 10:20:00.000000", "kubelet.go", `"SyncLoop (housekeeping)"`))...))
	if d.Done || d.Proven || d.Waits != "" {
		t.Errorf("done %v, proven %v, waits %q", d.Done, d.Proven, d.Waits)
	}
}

func TestRuntimeThatCannotKill(t *testing.T) {
	d := only(t, fold("kubelet", append(slices.Clone(newFlow[:5]),
		k("E", 151, "log.go", `"StopContainer from runtime service failed" err="rpc error: code = DeadlineExceeded desc = context deadline exceeded" containerID="abcd"`),
		k("E", 152, "pod_workers.go", `"Error syncing pod, skipping" err="failed to \"KillContainer\" for \"app\" with KillContainerError: \"rpc error: code = DeadlineExceeded desc = context deadline exceeded\""`+podFields))...))
	if d.Stage != StageContainers || !strings.Contains(d.Waits, "the runtime to stop") || !strings.Contains(d.Waits, "DeadlineExceeded") {
		t.Errorf("at %s, waits %q", d.Stage, d.Waits)
	}
	if len(d.Complaints) != 2 {
		t.Errorf("%d complaints, want that of the runtime, joined by the container, and that of the worker", len(d.Complaints))
	}
}

// A pod that is deleted by force is gone from the API server before anything else happens.
func TestDeletionByForceGoesOn(t *testing.T) {
	lines := []string{housekeeping, k("I", 1, "kubelet.go", `"SyncLoop REMOVE" source="api" pods=["default/web-0"]`)}
	lines = append(lines, newFlow[2:8]...)
	d := only(t, fold("kubelet", append(lines, k("I", 900, "kubelet.go", `"SyncLoop (housekeeping)"`))...))
	if d.Done || d.Stage != StageVolumes || !strings.Contains(d.Waits, "has not returned") {
		t.Errorf("done %v at %s, waits %q", d.Done, d.Stage, d.Waits)
	}
}

// A container of such a pod may be killed for longer than that takes.
func TestDeletionByForceWaitsForContainers(t *testing.T) {
	lines := []string{housekeeping, k("I", 1, "kubelet.go", `"SyncLoop REMOVE" source="api" pods=["default/web-0"]`), newFlow[4]}
	d := only(t, fold("kubelet", append(lines, k("I", 900, "kubelet.go", `"SyncLoop (housekeeping)"`))...))
	if d.Done || d.Stage != StageContainers {
		t.Errorf("done %v at %s", d.Done, d.Stage)
	}
}

// A StatefulSet gives the same name to the next pod.
func TestSameNameTwice(t *testing.T) {
	again := make([]string, 0, len(newFlow))
	for _, l := range newFlow[1:5] {
		again = append(again, strings.ReplaceAll(strings.Replace(l, "1120 10:00", "1120 10:10", 1), "U1", "U2"))
	}
	lines := append(slices.Clone(newFlow), k("I", 60, "kubelet.go", `"SyncLoop ADD" source="api" pods=["default/web-0"]`))
	s := fold("kubelet", append(lines, again...)...)
	if len(s.Deletions) != 2 {
		t.Fatalf("%d deletions, want 2", len(s.Deletions))
	}
	if d := s.Deletions[0]; d.Done || d.PodUID != uid2 || stagesOf(d) != "requested killing containers" {
		t.Errorf("%s %q done %v: the second pod is the one that stands", d.PodUID, stagesOf(d), d.Done)
	}
	if d := s.Deletions[1]; !d.Done || d.PodUID != uid1 {
		t.Errorf("%s done %v", d.PodUID, d.Done)
	}
}

// A static pod keeps its UID when it comes again, here at -v 2.
func TestStaticPodTwice(t *testing.T) {
	remove := `"SyncLoop REMOVE" source="file" pods=["default/web-0"]`
	lines := []string{k("I", 1, "kubelet.go", remove), newFlow[4], newFlow[5], newFlow[7], newFlow[8]}
	lines = append(lines, k("I", 60, "kubelet.go", `"SyncLoop ADD" source="file" pods=["default/web-0"]`))
	for _, l := range []string{k("I", 1, "kubelet.go", remove), newFlow[4], newFlow[5], newFlow[7]} {
		lines = append(lines, strings.Replace(l, "1120 10:00", "1120 10:10", 1))
	}
	s := fold("kubelet", append(lines, k("I", 1500, "server.go", `"something"`))...)
	if len(s.Deletions) != 2 || s.Deletions[0].Done || s.Deletions[0].Stage != StageVolumes {
		t.Fatalf("%+v", s.Deletions)
	}
	if !s.Deletions[1].Done || stagesOf(s.Deletions[0]) != "requested containers volumes" {
		t.Errorf("the first: done %v; the second: %q", s.Deletions[1].Done, stagesOf(s.Deletions[0]))
	}
	if !strings.Contains(s.Deletions[0].Waits, "started at 2026-11-20 10:10:32 UTC, has not returned") {
		t.Errorf("waits %q", s.Deletions[0].Waits)
	}
}

// A container that is killed because its probe fails is no deletion; nor is a mount that fails.
func TestNoDeletion(t *testing.T) {
	s := fold("kubelet", newFlow[4], failure("{volumeName:"+csiUnique+" podName:U1 nodeName:}", "1s",
		`MountVolume.SetUp failed for volume "data" (UniqueName: "`+csiUnique+`") pod "web-0" (UID: "U1") : rpc error: code = Internal desc = it broke`))
	if len(s.Deletions) != 0 {
		t.Errorf("deletions %+v", s.Deletions)
	}
}

// Nobody waits any more for a mount that failed when its pod is gone.
func TestOperationsOfPodsThatAreGone(t *testing.T) {
	failed := failure("{volumeName:"+nfsUnique+" podName:U1 nodeName:}", "1s", `MountVolume.SetUp failed for volume "x" (UniqueName: "`+nfsUnique+`") pod "web-0" (UID: "U1") : it broke`)
	if ops := fold("kubelet", failed).Operations; len(ops) != 1 {
		t.Errorf("%+v", ops)
	}
	if ops := fold("kubelet", append([]string{failed}, newFlow...)...).Operations; len(ops) != 0 {
		t.Errorf("%+v", ops)
	}
}

// A pod whose deletion was seen just before the sync loop fell silent waits for the loop.
func TestDeletionBeforeSilence(t *testing.T) {
	var lines []string
	for i := range 5 {
		lines = append(lines, k("I", float64(2*i)/10, "kubelet.go", `"SyncLoop (housekeeping)"`))
	}
	lines = append(lines, newFlow[1], k("I", 400, "kubelet_node_status.go", `"something"`))
	if d := only(t, fold("kubelet", lines...)); !strings.Contains(d.Waits, "no message since 2026-11-20 10:00:01 UTC") {
		t.Errorf("waits %q", d.Waits)
	}
}

func TestOperations(t *testing.T) {
	verify := k("I", 1, "reconciler_common.go", `"operationExecutor.VerifyControllerAttachedVolume started for volume \"data\" (UniqueName: \"`+csiUnique+`\") pod \"web-0\" (UID: \"U1\") " pod="default/web-0"`)
	mount := k("I", 2, "reconciler_common.go", `"operationExecutor.MountVolume started for volume \"data\" (UniqueName: \"`+csiUnique+`\") pod \"web-0\" (UID: \"U1\") " pod="default/web-0"`)
	mounted := k("I", 3, "operation_generator.go", `"MountVolume.SetUp succeeded for volume \"data\" (UniqueName: \"`+csiUnique+`\") pod \"web-0\" (UID: \"U1\") " pod="default/web-0"`)
	remount := k("I", 4, "reconciler_common.go", `"operationExecutor.MountVolume started for volume \"data\" (UniqueName: \"`+csiUnique+`\") pod \"web-0\" (UID: \"U1\") Volume is already mounted to pod, but remount was requested."`)
	unmount := k("I", 5, "reconciler_common.go", `"operationExecutor.UnmountVolume started for volume \"data\" (UniqueName: \"`+csiUnique+`\") pod \"U1\" (UID: \"U1\") "`)
	for _, c := range []struct {
		name  string
		lines []string
		want  string // name, failures, retry
	}{
		{"ended well", []string{verify, mount, mounted, remount}, ""},
		{"has not returned", []string{verify, mount}, "MountVolume 0 0"},
		{"failed twice", []string{mount, csiError(`rpc error: code = Internal desc = x`), csiError(`rpc error: code = Internal desc = x`)}, "UnmountVolume 2 122,MountVolume 0 0"},
		{"failed, then ended well", []string{unmount, csiError(`rpc error: code = Internal desc = x`), unmount, k("I", 6, "x.go", `UnmountVolume.TearDown succeeded for volume "`+csiUnique+`" (OuterVolumeSpecName: "data") pod "U1" (UID: "U1")`)}, ""},
		{"device mount belongs to the mount", []string{mount, failure("{volumeName:"+csiUnique+" podName: nodeName:}", "4s", `MountVolume.MountDevice failed for volume "data" (UniqueName: "`+csiUnique+`") pod "web-0" (UID: "U1") : rpc error: code = Internal desc = x`)}, "MountDevice 1 4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, op := range fold("kubelet", c.lines...).Operations {
				got = append(got, fmt.Sprint(op.Name, " ", op.Failures, " ", op.RetrySeconds))
			}
			if strings.Join(got, ",") != c.want {
				t.Errorf("operations %q, want %q", got, c.want)
			}
		})
	}
}

// A day of a busy node: thousands of pods go, and the few that stand are still told. The latest that are done are, too,
// also right after the older ones were forgotten.
func TestManyDeletions(t *testing.T) {
	for _, pods := range []int{2 * maxDeletions, 3000} {
		f := newFolder()
		stuck := strings.NewReplacer("U1", uid2, "web-0", "stuck-0")
		for _, l := range newFlow[:8] {
			foldInto(f, "kubelet.log", "kubelet", stuck.Replace(l))
		}
		for i := range pods {
			pod := strings.NewReplacer("U1", fmt.Sprintf("%08x-0000-4000-8000-000000000000", i), "web-0", fmt.Sprintf("web-%d", i))
			for _, l := range newFlow[1:] {
				foldInto(f, "kubelet.log", "kubelet", pod.Replace(l))
			}
		}
		s := f.story(nil)
		if len(s.Deletions) != maxDeletions || s.Deletions[0].PodUID != uid2 || s.Deletions[0].Done || !s.Deletions[1].Done {
			t.Fatalf("of %d: %d deletions, first %+v", pods, len(s.Deletions), s.Deletions[:min(len(s.Deletions), 1)])
		}
		if counted := len(s.Deletions) + int(s.Dropped[kindPodTeardown]); counted != pods+1 {
			t.Errorf("%d are told or counted, want %d", counted, pods+1)
		}
		if len(f.deletions.all) > 3*maxDeletions || len(f.deletions.uids) > maxNames {
			t.Errorf("%d deletions and %d names are kept", len(f.deletions.all), len(f.deletions.uids))
		}
	}
}

// Of more volumes that fail than are followed, it is said how many lines were left out.
func TestManyOperations(t *testing.T) {
	f := newFolder()
	for i := range maxTracked + 3 {
		unique := fmt.Sprintf("kubernetes.io/csi/nfs.csi.k8s.io^h#%d", i)
		foldInto(f, "kubelet.log", "kubelet", failure("{volumeName:"+unique+" podName:U1 nodeName:}", "1s",
			`MountVolume.SetUp failed for volume "data" (UniqueName: "`+unique+`") pod "web-0" (UID: "U1") : it broke`))
	}
	if s := f.story(nil); s.Dropped[kindMountFailed] != 3 {
		t.Errorf("dropped %v, want 3 failed mounts", s.Dropped)
	}
}

func TestListsOfPods(t *testing.T) {
	for list, want := range map[string]string{
		`["default/a","kube-system/b"]`:                                     "default/a kube-system/b",
		`[default/a kube-system/b]`:                                         "default/a kube-system/b",
		`[a_default(` + uid1 + `), b_x(` + uid2 + `)]`:                      "default/a:" + uid1 + " x/b:" + uid2,
		`[{"name":"a","namespace":"default"},{"name":"b","namespace":"x"}]`: "default/a x/b",
		`[]`:        "",
		`["web"]`:   "",
		`[[[{"`:     "",
		`["a/b",,,`: "a/b",
	} {
		var got []string
		for _, p := range listOfPods(list, 10) {
			if p.PodUID != "" {
				p.PodName += ":" + p.PodUID
			}
			got = append(got, p.PodName)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", list, got, want)
		}
	}
}

const (
	nfsUnique = "kubernetes.io/nfs/" + uid1 + "-data"
	csiUnique = "kubernetes.io/csi/nfs.csi.k8s.io^h#1"
)

// failure is the line of a failed operation in the wording of 1.23 and later.
func failure(key, retry, text string) string {
	return ids(`E0512 10:00:41.000001    2588 nestedpendingoperations.go:348] Operation for "` + key + `" failed. No retries permitted until 2024-05-12 10:02:43 +0000 UTC m=+7.5 (durationBeforeRetry ` + retry + `). Error: ` + text)
}

const csiKey = "{volumeName:" + csiUnique + " podName:U1 nodeName:}"

// csiError is a failed unmount of a CSI volume.
func csiError(text string) string {
	return failure(csiKey, "2m2s", `UnmountVolume.TearDown failed for volume "data" (UniqueName: "`+csiUnique+`") pod "U1" (UID: "U1") : kubernetes.io/csi: Unmounter.TearDownAt failed: `+text)
}
