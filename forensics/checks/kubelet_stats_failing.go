package checks

import (
	"slices"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// kubeletStatsFailing finds a kubelet that cannot measure its node.
var kubeletStatsFailing = forensics.Check{
	ID:    "kubelet-stats-failing",
	Title: "The kubelet cannot collect statistics",
	Doc: `"failed to get summary stats", "failed to get rootFs info", "eviction manager: failed to get summary stats": evictions and image garbage
collection have no figures and do nothing, so that a disk fills unnoticed. In the first minute of a kubelet it is normal. Three errors that
continue at the end of the log are a warning, and so is one such answer of /stats/summary in a saved text. A runtime that does not respond
is the cause.`,
	Severity: forensics.Warning,
	Needs:    logview.Needs,
	Run: func(p *forensics.Pass) {
		logview.SawKubelet(p)
		spec := incident.Spec{Kubelet: true, Window: 5 * time.Minute, Subject: func(logs.Event) forensics.Entity {
			return incident.Thing(forensics.KindSubsystem, "statistics")
		}}
		for _, i := range spec.Find(p, logview.Events(p, "stats-failed", "eviction-stats-failed")) {
			if i.Minor = i.Count < logview.FewFailures && !slices.ContainsFunc(i.Events, func(e logs.Event) bool { return e.Code == "InternalError" }); i.Minor && (!logview.Brief(p) || !logview.LastWritten(p, i.Last)) {
				continue
			}
			f := i.Finding(p, "kubelet cannot collect statistics", "kubelet could not collect statistics")
			f.Effect = "evictions have no figures"
			f.Detail = findings.Sentences(f.Detail, "Without them, the kubelet evicts no pods and removes no images.")
			incident.ByRuntime(p, &f)
			if i.Grave() {
				f.Remedies = []forensics.Remedy{incident.Look("shows whether the runtime can measure its file system", "crictl", "imagefsinfo")}
			}
			p.Report(f)
		}
	},
}
