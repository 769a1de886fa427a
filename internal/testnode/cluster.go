package testnode

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
)

func clusterKinds() []Kind {
	return []Kind{
		{"claims that pods hold", claims},
		{"claims of one pod", func(e *forensics.Evidence, n int) {
			claims(e, n)
			list := e.Cluster.Pods[len(e.Cluster.Pods)-n:]
			for i := 1; i < len(list); i++ {
				list[0].Claims = append(list[0].Claims, list[i].Claims...)
				list[i].Claims = nil
			}
		}},
		{"pods of one claim", func(e *forensics.Evidence, n int) {
			claims(e, n)
			list := e.Cluster.Pods[len(e.Cluster.Pods)-n:]
			for i := range list {
				list[i].Claims = list[0].Claims
			}
		}},
		{"terminated pods of the API", func(e *forensics.Evidence, n int) {
			apiPods(e, n, func(i int, p *apidump.Pod) { p.Phase = "Failed"; p.Reason = "Evicted" })
		}},
		{"pods of the API being deleted", func(e *forensics.Evidence, n int) {
			pods(e, n, "kubelet")
			apiPods(e, n, func(i int, p *apidump.Pod) { p.Deleting = at(i); p.Finalizers = []string{fmt.Sprintf("f%d", i)} })
		}},
		{"unschedulable pods", func(e *forensics.Evidence, n int) {
			apiPods(e, n, func(i int, p *apidump.Pod) {
				p.Phase, p.Node = "Pending", ""
				p.Unscheduled = &apidump.Condition{Reason: "Unschedulable", Message: fmt.Sprintf("0/3 nodes are available: volume node affinity conflict %d", i), Since: at(i)}
			})
		}},
		{"pods of nodes that are gone", func(e *forensics.Evidence, n int) {
			apiPods(e, n, func(i int, p *apidump.Pod) { p.Node = fmt.Sprintf("gone-%d", i) })
		}},
		{"nodes", func(e *forensics.Evidence, n int) {
			for i := range n {
				e.Cluster.Nodes = append(e.Cluster.Nodes, apidump.Node{
					Object: apidump.Object{Kind: "Node", Name: fmt.Sprintf("worker-%d", i)}, Ready: "Unknown", Taints: []apidump.Taint{{Key: "node.kubernetes.io/unreachable", Effect: "NoExecute", Added: at(i)}},
				})
			}
			apiPods(e, n, func(i int, p *apidump.Pod) { p.Node = fmt.Sprintf("worker-%d", i) })
		}},
		{"owners of pods", func(e *forensics.Evidence, n int) {
			apiPods(e, n, func(i int, p *apidump.Pod) {
				p.Phase, p.Owners = "Succeeded", []apidump.Owner{{Kind: "Job", Name: fmt.Sprintf("job-%d", i), UID: UID(80_000_000 + i), Controller: true}}
				e.Cluster.Owners = append(e.Cluster.Owners, apidump.Object{Kind: "Job", Namespace: "load", Name: fmt.Sprintf("job-%d", i), UID: UID(80_000_000 + i)})
			})
		}},
	}
}

func apiPods(e *forensics.Evidence, n int, change func(i int, p *apidump.Pod)) {
	for range n {
		i := len(e.Cluster.Pods)
		p := apidump.Pod{Object: apidump.Object{Kind: "Pod", Namespace: "load", Name: fmt.Sprintf("worker-%d", i), UID: UID(i), Created: at(i)}, Node: "node-1", Phase: "Running"}
		change(i, &p)
		e.Cluster.Pods = append(e.Cluster.Pods, p)
	}
}

// claims are being deleted, each with a pod that uses it and a volume.
func claims(e *forensics.Evidence, n int) {
	apiPods(e, n, func(i int, p *apidump.Pod) {
		name := fmt.Sprintf("data-%d", i)
		p.Claims = []string{name}
		e.Cluster.Claims = append(e.Cluster.Claims, apidump.Claim{
			Object: apidump.Object{Kind: "PersistentVolumeClaim", Namespace: "load", Name: name, UID: UID(70_000_000 + i), Deleting: at(10), Finalizers: []string{"kubernetes.io/pvc-protection"}},
			Phase:  "Bound", Volume: "pvc-" + name,
		})
		e.Cluster.Volumes = append(e.Cluster.Volumes, apidump.Volume{
			Object: apidump.Object{Kind: "PersistentVolume", Name: "pvc-" + name, UID: UID(71_000_000 + i), Deleting: at(10), Finalizers: []string{"kubernetes.io/pv-protection"}},
			Phase:  "Bound", Claim: "load/" + name, Reclaim: "Delete", Driver: "nfs.csi.k8s.io",
		})
	})
}
