package checks

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

// An alikeCase is evidence with many things of which one check says the same of some.
type alikeCase struct {
	name  string
	check forensics.Check
	base  func(testing.TB) forensics.Evidence
	// want is "title: n" for each finding with the number of things that it is about.
	want []string
}

func TestAlike(t *testing.T) {
	for _, c := range slices.Concat(alikeInCluster(), alikeOnNode()) {
		t.Run(c.name, func(t *testing.T) {
			e := c.base(t)
			a := forensics.Analyze(&e, []forensics.Check{c.check})
			var got []string
			for _, f := range a.Findings {
				got = append(got, fmt.Sprintf("%s: %d", f.Title, len(f.About())))
				if len(f.Remedies) > 15 {
					t.Errorf("%d steps", len(f.Remedies))
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("findings\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(c.want, "\n\t"))
			}
		})
	}
}

// pods are n pods of the API, each changed.
func pods(n int, prefix string, edit ...func(*apidump.Pod)) func(*apidump.Dump) {
	return func(d *apidump.Dump) {
		for i := range n {
			d.Pods = append(d.Pods, apiPod(fmt.Sprintf("%s-%d", prefix, i), fmt.Sprintf("u-%s-%d", prefix, i), edit...))
		}
	}
}

func evictedFor(message string) func(*apidump.Pod) {
	return func(p *apidump.Pod) { p.Phase, p.Reason, p.Message = "Failed", "Evicted", message }
}

func disrupted(reason, message string) func(*apidump.Pod) {
	return func(p *apidump.Pod) {
		p.Phase, p.Disrupted = "Failed", &apidump.Condition{Reason: reason, Message: message}
	}
}

func several(edits ...func(*apidump.Dump)) func(testing.TB) forensics.Evidence {
	return dumped(func(d *apidump.Dump) {
		for _, edit := range edits {
			edit(d)
		}
	})
}

func alikeInCluster() []alikeCase {
	memory, storage := evictedFor("The node was low on resource: memory. Threshold quantity: 100Mi, available: 60Mi."), evictedFor("The node was low on resource: ephemeral-storage. ")
	unscheduled := func(message string) func(*apidump.Pod) {
		return func(p *apidump.Pod) {
			p.Phase, p.Node, p.Unscheduled = "Pending", "", &apidump.Condition{Reason: "Unschedulable", Message: message}
		}
	}
	claims := func(n int, prefix string, edit func(*apidump.Claim)) func(*apidump.Dump) {
		return func(d *apidump.Dump) {
			for i := range n {
				c := apidump.Claim{Object: apidump.Object{
					Kind: "PersistentVolumeClaim", Namespace: "default", Name: fmt.Sprintf("%s-%d", prefix, i),
					Deleting: ptr(time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)), Finalizers: []string{"kubernetes.io/pvc-protection"},
				}, Phase: "Bound"}
				edit(&c)
				d.Claims = append(d.Claims, c)
			}
		}
	}
	finalizer := func(p *apidump.Pod) { p.Finalizers = []string{"example.com/wait"} }
	return []alikeCase{
		{"50 evicted pods", podPodGC, several(pods(50, "web", memory)), []string{"50 pods were evicted by kubelet (Evicted: memory): 50"}},
		{
			"two resources, and another who deletes", podPodGC, several(pods(3, "a", storage), pods(2, "b", memory), pods(2, "c", disrupted("PreemptionByScheduler", "low priority"))),
			[]string{"3 pods were evicted by kubelet (Evicted: ephemeral-storage): 3", "2 pods were evicted by kubelet (Evicted: memory): 2", "2 pods are being deleted by scheduler preemption (PreemptionByScheduler): 2"},
		},
		{
			"the kubelet of 1.26 and later, and its limits", podPodGC, several(
				pods(2, "a", disrupted("TerminationByKubelet", "The node was low on resource: memory. Threshold quantity: 1, available: 0.")),
				pods(2, "b", evictedFor("Usage of EmptyDir volume \"a\" exceeds the limit \"1Gi\". ")), pods(1, "c", evictedFor("Usage of EmptyDir volume \"z\" exceeds the limit \"9Gi\". ")),
				pods(2, "d", evictedFor("Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. "))),
			[]string{"2 pods are being deleted by kubelet (TerminationByKubelet: memory): 2", "3 pods were evicted by kubelet (Evicted: limit of an emptyDir): 3", "2 pods were evicted by kubelet (Evicted: limit of the pod): 2"},
		},
		{
			"two Jobs that are being deleted", podPodGC, several(func(d *apidump.Dump) {
				d.Owners = []apidump.Object{{Kind: "Job", Namespace: "default", Name: "x", UID: "x", Deleting: ptr(time.Unix(0, 0))}, {Kind: "Job", Namespace: "default", Name: "y", UID: "y", Deleting: ptr(time.Unix(0, 0))}}
			}, pods(3, "x", deletedAt(10, 12), func(p *apidump.Pod) { p.Owners = []apidump.Owner{{Kind: "Job", Name: "x", UID: "x"}} }),
				pods(1, "y", deletedAt(10, 12), func(p *apidump.Pod) { p.Owners = []apidump.Owner{{Kind: "Job", Name: "y", UID: "y"}} })),
			[]string{"3 pods are being deleted by garbage collector (Job default/x): 3", "Pod default/y-0 is being deleted by garbage collector: 1"},
		},
		{"two taints", podPodGC, several(func(d *apidump.Dump) {
			d.Nodes[0].Taints = []apidump.Taint{{Key: "a", Effect: "NoExecute"}, {Key: "b", Effect: "NoExecute"}}
		}, pods(2, "x", deletedAt(10, 12)), pods(2, "y", deletedAt(10, 12), func(p *apidump.Pod) { p.Tolerations = []apidump.Toleration{{Key: "a", Operator: "Exists"}} })), []string{
			"2 pods are being deleted by taint eviction (a on node-1): 2", "2 pods are being deleted by taint eviction (b on node-1): 2",
		}},
		{
			"no node takes 40 pods", podUnschedulable, several(
				pods(40, "a", unscheduled("0/2 nodes are available: 2 Insufficient cpu.")), pods(1, "b", unscheduled("0/3 nodes are available: 3 Insufficient memory.")),
				pods(2, "c", unscheduled("0/2 nodes are available: 2 Too many pods.")), pods(1, "d", unscheduled("nobody knows"))),
			[]string{"41 pods cannot be scheduled: nodes have insufficient resources: 41", "2 pods cannot be scheduled: nodes run their maximum number of pods: 2", "Pod default/d-0 cannot be scheduled: nobody knows: 1"},
		},
		{
			"pods whose data is lost stay apart", podUnschedulable, several(claims(2, "data", func(c *apidump.Claim) { c.Deleting, c.Volume, c.Phase = nil, "pv", "Lost" }),
				pods(1, "a", unscheduled("x"), func(p *apidump.Pod) { p.Claims = []string{"data-0"} }), pods(1, "b", unscheduled("x"), func(p *apidump.Pod) { p.Claims = []string{"data-1"} })),
			[]string{"Pod default/a-0 cannot be scheduled: x: 1", "Pod default/b-0 cannot be scheduled: x: 1"},
		},
		{
			"claims that nobody uses", pvcTerminating, several(claims(20, "a", func(*apidump.Claim) {}), claims(2, "b", func(c *apidump.Claim) { c.Finalizers = append(c.Finalizers, "example.com/wait") })),
			[]string{"20 claims stuck in Terminating: finalizer kubernetes.io/pvc-protection remains: 20", "2 claims stuck in Terminating: finalizers kubernetes.io/pvc-protection, example.com/wait remain: 2"},
		},
		{
			"claims of one pod, and of others", pvcTerminating, several(claims(3, "a", func(*apidump.Claim) {}),
				pods(1, "x", func(p *apidump.Pod) { p.Claims = []string{"a-0", "a-1"} }), pods(1, "y", func(p *apidump.Pod) { p.Claims = []string{"a-2"} })),
			[]string{"2 claims stuck in Terminating: in use by 1 pod: 2", "PVC default/a-2 stuck in Terminating for 42 min: in use by pod default/y-0: 1"},
		},
		{
			"pods that should have been gone", podTerminatingStuck, several(pods(30, "a", deletedAt(9, 30)), pods(2, "b", deletedAt(9, 40), finalizer),
				pods(1, "c", deletedAt(9, 40), finalizer, func(p *apidump.Pod) { p.Phase = "Succeeded" })),
			[]string{"30 pods stuck in Terminating: the kubelet has not confirmed the termination: 30", "2 pods stuck in Terminating: finalizer example.com/wait remains: 2", "Pod default/c-0 stuck in Terminating for at least 32 min: finalizer example.com/wait remains: 1"},
		},
	}
}

// orphansLike are n more directories of pods that are gone like that of the sick node, each changed.
func orphansLike(n int, version string, edits ...func(*kubelet.PodDir)) func(testing.TB) forensics.Evidence {
	return func(tb testing.TB) forensics.Evidence {
		e := sickNode(tb)
		left(version, func(*kubelet.PodDir) {})(tb, &e)
		e.PodDirs = e.PodDirs[:1]
		for _, edit := range edits {
			for range n {
				uid := fmt.Sprintf("5c948341-c030-4996-b888-%012d", len(e.PodDirs))
				d := kubelet.PodDir{UID: uid, Path: kubeletRoot + "/pods/" + uid, Containers: []string{}, Volumes: []kubelet.Volume{}, Subpaths: []kubelet.Subpath{}}
				edit(&d)
				e.PodDirs = append(e.PodDirs, d)
			}
		}
		return e
	}
}

// naming has the kubelet's log name the i-th of them, counted from 1.
func naming(base func(testing.TB) forensics.Evidence, reasons map[int]string) func(testing.TB) forensics.Evidence {
	return func(tb testing.TB) forensics.Evidence {
		e := base(tb)
		for i, d := range e.PodDirs {
			if reason := reasons[i]; reason != "" {
				tells(event(logs.KindOrphan, 9, "10:10:00", "10:12:28", logs.Subject{PodUID: d.UID, Reason: reason}))(tb, &e)
			}
		}
		return e
	}
}

func alikeOnNode() []alikeCase {
	empty, vol, data := withVolume(volume("nfs", "data", 0)), withVolume(volDataOnly()), withVolume(dataLeft())
	const stay, disk = "300 orphaned pod directories: kubelet 1.17 does not remove an empty volume directory: 300", "volume paths are still present on disk"
	return []alikeCase{
		{"300 orphans", podOrphaned, orphansLike(300, "1.17.4", empty), []string{stay}},
		{"300 orphans, one of which the log names", podOrphaned, naming(orphansLike(300, "1.17.4", empty), map[int]string{7: disk}), []string{stay}},
		{
			"two causes in the log", podOrphaned, naming(orphansLike(4, "1.17.4", empty), map[int]string{2: disk, 3: disk, 4: "directory not empty"}),
			[]string{
				"1 orphaned pod directory: kubelet 1.17 does not remove an empty volume directory: 1", "2 orphaned pod directories: kubelet 1.17 does not remove an empty volume directory: 2",
				"1 orphaned pod directory: kubelet 1.17 does not remove an empty volume directory: 1",
			},
		},
		{"by themselves", podOrphaned, orphansLike(3, "1.34.4", empty), []string{"3 orphaned pod directories: kubelet 1.34 removes them automatically: 3"}},
		{
			"those with data stay apart", podOrphaned, orphansLike(2, "1.17.4", data), []string{
				"Orphaned pod directory 5c948341-c030-4996-b888-000000000001 has data on the node's own disk: 12 files (3.0 MiB): 1",
				"Orphaned pod directory 5c948341-c030-4996-b888-000000000002 has data on the node's own disk: 12 files (3.0 MiB): 1",
			},
		},
		{"vol_data.json", podOrphanedVolData, orphansLike(60, "1.34.4", vol), []string{"60 orphaned pod directories: kubelet 1.34 does not remove a leftover vol_data.json: 60"}},
		{
			"the log alone", podOrphaned, func(tb testing.TB) forensics.Evidence {
				e := naming(orphansLike(3, "1.17.4", empty), map[int]string{1: disk, 2: disk, 3: "directory not empty"})(tb)
				logAlone(tb, &e)
				return e
			}, []string{
				"2 orphaned pod directories cannot be removed: volume paths are still present on disk: 2",
				"1 orphaned pod directory cannot be removed: directory not empty: 1",
			},
		},
		{"processes that outlived their pods", podCgroupLeftover, func(tb testing.TB) forensics.Evidence {
			e := wellNode(tb)
			for i := range 4 {
				g := runtimes.PodCgroup{PodUID: fmt.Sprintf("5c948341-c030-4996-b888-%012d", i), Path: fmt.Sprintf("/sys/fs/cgroup/pids/kubepods/pod%d", i), Containers: []string{}}
				if i == 3 {
					g.Frozen = []runtimes.FrozenCgroup{{Path: g.Path, State: "frozen"}}
				}
				e.Cgroups = append(e.Cgroups, g)
				e.Processes = append(e.Processes, procs.Process{PID: 5000 + i, Comm: "app", State: "S", PodUID: g.PodUID})
			}
			return e
		}, []string{"Processes of 3 pods are still running although the pods no longer exist: 3", "1 process of pod 5c948341-c030-4996-b888-000000000003 is still running although the pod no longer exists: 1"}},
		{"mounts of pods that are gone", mountOrphaned, func(tb testing.TB) forensics.Evidence {
			e := orphansLike(5, "1.17.4", empty)(tb)
			for i, d := range e.PodDirs[1:] {
				e.Mounts.Mounts = append(e.Mounts.Mounts, mounts.Mount{ID: 500 + i, ParentID: 27, Device: "0:90", Root: "/", MountPoint: d.Path + "/volumes/kubernetes.io~nfs/data", FSType: "nfs4"})
			}
			return e
		}, []string{"5 mounts belong to orphaned pods: 5"}},
		{"stacks, of which one hides something", mountStacked, func(tb testing.TB) forensics.Evidence {
			e := wellNode(tb)
			for i := range 4 {
				m := mounts.Mount{ID: 500 + 2*i, ParentID: 27, Device: "0:90", Root: "/", MountPoint: fmt.Sprintf("%s/pods/5c948341-c030-4996-b888-%012d/volumes/kubernetes.io~nfs/data", kubeletRoot, i), FSType: "nfs4"}
				upper := m
				upper.ID, upper.ParentID = m.ID+1, m.ID
				if i == 3 {
					upper.Device = "0:91"
				}
				e.Mounts.Mounts = append(e.Mounts.Mounts, m, upper)
			}
			return e
		}, []string{
			"3 mount points have 2 mounts stacked on each: 3",
			"2 mounts are stacked on volume data of pod 5c948341-c030-4996-b888-000000000003: 1",
		}},
	}
}

// TestOrphansAreOneDiagnosis wants one root, whose pods are all, and few steps.
func TestOrphansAreOneDiagnosis(t *testing.T) {
	e := naming(orphansLike(300, "1.17.4", withVolume(volume("nfs", "data", 0))), map[int]string{7: "volume paths are still present on disk"})(t)
	var found []forensics.Diagnosis
	for _, d := range forensics.Analyze(&e, []forensics.Check{podOrphaned, mountOrphaned, podPodGC}).Diagnoses {
		if d.Root.Kind == forensics.KindPod {
			found = append(found, d)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d diagnoses, want 1", len(found))
	}
	if d := found[0]; len(d.Pods) != 300 || len(d.Remedies) > 6 || len(d.Paragraph) > 2000 {
		t.Errorf("%d pods, %d steps, a paragraph of %d bytes", len(d.Pods), len(d.Remedies), len(d.Paragraph))
	}
}

// TestVictimsAreComplete wants all pods that the garbage collector deletes, by UID and by name.
func TestVictimsAreComplete(t *testing.T) {
	e := dumped(ended(12_600))(t)
	a := forensics.Analyze(&e, []forensics.Check{podPodGC})
	f := a.Findings[0]
	if len(f.Pods) != 100 || f.Pods[99] != "u-99" || len(f.Subjects) != 0 || f.Subject != podGC {
		t.Errorf("%d pods, about %v", len(f.Pods), f.About())
	}
	if !slices.ContainsFunc(f.Refs, func(r forensics.Ref) bool { return strings.Contains(r.Excerpt, "default/job-00099") }) {
		t.Error("the last of them is not named")
	}
	if !strings.Contains(f.Detail, "job-00009") || strings.Contains(f.Detail, "job-00010") || !strings.Contains(f.Detail, "and 90 more") {
		t.Errorf("detail %q, want ten named", f.Detail)
	}
}
