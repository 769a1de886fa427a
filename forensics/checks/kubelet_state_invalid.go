package checks

import (
	"cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// kubeletStateInvalid finds files and settings with which a kubelet does not start.
var kubeletStateInvalid = forensics.Check{
	ID:    "kubelet-state-invalid",
	Title: "A checkpoint or setting of the kubelet is invalid",
	Doc: `"checkpoint is corrupted", "configured policy … differs from state checkpoint policy" (cpu_manager_state, memory_manager_state, devices),
"kubelet cgroup driver is different from docker cgroup driver": the kubelet ends, or forgets which CPUs and devices it has assigned.`,
	Severity: forensics.Warning,
	Needs:    logview.Needs,
	Run: func(p *forensics.Pass) {
		logview.SawKubelet(p)
		for _, i := range invalidStates(p) {
			now, then := "Checkpoint of the kubelet has been invalid", "Checkpoint of the kubelet was invalid"
			if i.Subject.Kind == forensics.KindSubsystem {
				now, then = "Cgroup drivers of kubelet and runtime have differed", "Cgroup drivers of kubelet and runtime were different"
			}
			f := i.Finding(p, now, then)
			f.Effect = "kubelet cannot start"
			if i.Grave() {
				f.Remedies = []forensics.Remedy{{
					Action: remedy.ActionConfigure, Instruction: "Drain the node, stop the kubelet, and correct the setting or move the named checkpoint file aside; then start it again",
					Why: "the kubelet writes the checkpoint anew", OnlyIf: "the kubelet ends with this error", Risk: "assignments of CPUs and devices are lost: pods that run meanwhile may share them",
				}}
			}
			p.Report(f)
		}
	},
}

// invalidStates are what the kubelet says of its files and settings that do not fit, also in the error with which it ends.
func invalidStates(p *forensics.Pass) []incident.Incident {
	spec := incident.Spec{Subject: func(e logs.Event) forensics.Entity {
		switch cause := e.Cause(); {
		case e.Kind == "cgroup-driver-mismatch", cause == "cgroup-driver":
			return incident.Thing(forensics.KindSubsystem, "cgroup-driver")
		case e.Kind == kubeletFatal && cause != "checkpoint":
			return forensics.Entity{}
		}
		return incident.Thing(forensics.KindPath, cmp.Or(e.Path, "checkpoint"))
	}}
	return spec.Find(p, logview.Events(p, "checkpoint-corrupt", "cgroup-driver-mismatch", kubeletFatal))
}
