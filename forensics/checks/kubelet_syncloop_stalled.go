package checks

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// kubeletSyncloopStalled finds a kubelet whose sync loop is stalled, by its health check, a goroutine dump or its log.
var kubeletSyncloopStalled = forensics.Check{
	ID:    "kubelet-syncloop-stalled",
	Title: "The kubelet's sync loop is stalled",
	Doc: `Three sources show a sync loop that is stalled:

- The kubelet's health endpoint on port 10250 or 10255 has a check "syncloop". It fails when the sync loop has not completed
  an iteration for max(2 x syncFrequency, 5 min), in all versions from 1.10 to 1.36. It also fails while the loop only skips
  ("Skipping pod synchronization": the runtime is down, PLEG is not healthy). Port 10248 has no such check and always says
  ok. Where housekeeping is known to be the cause, this is a warning that confirms it. Alone it is critical.
- A goroutine dump: syncLoopIteration on a stack that has waited for at least a minute. Waits in housekeeping (a check of its
  own) and in the loop's own select do not count.
- The kubelet's log, which also shows the start. At -v 4 and above the loop logs a line with every housekeeping, each 2
  seconds. It is stalled if such lines were logged and then none for a minute, while other parts of the same kubelet logged
  more. After 2 minutes that is critical.

At a lower verbosity a healthy loop without work logs nothing: its silence proves nothing, and the check says so. A loop that
skips logs that ("Skipping pod synchronization"). A failed request for the health check leaves a line in the log, too. That
is a warning, and so is PLEG dropping events for 5 minutes: the line shows neither where the loop is blocked nor since when. A log shows the state at its end, and the
finding gives that time.

Known functions in a dump:` + stall.DocOf(syncLoopSites()),
	Severity: forensics.Critical,
	Needs:    []forensics.Need{{forensics.SourceKubeletHealth, forensics.SourceGoroutines, forensics.SourceLogs}},
	Run: func(p *forensics.Pass) {
		failed := stall.SyncLoopFailed(p)
		list := stall.StalledSyncLoop(p)
		silent, skips, unproven := logview.SyncLoop(p)
		var f forensics.Finding
		switch {
		case len(list) > 0:
			f = syncLoopFinding(p, list, failed)
		case failed != nil:
			f = syncLoopUnhealthy(p, failed)
		case silent != nil:
			f = syncLoopSilent(p, silent)
			if len(f.Because) == 0 {
				byNode(p, &f, f.Since, logview.KubeletEnd(p))
			}
		case skips != nil:
			f = syncLoopSkips(p, skips)
		case len(healthInLog(p)) > 0:
			f = syncLoopHealthFailed(p, unproven)
			byNode(p, &f, f.Since, logview.Last(healthInLog(p)))
		case eventsDropped(p) != nil:
			f = syncLoopReadsNothing(p, eventsDropped(p))
		default:
			if !tellsOfSyncLoop(p) {
				p.Unjudged("no endpoint with the syncloop check answered, and no goroutine dump shows the sync loop")
				if unproven != "" {
					p.Unjudged("%s", unproven)
				}
			}
			return
		}
		p.Report(withLoopInLog(p, f, silent, skips))
	},
}

// syncLoopSites are the steps of the sync loop other than housekeeping, outermost first.
func syncLoopSites() []stall.Site {
	return append([]stall.Site{
		{Frame: "kubelet.(*Kubelet).HandlePodAdditions", Versions: "1.10 to 1.36", What: "handles new pods"},
		{Frame: "kubelet.(*Kubelet).HandlePodUpdates", Versions: "1.10 to 1.36", What: "handles changed pods"},
		{Frame: "kubelet.(*Kubelet).HandlePodRemoves", Versions: "1.10 to 1.36", What: "handles removed pods"},
		{Frame: "kubelet.(*Kubelet).HandlePodReconcile", Versions: "1.10 to 1.36", What: "reconciles pods"},
		{Frame: "kubelet.(*Kubelet).HandlePodSyncs", Versions: "1.10 to 1.36", What: "syncs pods"},
		{Frame: "kubelet.(*podWorkers).UpdatePod", Versions: "1.10 to 1.36", What: "notifies a pod worker, which takes the lock of all workers"},
		{Frame: "devicemanager.(*ManagerImpl).Allocate", Versions: "1.10 to 1.36", What: "requests devices of a device plugin"},
	}, stall.VolumeSites()...)
}

