package checks

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// KubeletSyncloopStalled finds a kubelet whose sync loop stands still: its own health check says so, or a dump shows it.
var KubeletSyncloopStalled = forensics.Check{
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

Places in a dump that are told apart:` + docOf(syncLoopSites()),
	Severity: forensics.Critical,
	Needs:    []forensics.Need{{forensics.SourceKubeletHealth, forensics.SourceGoroutines, forensics.SourceLogs}},
	Run: func(p *forensics.Pass) {
		failed := syncLoopFailed(p)
		list := stalledSyncLoop(p)
		silent, skips, unproven := loopInLog(p)
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
func syncLoopSites() []site {
	return append([]site{
		{"kubelet.(*Kubelet).HandlePodAdditions", "1.10 to 1.36", "takes up new pods"},
		{"kubelet.(*Kubelet).HandlePodUpdates", "1.10 to 1.36", "takes up changed pods"},
		{"kubelet.(*Kubelet).HandlePodRemoves", "1.10 to 1.36", "takes up removed pods"},
		{"kubelet.(*Kubelet).HandlePodReconcile", "1.10 to 1.36", "reconciles pods"},
		{"kubelet.(*Kubelet).HandlePodSyncs", "1.10 to 1.36", "syncs pods"},
		{"kubelet.(*podWorkers).UpdatePod", "1.10 to 1.36", "tells a pod worker, which needs the lock of all workers"},
		{"devicemanager.(*ManagerImpl).Allocate", "1.10 to 1.36", "asks a device plugin for devices"},
	}, volumeSites()...)
}

func syncLoopFinding(p *forensics.Pass, list []standing, failed *kubelet.Endpoint) forensics.Finding {
	f := finding(p, syncLoopEntity, "sync loop has not come round", list, syncLoopSites())
	f.Detail = sentences("No pod of this node is started, changed or removed.", f.Detail)
	f.Remedies = []forensics.Remedy{cordon(p), keepEvidence()}
	if failed != nil {
		f.Refs = append(f.Refs, endpointRef(failed))
		f.Detail = sentences(f.Detail, blindHealthz(p))
	}
	return f
}

func syncLoopUnhealthy(p *forensics.Pass, failed *kubelet.Endpoint) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Critical, Subject: syncLoopEntity,
		Title:         p.Model.KubeletName() + " says that its sync loop has not come round for 5 min or more",
		Detail:        "No pod of this node is started, changed or removed. " + blindHealthz(p),
		ConfidenceWhy: "the kubelet's own health check says so",
		Refs:          []forensics.Ref{endpointRef(failed)},
		Remedies:      []forensics.Remedy{cordon(p), keepEvidence()},
	}
	if list, alone := blockedHousekeeping(p); len(list) > 0 || alone != nil {
		f.Severity = forensics.Warning
		f.Because = []forensics.Entity{housekeepingEntity}
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
	for s := range eachStack(p) {
		if hasFrame(s.goroutine, syncLoopFrame) {
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
func syncLoopSilent(p *forensics.Pass, s *silence) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: syncLoopEntity,
		Title: fmt.Sprintf("%s: the sync loop has said nothing since %s, for %s, while other parts went on", p.Model.KubeletName(),
			moment(&s.since), text.Duration(s.seconds)),
		Detail: "No pod of this node is started, changed or removed. " + asOf(p), Confidence: forensics.Certain,
		ConfidenceWhy: fmt.Sprintf("its verbosity shows a housekeeping line every %s; since the last one %s of other parts of the same kubelet were written",
			text.Duration(s.loop.Cadence), text.Plural(int(s.loop.OthersCount), "line")),
		Remedies: []forensics.Remedy{cordon(p), evidenceFirst(p)},
	}
	if s.seconds >= silentCritical.Seconds() && !stale(p) {
		f.Severity = forensics.Critical
	}
	if why := loopRuns(p, s); why != "" {
		f.Severity, f.Confidence = forensics.Warning, forensics.Likely
		f.ConfidenceWhy += "; but " + why + ", so it may have gone on since"
	}
	if list, alone := blockedHousekeeping(p); len(list) > 0 || alone != nil {
		f.Severity = notCritical(f.Severity) // that is the critical one
		f.Because = []forensics.Entity{housekeepingEntity}
		return f
	}
	if w, ok := onlyWaiter(p); ok && w.seconds >= between(&s.since, &p.Evidence.Collected)-60 {
		f.Because = []forensics.Entity{forensics.ThreadEntity(w.thread)}
		f.Detail = sentences(f.Detail, "One thread of the kubelet waits in a file system: "+forensics.DescribeWait(w.thread)+".")
	}
	return f
}

// loopRuns says what speaks against a loop that stands still: the kubelet's health check, which fails after 5 minutes,
// or a dump that shows the loop elsewhere.
func loopRuns(p *forensics.Pass, s *silence) string {
	const failsAfter = 300
	if k := p.Evidence.Kubelet; k != nil && s.seconds > failsAfter {
		for _, e := range k.Endpoints {
			if slices.Contains(e.Passed, "syncloop") {
				return "the kubelet's own health check says that the loop runs"
			}
		}
	}
	for t := range eachStack(p) {
		if hasFrame(t.goroutine, syncLoopFrame) && !hasFrame(t.goroutine, housekeepingFrame) {
			return "a goroutine dump shows the loop, not in housekeeping and not stuck"
		}
	}
	return ""
}

func syncLoopSkips(p *forensics.Pass, s *skipping) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: syncLoopEntity, ConfidenceWhy: "the kubelet says so itself",
		Title: fmt.Sprintf("%s: the sync loop has skipped all pods since %s, for %s: %s", p.Model.KubeletName(),
			moment(s.since), text.Duration(s.seconds), s.reason),
		Detail: "No pod of this node is started, changed or removed. " + asOf(p),
	}
	if s.seconds >= silentCritical.Seconds() && !stale(p) {
		f.Severity = forensics.Critical
	}
	return f
}

// healthFailsAfter is for how long the loop must not have come round for its health check to fail: twice the
// syncFrequency (1 minute by default), 5 minutes at least (pkg/kubelet/kubelet.go, syncLoopHealthCheck).
const healthFailsAfter = 5 * time.Minute

// healthInLog are the health checks that failed when somebody asked, up to the end of the log.
func healthInLog(p *forensics.Pass) []logs.Event {
	list := events(p, logs.KindSyncLoopHealth)
	if !stands(p, lastSaid(list)) {
		return nil
	}
	return list
}

// syncLoopHealthFailed is all that can be said where only the health check tells.
func syncLoopHealthFailed(p *forensics.Pass, unproven string) forensics.Finding {
	list := healthInLog(p)
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: syncLoopEntity, Refs: quotesOf(list...), Confidence: forensics.Certain,
		Title: fmt.Sprintf("%s: when it was asked at %s, its own health check said that the sync loop has not come round for 5 min or more",
			p.Model.KubeletName(), moment(lastSaid(list))),
		ConfidenceWhy: "the kubelet's own health check, as its log has it", Remedies: []forensics.Remedy{evidenceFirst(p)},
	}
	if first := firstSaid(list); first != nil {
		t := first.Add(-healthFailsAfter)
		f.Since = &t
	}
	if unproven != "" {
		p.Unjudged("%s", unproven)
		f.Detail = "Beyond that " + unproven + ". Where it stands, and since when, a goroutine dump tells."
	}
	f.Detail = sentences(f.Detail, asOf(p))
	return f
}

// withLoopInLog adds what the log says to a finding about the sync loop: since when, and its last line.
func withLoopInLog(p *forensics.Pass, f forensics.Finding, s *silence, skips *skipping) forensics.Finding {
	switch {
	case s != nil:
		f.Since = earliest(f.Since, &s.since)
		if s.loop.Quote != nil {
			f.Refs = append(f.Refs, quotes(*s.loop.Quote)...)
		}
		text := fmt.Sprintf("The loop's last line in the log is of %s.", clock(&s.since))
		if strings.Contains(s.last, "housekeeping") && !strings.HasSuffix(s.last, "end") {
			text += " It is the start of a housekeeping, which then did not come back: that is where it stands."
		}
		f.Detail = sentences(f.Detail, text)
	case skips != nil:
		f.Since = earliest(f.Since, skips.since)
		f.Refs = append(f.Refs, quotesOf(skips.events...)...)
		switch {
		case skips.pleg:
			f.Because = append(f.Because, plegEntity)
		case skips.runtime:
			f.Because = append(f.Because, p.Model.RuntimeEntity())
		}
		f.Detail = sentences(f.Detail, fmt.Sprintf("In the log it says why: %s (%s).", skips.reason, times(said(skips.events))))
	}
	if full := events(p, logs.KindEventChannelFull); len(full) > 0 && stands(p, lastSaid(full)) {
		f.Refs = append(f.Refs, quotesOf(full...)...)
		f.Detail = sentences(f.Detail, fmt.Sprintf("The PLEG has thrown away its events %s, since the loop takes none.", times(said(full))))
	}
	return f
}
