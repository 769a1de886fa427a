package checks

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/fsview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// relistThreshold is the age in seconds of the last relist from which the kubelet calls the PLEG unhealthy, and its sync
// loop skips (pkg/kubelet/pleg/generic.go, 1.10 to 1.36; 10 minutes with the evented PLEG).
const relistThreshold = 180

// kubeletPLEGUnhealthy finds a PLEG whose relist is blocked.
var kubeletPLEGUnhealthy = forensics.Check{
	ID:    "kubelet-pleg-unhealthy",
	Title: "PLEG relist is blocked",
	Doc: `Every second the kubelet's pod lifecycle event generator (PLEG) lists all containers (pkg/kubelet/pleg: relist up to 1.25,
Relist from 1.26 on, on a worker of its own from 1.36 on). After 3 minutes without a relist the kubelet calls PLEG unhealthy
and skips its sync loop.

A relist waits for the container runtime: for its list, or for the status of one pod. That is a daemon that does not
respond, not a file system. Up to 1.13 it can also block on a full channel that the sync loop does not read. Then the sync
loop hangs itself, or it skips because PLEG is unhealthy, and only a restart of the kubelet ends that (kubernetes issue
72482). From 1.14 on PLEG drops events instead.

Evidence is one of two:

- A goroutine with relist on its stack that waits, and whose age the dump shows. A single call times out after 2 minutes and
  is retried, so that a dump rarely proves more. From 3 minutes on it is critical, otherwise a warning.
- The kubelet's log ("PLEG is not healthy: pleg was last seen active 3m5s ago", "GenericPLEG: Unable to retrieve pods"). It
  gives the start and the reason. It is critical if the message was still logged when the log ended and the log reaches the
  examination. A problem that was over by then is information.

In the first minute after a start it is normal.`,
	Severity: forensics.Critical,
	Needs:    []forensics.Need{{forensics.SourceGoroutines, forensics.SourceLogs}},
	Run: func(p *forensics.Pass) {
		logview.OrKubelet(p, forensics.SourceGoroutines)
		inLog := plegInLog(p)
		list := stall.All(p, "pleg.(*GenericPLEG).relist", "pleg.(*GenericPLEG).Relist", "pleg.(*GenericPLEG).relistPod")
		if len(list) == 0 {
			if inLog != nil {
				p.Report(inLog.finding(p))
			}
			return
		}
		worst := list[0]
		f := stall.Finding(p, stall.PlegEntity, stall.Headline{
			Is: "kubelet cannot relist containers", May: "kubelet may be unable to relist containers", Part: "PLEG", Effect: "PLEG relist is blocked",
		}, []stall.Goroutine{inLog.lasting(p, worst)}, []stall.Site{
			{Frame: "pleg.(*GenericPLEG).updateCache", Versions: "1.10 to 1.36", What: "reads the status of one pod"},
			{Frame: "pleg.(*GenericPLEG).relistPod", Versions: "1.36", What: "relists one pod"},
		})
		f.Severity = stall.NotCritical(worst.Severity())
		if worst.Proven && worst.Seconds >= relistThreshold {
			f.Severity = forensics.Critical
		}
		f.Detail = findings.Sentences("After 3 minutes without a relist the kubelet calls PLEG unhealthy. Then it starts, changes and removes no pod.", f.Detail)
		switch worst.Wait.Kind {
		case stall.WaitRuntime:
			f.Effect = "" // the runtime's headline says enough
			f.Detail = findings.Sentences(f.Detail, "PLEG waits for the container runtime, not for a file system.")
		case stall.WaitSend:
			f.Because = []forensics.Entity{sendCause(p)}
			f.Detail = findings.Sentences(f.Detail, "The channel is full because the sync loop does not read it (kubelet 1.13 and older).")
		}
		f.Remedies = []forensics.Remedy{remedy.KeepEvidence()}
		p.Report(inLog.join(p, f))
	},
}

// sendCause is why PLEG's events are not read: housekeeping where that is blocked, else the sync loop.
func sendCause(p *forensics.Pass) forensics.Entity {
	if list, alone := stall.BlockedHousekeeping(p); len(list) > 0 || alone != nil {
		return stall.HousekeepingEntity
	}
	return stall.SyncLoopEntity
}