func syncLoopFinding(p *forensics.Pass, list []stall.Goroutine, failed *kubelet.Endpoint) forensics.Finding {
	f := stall.Finding(p, stall.SyncLoopEntity, stall.Headline{
		Is: "kubelet is hung", May: "kubelet may be hung", Part: "sync loop",
	}, list, syncLoopSites())
	byLostServer(p, &f, list)
	f.Detail = findings.Sentences("No pod of this node is started, changed or removed.", f.Detail)
	f.Remedies = []forensics.Remedy{remedy.Cordon(p), remedy.KeepEvidence()}
	if failed != nil {
		f.Refs = append(f.Refs, endpointRef(failed))
		f.Detail = findings.Sentences(f.Detail, blindHealthz(p))
	}
	return f
}

func syncLoopUnhealthy(p *forensics.Pass, failed *kubelet.Endpoint) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Critical, Subject: stall.SyncLoopEntity, Confidence: forensics.Certain,
		Title: "kubelet sync loop has been stalled for at least 5 min: health check syncloop fails", Effect: "kubelet sync loop is stalled",
		Detail:        findings.Sentences("No pod of this node is started, changed or removed.", blindHealthz(p)),
		ConfidenceWhy: "the kubelet's own health check fails",
		Refs:          []forensics.Ref{endpointRef(failed)},
		Remedies:      []forensics.Remedy{remedy.Cordon(p), remedy.KeepEvidence()},
	}
	if list, alone := stall.BlockedHousekeeping(p); len(list) > 0 || alone != nil {
		f.Severity = forensics.Warning
		f.Because = []forensics.Entity{stall.HousekeepingEntity}
	}
	return f
}

func endpointRef(e *kubelet.Endpoint) forensics.Ref {
	return forensics.Ref{Source: forensics.SourceKubeletHealth + ":" + e.URL, Excerpt: e.Detail}
}

// tellsOfSyncLoop says whether anything that was read would show a stalled sync loop.
func tellsOfSyncLoop(p *forensics.Pass) bool {
	if k := p.Evidence.Kubelet; k != nil && slices.ContainsFunc(k.Endpoints, tellsSyncLoop) {
		return true
	}
	for s := range stall.Stacks(p) {
		if stall.HasFrame(s.Goroutine, stall.SyncLoopFrame) {
			return true
		}
	}
	return false
}

// tellsSyncLoop says whether an answered health endpoint has the syncloop check; the one on 10248 does not.
func tellsSyncLoop(e kubelet.Endpoint) bool {
	return slices.Contains(e.Passed, "syncloop") || slices.Contains(e.Failed, "syncloop")
}

// blindHealthz warns about the endpoint that monitoring usually uses.
func blindHealthz(p *forensics.Pass) string {
	for _, e := range p.Evidence.Kubelet.Endpoints {
		if strings.Contains(e.URL, "/healthz") && e.Status == "ok" {
			return fmt.Sprintf("%s still says ok: that endpoint has no syncloop check in any version.", e.URL)
		}
	}
	return ""
}

// silentCritical is the duration of silence from which it is critical.
const silentCritical = 2 * time.Minute

