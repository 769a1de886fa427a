package checks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// csiDriverMissing finds CSI drivers that the kubelet needs but that are not registered.
var csiDriverMissing = forensics.Check{
	ID:    "csi-driver-missing",
	Title: "A CSI driver is not registered on this node",
	Doc: `The kubelet's log says "driver name D not found in the list of registered CSI drivers" (pkg/volume/csi, 1.13 to 1.36).
Possible causes:

- The driver's pod does not run on this node.
- Its registrar has died.
- Its socket no longer exists.
- The driver was renamed while volumes with the old name are still mounted.

Until the driver is registered again, its volumes are neither mounted nor unmounted: pods do not start, or stay Terminating.
From 1.13 to 1.22 the message is "SetUpAt failed to get CSI client" even where a volume is to be unmounted.

After a start of the kubelet, drivers register again within seconds. Messages of the first minute alone are not reported.
Messages that ended well before the log's end are information. A registration that is refused ("plugin registration failed with err") counts
as well, in the log of the driver's registrar too.`,
	Severity: forensics.Warning,
	Needs:    logview.Needs,
	Run: func(p *forensics.Pass) {
		logview.SawKubelet(p)
		byDriver := map[string][]logs.Event{}
		var drivers []string
		for _, e := range logview.Events(p, logs.KindCSIDriverMissing) {
			if byDriver[e.Driver] == nil {
				drivers = append(drivers, e.Driver)
			}
			byDriver[e.Driver] = append(byDriver[e.Driver], e)
		}
		for _, driver := range drivers {
			if list := byDriver[driver]; logview.AfterStart(p, logview.Last(list)) {
				p.Report(driverMissingFinding(p, driver, list))
			}
		}
		reportRegistration(p, drivers)
	},
}

// reportRegistration reports a driver that the kubelet has refused to register, of which no other message says that it is missing. A socket that
// nobody answers is left over from a driver that is gone.
func reportRegistration(p *forensics.Pass, known []string) {
	spec := incident.Spec{Kubelet: true, Subject: func(e logs.Event) forensics.Entity {
		named := func(driver string) bool { return e.NamesDriver(driver) }
		if len(known) > 0 && (e.Path == "" || slices.ContainsFunc(known, named)) {
			return forensics.Entity{}
		}
		return logview.DriverEntity(strings.TrimSuffix(e.Path[strings.LastIndex(e.Path, "/")+1:], "-reg.sock"))
	}, Ended: func(driver forensics.Entity) *time.Time {
		return logview.Last(sorting.Delete(slices.Clone(logview.Events(p, "csi-registered")), func(e logs.Event) bool {
			return e.Driver != "" && driver.Kind == forensics.KindCSIDriver && e.Driver != driver.ID
		}))
	}}
	for _, i := range spec.Find(p, logview.Events(p, "csi-registration-refused")) {
		i.Expect(p, logview.FewFailures)
		f := i.Finding(p, "A CSI driver cannot be registered", "A CSI driver could not be registered")
		f.Effect = "volumes of the driver are neither mounted nor unmounted"
		if i.Grave() {
			f.Remedies = []forensics.Remedy{incident.Look("shows whether the driver has been registered since", "kubectl", "get", "csinode", "NODE", "-o", "yaml")}
		}
		p.Report(f)
	}
}

func driverMissingFinding(p *forensics.Pass, driver string, list []logs.Event) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: logview.DriverEntity(driver), Confidence: forensics.Certain, Since: logview.First(list),
		Title:         fmt.Sprintf("CSI driver %s has not been registered on this node%s", cmp.Or(driver, "(not named)"), logview.Since(logview.First(list))),
		ConfidenceWhy: "the kubelet's log says so", Refs: logview.EventRefs(list...),
	}
	if !slices.ContainsFunc(list, func(e logs.Event) bool { return logview.StillComes(p, e) }) || registeredSince(p, driver, list) {
		f.Severity = forensics.Info
		f.Title = fmt.Sprintf("CSI driver %s was not registered on this node from %s to %s", cmp.Or(driver, "(not named)"), logview.Moment(logview.First(list)), logview.Clock(logview.Last(list)))
		f.Detail = "The log does not mention it later: it was most likely registered again."
		f.Confidence = forensics.Likely
		return f
	}
	f.Detail = findings.Sentences(fmt.Sprintf("The kubelet did not find the driver %s, for %s. Volumes of this driver are neither mounted nor unmounted: their pods do not start, or stay Terminating.",
		findings.Times(logview.Count(list)), volumesOf(list)), logview.AsOf(p))
	var pods []string
	for _, e := range list {
		pods = append(pods, findings.UIDs(logview.UIDOf(p, e.Subject))...)
	}
	f.Pods = findings.Union(nil, pods)
	f.Title += waitForVolumes(f.Pods)
	for _, e := range logview.Events(p, "csi-registration-failed", "csi-registration-refused") {
		if e.NamesDriver(driver) {
			f.Refs = append(f.Refs, logview.EventRefs(e)...)
			f.Detail = findings.Sentences(f.Detail, "Its registration failed: "+e.Reason+".")
		}
	}
	f.Remedies = []forensics.Remedy{
		{
			Action: remedy.ActionLook, Command: []string{"kubectl", "get", "pods", "-A", "-o", "wide", "--field-selector", "spec.nodeName=NODE"},
			Why: "shows whether the driver's node pod runs here, and its restarts", Risk: "none: read-only",
		},
		{
			Action: remedy.ActionLook, Command: []string{"ls", "-l", "KUBELET_ROOT/plugins_registry", "KUBELET_ROOT/plugins"},
			Why: "the driver registers through a socket there. Without a socket, its registrar does not run", Risk: "none: read-only",
		},
		{
			Action:      remedy.ActionRepair,
			Instruction: "Make the driver's DaemonSet pod run on this node again",
			Why:         "the kubelet then mounts and unmounts by itself at its next retry, within about two minutes",
			OnlyIf:      "the driver still has the name that the volumes use: see CSINode and PV",
			Risk:        "none. Do not delete directories below pods/ instead: the volume may still be mounted, and its data would be lost",
		},
	}
	return f
}

// registeredSince says whether the driver has registered and the last message was before that, or before the start of a container: events
// that have an age alone are later than all lines of a log that was pasted with them.
func registeredSince(p *forensics.Pass, driver string, list []logs.Event) bool {
	registered := sorting.Delete(slices.Clone(logview.Events(p, "csi-registered")), func(e logs.Event) bool { return e.Driver != driver })
	end := logview.Latest(logview.Last(registered), logview.Last(logview.Events(p, "pod-started")))
	return len(registered) > 0 && logview.Between(logview.Last(list), end) > 0
}

// volumesOf lists the volumes of messages, each once.
func volumesOf(list []logs.Event) string {
	var names []string
	for _, e := range list {
		if name := cmp.Or(e.Volume, e.UniqueName); name != "" {
			names = append(names, name)
		}
	}
	names = findings.Union(nil, names)
	if len(names) == 0 {
		return "an unnamed volume"
	}
	return "volume " + findings.Some(names)
}
