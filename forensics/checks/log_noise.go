package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// logNoise names known harmless log messages.
var logNoise = forensics.Check{
	ID:    "log-noise",
	Title: "Known harmless log messages",
	Doc: `Messages at level E or W that the kubelet also writes on healthy nodes, with their count and the reason why they are
harmless. They need no investigation. All are information.`,
	Severity: forensics.Info,
	Needs:    logview.Needs,
	Run: func(p *forensics.Pass) {
		byKind := map[logs.Kind][]logs.Event{}
		var kinds []logs.Kind
		for _, e := range logview.Story(p).Events {
			if e.Kind.Severity() != logs.SeverityNoise {
				continue
			}
			if byKind[e.Kind] == nil {
				kinds = append(kinds, e.Kind)
			}
			byKind[e.Kind] = append(byKind[e.Kind], e)
		}
		for _, kind := range kinds {
			p.Report(noiseFinding(p, kind, byKind[kind]))
		}
	},
}

func noiseFinding(p *forensics.Pass, kind logs.Kind, list []logs.Event) forensics.Finding {
	detail := "The kubelet also writes it on healthy nodes."
	if why := logs.NoiseReason(kind); why != "" {
		detail = findings.Capital(why) + "."
	}
	return forensics.Finding{
		Severity: forensics.Info, Subject: p.Model.KubeletEntity(), Confidence: forensics.Certain, Since: logview.First(list), Refs: logview.EventRefs(list[0]),
		Title:         "Known harmless log message: " + logs.Words(kind) + " (" + findings.Times(logview.Count(list)) + ")",
		Detail:        detail,
		ConfidenceWhy: "the message and its cause are known",
	}
}
