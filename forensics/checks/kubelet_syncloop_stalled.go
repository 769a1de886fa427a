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

// kubeletSyncloopStalled finds a kubelet whose sync loop stands still: its own health check says so, or a dump shows it.
var kubeletSyncloopStalled = forensics.Check{
	ID:    "kubelet-syncloop-stalled",
	Title: "The kubelet's sync loop stands still",
	Doc: `The kubelet's health endpoint on port 10250 or 10255 has a check "syncloop" that fails when the sync loop has
not come round for max(2 x syncFrequency, 5 min), in all versions from 1.10 to 1.36. It also fails while the loop only
skips ("Skipping pod synchronization": the runtime is down, PLEG is not healthy). Port 10248 has no such check and says
ok whatever happens. Where housekeeping is known to be the cause, this is a warning that confirms it; alone it is
critical.

A goroutine dump shows it, too: syncLoopIteration on a stack that has waited for at least a minute elsewhere than in
housekeeping (which is a check of its own) and than in the loop's own select.

So does the kubelet's log, and it says since when. At -v 4 and above the loop prints a line with every housekeeping,
each 2 seconds; where such lines were seen and then none for a minute, while other parts of the same kubelet went on
writing, it stands. After 2 minutes that is critical. At a lower verbosity a well loop without work says nothing, so
that its silence proves nothing, and the check says so. A loop that skips says that itself ("Skipping pod
synchronization"). Whoever asks for the health check leaves a line in the log when it fails, which is a warning: where the
loop stands and since when is not in it. What a log shows holds for its end, which the finding names.

Places in a dump that are told apart:` + stall.DocOf(syncLoopSites()),
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
		case skips != nil:
			f = syncLoopSkips(p, skips)
		case len(healthInLog(p)) > 0:
			f = syncLoopHealthFailed(p, unproven)
		default:
			if !tellsOfSyncLoop(p) {
				p.Unjudged("no endpoint with the syncloop check answered, and no dump shows the sync loop")
				if unproven != "" {
					p.Unjudged("%s", unproven)
				}
			}
			return
		}
		p.Report(withLoopInLog(p, f, silent, skips))
	},
}

// syncLoopSites are what the sync loop does beside housekeeping, outermost first.
func syncLoopSites() []stall.Site {
	return append([]stall.Site{
		{Frame: "kubelet.(*Kubelet).HandlePodAdditions", Versions: "1.10 to 1.36", What: "takes up new pods"},
		{Frame: "kubelet.(*Kubelet).HandlePodUpdates", Versions: "1.10 to 1.36", What: "takes up changed pods"},
		{Frame: "kubelet.(*Kubelet).HandlePodRemoves", Versions: "1.10 to 1.36", What: "takes up removed pods"},
		{Frame: "kubelet.(*Kubelet).HandlePodReconcile", Versions: "1.10 to 1.36", What: "reconciles pods"},
		{Frame: "kubelet.(*Kubelet).HandlePodSyncs", Versions: "1.10 to 1.36", What: "syncs pods"},
		{Frame: "kubelet.(*podWorkers).UpdatePod", Versions: "1.10 to 1.36", What: "tells a pod worker, which needs the lock of all workers"},
		{Frame: "devicemanager.(*ManagerImpl).Allocate", Versions: "1.10 to 1.36", What: "asks a device plugin for devices"},
	}, stall.VolumeSites()...)
}

func syncLoopFinding(p *forensics.Pass, list []stall.Goroutine, failed *kubelet.Endpoint) forensics.Finding {
	f := stall.Finding(p, stall.SyncLoopEntity, "sync loop has not come round", list, syncLoopSites())
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
		Title:         p.Model.KubeletName() + " says that its sync loop has not come round for 5 min or more",
		Detail:        "No pod of this node is started, changed or removed. " + blindHealthz(p),
		ConfidenceWhy: "the kubelet's own health check says so",
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

// tellsOfSyncLoop says whether anything that was seen would show a sync loop that stands still.
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

// blindHealthz warns of the endpoint that monitoring usually asks.
func blindHealthz(p *forensics.Pass) string {
	for _, e := range p.Evidence.Kubelet.Endpoints {
		if strings.Contains(e.URL, "/healthz") && e.Status == "ok" {
			return fmt.Sprintf("%s says ok all the same: it has no such check in any version.", e.URL)
		}
	}
	return ""
}

// silentCritical is the silence of the sync loop from which it is critical.
const silentCritical = 2 * time.Minute

// syncLoopSilent is what a log alone says.
func syncLoopSilent(p *forensics.Pass, s *logview.Silence) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: stall.SyncLoopEntity,
		Title: fmt.Sprintf("%s: the sync loop has said nothing since %s, for %s, while other parts went on", p.Model.KubeletName(),
			logview.Moment(&s.Since), text.Duration(s.Seconds)),
		Detail: "No pod of this node is started, changed or removed. " + logview.AsOf(p), Confidence: forensics.Certain,
		ConfidenceWhy: fmt.Sprintf("its verbosity shows a housekeeping line every %s; since the last one %s of other parts of the same kubelet were written",
			text.Duration(s.Loop.Cadence), text.Plural(int(s.Loop.OthersCount), "line")),
		Remedies: []forensics.Remedy{remedy.Cordon(p), remedy.EvidenceFirst(p)},
	}
	if s.Seconds >= silentCritical.Seconds() && !logview.Stale(p) {
		f.Severity = forensics.Critical
	}
	if runs, why := loopRuns(p, s); runs {
		f.Severity, f.Confidence = forensics.Warning, forensics.Likely
		f.ConfidenceWhy += "; but " + why + ", so it may have gone on since"
	}
	if list, alone := stall.BlockedHousekeeping(p); len(list) > 0 || alone != nil {
		f.Severity = stall.NotCritical(f.Severity) // that is the critical one
		f.Because = []forensics.Entity{stall.HousekeepingEntity}
		return f
	}
	if w, ok := stall.OnlyWaiter(p); ok && w.Seconds >= logview.Between(&s.Since, &p.Evidence.Collected)-60 {
		f.Because = []forensics.Entity{forensics.ThreadEntity(w.Thread)}
		f.Detail = findings.Sentences(f.Detail, "One thread of the kubelet waits in a file system: "+forensics.DescribeWait(w.Thread, w.WaitAtLeast)+".")
	}
	return f
}