// plegTrouble is a PLEG that the log calls unhealthy, or whose relist fails.
type plegTrouble struct {
	events  []logs.Event
	since   *time.Time
	until   *time.Time
	current bool
	// unhealthy says that the kubelet called it so and therefore skips its sync loop.
	unhealthy bool
	reason    string
	runtime   bool
	few       bool // lines, of a kubelet that may just have started
}

func plegInLog(p *forensics.Pass) *plegTrouble {
	var t plegTrouble
	for _, e := range logview.Events(p, logs.KindPLEGUnhealthy, logs.KindPLEGRelistFailed, "node-not-ready") {
		last := logview.Last([]logs.Event{e})
		if e.Kind == "node-not-ready" {
			if e.Cause() != "pleg" || e.Node != "" || !logview.Repeating(p, e) { // it is said once: later lines of the sync loop tell more
				continue
			}
			e.Kind = logs.KindPLEGUnhealthy
		}
		if !logview.AfterStart(p, last) || e.Kind == logs.KindPLEGUnhealthy && e.Max < relistThreshold {
			continue
		}
		t.events = append(t.events, e)
		t.current = t.current || logview.Repeating(p, e) && !logview.RuntimeStarted(p, e)
		t.runtime = t.runtime || e.Cause() == logs.CauseRuntimeDown || e.Kind == logs.KindPLEGRelistFailed
		if e.Kind == logs.KindPLEGUnhealthy {
			t.unhealthy, t.reason = true, e.Reason
			if last != nil { // when it was active last: what the line counts back to
				active := last.Add(-time.Duration(e.Number * float64(time.Second))).Truncate(time.Millisecond)
				t.since = logview.Earliest(t.since, &active)
			}
		}
	}
	t.neverRelisted(p)
	flaps := logview.Count(logview.Events(p, "node-not-ready")) > 1
	if ready := logview.Last(logview.Events(p, "node-ready")); ready != nil && t.unhealthy && !flaps { // said of a node whose PLEG is healthy
		last := logview.Last(t.events)
		t.current = t.current && (last == nil || last.After(*ready))
	}
	t.ofNode(p)
	if len(t.events) == 0 {
		return nil
	}
	if t.since == nil {
		t.since = logview.First(t.events)
	}
	t.reason = cmp.Or(t.reason, t.events[0].Reason)
	t.until = logview.Last(t.events)
	return &t
}

// neverRelisted takes a PLEG that has not relisted yet, of a few lines at the end of which the kubelet still says so. The first relist comes a second
// after the start; the sync loop, which skips meanwhile, waits twice as long each time, 5 s at most (pkg/kubelet/kubelet.go, syncLoop).
func (t *plegTrouble) neverRelisted(p *forensics.Pass) {
	const long, many = 12, 4 // seconds, lines
	for _, e := range logview.Events(p, "noise-start-pleg") {
		if e.Count >= many && logview.Between(e.First, e.Last) >= long && logview.AfterStart(p, e.Last) && logview.Picked(p, e.Last) {
			t.events, t.current, t.few = append(t.events, e), true, true
		}
	}
}

// ofNode takes the condition Ready of a node that says why it is False, if no later one is True. It lasts: the kubelet reports it until PLEG is
// healthy. The kubelet's own lines tell more.
func (t *plegTrouble) ofNode(p *forensics.Pass) {
	if len(t.events) > 0 {
		return
	}
	ready := logview.Last(logview.Events(p, "node-ready"))
	for _, e := range logview.Events(p, "node-not-ready") {
		last := logview.Last([]logs.Event{e})
		if e.Number >= relistThreshold && e.Cause() == "pleg" && (ready == nil || last == nil || last.After(*ready)) {
			t.events, t.current, t.unhealthy, t.reason = append(t.events, e), true, true, e.Reason
			t.since = logview.Earliest(t.since, e.First)
		}
	}
}

