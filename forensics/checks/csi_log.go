package checks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// operationLimit is how long an operation may run before it counts as not coming back: the kubelet's own limit for a
// CSI call is 2 minutes.
const operationLimit = 3 * time.Minute

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
	for _, e := range events(p, logs.KindCSIAborted, logs.KindCSIDeadline) {
		if stands(p, lastSaid([]logs.Event{e})) && (e.Kind == logs.KindCSIAborted || e.Count > 1) {
			t := at(driverOf(e.Subject))
			t.events = append(t.events, e)
		}
	}
	for _, o := range story(p).Operations {
		if driver := driverOf(o.Subject); driver != "" && unfinished(p, o) {
			t := at(driver)
			t.unfinished = append(t.unfinished, o)
		}
	}
	return found
}

// unfinished says whether an operation was started and nothing has been heard of it for longer than one may take.
func unfinished(p *forensics.Pass, o logs.Operation) bool {
	return o.Started != nil && (o.Failed == nil || o.Failed.Before(*o.Started)) &&
		between(o.Started, kubeletEnd(p)) >= operationLimit.Seconds()
}

// driverOf is the CSI driver that a message is about, from the volume's unique name where the line does not say.
func driverOf(s logs.Subject) string {
	if s.Driver != "" {
		return s.Driver
	}
	rest, ok := strings.CutPrefix(s.UniqueName, "kubernetes.io/csi/")
	if !ok {
		return ""
	}
	driver, _, _ := strings.Cut(rest, "^")
	return driver
}

func (t csiTrouble) finding(p *forensics.Pass) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: driverEntity(t.driver),
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
		f.Title = fmt.Sprintf("%s: %s of %s was started and has not come back", name, t.unfinished[0].Name, operationVolume(t.unfinished[0]))
		f.Confidence = forensics.Likely
		f.ConfidenceWhy = "the log shows the start and, " + text.Duration(operationLimit.Seconds()) + " and more later, neither success nor failure"
	}
	return t.join(p, f)
}

// join adds the log to a finding about the same driver.
func (t csiTrouble) join(p *forensics.Pass, f forensics.Finding) forensics.Finding {
	var told []string
	var lines []logs.Quote
	var pods []string
	for _, e := range t.events {
		f.Since = earliest(f.Since, e.First)
		pods = append(pods, uids(uidOf(p, e.Subject))...)
		told = append(told, fmt.Sprintf("volume %s, %s from %s to %s, %s", cmp.Or(e.Volume, e.UniqueName, "unnamed"),
			times(e.Count), clock(e.First), clock(e.Last), cmp.Or(e.Code, e.Reason)))
		lines = append(lines, e.Quotes...)
	}
	if len(told) > 0 {
		f.Detail = sentences(f.Detail, "In the log: "+some(told)+".")
	}
	told = nil
	for _, o := range t.unfinished {
		f.Since = earliest(f.Since, o.Started)
		pods = append(pods, uids(uidOf(p, o.Subject))...)
		told = append(told, fmt.Sprintf("%s of %s, at %s", o.Name, operationVolume(o), clock(o.Started)))
		lines = append(lines, o.Quotes...)
	}
	if len(told) > 0 {
		f.Detail = sentences(f.Detail, "Started, and neither succeeded nor failed: "+some(told)+".")
	}
	f.Pods = union(f.Pods, pods)
	f.Refs = append(f.Refs, quotes(lines...)...)
	f.Detail = sentences(f.Detail, asOf(p))
	return f
}

func operationVolume(o logs.Operation) string {
	return "volume " + cmp.Or(o.Volume, o.UniqueName, "(unnamed)")
}
