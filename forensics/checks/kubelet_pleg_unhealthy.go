package checks

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// relistThreshold is the age in seconds of the last relist from which the kubelet calls the PLEG unhealthy, and its sync
// loop skips (pkg/kubelet/pleg/generic.go, 1.10 to 1.36; 10 minutes with the evented PLEG).
const relistThreshold = 180

// kubeletPLEGUnhealthy finds a PLEG that does not get through its relist.
var kubeletPLEGUnhealthy = forensics.Check{
	ID:    "kubelet-pleg-unhealthy",
	Title: "The PLEG does not get through its list of containers",
	Doc: `Every second the kubelet's pod lifecycle event generator lists all containers (pkg/kubelet/pleg: relist up to
1.25, Relist from 1.26 on, on a worker of its own from 1.36 on). After 3 minutes without one the kubelet calls it
unhealthy and skips its sync loop. It waits for the container runtime, in a question of its list or of the status of one
pod: that is a daemon that does not answer, not a file system. Up to 1.13 it can also wait to send into a full channel that
the sync loop does not empty, because that hangs itself or skips for ever since the PLEG is unhealthy: only a restart
of the kubelet cures that (kubernetes issue 72482). From 1.14 on it drops events instead.

It rests on a goroutine with relist on its stack that waits, and of which the dump gives an age. A single question ends
after 2 minutes and is tried again, so that a dump rarely proves more; it is critical from 3 minutes on, and else a
warning. Or it rests on the kubelet's log, where the kubelet says so itself ("PLEG is not healthy: pleg was last seen
active 3m5s ago", "GenericPLEG: Unable to retrieve pods"): that gives the moment since when, and the reason. It is
critical if that was still said when the log ended, and the log reaches the examination; what was over by then is
information. In the first minute after a start it is normal.`,
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
		f := stall.Finding(p, stall.PlegEntity, "PLEG has not got through its list of containers", []stall.Goroutine{inLog.lasting(p, worst)}, []stall.Site{
			{Frame: "pleg.(*GenericPLEG).updateCache", Versions: "1.10 to 1.36", What: "asks for the status of one pod"},
			{Frame: "pleg.(*GenericPLEG).relistPod", Versions: "1.36", What: "asks for one pod"},
		})
		f.Severity = stall.NotCritical(worst.Severity())
		if worst.Proven && worst.Seconds >= relistThreshold {
			f.Severity = forensics.Critical
		}
		f.Detail = findings.Sentences("After 3 minutes the kubelet calls its PLEG unhealthy and starts, changes and removes no pod.", f.Detail)
		switch worst.Wait.Kind {
		case stall.WaitRuntime:
			f.Detail = findings.Sentences(f.Detail, "It waits for a daemon, the container runtime, not for a file system.")
		case stall.WaitSend:
			f.Because = []forensics.Entity{sendCause(p)}
			f.Detail = findings.Sentences(f.Detail, "The channel is full because the sync loop takes nothing from it (kubelet 1.13 and older).")
		}
		f.Remedies = []forensics.Remedy{remedy.KeepEvidence()}
		p.Report(inLog.join(p, f))
	},
}

// sendCause is why nobody takes events from the PLEG: housekeeping where that is stuck, else the sync loop.
func sendCause(p *forensics.Pass) forensics.Entity {
	if list, alone := stall.BlockedHousekeeping(p); len(list) > 0 || alone != nil {
		return stall.HousekeepingEntity
	}
	return stall.SyncLoopEntity
}

// plegTrouble is a PLEG that the kubelet's log calls unhealthy, or that says that it cannot list.
type plegTrouble struct {
	events  []logs.Event
	since   *time.Time
	until   *time.Time
	current bool
	// unhealthy says that the kubelet called it so, and skips its sync loop therefore.
	unhealthy bool
	reason    string
	runtime   bool
}

