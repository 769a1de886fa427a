package checks

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// logNoise names lines that look like trouble and are none.
var logNoise = forensics.Check{
	ID:    "log-noise",
	Title: "Lines that look like trouble and are none",
	Doc: `Messages at level E or W that kubelets print on nodes that are well, with how often they were seen and why they
are harmless, so that nobody chases them. All are information.`,
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
	detail := "It is printed on nodes that are well, too."
	if why := logs.NoiseReason(kind); why != "" {
		detail = findings.Capital(why) + "."
	}
	return forensics.Finding{
		Severity: forensics.Info, Subject: p.Model.KubeletEntity(), Confidence: forensics.Certain, Since: logview.First(list), Refs: logview.EventRefs(list[0]),
		Title:         fmt.Sprintf("harmless: %s (%s)", logs.Words(kind), findings.Times(logview.Count(list))),
		Detail:        detail,
		ConfidenceWhy: "the message is known, and why it is printed",
	}
}
