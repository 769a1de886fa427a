package checks

import (
	"slices"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/headline"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
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
		for _, i := range stuckDevices(p) {
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

// lateSandboxes are tries to create a sandbox that took too long. The runtime waits for the network of a pod, among others.
func lateSandboxes(p *forensics.Pass) []logs.Event {
	return sorting.Delete(logview.Events(p, logs.KindSandboxCreateFailed), func(e logs.Event) bool { return e.Code != "DeadlineExceeded" })
}

// stuckDevices are network devices that the kernel waits for.
func stuckDevices(p *forensics.Pass) []incident.Incident {
	return forensics.Once(p, "stuck network devices", func() []incident.Incident {
		spec := incident.Spec{Few: 2, Subject: func(e logs.Event) forensics.Entity { return incident.Thing("network-device", e.Device) }}
		list := spec.Find(p, logview.Events(p, "kernel-netdev-held"))
		for n := range list {
			list[n].Expect(p, logview.FewFailures)
			if late := logview.Last(lateSandboxes(p)); late != nil && logview.Within(list[n].Last, late, 5*time.Minute) && logview.Picked(p, late) {
				list[n].Minor = false // the first effect is at the end of the lines that were picked
			}
		}
		return sorting.Delete(list, func(i incident.Incident) bool {
			return i.Count < logview.FewFailures && i.Last == nil && !logview.Brief(p) && !logview.Sole(p, i.Events)
		})
	})
}

// ofNetworkDevice says whether a function of the kernel waits for a network device to be removed, or for who removes one.
func ofNetworkDevice(function string) bool {
	return slices.Contains([]string{
		"netdev_wait_allrefs", "netdev_wait_allrefs_any", "copy_net_ns", "cleanup_net", "setup_net", "netdev_run_todo", "rtnl_lock", "rtnl_lock_killable",
		"rtnetlink_rcv_msg", "unregister_netdevice_many", "unregister_netdevice_many_notify", "unregister_netdev",
	}, function)
}
