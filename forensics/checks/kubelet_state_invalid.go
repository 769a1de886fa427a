package checks

import (
	"cmp"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/headline"
)

// kubeletStateInvalid finds files and settings with which a kubelet does not start.
var kubeletStateInvalid = forensics.Check{
	ID:    "kubelet-state-invalid",
	Title: "A checkpoint or setting of the kubelet is invalid",
	Doc: `"checkpoint is corrupted", "configured policy … differs from state checkpoint policy" (cpu_manager_state, memory_manager_state, devices),
"kubelet cgroup driver is different from docker cgroup driver": the kubelet ends, or forgets which CPUs and devices it has assigned.

A setting is invalid if this version or this node does not take it: an unknown flag or field, swap, a reservation that does not fit the policy of a
manager. The kubelet ends then.`,
	Severity: forensics.Warning,
	Needs:    logview.Needs,
	Run: func(p *forensics.Pass) {
		logview.SawKubelet(p)
		for _, i := range invalidStates(p) {
			now, then := "Checkpoint of the kubelet has been invalid", "Checkpoint of the kubelet was invalid"
			if i.Subject == kubeletSettings {
				now, then = "Kubelet does not accept a setting", "Kubelet did not accept a setting"
			} else if i.Subject.Kind == forensics.KindSubsystem {
				now, then = "Cgroup drivers of kubelet and runtime have differed", "Cgroup drivers of kubelet and runtime were different"
			}
			f := i.Finding(p, now, then)
			f.Effect = "kubelet cannot start"
			if i.Subject == kubeletSettings {
				title := then + ": "
				if i.Current {
					title = now + ": "
				}
				f.Title = title + incident.Short(refusal(i.Reason()), headline.Most-len(title))
				f.Confidence, f.ConfidenceWhy = forensics.Certain, "the kubelet ends with these words"
			}
			if i.Grave() && i.Subject == kubeletSettings {
				f.Remedies = []forensics.Remedy{correctSetting}
			} else if i.Grave() {
				f.Remedies = []forensics.Remedy{{
					Action: remedy.ActionConfigure, Instruction: "Drain the node, stop the kubelet, and correct the setting or move the named checkpoint file aside; then start it again",
					Why: "the kubelet writes the checkpoint anew", OnlyIf: "the kubelet ends with this error", Risk: "assignments of CPUs and devices are lost: pods that run meanwhile may share them",
				}}
			}
			p.Report(f)
		}
	},
}

// kubeletSettings are the flags and the configuration of a kubelet.
var kubeletSettings = incident.Thing(forensics.KindSubsystem, "settings")

// correctSetting is what makes a kubelet start that has refused a setting.
var correctSetting = forensics.Remedy{
	Action:      remedy.ActionConfigure,
	Instruction: "Correct what the message names: a flag (often in /var/lib/kubelet/kubeadm-flags.env or a file of the unit), a field (/var/lib/kubelet/config.yaml), or the node itself (swapoff). Then start the kubelet",
	Why:         "the kubelet does not take it, and ends at each start", OnlyIf: "the kubelet still ends with this error", Risk: "none known",
}

// refusal is what a kubelet says of a setting, without what it puts before it and what it explains behind.
func refusal(reason string) string {
	for _, before := range []string{"failed to run Kubelet: ", "failed to create kubelet: ", "failed to parse kubelet flag: ", "failed to validate kubelet configuration, error: ", "failed to validate kubelet flags: "} {
		if _, rest, ok := strings.Cut(reason, before); ok {
			reason = rest
		}
	}
	for _, behind := range []string{". ", ", please ", " or set --"} {
		reason, _, _ = strings.Cut(reason, behind)
	}
	return reason
}

// invalidStates are what the kubelet says of its files and settings that do not fit, also in the error with which it ends.
func invalidStates(p *forensics.Pass) []incident.Incident {
	spec := incident.Spec{Subject: func(e logs.Event) forensics.Entity {
		switch cause := e.Cause(); {
		case e.Kind == "cgroup-driver-mismatch", cause == "cgroup-driver":
			return incident.Thing(forensics.KindSubsystem, "cgroup-driver")
		case e.Kind == kubeletFatal && cause == "setting":
			return kubeletSettings
		case e.Kind == kubeletFatal && cause != "checkpoint":
			return forensics.Entity{}
		}
		return incident.Thing(forensics.KindPath, cmp.Or(e.Path, "checkpoint"))
	}}
	return spec.Find(p, logview.Events(p, "checkpoint-corrupt", "cgroup-driver-mismatch", kubeletFatal))
}
