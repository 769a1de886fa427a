package checks

import (
	"fmt"
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// KubeletNotRunning finds a node without a running kubelet where one is expected.
var KubeletNotRunning = forensics.Check{
	ID:    "kubelet-not-running",
	Title: "No kubelet runs, or it is stopped",
	Doc: `No process on the node is a kubelet (also not inside k3s, rke2, kubelite, hyperkube or k0s), although a unit or
the kubelet's directory says that one belongs here; or the process is stopped by a signal (state T or t), so that it
accepts connections and answers none. It is critical if containers of pods still run, which nobody looks after then, or
if the kubelet is stopped; otherwise a warning: it may have been switched off on purpose.`,
	Severity: forensics.Critical,
	Needs:    []forensics.Need{{forensics.SourceProcesses}},
	Run: func(p *forensics.Pass) {
		k := p.Evidence.Kubelet
		switch {
		case k == nil:
			return
		case k.PID == 0 && hidden(p):
			p.Unjudged("some processes could not be seen, and the kubelet may be one of them")
		case k.PID == 0 && k.Expected != "":
			p.Report(notRunning(p, k.Expected))
		case k.State == "T" || k.State == "t":
			p.Report(forensics.Finding{
				Severity: forensics.Critical, Subject: p.Model.KubeletEntity(),
				Title:         fmt.Sprintf("%s (pid %d) is stopped: state %s", p.Model.KubeletName(), k.PID, k.State),
				Detail:        "It was stopped by a signal or a debugger. Its sockets accept connections and nothing answers.",
				ConfidenceWhy: "the state letter of the process",
				Refs:          []forensics.Ref{{Source: forensics.SourceProcesses, Excerpt: fmt.Sprintf("%d state %s", k.PID, k.State)}},
				Remedies: []forensics.Remedy{{
					Command: fmt.Sprintf("kill -CONT %d", k.PID), Why: "lets it go on where it was stopped",
					Precondition: "nobody debugs it (TracerPid in /proc/PID/status is 0)", Risk: "none known",
				}},
			})
		}
	},
}

// hidden says whether there are processes that were not seen.
func hidden(p *forensics.Pass) bool {
	return slices.ContainsFunc(p.Evidence.Coverage, func(s forensics.Source) bool {
		return s.Source == forensics.SourceProcesses && s.Status != forensics.SourceRead
	})
}

func notRunning(p *forensics.Pass, expected string) forensics.Finding {
	pods := map[string]bool{}
	for _, process := range p.Evidence.Processes {
		if process.PodUID != "" {
			pods[process.PodUID] = true
		}
	}
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: p.Model.KubeletEntity(),
		Title:         "no kubelet runs on this node, although one is expected",
		Detail:        "Expected because of " + expected + ".",
		ConfidenceWhy: "all processes were read",
		Refs:          []forensics.Ref{{Source: forensics.SourceKubelet, Excerpt: expected}},
		Remedies: []forensics.Remedy{{
			Command: "systemctl status kubelet; journalctl -u kubelet -n 200 --no-pager", Why: "says why it ended",
			Risk: "none: it reads",
		}},
	}
	if len(pods) > 0 {
		f.Severity = forensics.Critical
		f.Detail += fmt.Sprintf(" Processes of %s still run, and nobody looks after them.", forensics.Plural(len(pods), "pod"))
	}
	return f
}
