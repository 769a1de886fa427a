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
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// podTerminatingStuck finds pods whose deletion is stuck, and its stage.
var podTerminatingStuck = forensics.Check{
	ID:    "pod-terminating-stuck",
	Title: "A pod is stuck in Terminating",
	Doc: `The deletion of a pod has stages, and the kubelet logs each of them:

1. The kubelet receives the request.
2. It kills the containers.
3. The containers have stopped.
4. The volumes are unmounted and their directories removed.
5. The cgroup is removed.
6. The last status is sent.
7. The API server removes the object.

See pkg/kubelet: kubelet_pods.go and status_manager.go up to 1.21, pod_workers.go since 1.22. Since 1.27 the object also
waits for the unmount. The stage shows the cause: the sync loop, the runtime or a process that cannot be killed, a mount
or a CSI driver, a cgroup, or the API server and finalizers. The kubelet is not involved in the last two.

A pod counts as stuck two and a half minutes after its last stage. While its containers are killed, the grace period is
added. A repeated failure counts at once. Most stages are only logged at -v 3 or 4. If the log's verbosity may hide the
next stage, and no failure was repeated up to the end of the log, the deletion is not judged. If the log does not show
the grace period, none is assumed. In a short text, the request to delete a pod is not judged alone. A pod that ended by
itself remains in the API server until it is deleted; it is not stuck.

In an API dump, a pod of this node is stuck if its deletion timestamp passed more than a minute before the dump was
saved. That timestamp includes the grace period. Finalizers are listed with what they wait for. Without finalizers, the
kubelet has not confirmed the termination; its log shows why. Of a table of pods without such a time, what the text
around it says is possible.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceLogs, forensics.SourceAPIDump, forensics.SourceAPI}},
	Run: func(p *forensics.Pass) {
		logged, at := deletion.InLog(p), map[forensics.Entity]int{}
		for i, f := range slices.Backward(logged) {
			at[f.Subject] = i
		}
		var inAPI []terminatingPod
		for _, t := range terminatingInAPI(p) {
			if i, ok := at[t.finding.Subject]; ok {
				logged[i].Finding = withAPI(logged[i].Finding, t)
				continue
			}
			inAPI = append(inAPI, t)
		}
		for _, stuck := range logged {
			byServerOfVolume(p, &stuck.Finding)
			if stuck.Stage == logs.StageContainers {
				byLost(p, &stuck.Finding, stuck.Fails)
			}
			reportStuck(p, stuck)
		}
		for _, t := range inAPI {
			f := deletion.Unproven(p, t.finding)
			p.ReportAlike(t.waits, func(n int) string {
				return findings.Plural(n, "pod") + " stuck in Terminating: " + t.waits.String()
			}, f)
		}
		if len(logged)+len(inAPI) == 0 {
			reportSaidStuck(p)
		}
	},
}

// reportSaidStuck reports the pods that a table shows in Terminating and that are said to stay so, where nothing shows at which stage they are.
func reportSaidStuck(p *forensics.Pass) {
	spec := incident.Spec{Lasting: true, Subject: func(e logs.Event) forensics.Entity { return incident.PodOf(p, e) }}
	for _, i := range spec.Find(p, logview.Events(p, "pod-stuck-said")) {
		if logview.SaidOver(p, i.Events...) || !logview.Written(p) {
			continue
		}
		i.Said, i.Minor = true, true
		f := i.Finding(p, "Pod "+i.Events[0].PodName+" is stuck in Terminating, by what the text says", "")
		f.Detail = "Nothing in the text shows at which stage its deletion stopped."
		f.Effect = "the pod remains"
		f.Lone = true
		p.ReportAlike("said", func(n int) string { return findings.Plural(n, "pod") + " stuck in Terminating, by what the text says" }, f)
	}
}

// byServerOfVolume explains a deletion that waits for a volume of an NFS server by the only NFS server that does not respond, by the kernel's
// log. Where mounts were read, the volume's mount knows its server.
func byServerOfVolume(p *forensics.Pass, f *forensics.Finding) {
	ofNFS := func(e forensics.Entity) bool {
		return e.Kind == forensics.KindVolume && strings.Contains(e.ID, "/kubernetes.io/nfs/")
	}
	lost := sorting.Delete(slices.Clone(lostServers(p)), func(i incident.Incident) bool {
		return !i.Grave() || !strings.HasPrefix(string(i.Events[0].Kind), "kernel-nfs")
	})
	if len(lost) != 1 || len(f.Because) != 1 || !ofNFS(f.Because[0]) {
		return
	}
	f.Because = []forensics.Entity{lost[0].Subject}
	f.Detail = findings.Sentences(f.Detail, "The kernel log says that "+serverName(lost[0].Events[0])+" does not respond. An unmount of its volumes waits for it.")
	f.Refs = append(f.Refs, logview.EventRefs(lost[0].Events...)...)
}

// reportStuck reports a pod whose deletion is stuck by the log, as one finding with others at the same stage and with the same cause.
func reportStuck(p *forensics.Pass, stuck deletion.Stuck) {
	if len(stuck.Because) == 0 {
		p.Report(stuck.Finding)
		return
	}
	p.ReportAlike(stuck.Stage, func(n int) string {
		return fmt.Sprintf("%s stuck in Terminating at stage %q: %s", findings.Plural(n, "pod"), stuck.Stage, findings.EntityTitle(p, stuck.Because[0]))
	}, stuck.Finding)
}

// A terminatingPod is one whose deletion timestamp in the API has passed, and what its object waits for.
type terminatingPod struct {
	finding forensics.Finding
	waits   deletionWait
	overdue string // since the deletion timestamp
}

// deletionWait is what keeps the object of a pod in the API.
type deletionWait struct {
	finalizers string
	unknown    bool   // the finalizers are
	phase      string // of one with finalizers: its containers may have ended
	node       string // its kubelet must confirm the termination
}

// String is the reason for a headline.
func (w deletionWait) String() string {
	switch list := strings.Fields(w.finalizers); {
	case w.unknown:
		return "the kubelet or a finalizer holds it"
	case len(list) == 0:
		return "the kubelet has not confirmed the termination"
	case len(list) == 1:
		return "finalizer " + list[0] + " remains"
	default:
		return "finalizers " + findings.Some(list) + " remain"
	}
}

// withAPI adds what the API server says about a pod to a finding from the log: finalizers, and when its deletion timestamp passed.
func withAPI(f forensics.Finding, t terminatingPod) forensics.Finding {
	api := t.finding
	f.Detail = findings.Sentences(f.Detail, "In the API, its deletion timestamp passed "+t.overdue+" before the object was read.", api.Detail)
	f.Refs = append(f.Refs, api.Refs...)
	f.Since = logview.Earliest(f.Since, api.Since)
	f.Remedies = append(f.Remedies, api.Remedies...)
	return f
}

// terminatingInAPI finds pods of this node that have been terminating for longer than their grace period, in an API dump or by the API
// server: finalizers remain, or their kubelet has not confirmed the termination. Mirror pods are not deleted this way.
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
		waits := deletionWait{node: pod.Node, finalizers: strings.Join(pod.Finalizers, " "), unknown: pod.Partial}
		if waits.finalizers != "" {
			waits.phase = pod.Phase
		}
		overdue := text.Duration(asOf.Sub(*pod.Deleting).Seconds())
		f := terminatingFinding(p.Model.Cluster(), pod, overdue, waits)
		if pod.Node == d.NodeName {
			f.Refs[0].Source = forensics.SourceAPI
		}
		found = append(found, terminatingPod{f, waits, overdue})
	}
	return found
}

func terminatingFinding(x *apidump.Index, pod apidump.Pod, overdue string, waits deletionWait) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: findings.PodEntity(pod.UID), Confidence: forensics.Certain, Pods: []string{pod.UID}, Since: pod.Deleting,
		Title:         fmt.Sprintf("Pod %s stuck in Terminating for at least %s: %s", pod.ID(), overdue, waits),
		Effect:        "pod deletion is blocked",
		ConfidenceWhy: "its deletion timestamp in the API has passed; the timestamp includes the grace period",
		Refs: []forensics.Ref{{Source: forensics.SourceAPIDump, Excerpt: fmt.Sprintf(
			"Pod %s: deletionTimestamp %s, phase %s, finalizers [%s]", pod.ID(), pod.Deleting.UTC().Format(time.RFC3339), pod.Phase, strings.Join(pod.Finalizers, " "))}},
	}
	switch ended := pod.Phase == "Succeeded" || pod.Phase == "Failed"; {
	case len(pod.Finalizers) > 0 && ended:
		f.Detail = fmt.Sprintf("Its containers have ended. %s. The kubelet is not the cause.", findings.Capital(findings.DescribeFinalizers(pod.Finalizers)))
	case len(pod.Finalizers) > 0:
		f.Detail = fmt.Sprintf("%s. Its phase is still %s, so the kubelet may also be a cause.", findings.Capital(findings.DescribeFinalizers(pod.Finalizers)), pod.Phase)
	case pod.Partial:
		f.Confidence, f.ConfidenceWhy = forensics.Likely, "its description shows when its deletion timestamp passed, which includes the grace period"
		f.Detail = "Its finalizers are not shown. Without any, the API server keeps the object until the kubelet confirms that the pod is cleaned up."
	default:
		f.Detail = fmt.Sprintf("It has no finalizers. The API server keeps the object until the kubelet of %s confirms that the pod is cleaned up.", pod.Node)
	}
	if len(pod.Finalizers) > 0 {
		f.Remedies = []forensics.Remedy{{
			Action: remedy.ActionLook, Instruction: "Find the controller that set the finalizer, and find out why it does not remove it",
			Why:  "the controller has cleanup to do first, or it no longer runs",
			Risk: "removing the finalizer manually gives up the protection, and skips the cleanup",
		}}
	}
	if n, ok := x.Node(pod.Node); ok && n.Ready != "True" {
		f.Detail += fmt.Sprintf(" Node %s is not ready (%s), so its kubelet does not confirm the termination. The pod garbage collector deletes the pod only if the node has the out-of-service taint or if the Node object is deleted.", n.Name, n.Ready)
	}
	return f
}
