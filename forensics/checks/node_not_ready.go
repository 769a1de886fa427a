package checks

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// nodeNotReady finds a node that its own kubelet has reported as NotReady.
var nodeNotReady = forensics.Check{
	ID:    "node-not-ready",
	Title: "The node is NotReady, by its kubelet",
	Doc: `"Node became not ready", with the reason of the condition: the runtime, PLEG, the network plugin. The kubelet logs it once, and an event
NodeReady when it ends. The reason is the cause; a runtime, PLEG or network that other checks report is linked. In the first minute of a
kubelet it is normal and left out; while the node is being shut down, for half an hour, it is information. A node that is NotReady since its kubelet does not report at all leaves no such line.
"Container runtime network not ready" is reported here where no sandbox has failed.`,
	Severity: forensics.Warning,
	Needs:    logview.Needs,
	Run: func(p *forensics.Pass) {
		logview.SawKubelet(p)
		spec := incident.Spec{
			Lasting: true, Kubelet: true,
			Subject: nodeOf,
			Ended: func(node forensics.Entity) *time.Time {
				return logview.Last(sorting.Delete(logview.Events(p, "node-ready"), func(e logs.Event) bool { return nodeOf(e) != node && !oneNode(p) }))
			},
		}
		for _, i := range spec.Find(p, logview.Events(p, "node-not-ready")) {
			name, argument := "The node", "NODE"
			if node := i.Events[0].Node; node != "" {
				if name = "Node " + node; remedy.IsObjectName(node) {
					argument = node
				}
			}
			f := i.Finding(p, name+" has been NotReady", name+" was NotReady")
			because(p, &f, i.Events[len(i.Events)-1])
			switch {
			case shutsDown(p, i), justStarted(p, i):
				f.Severity = forensics.Info
			case i.Grave():
				f.Detail = findings.Sentences(f.Detail, "The log shows no later NodeReady; a kubelet below -v 2 does not log that.")
				f.Remedies = []forensics.Remedy{incident.Look("shows the conditions of the node as the API server has them", "kubectl", "describe", "node", argument)}
			}
			p.Report(f)
		}
		if !sandboxesFail(p) { // else the network belongs to these
			noNetwork.report(p)
		}
	},
}

// shutsDown says whether a node is NotReady because it is being shut down, which ends soon.
func shutsDown(p *forensics.Pass, i incident.Incident) bool {
	const soon = 30 * 60 // seconds; hung units take as long
	return i.Events[len(i.Events)-1].Reason == "node is shutting down" && logview.Between(i.First, logview.KubeletEnd(p)) < soon
}

// justStarted says whether a node is NotReady because its kubelet has asked the runtime for nothing yet, which the first answer ends.
func justStarted(p *forensics.Pass, i incident.Incident) bool {
	const threshold = 3 * 60 // seconds, after which PLEG is unhealthy
	return strings.Contains(i.Events[len(i.Events)-1].Reason, "pleg has yet to be successful") && logview.Between(i.First, logview.KubeletEnd(p)) < threshold
}

// nodeOf is the node of a message; the one whose log it is where it names none.
func nodeOf(e logs.Event) forensics.Entity { return incident.Thing("node", cmp.Or(e.Node, "Ready")) }

// oneNode says whether no two nodes are named, as events do and a kubelet of itself does not.
func oneNode(p *forensics.Pass) bool {
	name := ""
	for _, e := range logview.Events(p, "node-not-ready", "node-ready") {
		if e.Node != "" && name != "" && e.Node != name {
			return false
		}
		name = cmp.Or(name, e.Node)
	}
	return true
}

// because links the reason of the condition to what it is about.
func because(p *forensics.Pass, f *forensics.Finding, e logs.Event) {
	switch e.Cause() {
	case logs.CauseRuntimeDown:
		f.Because = []forensics.Entity{p.Model.RuntimeEntity()}
	case "pleg":
		f.Because = []forensics.Entity{stall.PlegEntity}
	case "silent", "":
		for _, i := range slices.Concat(unreachableAPI(p), badCertificates(p)) {
			if i.Grave() {
				f.Because = []forensics.Entity{i.Subject}
			}
		}
		if r := logview.Runtime(p); r != nil && r.Current && f.Subject.ID != "" {
			f.Because = append(f.Because, p.Model.RuntimeEntity())
		}
		if k := p.Evidence.Kubelet; k != nil && (k.State == "T" || k.State == "t" || k.PID == 0 && k.Expected != "") {
			f.Because = []forensics.Entity{p.Model.KubeletEntity()}
		}
	case "network":
		f.Because = []forensics.Entity{incident.Thing(forensics.KindSubsystem, "pod-network")}
	}
}