// syncLoopSilent is the finding from a log alone.
func syncLoopSilent(p *forensics.Pass, s *logview.Silence) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: stall.SyncLoopEntity,
		Title:  fmt.Sprintf("kubelet sync loop is stalled: no log line for %s, while other parts of the kubelet logged", text.Duration(s.Seconds)),
		Effect: "kubelet sync loop is stalled",
		Detail: findings.Sentences("No pod of this node is started, changed or removed.",
			"The sync loop has logged nothing since "+logview.Moment(&s.Since)+".", logview.AsOf(p)), Confidence: forensics.Certain,
		ConfidenceWhy: fmt.Sprintf("at its verbosity the kubelet logs a housekeeping line every %s; since the last one, other parts of the same kubelet logged %s",
			text.Duration(s.Loop.Cadence), text.Plural(int(s.Loop.OthersCount), "line")),
		Remedies: []forensics.Remedy{remedy.Cordon(p), remedy.EvidenceFirst(p)},
	}
	if s.Seconds >= silentCritical.Seconds() && !logview.Stale(p) {
		f.Severity = forensics.Critical
	}
	if runs, why := loopRuns(p, s); runs {
		f.Severity, f.Confidence = forensics.Warning, forensics.Likely
		f.ConfidenceWhy += "; but " + why + ", so the loop may have continued since"
	}
	if list, alone := stall.BlockedHousekeeping(p); len(list) > 0 || alone != nil {
		f.Severity = stall.NotCritical(f.Severity) // that is the critical one
		f.Because = []forensics.Entity{stall.HousekeepingEntity}
		return f
	}
	if w, ok := stall.OnlyWaiter(p); ok && w.Seconds >= logview.Between(&s.Since, &p.Evidence.Collected)-60 {
		f.Because = []forensics.Entity{forensics.ThreadEntity(w.Thread)}
		f.Detail = findings.Sentences(f.Detail, fmt.Sprintf("One kubelet thread waits in a file system: thread %d/%d %s.",
			w.Thread.PID, w.Thread.TID, forensics.DescribeWait(w.Thread, w.WaitAtLeast)))
	}
	return f
}

// loopRuns says whether something contradicts a stalled loop: the kubelet's health check, which fails after 5 minutes, or a dump that
// shows the loop elsewhere.
func loopRuns(p *forensics.Pass, s *logview.Silence) (runs bool, why string) {
	const failsAfter = 300
	if k := p.Evidence.Kubelet; k != nil && s.Seconds > failsAfter {
		for _, e := range k.Endpoints {
			if slices.Contains(e.Passed, "syncloop") {
				return true, "the kubelet's own health check passes"
			}
		}
	}
	for t := range stall.Stacks(p) {
		if stall.HasFrame(t.Goroutine, stall.SyncLoopFrame) && !stall.HasFrame(t.Goroutine, stall.HousekeepingFrame) {
			return true, "a goroutine dump shows the loop outside housekeeping and not blocked"
		}
	}
	return false, ""
}

func syncLoopSkips(p *forensics.Pass, s *logview.Skipping) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: stall.SyncLoopEntity, Confidence: forensics.Certain, ConfidenceWhy: "the kubelet's log says so",
		Title: fmt.Sprintf("kubelet has skipped pod synchronization for %s: %s", text.Duration(s.Seconds), s.Reason),
		Detail: findings.Sentences("No pod of this node is started, changed or removed.",
			"The sync loop has skipped pod synchronization since "+logview.Moment(s.Since)+".", logview.AsOf(p)),
	}
	if !s.Runtime { // the runtime's headline says enough
		f.Effect = "kubelet skips pod synchronization"
	}
	if s.Seconds >= silentCritical.Seconds() && !logview.Stale(p) {
		f.Severity = forensics.Critical
	}
	return f
}

// healthFailsAfter is the time without an iteration of the loop after which its health check fails: twice the syncFrequency (1 minute by
// default), 5 minutes at least (pkg/kubelet/kubelet.go, syncLoopHealthCheck).
const healthFailsAfter = 5 * time.Minute

// healthInLog are the failed requests for the health check, if they reach the end of the log.
func healthInLog(p *forensics.Pass) []logs.Event {
	list := logview.Events(p, logs.KindSyncLoopHealth)
	if !logview.Current(p, logview.Last(list)) {
		return nil
	}
	return list
}

