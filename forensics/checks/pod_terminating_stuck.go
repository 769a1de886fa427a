package checks

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/deletion"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// podTerminatingStuck finds pods whose deletion does not end, and at which stage it stands.
var podTerminatingStuck = forensics.Check{
	ID:    "pod-terminating-stuck",
	Title: "A pod does not go away",
	Doc: `The deletion of a pod runs through stages, each with lines of its own in the kubelet's log: the request is seen,
the containers are killed, they have stopped, the volumes are unmounted and their directories removed, the cgroup is
removed, the last status is sent, the API server removes the object (pkg/kubelet: kubelet_pods.go and status_manager.go
up to 1.21, pod_workers.go from 1.22 on; from 1.27 on the object waits for the unmount as well). Where it stands says who
is to blame: the sync loop, the runtime or a process that cannot be killed, a mount or a CSI driver, a cgroup, or the API
server and finalizers, which the kubelet has nothing to do with.

A pod counts as stuck two and a half minutes after its last stage, while its containers are killed after its grace period
and that much more, or when a failure is repeated. Most stages are only written at -v 3 or 4. Where the log does not prove
that the next stage would have been seen, and no failure was repeated up to the end of the log, the deletion may have
ended unseen: then it is not judged. A grace period that no line names is not assumed. A pod that has ended by itself
stays in the API server until somebody deletes it, and is not stuck.

In a dump of the API a pod of this node counts whose deletion timestamp, which includes the grace period, passed more than
a minute before the dump was saved. Finalizers are named with what they wait for; without them it is the kubelet that has
not confirmed the end, and its log says why.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceLogs, forensics.SourceAPIDump}},
	Run: func(p *forensics.Pass) {
		logged, at := deletion.InLog(p), map[forensics.Entity]int{}
		for i, f := range slices.Backward(logged) {
			at[f.Subject] = i
		}
		for _, f := range terminatingInAPI(p) {
			i, ok := at[f.Subject]
			if ok {
				logged[i] = withAPI(logged[i], f)
				continue
			}
			at[f.Subject] = len(logged)
			logged = append(logged, deletion.Unproven(p, f))
		}
		for _, f := range logged {
			p.Report(f)
		}
	},
}

// withAPI adds what the API server says of a pod to what the log does: finalizers, and since when it should be gone.
func withAPI(f, api forensics.Finding) forensics.Finding {
	f.Detail = findings.Sentences(f.Detail, "In the dump of the API: "+api.Title+". "+api.Detail)
	f.Refs = append(f.Refs, api.Refs...)
	f.Since = logview.Earliest(f.Since, api.Since)
	f.Remedies = append(f.Remedies, api.Remedies...)
	return f
}

// terminatingInAPI finds pods of this node that have been terminating for longer than their grace period, in a dump of the
// API: held by finalizers, or not yet confirmed by their kubelet. Mirror pods are not deleted this way.
func terminatingInAPI(p *forensics.Pass) []forensics.Finding {
	d := p.Evidence.Cluster
	if d == nil {
		return nil
	}
	asOf := p.Evidence.Collected
	if d.Saved != nil {
		asOf = *d.Saved
	}
	var found []forensics.Finding
	for _, pod := range d.Pods {
		const patience = time.Minute // the kubelet's own work after the grace period, and clocks that differ
		if pod.Deleting == nil || pod.Mirror != "" || !findings.OnThisNode(p.Evidence, pod) || asOf.IsZero() || asOf.Sub(*pod.Deleting) < patience {
			continue
		}
		found = append(found, terminatingFinding(p.Model.Cluster(), pod, asOf))
	}
	return found
}

func terminatingFinding(x *apidump.Index, pod apidump.Pod, asOf time.Time) forensics.Finding {
	overdue := asOf.Sub(*pod.Deleting)
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: findings.PodEntity(pod.UID), Confidence: forensics.Certain, Pods: []string{pod.UID}, Since: pod.Deleting,
		Title:         fmt.Sprintf("pod %s should have been gone for %s", pod.ID(), text.Duration(overdue.Seconds())),
		ConfidenceWhy: "its deletion timestamp, which includes the grace period, has passed in the dump of the API",
		Refs: []forensics.Ref{{Source: forensics.SourceAPIDump, Excerpt: fmt.Sprintf(
			"Pod %s: deletionTimestamp %s, phase %s, finalizers [%s]", pod.ID(), pod.Deleting.UTC().Format(time.RFC3339), pod.Phase, strings.Join(pod.Finalizers, " "))}},
	}
	switch ended := pod.Phase == "Succeeded" || pod.Phase == "Failed"; {
	case len(pod.Finalizers) > 0 && ended:
		f.Detail = fmt.Sprintf("Its containers have ended. %s. The kubelet is not the cause.", findings.Capital(findings.DescribeFinalizers(pod.Finalizers)))
	case len(pod.Finalizers) > 0:
		f.Detail = fmt.Sprintf("%s. Its phase is still %s, so that the kubelet may have its part in it, too.", findings.Capital(findings.DescribeFinalizers(pod.Finalizers)), pod.Phase)
	default:
		f.Detail = fmt.Sprintf("Nothing but the kubelet of %s holds it: the API server keeps the object until that has confirmed that everything is cleaned up.", pod.Node)
	}
	if len(pod.Finalizers) > 0 {
		f.Remedies = []forensics.Remedy{{
			Action: remedy.ActionLook, Instruction: "Find the controller that set the finalizer, and see why it does not remove it",
			Why:  "it has something to clean up first, or it does not run any more",
			Risk: "removing the finalizer by hand gives up what it protects, and what it was to clean up stays behind",
		}}
	}
	if n, ok := x.Node(pod.Node); ok && n.Ready != "True" {
		f.Detail += fmt.Sprintf(" Node %s is not ready (%s): its kubelet confirms nothing. The pod garbage collector helps only if the node is marked out of service or its object is deleted.", n.Name, n.Ready)
	}
	return f
}
