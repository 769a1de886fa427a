package checks

import (
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// sandboxCreateFailing finds pods whose sandbox or network cannot be created.
var sandboxCreateFailing = forensics.Check{
	ID:    "sandbox-create-failing",
	Title: "Pod sandboxes cannot be created",
	Doc: `"RunPodSandbox from runtime service failed", "failed to setup network for sandbox": no container of the pod can start.
The error names the network plugin, the registry of the pause image or the runtime. Three failures, the last of them
within six minutes, are a warning, since the kubelet waits up to five minutes between two tries. Of a few lines that were picked from a log,
one failure at their end is possible. "Container runtime network not ready"
belongs to it, and to node-not-ready where no sandbox has failed; it is information until a pod waits for it or the node is NotReady. A runtime that does not respond at all is the cause.`,
	Severity: forensics.Warning,
	Needs:    logview.Needs,
	Run: func(p *forensics.Pass) {
		logview.SawKubelet(p)
		list := []sandboxTrouble{
			{logs.KindSandboxCreateFailed, sandboxes.ID, "Pod sandboxes cannot be created", "Pod sandboxes could not be created", false},
			{"cni-add-failed", "pod-network", "Network plugin cannot set up pods", "Network plugin could not set up pods", true},
		}
		if sandboxesFail(p) {
			list = append(list, noNetwork)
		}
		for _, k := range list {
			k.report(p)
		}
	},
}

// A sandboxTrouble is one sort of messages about sandboxes, and its headlines.
type sandboxTrouble struct {
	kind          logs.Kind
	id, now, then string
	network       bool
}

// noNetwork is the network that is not ready. Where no sandbox has failed, the node is not ready, and that check reports it.
var noNetwork = sandboxTrouble{"network-not-ready", "pod-network", "Pod network is not ready", "Pod network was not ready", true}

// sandboxesFail says whether the log has sandboxes that could not be created.
func sandboxesFail(p *forensics.Pass) bool {
	return len(logview.Events(p, logs.KindSandboxCreateFailed, "cni-add-failed", "sandbox-create-echo")) > 0
}

func (k sandboxTrouble) report(p *forensics.Pass) {
	spec := incident.Spec{Window: 6 * time.Minute, Kubelet: true, Subject: func(e logs.Event) forensics.Entity {
		if e.Cause() == "no-address" {
			return forensics.Entity{} // limit-exhausted
		}
		return incident.Thing(forensics.KindSubsystem, k.id)
	}}
	if k.kind == noNetwork.kind { // a node is not ready before its network is
		spec.Ended = func(forensics.Entity) *time.Time { return logview.Last(logview.Events(p, "node-ready")) }
	}
	failed := logview.Events(p, k.kind)
	if len(failed)+len(logview.Events(p, "cni-add-failed")) == 0 && !k.network { // of the lines about one failure, people quote any
		failed = logview.Events(p, "sandbox-create-echo")
	}
	if len(failed)+len(logview.Events(p, "cni-add-failed")) == 0 && !k.network {
		failed = sorting.Delete(logview.Events(p, "container-name-reserved"), func(e logs.Event) bool { return !ofUnnamedSandbox(e) })
	}
	if k.kind == "cni-add-failed" && len(failed) > 0 && len(logview.Events(p, logs.KindSandboxCreateFailed)) == 0 {
		failed = slices.Concat(failed, sorting.Delete(logview.Events(p, "sandbox-create-echo"), func(e logs.Event) bool { return e.Cause() != "network" }))
	}
	if k.kind == "cni-add-failed" {
		failed = slices.Concat(failed, refusedAgain(p, failed))
	}
	for _, i := range spec.Find(p, failed) {
		if !k.network { // a try that is refused as the one before still runs is only said so
			i.Last = logview.Latest(i.Last, logview.Last(logview.Events(p, "sandbox-create-echo")))
			i.Last = logview.Latest(i.Last, logview.Last(reservedSandboxes(p)))
			i.Last = logview.Latest(i.Last, logview.Last(triedAgain(p)))
		}
		if slices.ContainsFunc(i.Events, func(e logs.Event) bool { return e.Code != "DeadlineExceeded" }) {
			i.Expect(p, logview.FewFailures)
		} else { // after minutes: it is tried again at once
			i.ExpectAgain(p, logview.FewFailures, time.Minute)
		}
		starts := k.kind == noNetwork.kind && !networkMissed(p)
		i.Minor = i.Minor || starts
		f := i.Finding(p, k.now, k.then)
		f.Lone = f.Lone && (!starts || logview.Brief(p) || logview.Sole(p, i.Events))
		if n := len(f.Pods); n > 0 {
			f.Detail = findings.Sentences(f.Detail, findings.Are(n, "pod")+" affected.")
		}
		f.Effect = "pods cannot start"
		if !k.network {
			incident.ByRuntime(p, &f)
			byReadOnly(p, &f, i.Reason())
			for _, device := range stuckDevices(p) {
				if device.Grave() && len(lateSandboxes(p)) > 0 && meets(device, i.First, i.Last) {
					f.Because = append(f.Because, device.Subject)
				}
			}
		}
		if i.Grave() {
			f.Remedies = []forensics.Remedy{sandboxRemedy(k.network)}
		}
		p.Report(f)
	}
}

// triedAgain are calls that create sandboxes, if none was created: the last of them has not ended.
func triedAgain(p *forensics.Pass) []logs.Event {
	if len(logview.Events(p, "sandbox-made")) > 0 {
		return nil
	}
	return logview.Events(p, "sandbox-begun")
}

// refusedAgain are the sandboxes that the network plugin cannot take away of pods that it could not set up: it works no better since.
func refusedAgain(p *forensics.Pass, failed []logs.Event) []logs.Event {
	return sorting.Delete(logview.Events(p, logs.KindCNIDeleteFailed), func(e logs.Event) bool {
		return !slices.ContainsFunc(failed, func(f logs.Event) bool { return f.PodName != "" && f.PodName == e.PodName })
	})
}

// reservedSandboxes are the tries to create a sandbox whose name an earlier one has reserved that still runs.
func reservedSandboxes(p *forensics.Pass) []logs.Event {
	return sorting.Delete(logview.Events(p, "container-name-reserved"), func(e logs.Event) bool { return e.Container != "" || e.PodName == "" })
}

// sandboxes is what cannot be created, where the trouble is of no pod.
var sandboxes = incident.Thing(forensics.KindSubsystem, "sandboxes")

// networkMissed says whether the network that is not ready has stopped a pod or the node, or somebody quotes it without a time: while a node
// starts, it is normal. Pods of the host network need none.
func networkMissed(p *forensics.Pass) bool {
	return slices.ContainsFunc(logview.Events(p, logs.KindPodSyncFailed, "node-not-ready", "network-not-ready"), func(e logs.Event) bool {
		return e.Cause() == "network" || e.Kind == "network-not-ready" && (e.PodName != "" || e.Code == "pod" || e.Last == nil && strings.Contains(e.Reason, "network plugin is not ready") && logview.Written(p))
	})
}

func sandboxRemedy(network bool) forensics.Remedy {
	if network {
		return incident.Look("shows whether the network plugin has put its configuration there", "ls", "-l", "/etc/cni/net.d", "/opt/cni/bin")
	}
	return forensics.Remedy{
		Action: remedy.ActionLook, Command: []string{"crictl", "info"}, Why: "shows what the runtime says of itself and of its network", Risk: "none: read-only",
	}
}