// syncLoopHealthFailed is the finding where only the health check shows it.
func syncLoopHealthFailed(p *forensics.Pass, unproven string) forensics.Finding {
	list := healthInLog(p)
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: stall.SyncLoopEntity, Refs: logview.EventRefs(list...), Confidence: forensics.Certain,
		Title:  fmt.Sprintf("kubelet sync loop was stalled for at least 5 min at %s: health check syncloop failed", logview.Moment(logview.Last(list))),
		Effect: "kubelet sync loop is stalled", ConfidenceWhy: "the kubelet's log shows its own failed health check", Remedies: []forensics.Remedy{remedy.EvidenceFirst(p)},
	}
	if first := logview.First(list); first != nil {
		t := first.Add(-healthFailsAfter)
		f.Since = &t
		if logview.Between(first, logview.Last(list)) >= silentCritical.Seconds() && !logview.Stale(p) {
			f.Severity = forensics.Critical // one request may have met a loop that went on
		}
	}
	if unproven != "" {
		p.Unjudged("%s", unproven)
		f.Detail = findings.Capital(unproven) + ". A goroutine dump would show where the loop is blocked, and since when."
	}
	f.Detail = findings.Sentences(f.Detail, logview.AsOf(p))
	return f
}

// eventsDropped are PLEG's complaints that its events are not read, if they go on for longer than a loop with much to do takes, and the loop
// has logged nothing since the first.
func eventsDropped(p *forensics.Pass) []logs.Event {
	list, loop := logview.Events(p, logs.KindEventChannelFull), logview.Story(p).Loop
	first, last := logview.First(list), logview.Last(list)
	if logview.Count(list) < logview.FewFailures || logview.Between(first, last) < healthFailsAfter.Seconds() || !logview.Current(p, last) ||
		loop != nil && loop.Last != nil && loop.Last.After(*first) {
		return nil
	}
	return list
}

// syncLoopReadsNothing is the finding where only PLEG shows it.
func syncLoopReadsNothing(p *forensics.Pass, list []logs.Event) forensics.Finding {
	since := logview.First(list)
	return forensics.Finding{
		Severity: forensics.Warning, Subject: stall.SyncLoopEntity, Confidence: forensics.Likely, Since: since,
		Title:  "kubelet sync loop is stalled: it has not read the events of PLEG" + logview.Since(since),
		Effect: "kubelet sync loop is stalled", Detail: findings.Sentences("No pod of this node is started, changed or removed.", logview.AsOf(p)),
		ConfidenceWhy: "the channel of PLEG's events is full, and the loop has logged nothing since", Remedies: []forensics.Remedy{remedy.EvidenceFirst(p)},
	}
}

// withLoopInLog adds the log to a finding about the sync loop: the start, and the last line.
func withLoopInLog(p *forensics.Pass, f forensics.Finding, s *logview.Silence, skips *logview.Skipping) forensics.Finding {
	switch {
	case s != nil:
		f.Since = logview.Earliest(f.Since, &s.Since)
		if s.Loop.Quote != nil {
			f.Refs = append(f.Refs, logview.Refs(*s.Loop.Quote)...)
		}
		text := fmt.Sprintf("The loop's last line in the log is of %s.", logview.Clock(&s.Since))
		if strings.Contains(s.Last, "housekeeping") && !strings.HasSuffix(s.Last, "end") {
			text += " That line is the start of housekeeping, and its end is missing: the loop is stuck there."
		}
		f.Detail = findings.Sentences(f.Detail, text)
	case skips != nil:
		f.Since = logview.Earliest(f.Since, skips.Since)
		f.Refs = append(f.Refs, logview.EventRefs(skips.Events...)...)
		switch {
		case skips.Pleg:
			f.Because = append(f.Because, stall.PlegEntity)
		case skips.Runtime:
			f.Because = append(f.Because, p.Model.RuntimeEntity())
		}
		f.Detail = findings.Sentences(f.Detail, fmt.Sprintf("The reason in the log: %s (%s).", skips.Reason, findings.Times(logview.Count(skips.Events))))
	}
	if full := logview.Events(p, logs.KindEventChannelFull); len(full) > 0 && logview.Current(p, logview.Last(full)) {
		f.Refs = append(f.Refs, logview.EventRefs(full...)...)
		f.Detail = findings.Sentences(f.Detail, fmt.Sprintf("PLEG has dropped events %s because the loop does not read them.", findings.Times(logview.Count(full))))
	}
	return f
}
