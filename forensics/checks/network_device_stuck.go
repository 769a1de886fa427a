package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/headline"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// networkDeviceStuck finds network devices that the kernel cannot release.
var networkDeviceStuck = forensics.Check{
	ID:    "network-device-stuck",
	Title: "The kernel cannot release a network device",
	Doc: `"unregister_netdevice: waiting for eth0 to become free. Usage count = 1", every 10 s: the network namespace of a pod is being removed,
and something in the kernel still refers to its device. Meanwhile the removal and, in older kernels, the creation of all network namespaces
wait. A few lines that stop are normal. Three or more that still continue at the end of the log are a warning.`,
	Severity: forensics.Warning,
	Needs:    logview.Needs,
	Run: func(p *forensics.Pass) {
		incident.SawKernel(p)
		spec := incident.Spec{Few: logview.FewFailures, Subject: func(e logs.Event) forensics.Entity { return incident.Thing("network-device", e.Device) }}
		for _, i := range spec.Find(p, logview.Events(p, "kernel-netdev-held")) {
			name := "Network device " + i.Subject.ID
			f := incident.Certain(i.Finding(p, name+" cannot be released", name+" could not be released"))
			if n := i.Events[len(i.Events)-1].Number; n > 0 && i.Current {
				f.Title = headline.Fit(f.Title + "; " + text.Plural(int(n), "reference") + " left, and pods may not start")
			}
			f.Detail = findings.Sentences(f.Detail, "A reference to the device was lost in the kernel, often a bug.")
			if i.Grave() {
				f.Remedies = []forensics.Remedy{{
					Action: remedy.ActionRepair, Instruction: "Drain the node and reboot it; then install a kernel with a fix",
					Why: "nothing else releases the reference", OnlyIf: "the line is still repeated, and pods on the node do not start or stop", Risk: "the pods of the node end",
				}}
			}
			p.Report(f)
		}
	},
}
