package checks

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
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
	Title: "A CSI driver does not respond",
	Doc: `The kubelet calls CSI drivers by gRPC over a unix socket (pkg/volume/csi, 1.12 to 1.36): NodePublishVolume,
NodeUnpublishVolume, NodeStageVolume, NodeUnstageVolume, NodeGetVolumeStats, NodeExpandVolume. A call that provably has waited
for a minute or more (a dump then shows 3 minutes) means that the driver is stuck: in its own mount or unmount, or behind an
earlier call. The kubelet times out after 2 minutes and retries, but the driver continues its work. A shorter wait, for which
a dump may show 1 or 2 minutes, is only information: attaching and formatting a disk take time.

A dump does not show which driver it is. The driver is named if all CSI volumes on the node's disk belong to one driver.
Otherwise the finding is about the volume manager.

The kubelet's log names the driver in three cases:

- The driver refuses a call as Aborted, because an earlier one for the same volume is still running.
- Calls ended with DeadlineExceeded more than once.
- An operation was started, and has neither succeeded nor failed for 3 minutes.

Only messages close to the end of the log count.

The goroutines of the driver itself, read from its memory, show which call is blocked and on which mount. A call is blocked if
its own thread, or a mount command that it waits for, has waited in a file system for 15 s or more (--hung-after). A call that waits
for a command to finish is not, unless that has lasted for two minutes (mount, umount, blkid) or for 15 minutes (mkfs); a check of a file
system may take longer. The driver is the one whose directory has the socket in its command line, or in that of the
registrar of its pod. Where neither names it, the finding names the process.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceGoroutines, forensics.SourceOtherGoroutines, forensics.SourceLogs}},
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
		said, inDrivers := csiInLog(p), blockedDrivers(p)
		if len(list) > 0 {
			sorting.Stable(list, stall.Compare)
			f := csiFinding(p, list)
			said, f = joinDriver(p, said, f)
			f, inDrivers = joinServer(f, inDrivers)
			f.Title += waitForVolumes(f.Pods)
			p.Report(f)
		}
		for _, f := range inDrivers {
			said, f = joinDriver(p, said, f)
			f.Title += waitForVolumes(f.Pods)
			p.Report(f)
		}
		for _, t := range said {
			p.Report(t.finding(p))
		}
	},
}

// waitForVolumes is "; 4 pods wait for volumes", or nothing where no pod is known.
func waitForVolumes(pods []string) string {
	switch n := len(pods); n {
	case 0:
		return ""
	case 1:
		return "; 1 pod waits for volumes"
	default:
		return fmt.Sprintf("; %s pods wait for volumes", stall.Number(n))
	}
}

// joinDriver adds the log about the driver of a finding, or about the log's only driver where the finding has none. It returns the others.
func joinDriver(p *forensics.Pass, said []csiTrouble, f forensics.Finding) ([]csiTrouble, forensics.Finding) {
	var rest []csiTrouble
	for _, t := range said {
		if logview.DriverEntity(t.driver) != f.Subject && (len(said) > 1 || f.Subject != stall.VolumeManagerEntity) {
			rest = append(rest, t)
			continue
		}
		f.Subject = logview.DriverEntity(t.driver)
		if own := t.finding(p).Severity; own.Rank() > f.Severity.Rank() { // calls that failed before count whatever the age of the present one
			f.Severity = own
		}
		f = t.join(p, f)
	}
	return rest, f
}

func csiFinding(p *forensics.Pass, list []stall.Goroutine) forensics.Finding {
	worst := list[0]
	f := forensics.Finding{
		Severity: stall.NotCritical(worst.Severity()), Subject: stall.VolumeManagerEntity, Confidence: worst.Confidence(), ConfidenceWhy: worst.Why, Since: worst.Since(p),
		Title: "A CSI driver" + unanswered(list),
	}
	if driver := stall.OnlyDriver(p); driver != "" {
		f.Subject = forensics.Entity{Kind: forensics.KindCSIDriver, ID: driver}
		f.Title = "CSI driver " + driver + unanswered(list)
		f.Confidence = forensics.Likely
		f.ConfidenceWhy += "; it is the only CSI driver of the volumes on this node's disk"
	}
	f.Detail = "Meanwhile the volume is not mounted, unmounted or measured, and its pod waits. " +
		"The kubelet times out after 2 minutes and retries, so the problem may be older. "
	for i, t := range list[:min(len(list), findings.MaxQuoted)] {
		if i > 0 {
			f.Detail += " "
		}
		f.Detail += fmt.Sprintf("%s waits for %s.", findings.Capital(t.Label()), t.Wait.Call)
		f.Refs = append(f.Refs, t.Ref())
	}
	if hasAny(list, goroutines.RoleVolumeStats) {
		f.Detail += " A call for volume statistics blocks only those statistics."
	}
	f.Remedies = csiRemedies(p)
	return f
}

func csiRemedies(p *forensics.Pass) []forensics.Remedy {
	return []forensics.Remedy{remedy.EvidenceFirst(p), {
		Action:  remedy.ActionLook,
		Command: []string{"kubectl", "logs", "-n", "NAMESPACE", "DRIVER-POD", "-c", "DRIVER-CONTAINER", "--since=30m"},
		Why:     "the log of the driver's node pod on this node names the call that it is stuck in",
		Risk:    "none: read-only. Restarting the pod of a FUSE driver ends its file servers, and with them every mount that they serve",
	}}
}

// unanswered says which calls are not answered, and for how long.
func unanswered(list []stall.Goroutine) string {
	if !list[0].Known {
		return " may not be answering " + stall.FewQuestions(list)
	}
	return " has not answered " + stall.FewQuestions(list) + list[0].HowLong()
}

func hasAny(list []stall.Goroutine, role string) bool {
	return slices.ContainsFunc(list, func(t stall.Goroutine) bool { return goroutines.RoleOf(t.Goroutine).ID == role })
}

// csiTrouble is one CSI driver that is stuck in a call, by the log.
type csiTrouble struct {
	driver string
	// events are calls that the driver refused because an earlier one still runs, or did not answer in time.
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
		if logview.StillComes(p, e) && asksAgain(p, e) {
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

// asksAgain says whether calls of a volume fail again and again: the kubelet asks again after an Aborted call, and waits 4 s from the fourth
// failure on. What a driver itself logs can also be the call of a controller, which is repeated while the first one still works. Of a few
// lines, the refusal of a call of the kubelet is enough, which has waited for the one before for two minutes, or two refusals that far apart.
func asksAgain(p *forensics.Pass, e logs.Event) bool {
	if ofDriver(e) {
		distant := e.Kind == logs.KindCSIAborted && e.Count > 1 && logview.Between(e.First, e.Last) >= csiTimeoutSeconds
		return e.Count >= logview.FewFailures || distant || (e.Max >= csiTimeoutSeconds || e.Code == "Internal" && e.Count > 1) && logview.Picked(p, e.Last)
	}
	return e.Kind == logs.KindCSIAborted || e.Count > 1 || e.Number >= 4
}

// csiTimeoutSeconds is for how long the kubelet waits for a driver (csiTimeout in pkg/volume/csi/csi_plugin.go).
const csiTimeoutSeconds = 120

// ofDriver says whether a message is from the driver's own log: the kubelet's names the volume and the driver, and its event the pod.
func ofDriver(e logs.Event) bool {
	return e.Driver == "" && e.UniqueName == "" && e.PodName == "" && !ofOperation(e)
}

func (t csiTrouble) finding(p *forensics.Pass) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: logview.DriverEntity(t.driver), Confidence: forensics.Certain,
		ConfidenceWhy: "the kubelet's log says so", Remedies: csiRemedies(p),
	}
	if len(t.events) > 0 && !slices.ContainsFunc(t.events, func(e logs.Event) bool { return !ofDriver(e) }) {
		f.Confidence, f.ConfidenceWhy = forensics.Likely, "the log of the driver says so; which driver it is, it does not say"
	}
	name := "CSI driver " + t.driver
	if t.driver == "" {
		name = "A CSI driver (not named in the log)"
	}
	aborted := slices.ContainsFunc(t.events, func(e logs.Event) bool { return e.Kind == logs.KindCSIAborted })
	switch {
	case aborted:
		f.Title = name + " is stuck in a call and refuses others for the same volume"
		f.Detail = "It answers Aborted, \"an operation with the given Volume ID already exists\": an earlier call for the same volume has not returned. " +
			"Most likely its own mount or unmount hangs."
	case len(t.events) > 0 && t.events[0].Code == "Internal":
		f.Title = fmt.Sprintf("%s waits for its own mount: %s timed out", name, text.Plural(int(logview.Count(t.events)), "call"))
		f.Detail = "A call on the path of a volume did not return within the time that the driver allows. Most likely the server of that mount does not answer."
	case len(t.events) > 0:
		f.Title = fmt.Sprintf("%s does not answer in time: %s timed out", name, text.Plural(int(logview.Count(t.events)), "call"))
		f.Detail = "The kubelet times out after 2 minutes and retries, but the driver continues its work."
	default:
		f.Title = fmt.Sprintf("%s may be stuck: %s of %s not finished for %s", name, t.unfinished[0].Name, logview.OperationVolume(t.unfinished[0]),
			text.Duration(logview.Between(t.unfinished[0].Started, logview.KubeletEnd(p))))
		f.Confidence = forensics.Likely
		f.ConfidenceWhy = "the log shows the start, but neither success nor failure within " + text.Duration(logview.OperationLimit.Seconds())
	}
	f = t.join(p, f)
	t.byLostServer(p, &f)
	f.Title += waitForVolumes(f.Pods)
	return f
}

// mountedBy are the kinds of the kernel's messages about servers, by what is in the names of the drivers that mount them.
var mountedBy = []struct{ driver, kinds string }{{"nfs", "kernel-nfs"}, {"efs", "kernel-nfs"}, {"cephfs", "kernel-ceph"}, {"smb", "kernel-cifs"}}

// byLostServer explains calls that do not return by the only server of the driver's file system that does not respond, by the kernel's log.
func (t csiTrouble) byLostServer(p *forensics.Pass, f *forensics.Finding) {
	for _, m := range mountedBy {
		if !strings.Contains(t.driver, m.driver) {
			continue
		}
		lost := sorting.Delete(slices.Clone(lostServers(p)), func(i incident.Incident) bool {
			return !i.Grave() || !strings.HasPrefix(string(i.Events[0].Kind), m.kinds)
		})
		if len(lost) == 1 {
			f.Because = append(f.Because, lost[0].Subject)
			f.Detail = findings.Sentences(f.Detail, "The kernel log says that "+serverName(lost[0].Events[0])+" does not respond: what the driver mounts and unmounts waits for it.")
			f.Refs = append(f.Refs, logview.EventRefs(lost[0].Events...)...)
		}
		return
	}
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
		f.Detail = findings.Sentences(f.Detail, "Started, but neither succeeded nor failed: "+findings.Some(said)+".")
	}
	f.Pods = findings.Union(f.Pods, pods)
	f.Refs = append(f.Refs, logview.Refs(lines...)...)
	f.Detail = findings.Sentences(f.Detail, logview.AsOf(p))
	return f
}

// blockedDrivers finds the calls that are blocked in the CSI drivers themselves: a finding for each driver, without the pods in its title.
func blockedDrivers(p *forensics.Pass) (found []forensics.Finding) {
	list := sorting.Delete(stall.Requests(p, "csi.Node"), func(r stall.Request) bool { return !mayBeDriver(p, r) })
	for _, server := range stall.ByServer(list) {
		found = append(found, blockedDriver(p, server))
	}
	return found
}

// mayBeDriver says whether a request can be one of the kubelet to a CSI driver. A driver mounts for others; a pod without that right is none,
// whatever its functions are called. Of a pod's program, only what the kernel says of its thread counts: it can write its own memory.
func mayBeDriver(p *forensics.Pass, r stall.Request) bool {
	process, ok := p.Model.Process(r.PID)
	return !ok || process.MayMount() && (process.PodUID == "" || r.Blocker() != nil)
}

func blockedDriver(p *forensics.Pass, list []stall.Request) forensics.Finding {
	worst := list[0]
	f := forensics.Finding{
		Severity: forensics.Warning, Confidence: worst.Confidence(), ConfidenceWhy: worst.Why, Since: worst.Since(p), Remedies: csiRemedies(p),
	}
	name, known := stall.DriverOf(p, worst.PID)
	title := "CSI driver " + name
	switch {
	case name == "" && worst.PID == 0: // of a dump from a file
		f.Subject, title = stall.VolumeManagerEntity, "A CSI driver"
	case name != "":
		f.Subject = forensics.Entity{Kind: forensics.KindCSIDriver, ID: name}
		f.Confidence, f.ConfidenceWhy = forensics.Likely, f.ConfidenceWhy+"; which driver it is, its pod says itself"
	default:
		f.Subject = forensics.Entity{Kind: forensics.KindProcess, ID: strconv.Itoa(worst.PID)}
		title = fmt.Sprintf("CSI driver (process %d)", worst.PID)
	}
	f.Title, f.Effect = title+stall.Unanswered(p, list), title+" does not answer "+stall.Methods(list)
	f.Detail = blockedDetail(p, &f, list)
	switch {
	case name == "" && worst.PID == 0:
		f.Detail += " The dump does not say which driver it is."
	case name == "":
		f.Detail += fmt.Sprintf(" Which driver process %d is, is not known: its command line and its pod do not name it.", worst.PID)
	default:
		f.Detail += fmt.Sprintf(" Process %d is the driver: %s.", worst.PID, known)
	}
	return f
}

// joinServer adds to a finding from the kubelet's goroutines what the driver's own say. It returns the findings about other drivers. Where
// the kubelet does not say which driver it waits for, the only blocked one is that.
func joinServer(f forensics.Finding, own []forensics.Finding) (joined forensics.Finding, rest []forensics.Finding) {
	for _, o := range own {
		if o.Subject != f.Subject && (len(own) > 1 || f.Subject != stall.VolumeManagerEntity) {
			rest = append(rest, o)
			continue
		}
		if f.Subject != o.Subject {
			f.ConfidenceWhy += "; it is the only CSI driver with a blocked call"
			f.Confidence = forensics.Likely
		}
		f.Subject, f.Title, f.Effect, f.Because = o.Subject, o.Title, o.Effect, findings.Union(f.Because, o.Because)
		f.Detail = findings.Sentences(o.Detail, f.Detail)
		f.Refs, f.Pods = append(f.Refs, o.Refs...), findings.Union(f.Pods, o.Pods)
	}
	return f, rest
}
