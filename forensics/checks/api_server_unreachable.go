package checks

import (
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// apiServerUnreachable finds a kubelet that cannot reach the API server, or that it rejects.
var apiServerUnreachable = forensics.Check{
	ID:    "api-server-unreachable",
	Title: "The kubelet cannot reach the API server",
	Doc: `"Failed to watch", "Unable to update node status", "Failed to update lease": the kubelet gets no changes of pods and reports no status;
after 40 s the node is NotReady. Pods that run continue. Since 1.28 a kubelet that was started meanwhile unmounts nothing. "Unauthorized":
the API server rejects its certificate or token. A later change of a pod, or a list, that the kubelet got from the API server shows that it is reachable again; so does a node that is Ready, below the errors in the same text. Fewer than three errors are left out, since watches end now and then, but not where only a few lines were given and the API server was not reached. A certificate that
has expired is the cause.`,
	Severity: forensics.Warning,
	Needs:    logview.Needs,
	Run: func(p *forensics.Pass) {
		logview.SawKubelet(p)
		for _, k := range []struct {
			kind      logs.Kind
			now, then string
		}{
			{logs.KindAPIUnreachable, "kubelet cannot reach the API server", "kubelet could not reach the API server"},
			{logs.KindAPIUnauthorized, "kubelet has been rejected by the API server", "kubelet was rejected by the API server"},
		} {
			found := unreachableAPI(p)
			if k.kind == logs.KindAPIUnauthorized {
				found = specOfAPI.Find(p, logview.Events(p, k.kind))
			}
			for _, i := range found {
				refused := slices.ContainsFunc(i.Events, func(e logs.Event) bool {
					return e.Cause() == "no-connection" && !strings.Contains(e.Reason, "client connection lost")
				})
				if i.Brief() && !refused && k.kind == logs.KindAPIUnreachable { // the next try may have worked
					continue
				}
				f := i.Finding(p, k.now, k.then)
				f.Effect = "node status and pods are stale"
				f.Detail = findings.Sentences(f.Detail, "Meanwhile the kubelet gets no changes of pods, and the node becomes NotReady.")
				for _, c := range badCertificates(p) {
					if c.Current {
						f.Because = append(f.Because, c.Subject)
					}
				}
				if servedHere(i) && noStaticPods(p) {
					f.Because = append(f.Because, sandboxes)
					f.Detail = findings.Sentences(f.Detail, "Its address is this node's own: a static pod must serve it, and no sandbox of a pod can be created.")
				}
				if i.Grave() {
					f.Remedies = []forensics.Remedy{incident.Look("shows the address of the API server that the kubelet uses; then test it from this node", "grep", "server:", "/etc/kubernetes/kubelet.conf")}
				}
				p.Report(f)
			}
		}
	},
}

var specOfAPI = incident.Spec{Few: logview.FewFailures, Kubelet: true, Subject: func(logs.Event) forensics.Entity { return incident.Thing("server", "kube-apiserver") }}

// servedHere says whether the kubelet reaches the API server, or the proxy before it, at an address of its own node, which refuses it.
func servedHere(i incident.Incident) bool {
	refused := false
	for _, e := range i.Events {
		if e.Cause() != "no-connection" {
			continue
		}
		if !ownAddress.MatchString(e.Reason) {
			return false
		}
		refused = refused || strings.Contains(e.Reason, "connection refused")
	}
	return refused
}

var ownAddress = pattern.New(`dial tcp (?:127\.\d+\.\d+\.\d+|\[::1\]|localhost):\d+`)

// noStaticPods says whether sandboxes cannot be created for a reason that static pods have, too: most are in the network of the node.
func noStaticPods(p *forensics.Pass) bool {
	failed := logview.Events(p, logs.KindSandboxCreateFailed)
	if len(failed) == 0 {
		failed = logview.Events(p, "sandbox-create-echo")
	}
	last := logview.Last(failed)
	return slices.ContainsFunc(failed, func(e logs.Event) bool { return e.Cause() != "network" && e.Cause() != "no-address" }) &&
		logview.Within(last, logview.KubeletEnd(p), 6*time.Minute) && (logview.Count(failed) >= logview.FewFailures || logview.Picked(p, last))
}

// unreachableAPI is an API server that the kubelet cannot reach.
func unreachableAPI(p *forensics.Pass) []incident.Incident {
	spec := specOfAPI
	spec.Ended = func(forensics.Entity) *time.Time { return lastNewsOfAPI(p) }
	list := logview.Events(p, logs.KindAPIUnreachable)
	picked := logview.Picked(p, logview.Last(list)) && slices.ContainsFunc(list, func(e logs.Event) bool { return e.Cause() == "no-connection" })
	if picked { // who shows one line has seen more of them
		spec.Few = 1
	}
	found := spec.Find(p, list)
	for n := range found {
		found[n].Expect(p, logview.FewFailures)
	}
	return found
}

// readyBelow says whether the text shows the node to be ready below the last error. Without the API server it is that for 40 s at most.
func readyBelow(p *forensics.Pass) bool {
	failed := logview.Events(p, logs.KindAPIUnreachable)
	return slices.ContainsFunc(logview.Events(p, "node-ready"), func(e logs.Event) bool {
		q := e.Quotes[len(e.Quotes)-1]
		return e.Last == nil && q.Line > 0 && !slices.ContainsFunc(failed, func(f logs.Event) bool {
			last := f.Quotes[len(f.Quotes)-1]
			return last.File != q.File || last.Line > q.Line
		})
	})
}

// lastNewsOfAPI is when the kubelet last heard of a change of a pod from the API server, or got a list of objects. A broken watch brings none:
// without it, the kubelet learns of changes of static pods alone, which are updated by hand, and added when it starts.
// They count where no error follows for three times the 10 s in which it updates its status: what fails now and then is not over.
func lastNewsOfAPI(p *forensics.Pass) *time.Time {
	const patience = 30
	if readyBelow(p) {
		return logview.Last(logview.Events(p, logs.KindAPIUnreachable))
	}
	if logview.Between(logview.Last(logview.Events(p, logs.KindAPIUnreachable)), logview.KubeletEnd(p)) < patience {
		return nil
	}
	news := logview.Events(p, "syncloop-update", "syncloop-reconcile", "syncloop-delete", "api-synced")
	return logview.Last(sorting.Delete(news, func(e logs.Event) bool { return e.Kind == "syncloop-delete" && e.Reason != "api" }))
}
