package checks

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

var _ = func() bool { maps.Copy(scenarios, clusterScenarios()); return true }()

// dumped is a well node beside a dump of its API, which is edited.
func dumped(edit func(*apidump.Dump)) func(testing.TB) forensics.Evidence {
	return func(tb testing.TB) forensics.Evidence {
		e := wellNode(tb)
		d := apidump.NewDump()
		d.Nodes = []apidump.Node{{Object: apidump.Object{Kind: "Node", Name: "node-1"}, Ready: "True", KubeletVersion: "v1.34.4"}}
		d.Pods = []apidump.Pod{apiPod("web", liveUID)}
		d.Saved = ptr(e.Collected)
		d.Kinds = map[string]int{"Pod": 1, "Node": 1}
		edit(&d)
		e.Cluster = &d
		e.Cover(forensics.Source{Source: forensics.SourceAPIDump + ":pods.json", Status: forensics.SourceRead})
		return e
	}
}

func apiPod(name, uid string, edit ...func(*apidump.Pod)) apidump.Pod {
	p := apidump.Pod{
		Object: apidump.Object{Kind: "Pod", Namespace: "default", Name: name, UID: uid, Created: ptr(time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC))},
		Node:   "node-1", Phase: "Running",
	}
	for _, f := range edit {
		f(&p)
	}
	return p
}

func deletedAt(hour, minute int) func(*apidump.Pod) {
	return func(p *apidump.Pod) { p.Deleting = ptr(time.Date(2026, 11, 20, hour, minute, 0, 0, time.UTC)) }
}

func add(pods ...apidump.Pod) func(*apidump.Dump) {
	return func(d *apidump.Dump) { d.Pods = append(d.Pods, pods...) }
}

func ended(n int) func(*apidump.Dump) {
	return func(d *apidump.Dump) {
		for i := range n {
			p := apiPod(fmt.Sprintf("job-%05d", i), fmt.Sprintf("u-%d", i), func(p *apidump.Pod) {
				p.Phase, p.Owners = "Succeeded", []apidump.Owner{{Kind: "Job", Name: "job"}}
			})
			d.Pods = append(d.Pods, p)
		}
	}
}

