package checks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
)

var syncLoopEntity = forensics.Entity{Kind: forensics.KindSubsystem, ID: "syncloop"}

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

// stalledSyncLoop lists the sync loop's goroutines that stand still outside housekeeping: one, or in old kubelets that
// survived a panic several.
func stalledSyncLoop(p *forensics.Pass) []standing {
	return slices.DeleteFunc(allStanding(p, syncLoopFrame), func(t standing) bool { return hasFrame(t.goroutine, housekeepingFrame) })
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

// syncLoopFailed is the endpoint that says that the sync loop has failed, nil if none does.
func syncLoopFailed(p *forensics.Pass) *kubelet.Endpoint {
	if p.Evidence.Kubelet == nil {
		return nil
	}
	for _, e := range p.Evidence.Kubelet.Endpoints {
		if slices.Contains(e.Failed, "syncloop") {
			return &e
		}
	}
	return nil
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
