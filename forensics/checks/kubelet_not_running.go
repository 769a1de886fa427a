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
	Title: "The kubelet is not running, or it is stopped",
	Doc: `One of two states:

- No process on the node is a kubelet (also not inside k3s, rke2, kubelite, hyperkube or k0s), although a unit or the
  kubelet's directory shows that this node has one.
- The kubelet process is stopped by a signal (state T) or traced (state t): it accepts connections and answers none.

A process that only calls itself kubelet does not count. The kubelet is root in the user namespace of the examination, may
mount, is in no pod's cgroup, and its executable is a kubelet. Other processes are named with the reason, and nothing that
they say is used.

Where processes were not read, what ps(1), systemctl(1) and kubeadm have printed counts.

It is critical if containers of pods still run, because no kubelet manages them, or if the kubelet is stopped. Otherwise it
is a warning: the kubelet may have been disabled on purpose.`,
	Severity: forensics.Critical,
	Needs:    []forensics.Need{{forensics.SourceProcesses, forensics.SourceKubelet}},
	Run: func(p *forensics.Pass) {
		k := p.Evidence.Kubelet
		seen, why := p.Evidence.Saw(forensics.SourceProcesses)
		switch {
		case !seen && (k == nil || p.Evidence.Collector.PID != 0): // an examination looks for the kubelet among the processes
			p.Unjudged("the processes were not read: %s", why)
		case k == nil:
			return
		case k.PID == 0 && hidden(p):
			p.Unjudged("some processes could not be read, and the kubelet may be one of them")
		case k.PID == 0 && !seen && refusedSetting(p) != "": // kubelet-restarting says why none runs
		case k.PID == 0 && k.Expected != "":
			p.Report(notRunning(p, k.Expected))
		case k.PID == 0 && len(k.Impostors) > 0:
			f := forensics.Finding{
				Severity: forensics.Info, Subject: p.Model.KubeletEntity(), Confidence: forensics.Certain,
				Title:         fmt.Sprintf("kubelet is not running and not expected; process %d only calls itself kubelet", k.Impostors[0].PID),
				ConfidenceWhy: "all processes were read",
			}
			nameImpostors(p, &f)
			p.Report(f)
		case k.State == "T" || k.State == "t":
			p.Report(stopped(p, k, seen))
		}
	},
}

// stopped is of a kubelet that does not continue by itself. Where the processes were not read, its name is all that is known of it.
func stopped(p *forensics.Pass, k *kubelet.Instance, read bool) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Critical, Subject: p.Model.KubeletEntity(), Confidence: forensics.Certain,
		Title: fmt.Sprintf("kubelet is not responding: process %d is stopped (%s)", k.PID, stoppedBy(k.State)),
		Detail: fmt.Sprintf("Process %d (%s) was stopped by a signal or a debugger (state %s). Its sockets accept connections, and nothing answers.",
			k.PID, p.Model.KubeletName(), k.State),
		Effect:        "kubelet is stopped",
		ConfidenceWhy: "the state letter of the process",
		Refs:          []forensics.Ref{{Source: forensics.SourceProcesses, Excerpt: fmt.Sprintf("%d state %s", k.PID, k.State)}},
	}
	onlyIf := "no debugger traces it (TracerPid in /proc/PID/status is 0)"
	if !read {
		f.Confidence, f.ConfidenceWhy = forensics.Likely, "the state letter of a process with the name of the kubelet; a process of a pod can have that name"
		onlyIf = fmt.Sprintf("/proc/%d/exe is the kubelet, and ", k.PID) + onlyIf
	}
	f.Remedies = []forensics.Remedy{remedy.Signal(forensics.Remedy{
		Action: remedy.ActionResume, Why: "the kubelet continues where it was stopped", OnlyIf: onlyIf, Risk: "none known",
	}, k.PID, "-CONT")}
	return f
}

// stoppedBy says what stopped a process, by its state letter.
func stoppedBy(state string) string {
	if state == "t" {
		return "debugger"
	}
	return "SIGSTOP"
}

// hidden says whether some processes could not be read.
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
	title := "kubelet is not running, but one is expected on this node"
	if k := p.Evidence.Kubelet; len(k.Impostors) > 0 {
		title = fmt.Sprintf("kubelet is not running; process %d only calls itself kubelet", k.Impostors[0].PID)
	}
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: p.Model.KubeletEntity(), Confidence: forensics.Certain,
		Title: title, Because: fatalCauses(p),
		Detail:        "A kubelet is expected here: " + expected + ".",
		Effect:        "kubelet is not running",
		ConfidenceWhy: "all processes were read",
		Refs:          []forensics.Ref{{Source: forensics.SourceKubelet, Excerpt: expected}},
		Remedies: []forensics.Remedy{{
			Action: remedy.ActionLook, Command: []string{"systemctl", "status", "kubelet"}, Why: "shows how it ended", Risk: "none: read-only",
		}, {
			Action: remedy.ActionLook, Command: []string{"journalctl", "-u", "kubelet", "-n", "200", "--no-pager"}, Why: "shows why it ended",
			Risk: "none: read-only",
		}},
	}
	if seen, _ := p.Evidence.Saw(forensics.SourceProcesses); !seen {
		f.Confidence, f.ConfidenceWhy = forensics.Likely, "a command on the node says so; the processes were not read"
	}
	if len(pods) > 0 {
		f.Severity = forensics.Critical
		f.Detail += fmt.Sprintf(" Processes of %s still run, and no kubelet manages them.", text.Plural(len(pods), "pod"))
	}
	nameImpostors(p, &f)
	return f
}

// nameImpostors adds the processes that only call themselves kubelet.
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
		f.Detail = findings.Sentences(f.Detail, "Not a kubelet: "+findings.Some(list)+".", "No data of such a process is in this report.")
	}
}

// impostor names a process that calls itself kubelet, and why it is none.
func impostor(p *forensics.Pass, i kubelet.Impostor) string {
	return findings.ProcessName(p, i.PID) + " calls itself kubelet, but " + i.Reason
}
