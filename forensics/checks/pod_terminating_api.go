package checks

import (
	"fmt"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

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
		if pod.Deleting == nil || pod.Mirror != "" || !onThisNode(p.Evidence, pod) || asOf.IsZero() || asOf.Sub(*pod.Deleting) < patience {
			continue
		}
		found = append(found, terminatingFinding(p.Model.Cluster(), pod, asOf))
	}
	return found
}

func terminatingFinding(x *apidump.Index, pod apidump.Pod, asOf time.Time) forensics.Finding {
	overdue := asOf.Sub(*pod.Deleting)
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: podEntity(pod.UID), Pods: []string{pod.UID}, Since: pod.Deleting,
		Title:         fmt.Sprintf("pod %s should have been gone for %s", pod.ID(), text.Duration(overdue.Seconds())),
		ConfidenceWhy: "its deletion timestamp, which includes the grace period, has passed in the dump of the API",
		Refs: []forensics.Ref{{Source: forensics.SourceAPIDump, Excerpt: fmt.Sprintf(
			"Pod %s: deletionTimestamp %s, phase %s, finalizers [%s]", pod.ID(), pod.Deleting.UTC().Format(time.RFC3339), pod.Phase, strings.Join(pod.Finalizers, " "))}},
	}
	switch ended := pod.Phase == "Succeeded" || pod.Phase == "Failed"; {
	case len(pod.Finalizers) > 0 && ended:
		f.Detail = fmt.Sprintf("Its containers have ended. %s. The kubelet is not the cause.", upperFirst(describeFinalizers(pod.Finalizers)))
	case len(pod.Finalizers) > 0:
		f.Detail = fmt.Sprintf("%s. Its phase is still %s, so that the kubelet may have its part in it, too.", upperFirst(describeFinalizers(pod.Finalizers)), pod.Phase)
	default:
		f.Detail = fmt.Sprintf("Nothing but the kubelet of %s holds it: the API server keeps the object until that has confirmed that everything is cleaned up.", pod.Node)
	}
	if len(pod.Finalizers) > 0 {
		f.Remedies = []forensics.Remedy{{
			Command: "Find the controller that set the finalizer, and see why it does not remove it",
			Why:     "it has something to clean up first, or it does not run any more",
			Risk:    "removing the finalizer by hand gives up what it protects, and what it was to clean up stays behind",
		}}
	}
	if n, ok := x.Node(pod.Node); ok && n.Ready != "True" {
		f.Detail += fmt.Sprintf(" Node %s is not ready (%s): its kubelet confirms nothing. The pod garbage collector helps only if the node is marked out of service or its object is deleted.", n.Name, n.Ready)
	}
	return f
}