func clusterScenarios() map[string][]scenario {
	claim := apidump.Claim{
		Object: apidump.Object{
			Kind: "PersistentVolumeClaim", Namespace: "default", Name: "data",
			Deleting: ptr(time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)), Finalizers: []string{"kubernetes.io/pvc-protection"},
		},
		Phase: "Bound", Volume: "pv-1",
	}
	uses := func(p *apidump.Pod) { p.Claims = []string{"data"} }
	unscheduled := func(message string) func(*apidump.Pod) {
		return func(p *apidump.Pod) {
			p.Phase, p.Node, p.Unscheduled = "Pending", "", &apidump.Condition{Reason: "Unschedulable", Message: message}
		}
	}
	return map[string][]scenario{
		"pod-podgc": {
			{
				name: "12,600 pods have ended", base: dumped(ended(12_600)), want: []string{"info controller pod-garbage-collector"},
				says: "deletes 100 pods of 12600 that have ended, which is more than its threshold of 12500",
			},
			{name: "12,500 pods have ended", base: dumped(ended(12_500)), outcome: forensics.OutcomeClean},
			{name: "the threshold of a controller that runs here", base: dumped(ended(5)), change: process(procs.Process{
				PID: 70, Comm: "kube-controller", Command: []string{"kube-controller-manager", "--terminated-pod-gc-threshold=4"},
			}), want: []string{"info controller pod-garbage-collector"}, says: "deletes 1 pod"},
			{name: "the threshold of a controller in a static pod", base: dumped(ended(5)), change: process(procs.Process{
				PID: 70, Comm: "kube-controller", Command: []string{"kube-controller-manager", "--terminated-pod-gc-threshold=4"}, PodUID: "aa31ca7be1d0dcbd9b5f7e2a2b2bd9d4",
			}), want: []string{"info controller pod-garbage-collector"}, says: "deletes 1 pod"},
			{name: "the threshold of somebody's pod", base: dumped(ended(5)), change: process(procs.Process{
				PID: 70, Comm: "kube-controller", Command: []string{"kube-controller-manager", "--terminated-pod-gc-threshold=4"}, PodUID: deadUID,
			}), outcome: forensics.OutcomeClean},
			{name: "a node is out of service", base: dumped(func(d *apidump.Dump) {
				d.Nodes = append(d.Nodes, apidump.Node{
					Object: apidump.Object{Name: "node-2"}, Ready: "Unknown",
					Taints: []apidump.Taint{{Key: "node.kubernetes.io/out-of-service", Effect: "NoExecute"}},
				})
				add(apiPod("db-0", "u-db", deletedAt(9, 0), func(p *apidump.Pod) { p.Node = "node-2" }))(d)
			}), want: []string{"warning controller pod-garbage-collector"}, says: "out of service"},
			{
				name: "a node is gone", base: dumped(add(apiPod("db-0", "u-db", func(p *apidump.Pod) { p.Node = "node-9" }))),
				want: []string{"warning controller pod-garbage-collector"}, says: "node node-9",
			},
			{name: "no nodes in the dump", base: dumped(func(d *apidump.Dump) { d.Nodes = nil }), outcome: forensics.OutcomeNotChecked},
			{
				name: "terminating without a node", base: dumped(add(apiPod("x", "u-x", deletedAt(10, 12), func(p *apidump.Pod) { p.Node = "" }))),
				want: []string{"info controller pod-garbage-collector"}, says: "never had a node",
			},
			{
				name: "evicted from this node", base: dumped(add(apiPod("x", "u-x", func(p *apidump.Pod) { p.Phase, p.Reason = "Failed", "Evicted" }))),
				want: []string{"info pod u-x"}, says: "because of kubelet",
			},
			{name: "evicted from another node", base: dumped(func(d *apidump.Dump) {
				d.Nodes = append(d.Nodes, apidump.Node{Object: apidump.Object{Name: "node-2"}, Ready: "True"})
				add(apiPod("x", "u-x", func(p *apidump.Pod) { p.Node, p.Phase, p.Reason = "node-2", "Failed", "Evicted" }))(d)
			}), outcome: forensics.OutcomeClean},
			{name: "a pod of a Workflow has vanished", base: dumped(func(d *apidump.Dump) {
				d.Owners = []apidump.Object{{Kind: "Workflow", Namespace: "default", Name: "flow", Removal: "podGC OnPodSuccess"}}
			}), change: func(_ testing.TB, e *forensics.Evidence) {
				e.Pods = append(e.Pods, kubelet.Pod{UID: deadUID, Namespace: "default", Name: "flow-main-123", Source: "log-dir"})
			}, want: []string{"info pod " + deadUID}, says: "Argo Workflow"},
		},
		"pod-terminating-stuck": {
			{name: "a finalizer holds a pod that has ended", base: dumped(add(apiPod("x", "u-x", deletedAt(9, 0), func(p *apidump.Pod) {
				p.Phase, p.Finalizers = "Succeeded", []string{"example.com/guard"}
			}))), want: []string{"warning pod u-x"}, says: "The kubelet is not the cause"},
			{name: "nothing but the kubelet holds it", base: dumped(add(apiPod("x", "u-x", deletedAt(9, 0)))), want: []string{"warning pod u-x"}, says: "Nothing but the kubelet of node-1"},
			{name: "within its grace period", base: dumped(add(apiPod("x", "u-x", deletedAt(10, 12)))), outcome: forensics.OutcomeClean},
			{name: "a mirror pod", base: dumped(add(apiPod("x", "u-x", deletedAt(9, 0), func(p *apidump.Pod) { p.Mirror = "hash" }))), outcome: forensics.OutcomeClean},
			{name: "a pod of another node", base: dumped(add(apiPod("x", "u-x", deletedAt(9, 0), func(p *apidump.Pod) { p.Node = "node-2" }))), outcome: forensics.OutcomeClean},
		},
		"pvc-terminating-held": {
			{name: "a running pod uses the claim", base: dumped(func(d *apidump.Dump) {
				d.Claims = []apidump.Claim{claim}
				add(apiPod("db-0", "u-db", uses))(d)
			}), want: []string{"warning claim default/data"}, says: "used by 1 pod"},
			{name: "only a pod that has ended uses it", base: dumped(func(d *apidump.Dump) {
				d.Claims = []apidump.Claim{claim}
				add(apiPod("db-0", "u-db", uses, func(p *apidump.Pod) { p.Phase = "Succeeded" }))(d)
			}), want: []string{"warning claim default/data"}, says: "No pod of the dump uses it"},
			{name: "a claim that nobody deletes", base: dumped(func(d *apidump.Dump) {
				kept := claim
				kept.Deleting = nil
				d.Claims = []apidump.Claim{kept}
			}), outcome: forensics.OutcomeClean},
			{name: "a volume whose claim is held", base: dumped(func(d *apidump.Dump) {
				d.Claims = []apidump.Claim{claim}
				d.Volumes = []apidump.Volume{{
					Object: apidump.Object{Kind: "PersistentVolume", Name: "pv-1", Deleting: claim.Deleting, Finalizers: []string{"kubernetes.io/pv-protection"}},
					Claim:  "default/data", Reclaim: "Delete", Phase: "Bound",
				}}
			}), want: []string{"warning claim default/data", "warning claim pv-1"}, says: "The data goes with the claim"},
		},
		"pod-unschedulable": {
			{name: "disk pressure and an evicted sibling", base: dumped(add(
				apiPod("a", "u-a", unscheduled("0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/disk-pressure: }."), func(p *apidump.Pod) {
					p.Owners = []apidump.Owner{{Kind: "ReplicaSet", Name: "rs", UID: "u-rs"}}
				}),
				apiPod("b", "u-b", func(p *apidump.Pod) {
					p.Phase, p.Reason, p.Message, p.Owners = "Failed", "Evicted", "The node was low on resource: ephemeral-storage.", []apidump.Owner{{Kind: "ReplicaSet", Name: "rs", UID: "u-rs"}}
				}),
			)), want: []string{"warning pod u-a"}, says: "takes the place of default/b"},
			{name: "its volume is on a node that is gone", base: dumped(func(d *apidump.Dump) {
				bound := claim
				bound.Deleting = nil
				d.Claims, d.Volumes = []apidump.Claim{bound}, []apidump.Volume{{Object: apidump.Object{Name: "pv-1"}, Source: "local", Nodes: []string{"node-9"}}}
				add(apiPod("a", "u-a", uses, unscheduled("0/1 nodes are available: 1 node(s) had volume node affinity conflict.")))(d)
			}), want: []string{"warning pod u-a"}, says: "lies on node node-9, which is gone"},
			{name: "not tried yet", base: dumped(add(apiPod("a", "u-a", unscheduled(""), func(p *apidump.Pod) { p.Unscheduled.Reason = "SchedulingGated" }))), outcome: forensics.OutcomeClean},
		},
	}
}