func plegInLog(p *forensics.Pass) *plegTrouble {
	var t plegTrouble
	for _, e := range logview.Events(p, logs.KindPLEGUnhealthy, logs.KindPLEGRelistFailed) {
		last := logview.Last([]logs.Event{e})
		if !logview.AfterStart(p, last) || e.Kind == logs.KindPLEGUnhealthy && e.Max < relistThreshold {
			continue
		}
		t.events = append(t.events, e)
		t.current = t.current || logview.Within(last, logview.KubeletEnd(p), logview.Repeats(e))
		t.runtime = t.runtime || e.Cause() == logs.CauseRuntimeDown || e.Kind == logs.KindPLEGRelistFailed
		if e.Kind == logs.KindPLEGUnhealthy {
			t.unhealthy, t.reason = true, e.Reason
			if last != nil { // when it was active last: what the line counts back to
				active := last.Add(-time.Duration(e.Number * float64(time.Second))).Truncate(time.Millisecond)
				t.since = logview.Earliest(t.since, &active)
			}
		}
	}
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

// finding is what the log alone says.
func (t *plegTrouble) finding(p *forensics.Pass) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: stall.PlegEntity, Confidence: forensics.Certain, ConfidenceWhy: "the kubelet says so in its log",
		Title:    fmt.Sprintf("%s: the PLEG has not got through its list of containers since %s", p.Model.KubeletName(), logview.Moment(t.since)),
		Remedies: []forensics.Remedy{remedy.EvidenceFirst(p)},
	}
	switch {
	case !t.current:
		f.Severity, f.Remedies = forensics.Info, nil
		f.Title = fmt.Sprintf("%s: the PLEG did not get through its list of containers from %s to %s, then did", p.Model.KubeletName(), logview.Moment(t.since), logview.Clock(t.until))
	case t.unhealthy && !logview.Stale(p):
		f.Severity = forensics.Critical
	}
	if t.unhealthy {
		f.Detail = "The kubelet calls its PLEG unhealthy and starts, changes and removes no pod meanwhile."
	}
	if t.current {
		f.Detail = findings.Sentences(f.Detail, logview.AsOf(p))
	}
	return t.join(p, f)
}

// lasting is a goroutine with the age that the log gives the trouble, where that is more: it may have been in other calls before.
func (t *plegTrouble) lasting(p *forensics.Pass, g stall.Goroutine) stall.Goroutine {
	if t != nil && t.current {
		if seconds := logview.Between(t.since, &p.Evidence.Collected); seconds > g.Seconds {
			g.WaitAtLeast = forensics.WaitAtLeast{Seconds: seconds, Known: true, From: g.From}
		}
	}
	return g
}

// join adds the log to a finding that rests on a dump, or on the log itself.
func (t *plegTrouble) join(p *forensics.Pass, f forensics.Finding) forensics.Finding {
	if t == nil {
		return f
	}
	if t.current || f.Since == nil {
		f.Since = logview.Earliest(f.Since, t.since)
	}
	if t.current && t.unhealthy && !logview.Stale(p) && f.Severity == forensics.Warning {
		f.Severity = forensics.Critical
		f.Confidence, f.ConfidenceWhy = forensics.Certain, findings.WithReason(f.ConfidenceWhy, "the kubelet says so in its log")
	}
	f.Detail = findings.Sentences(f.Detail, fmt.Sprintf("The log says why, %s from %s to %s: %s.", findings.Times(logview.Count(t.events)), logview.Clock(logview.First(t.events)), logview.Clock(t.until), t.reason))
	f.Refs = append(f.Refs, logview.EventRefs(t.events...)...)
	cause := stall.SyncLoopEntity
	switch minor := p.Model.KubeletMinor(); {
	case t.runtime:
		cause = p.Model.RuntimeEntity()
	case minor == 0 || minor > 13 || len(f.Because) > 0:
		return f
	}
	if !slices.Contains(f.Because, cause) {
		f.Because = append(f.Because, cause)
	}
	return f
}