// finding is made of the log alone.
func (t *plegTrouble) finding(p *forensics.Pass) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: stall.PlegEntity, Confidence: forensics.Certain, ConfidenceWhy: "the kubelet's log says so",
		Title: "kubelet PLEG relist has failed" + logview.Since(t.since), Effect: "PLEG relist is blocked",
		Remedies: []forensics.Remedy{remedy.EvidenceFirst(p)},
	}
	switch {
	case !t.current:
		f.Severity, f.Remedies = forensics.Info, nil
		f.Title = fmt.Sprintf("kubelet PLEG relist did not succeed from %s to %s; no later line repeats it", logview.Moment(t.since), logview.Clock(t.until))
	case t.unhealthy && !logview.Stale(p):
		f.Severity = forensics.Critical
	}
	if t.current && t.unhealthy {
		f.Title = "kubelet PLEG is not healthy: no relist" + cmp.Or(logview.Since(t.since), " for over 3 min")
	}
	if t.few {
		f.Confidence, f.ConfidenceWhy = forensics.Possible, incident.FewLines
	}
	switch {
	case t.unhealthy && t.current:
		f.Detail = "The kubelet calls PLEG unhealthy. In this state it starts, changes and removes no pod."
	case t.unhealthy:
		f.Detail = "The kubelet called PLEG unhealthy. In that time it started, changed and removed no pod."
	}
	if t.current {
		f.Detail = findings.Sentences(f.Detail, logview.AsOf(p))
	}
	if t.current && t.unhealthy {
		byNode(p, &f, t.since, t.until)
	}
	return t.join(p, f)
}

// lasting is a goroutine with the age that the log shows, where that is longer: it may have been in other calls before.
func (t *plegTrouble) lasting(p *forensics.Pass, g stall.Goroutine) stall.Goroutine {
	if t != nil && t.current {
		if seconds := logview.Between(t.since, &p.Evidence.Collected); seconds > g.Seconds {
			g.WaitAtLeast = forensics.WaitAtLeast{Seconds: seconds, Known: true, From: g.From}
		}
	}
	return g
}

// join adds the log to a finding from a dump, or from the log itself.
func (t *plegTrouble) join(p *forensics.Pass, f forensics.Finding) forensics.Finding {
	if t == nil {
		return f
	}
	if t.current || f.Since == nil {
		f.Since = logview.Earliest(f.Since, t.since)
	}
	if t.current && t.unhealthy && !logview.Stale(p) && f.Severity == forensics.Warning {
		f.Severity = forensics.Critical
		f.Confidence, f.ConfidenceWhy = forensics.Certain, findings.WithReason("the kubelet's log says so", f.ConfidenceWhy)
	}
	f.Detail = findings.Sentences(f.Detail, fmt.Sprintf("The log gives the reason, %s from %s to %s: %s.",
		findings.Times(logview.Count(t.events)), logview.Clock(logview.First(t.events)), logview.Clock(t.until), t.reason))
	f.Refs = append(f.Refs, logview.EventRefs(t.events...)...)
	cause := stall.SyncLoopEntity
	switch minor := p.Model.KubeletMinor(); {
	case t.runtime:
		cause, f.Effect = p.Model.RuntimeEntity(), "" // the runtime's headline says enough
	case minor == 0 || minor > 13 || len(f.Because) > 0:
		return f
	}
	if !slices.Contains(f.Because, cause) {
		f.Because = append(f.Because, cause)
	}
	return f
}

// stallCauses are the troubles of the whole node behind which the kubelet and its runtime stall. One can be the cause of those in later rows:
// where an earlier one explains a stall, a later one is not asked. A server that does not respond and a stuck CPU may both be.
var stallCauses = [][]struct {
	find func(*forensics.Pass) []incident.Incident
	says func(incident.Incident) string
}{
	{
		{lostServers, func(i incident.Incident) string {
			return serverName(i.Events[0]) + " does not respond. Calls of the kubelet and of the runtime in its mounts wait."
		}},
		{lockups, func(incident.Incident) string {
			return "CPUs were stuck in this time. Nothing that runs on such a CPU makes progress."
		}},
	},
	{{failingMountDisks, diskSays}, {failingDisks, diskSays}, {failingFileSystems, diskSays}},
	{{fullUnmeasured, func(incident.Incident) string {
		return "a disk was full in this time. The runtime writes the state of each container before it goes on."
	}}},
	{{nodeOOMs, func(incident.Incident) string {
		return "the node was out of memory in this time. The kubelet and the runtime wait for memory, and their processes may be killed."
	}}},
	{{startLimits, func(incident.Incident) string {
		return "no process or thread can be started. The runtime needs both for each container."
	}}},
	{{stuckDevices, func(i incident.Incident) string {
		return "the kernel cannot release network device " + i.Subject.ID + ". The runtime waits when it makes or removes the network of a pod."
	}}},
	{{hungTasks, func(i incident.Incident) string {
		return i.Events[0].Process + " was blocked in the kernel. A container with such a process cannot be stopped, and a call about it waits."
	}}},
}

