package checks

import (
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
)

var _ = scenariosOf("pod-unschedulable", podUnschedulableInCluster())

func podUnschedulableInCluster() []scenario {
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
	return []scenario{
		{name: "disk pressure and an evicted sibling", base: dumped(add(
			apiPod("a", "u-a", unscheduled("0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/disk-pressure: }."), func(p *apidump.Pod) {
				p.Owners = []apidump.Owner{{Kind: "ReplicaSet", Name: "rs", UID: "u-rs"}}
			}),
			apiPod("b", "u-b", func(p *apidump.Pod) {
				p.Phase, p.Reason, p.Message, p.Owners = "Failed", "Evicted", "The node was low on resource: ephemeral-storage.", []apidump.Owner{{Kind: "ReplicaSet", Name: "rs", UID: "u-rs"}}
			}),
		)), want: []string{"warning pod u-a"}, says: "replaces pod default/b"},
		{name: "its volume is on a node that is gone", base: dumped(func(d *apidump.Dump) {
			bound := claim
			bound.Deleting = nil
			d.Claims, d.Volumes = []apidump.Claim{bound}, []apidump.Volume{{Object: apidump.Object{Name: "pv-1"}, Source: "local", Nodes: []string{"node-9"}}}
			add(apiPod("a", "u-a", uses, unscheduled("0/1 nodes are available: 1 node(s) had volume node affinity conflict.")))(d)
		}), want: []string{"warning pod u-a"}, says: "is bound to node node-9. That node does not exist"},
		{name: "not tried yet", base: dumped(add(apiPod("a", "u-a", unscheduled(""), func(p *apidump.Pod) { p.Unscheduled.Reason = "SchedulingGated" }))), outcome: forensics.OutcomeClean},
	}
}
