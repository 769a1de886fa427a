package checks

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// csiOperationStuck finds calls to CSI drivers that are not answered.
var csiOperationStuck = forensics.Check{
	ID:    "csi-operation-stuck",
	Title: "A CSI driver does not answer",
	Doc: `The kubelet asks CSI drivers by gRPC over a unix socket (pkg/volume/csi, 1.12 to 1.36): NodePublishVolume,
NodeUnpublishVolume, NodeStageVolume, NodeUnstageVolume, NodeGetVolumeStats, NodeExpandVolume. A call that provably has
waited for a minute or more (the dump then says 3) shows that the driver is stuck in it: in its own mount or unmount, or
behind an earlier call. The kubelet gives up after 2 minutes and asks again; what the driver was doing goes on. A shorter
wait, of which a dump may say 1 or 2 minutes, is only worth a look: attaching and formatting a disk takes its time.

Which driver it is does not stand in a dump. It is named if all CSI volumes on the node's disk belong to one driver;
otherwise the finding is about the volume manager.

The kubelet's log names it: a call that the driver refuses as Aborted, since an earlier one for the same volume still
runs; calls that ended with DeadlineExceeded more than once; an operation that was started and of which nothing was
heard for 3 minutes. Only what was said close to the end of the log counts.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceGoroutines, forensics.SourceLogs}},
	Run: func(p *forensics.Pass) {
		var list []stall.Goroutine
		for s := range stall.Stacks(p) {
			if stall.WaitOf(s.Goroutine).Kind != stall.WaitCSI {
				continue
			}
			if t, ok := stall.Stalled(p, s); ok {
				list = append(list, t)
			}
		}
		logview.OrKubelet(p, forensics.SourceGoroutines)
		said := csiInLog(p)
		if len(list) > 0 {
			sorting.Stable(list, stall.Compare)
			f := csiFinding(p, list)
			said, f = joinDriver(p, said, f)
			p.Report(f)
		}
		for _, t := range said {
			p.Report(t.finding(p))
		}
	},
}

// joinDriver adds what the log tells of the driver of a finding, or of the only one that it tells of where the finding
// does not know which it is. It returns the others.
func joinDriver(p *forensics.Pass, said []csiTrouble, f forensics.Finding) ([]csiTrouble, forensics.Finding) {
	var rest []csiTrouble
	for _, t := range said {
		if logview.DriverEntity(t.driver) != f.Subject && (len(said) > 1 || f.Subject != stall.VolumeManagerEntity) {
			rest = append(rest, t)
			continue
		}
		f.Subject = logview.DriverEntity(t.driver)
		f = t.join(p, f)
	}
	return rest, f
}

func csiFinding(p *forensics.Pass, list []stall.Goroutine) forensics.Finding {
	worst := list[0]
	f := forensics.Finding{
		Severity: stall.NotCritical(worst.Severity()), Subject: stall.VolumeManagerEntity, Confidence: worst.Confidence(), ConfidenceWhy: worst.Why, Since: worst.Since(p),
		Title: "a CSI driver" + unanswered(p, list),
	}
	if driver := stall.OnlyDriver(p); driver != "" {
		f.Subject = forensics.Entity{Kind: forensics.KindCSIDriver, ID: driver}
		f.Title = "CSI driver " + driver + unanswered(p, list)
		f.Confidence = forensics.Likely
		f.ConfidenceWhy += "; the driver is the only one that the volumes on this node's disk have"
	}
	f.Detail = "The volume is not mounted, unmounted or measured meanwhile, and its pod waits. The kubelet gives up after 2 minutes and asks again, so the trouble may be older. "
	for i, t := range list[:min(len(list), findings.MaxQuoted)] {
		if i > 0 {
			f.Detail += " "
		}
		f.Detail += fmt.Sprintf("%s waits in %s.", t.Label(), t.Wait.Call)
		f.Refs = append(f.Refs, t.Ref())
	}
	if hasAny(list, goroutines.RoleVolumeStats) {
		f.Detail += " A question for a volume's statistics holds up nothing but those."
	}
	f.Remedies = csiRemedies(p)
	return f
}

func csiRemedies(p *forensics.Pass) []forensics.Remedy {
	return []forensics.Remedy{remedy.EvidenceFirst(p), {
		Action:  remedy.ActionLook,
		Command: []string{"kubectl", "logs", "-n", "NAMESPACE", "DRIVER-POD", "-c", "DRIVER-CONTAINER", "--since=30m"},
		Why:     "the driver's own log names the call that it is stuck in; look at the driver's node pod on this node",
		Risk:    "none: it reads. Restarting the driver's pod ends the file servers of FUSE drivers, and with them every mount that they serve",
	}}
}

// unanswered says which calls of the kubelet are not answered, and for how long.
func unanswered(p *forensics.Pass, list []stall.Goroutine) string {
	return fmt.Sprintf(" has not answered %s of %s%s", stall.Questions(list), p.Model.KubeletName(), list[0].HowLong())
}

func hasAny(list []stall.Goroutine, role string) bool {
	return slices.ContainsFunc(list, func(t stall.Goroutine) bool { return goroutines.RoleOf(t.Goroutine).ID == role })
}

// csiTrouble is one CSI driver that is stuck in a call, by the log.
type csiTrouble struct {
	driver string
	// events are calls that the driver refused since an earlier one still runs, or did not answer in time.
	events []logs.Event
	// unfinished are operations that were started and neither succeeded nor failed.
	unfinished []logs.Operation
}

// csiInLog collects the drivers that are stuck when the log ends.
func csiInLog(p *forensics.Pass) []csiTrouble {
	var found []csiTrouble
	drivers := map[string]int{}
	at := func(driver string) *csiTrouble {
		i, ok := drivers[driver]
		if !ok {
			i = len(found)
			drivers[driver] = i
			found = append(found, csiTrouble{driver: driver})
		}
		return &found[i]
	}
	for _, e := range logview.Events(p, logs.KindCSIAborted, logs.KindCSIDeadline) {
		if logview.Current(p, logview.Last([]logs.Event{e})) && (e.Kind == logs.KindCSIAborted || e.Count > 1) {
			t := at(logview.DriverOf(e.Subject))
			t.events = append(t.events, e)
		}
	}
	for _, o := range logview.Story(p).Operations {
		if driver := logview.DriverOf(o.Subject); driver != "" && logview.Unfinished(p, o) {
			t := at(driver)
			t.unfinished = append(t.unfinished, o)
		}
	}
	return found
}

func (t csiTrouble) finding(p *forensics.Pass) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: logview.DriverEntity(t.driver), Confidence: forensics.Certain,
		ConfidenceWhy: "the kubelet says so in its log", Remedies: csiRemedies(p),
	}
	name := "CSI driver " + t.driver
	if t.driver == "" {
		name = "a CSI driver that the log does not name"
	}
	aborted := slices.ContainsFunc(t.events, func(e logs.Event) bool { return e.Kind == logs.KindCSIAborted })
	switch {
	case aborted:
		f.Title = name + " is stuck in a call: it refuses others since that one still runs"
		f.Detail = "It answers Aborted, \"an operation with the given Volume ID already exists\": an earlier call for the same volume has not returned, most likely a mount or unmount of its own that hangs."
	case len(t.events) > 0:
		f.Title = name + " does not answer in time"
		f.Detail = "The kubelet gives up after 2 minutes and asks again; what the driver was doing goes on."
	default:
		f.Title = fmt.Sprintf("%s: %s of %s was started and has not come back", name, t.unfinished[0].Name, logview.OperationVolume(t.unfinished[0]))
		f.Confidence = forensics.Likely
		f.ConfidenceWhy = "the log shows the start and, " + text.Duration(logview.OperationLimit.Seconds()) + " and more later, neither success nor failure"
	}
	return t.join(p, f)
}

// join adds the log to a finding about the same driver.
func (t csiTrouble) join(p *forensics.Pass, f forensics.Finding) forensics.Finding {
	var said []string
	var lines []logs.Quote
	var pods []string
	for _, e := range t.events {
		f.Since = logview.Earliest(f.Since, e.First)
		pods = append(pods, findings.UIDs(logview.UIDOf(p, e.Subject))...)
		said = append(said, fmt.Sprintf("volume %s, %s from %s to %s, %s", cmp.Or(e.Volume, e.UniqueName, "unnamed"),
			findings.Times(e.Count), logview.Clock(e.First), logview.Clock(e.Last), cmp.Or(e.Code, e.Reason)))
		lines = append(lines, e.Quotes...)
	}
	if len(said) > 0 {
		f.Detail = findings.Sentences(f.Detail, "In the log: "+findings.Some(said)+".")
	}
	said = nil
	for _, o := range t.unfinished {
		f.Since = logview.Earliest(f.Since, o.Started)
		pods = append(pods, findings.UIDs(logview.UIDOf(p, o.Subject))...)
		said = append(said, fmt.Sprintf("%s of %s, at %s", o.Name, logview.OperationVolume(o), logview.Clock(o.Started)))
		lines = append(lines, o.Quotes...)
	}
	if len(said) > 0 {
		f.Detail = findings.Sentences(f.Detail, "Started, and neither succeeded nor failed: "+findings.Some(said)+".")
	}
	f.Pods = findings.Union(f.Pods, pods)
	f.Refs = append(f.Refs, logview.Refs(lines...)...)
	f.Detail = findings.Sentences(f.Detail, logview.AsOf(p))
	return f
}
