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
		var inAPI []terminatingPod
		for _, t := range terminatingInAPI(p) {
			if i, ok := at[t.finding.Subject]; ok {
				logged[i].Finding = withAPI(logged[i].Finding, t.finding)
				continue
			}
			inAPI = append(inAPI, t)
		}
		for _, stuck := range logged {
			reportStuck(p, stuck)
		}
		for _, t := range inAPI {
			f := deletion.Unproven(p, t.finding)
			p.ReportAlike(t.waits, func(n int) string { return fmt.Sprintf("%d pods should have been gone", n) }, f)
		}
	},
}

// reportStuck reports a pod whose deletion stands by the log, as one with others at the same stage if the same thing keeps them.
func reportStuck(p *forensics.Pass, stuck deletion.Stuck) {
	if len(stuck.Because) == 0 {
		p.Report(stuck.Finding)
		return
	}
	p.ReportAlike(stuck.Stage, func(n int) string {
		return fmt.Sprintf("%d pods do not go away: their deletion stands at the stage %q because of %s", n, stuck.Stage, stuck.Because[0])
	}, stuck.Finding)
}

// A terminatingPod is one that should have been gone by the API server's word, and what its object waits for.
type terminatingPod struct {
	finding forensics.Finding
	waits   deletionWait
}

// deletionWait is what keeps the object of a pod in the API.
type deletionWait struct {
	finalizers string
	phase      string // of one with finalizers: its containers may have ended
	node       string // that is to confirm the end
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
func terminatingInAPI(p *forensics.Pass) []terminatingPod {
	d := p.Evidence.Cluster
	if d == nil {
		return nil
	}
	asOf := p.Evidence.Collected
	if d.Saved != nil {
		asOf = *d.Saved
	}
	var found []terminatingPod
	for _, pod := range d.Pods {
		const patience = time.Minute // the kubelet's own work after the grace period, and clocks that differ
		if pod.Deleting == nil || pod.Mirror != "" || !findings.OnThisNode(p.Evidence, pod) || asOf.IsZero() || asOf.Sub(*pod.Deleting) < patience {
			continue
		}
		waits := deletionWait{node: pod.Node, finalizers: strings.Join(pod.Finalizers, " ")}
		if waits.finalizers != "" {
			waits.phase = pod.Phase
		}
		found = append(found, terminatingPod{terminatingFinding(p.Model.Cluster(), pod, asOf), waits})
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