// loopRuns says whether something speaks against a loop that stands still: the kubelet's health check, which fails after 5
// minutes, or a dump that shows the loop elsewhere.
func loopRuns(p *forensics.Pass, s *logview.Silence) (runs bool, why string) {
	const failsAfter = 300
	if k := p.Evidence.Kubelet; k != nil && s.Seconds > failsAfter {
		for _, e := range k.Endpoints {
			if slices.Contains(e.Passed, "syncloop") {
				return true, "the kubelet's own health check says that the loop runs"
			}
		}
	}
	for t := range stall.Stacks(p) {
		if stall.HasFrame(t.Goroutine, stall.SyncLoopFrame) && !stall.HasFrame(t.Goroutine, stall.HousekeepingFrame) {
			return true, "a goroutine dump shows the loop, not in housekeeping and not stuck"
		}
	}
	return false, ""
}

func syncLoopSkips(p *forensics.Pass, s *logview.Skipping) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: stall.SyncLoopEntity, Confidence: forensics.Certain, ConfidenceWhy: "the kubelet says so itself",
		Title: fmt.Sprintf("%s: the sync loop has skipped all pods since %s, for %s: %s", p.Model.KubeletName(),
			logview.Moment(s.Since), text.Duration(s.Seconds), s.Reason),
		Detail: "No pod of this node is started, changed or removed. " + logview.AsOf(p),
	}
	if s.Seconds >= silentCritical.Seconds() && !logview.Stale(p) {
		f.Severity = forensics.Critical
	}
	return f
}

// healthFailsAfter is for how long the loop must not have come round for its health check to fail: twice the
// syncFrequency (1 minute by default), 5 minutes at least (pkg/kubelet/kubelet.go, syncLoopHealthCheck).
const healthFailsAfter = 5 * time.Minute

// healthInLog are the health checks that failed when somebody asked, up to the end of the log.
func healthInLog(p *forensics.Pass) []logs.Event {
	list := logview.Events(p, logs.KindSyncLoopHealth)
	if !logview.Current(p, logview.Last(list)) {
		return nil
	}
	return list
}

// syncLoopHealthFailed is all that can be said where only the health check tells.
func syncLoopHealthFailed(p *forensics.Pass, unproven string) forensics.Finding {
	list := healthInLog(p)
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: stall.SyncLoopEntity, Refs: logview.EventRefs(list...), Confidence: forensics.Certain,
		Title: fmt.Sprintf("%s: when it was asked at %s, its own health check said that the sync loop has not come round for 5 min or more",
			p.Model.KubeletName(), logview.Moment(logview.Last(list))),
		ConfidenceWhy: "the kubelet's own health check, as its log has it", Remedies: []forensics.Remedy{remedy.EvidenceFirst(p)},
	}
	if first := logview.First(list); first != nil {
		t := first.Add(-healthFailsAfter)
		f.Since = &t
	}
	if unproven != "" {
		p.Unjudged("%s", unproven)
		f.Detail = "Beyond that " + unproven + ". Where it stands, and since when, a goroutine dump tells."
	}
	f.Detail = findings.Sentences(f.Detail, logview.AsOf(p))
	return f
}

// withLoopInLog adds what the log says to a finding about the sync loop: since when, and its last line.
func withLoopInLog(p *forensics.Pass, f forensics.Finding, s *logview.Silence, skips *logview.Skipping) forensics.Finding {
	switch {
	case s != nil:
		f.Since = logview.Earliest(f.Since, &s.Since)
		if s.Loop.Quote != nil {
			f.Refs = append(f.Refs, logview.Refs(*s.Loop.Quote)...)
		}
		text := fmt.Sprintf("The loop's last line in the log is of %s.", logview.Clock(&s.Since))
		if strings.Contains(s.Last, "housekeeping") && !strings.HasSuffix(s.Last, "end") {
			text += " It is the start of a housekeeping, which then did not come back: that is where it stands."
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
		f.Detail = findings.Sentences(f.Detail, fmt.Sprintf("In the log it says why: %s (%s).", skips.Reason, findings.Times(logview.Count(skips.Events))))
	}
	if full := logview.Events(p, logs.KindEventChannelFull); len(full) > 0 && logview.Current(p, logview.Last(full)) {
		f.Refs = append(f.Refs, logview.EventRefs(full...)...)
		f.Detail = findings.Sentences(f.Detail, fmt.Sprintf("The PLEG has thrown away its events %s, since the loop takes none.", findings.Times(logview.Count(full))))
	}
	return f
}
