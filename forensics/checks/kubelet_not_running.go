package checks

import (
	"fmt"
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// kubeletNotRunning finds a node without a running kubelet where one is expected.
var kubeletNotRunning = forensics.Check{
	ID:    "kubelet-not-running",
	Title: "No kubelet runs, or it is stopped",
	Doc: `No process on the node is a kubelet (also not inside k3s, rke2, kubelite, hyperkube or k0s), although a unit or
the kubelet's directory says that one belongs here; or the process is stopped by a signal (state T or t), so that it
accepts connections and answers none. A process that only calls itself kubelet does not count: the kubelet is root in the
user namespace of the examination, may mount, is in no pod's cgroup, and its executable is one. Others are named, with the
reason; nothing that they say is believed. It is critical if containers of pods still run, which nobody looks after then, or
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
		case k.PID == 0 && len(k.Impostors) > 0:
			f := forensics.Finding{
				Severity: forensics.Info, Subject: p.Model.KubeletEntity(), Confidence: forensics.Certain,
				Title:         "no kubelet is running, and none is expected; " + impostor(p, k.Impostors[0]),
				ConfidenceWhy: "all processes were read",
			}
			nameImpostors(p, &f)
			p.Report(f)
		case k.State == "T" || k.State == "t":
			p.Report(forensics.Finding{
				Severity: forensics.Critical, Subject: p.Model.KubeletEntity(), Confidence: forensics.Certain,
				Title:         fmt.Sprintf("%s (pid %d) is stopped: state %s", p.Model.KubeletName(), k.PID, k.State),
				Detail:        "It was stopped by a signal or a debugger. Its sockets accept connections and nothing answers.",
				ConfidenceWhy: "the state letter of the process",
				Refs:          []forensics.Ref{{Source: forensics.SourceProcesses, Excerpt: fmt.Sprintf("%d state %s", k.PID, k.State)}},
				Remedies: []forensics.Remedy{remedy.Signal(forensics.Remedy{
					Action: remedy.ActionResume, Why: "lets it go on where it was stopped",
					OnlyIf: "nobody debugs it (TracerPid in /proc/PID/status is 0)", Risk: "none known",
				}, k.PID, "-CONT")},
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
	title := "no kubelet runs on this node, although one is expected"
	if k := p.Evidence.Kubelet; len(k.Impostors) > 0 {
		title = "no kubelet is running; " + impostor(p, k.Impostors[0])
	}
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: p.Model.KubeletEntity(), Confidence: forensics.Certain,
		Title:         title,
		Detail:        "Expected because of " + expected + ".",
		ConfidenceWhy: "all processes were read",
		Refs:          []forensics.Ref{{Source: forensics.SourceKubelet, Excerpt: expected}},
		Remedies: []forensics.Remedy{{
			Action: remedy.ActionLook, Command: []string{"systemctl", "status", "kubelet"}, Why: "says how it ended", Risk: "none: it reads",
		}, {
			Action: remedy.ActionLook, Command: []string{"journalctl", "-u", "kubelet", "-n", "200", "--no-pager"}, Why: "says why it ended",
			Risk: "none: it reads",
		}},
	}
	if len(pods) > 0 {
		f.Severity = forensics.Critical
		f.Detail += fmt.Sprintf(" Processes of %s still run, and nobody looks after them.", text.Plural(len(pods), "pod"))
	}
	nameImpostors(p, &f)
	return f
}

// nameImpostors adds the processes that call themselves kubelet and are not believed.
func nameImpostors(p *forensics.Pass, f *forensics.Finding) {
	k := p.Evidence.Kubelet
	var list []string
	for _, i := range k.Impostors {
		list = append(list, impostor(p, i))
		if len(f.Refs) < findings.MaxQuoted {
			f.Refs = append(f.Refs, forensics.Ref{Source: fmt.Sprintf("%s:%d", forensics.SourceProcesses, i.PID), Excerpt: impostor(p, i)})
		}
	}
	if len(list) > 0 {
		f.Detail = findings.Sentences(f.Detail, "Not believed: "+findings.Some(list)+".", "It was not asked, and nothing that it says is in this report.")
	}
}

// impostor says who calls itself kubelet, and why that is not believed.
func impostor(p *forensics.Pass, i kubelet.Impostor) string {
	return findings.ProcessName(p, i.PID) + " calls itself kubelet, but " + i.Reason
}