// fullUnmeasured is a disk that is full by the logs, where no figures of the disks tell more.
func fullUnmeasured(p *forensics.Pass) []incident.Incident {
	if seen, _ := p.Evidence.Saw(forensics.SourceDisks); seen {
		return nil
	}
	return fullByLog(p)
}

func diskSays(i incident.Incident) string {
	return logs.Words(i.Events[0].Kind) + " in this time. What reads or writes there waits or fails."
}

// byNode explains a stall, that a log alone shows between two times, by trouble of the node that the log shows for the same time.
func byNode(p *forensics.Pass, f *forensics.Finding, since, until *time.Time) {
	for _, row := range stallCauses {
		found := false
		for _, cause := range row {
			for _, i := range cause.find(p) {
				if !i.Grave() || i.Ended != nil || !meets(i, since, until) {
					continue
				}
				found = true
				f.Because = findings.Union(f.Because, []forensics.Entity{i.Subject})
				f.Detail = findings.Sentences(f.Detail, "The log also says: "+cause.says(i))
				f.Refs = append(f.Refs, logview.EventRefs(i.Events...)...)
			}
		}
		if found {
			return
		}
	}
	f.Because = findings.Union(f.Because, measuredFull(p))
}

// meets says whether an incident began before a stall ended and, unless it lasts, was logged no more than some minutes before the stall. A
// server waits in silence; all others repeat their messages. What has no time, as the lines of dmesg, may be of the same time.
func meets(i incident.Incident, since, until *time.Time) bool {
	const lead = 5 * time.Minute
	if i.First != nil && until != nil && i.First.After(*until) {
		return false
	}
	lasts := slices.ContainsFunc(i.Events, func(e logs.Event) bool { return e.Server != "" || gravity(e.Kind) > 0 })
	return lasts || i.Last == nil || since == nil || !i.Last.Before(since.Add(-lead))
}

// failingMountDisks are file systems of known mounts of whose disk the kernel reports errors.
func failingMountDisks(p *forensics.Pass) (found []incident.Incident) {
	seen := map[string]bool{}
	for _, m := range p.Evidence.Mounts.Mounts {
		if seen[m.Device] {
			continue
		}
		seen[m.Device] = true
		spec := incident.Spec{Window: 30 * time.Minute, Subject: func(logs.Event) forensics.Entity {
			return forensics.Entity{Kind: forensics.KindSuperblock, ID: m.Device}
		}}
		for _, i := range spec.Find(p, fsview.KernelEvents(p, "devices that fail", fsview.DeviceFailures, m)) {
			grave := gravity(worstOf(i).Kind) > 0
			i.Current, i.Minor = i.Current || grave, !grave && i.Count < logview.FewFailures
			found = append(found, i)
		}
	}
	return found
}

// nodeOOMs are those of the whole node: what is killed at the limit of a container concerns that container.
func nodeOOMs(p *forensics.Pass) []incident.Incident {
	return sorting.Delete(slices.Clone(ooms(p)), func(i incident.Incident) bool { return i.Subject != incident.Thing("kernel", "memory") })
}

// startLimits are reached limits without which no process starts.
func startLimits(p *forensics.Pass) (found []incident.Incident) {
	for _, l := range limits {
		switch l.id {
		case "processes":
			found = append(found, l.find(p)...)
		case "process-ids": // that of a pod concerns the pod
			found = append(found, sorting.Delete(l.find(p), func(i incident.Incident) bool { return !slices.ContainsFunc(i.Events, ofNodeService) })...)
		}
	}
	return found
}
