package checks

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

var _ = scenariosOf("pod-podgc", podPodgcInLogs())

func podPodgcInLogs() []scenario {
	clean := forensics.OutcomeClean
	return []scenario{
		{
			name: "an unknown node", base: wellNode, change: tells(event(logs.KindPodGCOrphaned, 1, "10:00:00", "10:00:00", logs.Subject{PodName: "default/web", Server: "node-9"})),
			want: []string{"warning controller pod-garbage-collector"}, says: "the Node object does not exist",
		},
		{name: "finished pods", base: wellNode, change: tells(numbered(event(logs.KindPodGCTerminated, 3, "10:00:00", "10:01:00", logs.Subject{}), 17)), want: []string{"info controller pod-garbage-collector"}, says: "up to 17 at a time"},
		{name: "out of service", base: wellNode, change: tells(numbered(event(logs.KindPodGCOutOfService, 1, "10:00:00", "10:00:00", logs.Subject{}), 4)), want: []string{"warning controller pod-garbage-collector"}},
		{name: "never scheduled", base: wellNode, change: tells(event(logs.KindPodGCUnscheduled, 1, "10:00:00", "10:00:00", logs.Subject{PodName: "default/x"})), want: []string{"info controller pod-garbage-collector"}},
		{name: "nothing", base: wellNode, outcome: clean},
		{name: "no log of the controller", base: wellNode, change: func(_ testing.TB, e *forensics.Evidence) { e.Logs.Files, e.Cluster = e.Logs.Files[:2], nil }, outcome: forensics.OutcomeNotChecked},
	}
}

var _ = scenariosOf("pod-podgc", podPodgcInCluster())

func podPodgcInCluster() []scenario {
	return []scenario{
		{
			name: "12,600 pods have ended", base: dumped(ended(12_600)), want: []string{"info controller pod-garbage-collector"},
			says: "100 pods deleted by pod garbage collection: 12,600 terminated pods exceed its threshold of 12,500",
		},
		{name: "the API server's pods of this node alone", base: dumped(ended(12_600)), change: both(byAPIServer, noLog), outcome: forensics.OutcomeNotChecked},
		{name: "12,500 pods have ended", base: dumped(ended(12_500)), outcome: forensics.OutcomeClean},
		{name: "the threshold of a controller that runs here", base: dumped(ended(5)), change: process(procs.Process{
			PID: 70, Comm: "kube-controller", Command: []string{"kube-controller-manager", "--terminated-pod-gc-threshold=4"},
		}), want: []string{"info controller pod-garbage-collector"}, says: "1 pod deleted by pod garbage collection"},
		{name: "the threshold of a controller in a static pod", base: dumped(ended(5)), change: process(procs.Process{
			PID: 70, Comm: "kube-controller", Command: []string{"kube-controller-manager", "--terminated-pod-gc-threshold=4"}, PodUID: "aa31ca7be1d0dcbd9b5f7e2a2b2bd9d4",
		}), want: []string{"info controller pod-garbage-collector"}, says: "1 pod deleted by pod garbage collection"},
		{name: "the threshold of somebody's pod", base: dumped(ended(5)), change: process(procs.Process{
			PID: 70, Comm: "kube-controller", Command: []string{"kube-controller-manager", "--terminated-pod-gc-threshold=4"}, PodUID: deadUID,
		}), outcome: forensics.OutcomeClean},
		{name: "a node is out of service", base: dumped(func(d *apidump.Dump) {
			d.Nodes = append(d.Nodes, apidump.Node{
				Object: apidump.Object{Name: "node-2"}, Ready: "Unknown",
				Taints: []apidump.Taint{{Key: "node.kubernetes.io/out-of-service", Effect: "NoExecute"}},
			})
			add(apiPod("db-0", "u-db", deletedAt(9, 0), func(p *apidump.Pod) { p.Node = "node-2" }))(d)
		}), want: []string{"warning controller pod-garbage-collector"}, says: "out-of-service taint"},
		{
			name: "a node is gone", base: dumped(add(apiPod("db-0", "u-db", func(p *apidump.Pod) { p.Node = "node-9" }))),
			want: []string{"warning controller pod-garbage-collector"}, says: "node node-9",
		},
		{name: "no nodes in the dump", base: dumped(func(d *apidump.Dump) { d.Nodes = nil }), outcome: forensics.OutcomeNotChecked},
		{
			name: "terminating without a node", base: dumped(add(apiPod("x", "u-x", deletedAt(10, 12), func(p *apidump.Pod) { p.Node = "" }))),
			want: []string{"info controller pod-garbage-collector"}, says: "never scheduled to a node",
		},
		{
			name: "evicted from this node", base: dumped(add(apiPod("x", "u-x", func(p *apidump.Pod) { p.Phase, p.Reason = "Failed", "Evicted" }))),
			want: []string{"info pod u-x"}, says: "was evicted by kubelet",
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
	}
}
