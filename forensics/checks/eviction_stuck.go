package checks

import (
	"cmp"
	"fmt"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/diskview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/headline"
)

// evictionStuck finds evictions that do not free resources.
var evictionStuck = forensics.Check{
	ID:    "eviction-stuck",
	Title: "Eviction cannot free resources",
	Doc: `Every 10 seconds the kubelet's eviction manager checks memory and disks. Under pressure it deletes unused images and
terminated containers, and then evicts one pod at a time (pkg/kubelet/eviction, 1.10 to 1.36). Its log shows when that
does not help:

- The remaining pods are critical ("cannot evict a critical pod", "unable to evict any pods from the node"), or none is left ("no pods are
  active to evict").
- A pod could not be killed ("failed to evict", after 1.5 times its grace period).
- The volumes and containers of a pod were not cleaned up in 30 seconds. The space is not freed and the next pod is
  evicted.
- Only attempts to reclaim memory are there, but for minutes. Those to reclaim process ids are left to limit-exhausted.

The kubelet repeats these messages every 10 seconds while the problem lasts. A problem that was over when the log ended is
information. A single attempt without an evictable pod is not reported.`,
	Severity: forensics.Warning,
	Needs:    logview.Needs,
	Run: func(p *forensics.Pass) {
		logview.SawKubelet(p)
		failed := logview.Events(p, logs.KindEvictionFailed, logs.KindEvictionCleanupTimeout)
		none := logview.Events(p, logs.KindEvictionCritical, logs.KindEvictionNone)
		if logview.Count(failed) > 0 {
			p.Report(evictionFailedFinding(p, failed))
		}
		if logview.Count(none) >= fewEvictions(p) {
			p.Report(evictionNoneFinding(p, none))
		}
		measured := p.Evidence.Disks != nil // then disk-pressure judges, as it does a pressure of disks
		if since, resources, ok := logview.PressureInLog(p).Lasting(p); ok && !measured && !evictionFails(p) && !logview.PressureInLog(p).Disk() && !logview.PressureInLog(p).OnlyPIDs() {
			p.Report(pressureLastsFinding(p, since, resources))
		}
	},
}

// fewEvictions is how many attempts without a pod to evict are more than chance.
func fewEvictions(p *forensics.Pass) int64 {
	if logview.Brief(p) {
		return 1
	}
	if measured, _ := p.Evidence.Saw(forensics.SourceDisks); !measured {
		return 2 // nothing else tells that the pressure lasts
	}
	return logview.FewFailures
}

// evictionFails says whether the log has more than attempts.
func evictionFails(p *forensics.Pass) bool {
	return len(logview.Events(p, logs.KindEvictionFailed, logs.KindEvictionCleanupTimeout)) > 0 ||
		logview.Count(logview.Events(p, logs.KindEvictionCritical, logs.KindEvictionNone)) >= fewEvictions(p)
}

func evictionNoneFinding(p *forensics.Pass, list []logs.Event) forensics.Finding {
	var critical []string
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: logview.EvictionEntity, Confidence: forensics.Certain, ConfidenceWhy: "the kubelet's log says so",
		Since: logview.First(list), Refs: logview.EventRefs(list...), Remedies: evictionRemedies(),
	}
	for _, e := range list {
		if e.Kind == logs.KindEvictionCritical && e.PodName != "" {
			uid := logview.UIDOf(p, e.Subject)
			critical = append(critical, findings.PodLabel(p, e.PodName, uid))
			f.Pods = append(f.Pods, findings.UIDs(uid)...)
		}
	}
	critical, f.Pods = findings.Union(nil, critical), findings.Union(nil, f.Pods)
	f.Title = evictionHeadline(p, list, findings.Plural(int(logview.Count(list)), "attempt")+", no evictable pod")
	f.Effect = "eviction cannot free resources"
	for _, i := range pidPressure(p) {
		if i.Grave() && logview.PressureInLog(p).OnlyPIDs() {
			f.Because = append(f.Because, i.Subject)
		}
	}
	if len(critical) > 0 {
		f.Detail = "The remaining pods are critical and cannot be evicted: " + findings.Some(critical) + "."
	}
	f.Detail = findings.Sentences(f.Detail, fmt.Sprintf("The kubelet's eviction manager tried %s, %s.", findings.Times(logview.Count(list)), logview.Span(logview.First(list), logview.Last(list))),
		"The pressure lasts until an operator frees space. Meanwhile the kubelet deletes every unused image and rejects new pods.")
	return settle(p, logview.PressureInLog(p).Join(p, f), list)
}

// pressureLastsFinding is of a pressure that reclaiming does not end, where the disks were not measured.
func pressureLastsFinding(p *forensics.Pass, since *time.Time, resources string) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: logview.EvictionEntity, Confidence: forensics.Likely, Since: since,
		ConfidenceWhy: "the kubelet says so; the disks and the memory were not measured",
		Title:         headline.Fit("Memory pressure since " + logview.Moment(since) + ": the kubelet cannot reclaim enough " + resources),
		Effect:        "eviction cannot free resources",
		Remedies:      []forensics.Remedy{incident.Look("shows which processes use the memory", "ps", "aux", "--sort=-rss")},
	}
	return logview.PressureInLog(p).Join(p, f)
}

func evictionFailedFinding(p *forensics.Pass, list []logs.Event) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: logview.EvictionEntity, Confidence: forensics.Certain, ConfidenceWhy: "the kubelet's log says so",
		Since: logview.First(list), Refs: logview.EventRefs(list...), Remedies: evictionRemedies(),
	}
	var names []string
	for _, e := range list {
		uid := logview.UIDOf(p, e.Subject)
		names = append(names, findings.PodLabel(p, e.PodName, uid))
		f.Pods = append(f.Pods, findings.UIDs(uid)...)
		if e.PodName != "" || uid != "" {
			f.Because = append(f.Because, findings.PodOrName(e.PodName, uid))
		}
	}
	names, f.Pods, f.Because = findings.Union(nil, names), findings.Union(nil, f.Pods), findings.Union(nil, f.Because)
	f.Title = evictionHeadline(p, list, findings.Plural(len(names), "pod")+" not removed in time")
	f.Effect = "eviction cannot free resources"
	f.Detail = fmt.Sprintf("The kubelet's eviction manager could not remove %s in time. The log says %s: %s. The space is not freed, so the kubelet evicts the next pod. See pod-terminating-stuck for the cause.",
		findings.Some(names), findings.Times(logview.Count(list)), cmp.Or(list[0].Reason, logs.Words(list[0].Kind)))
	return settle(p, logview.PressureInLog(p).Join(p, f), list)
}

// evictionHeadline says what eviction cannot free, why, and how full the disk is where that was measured.
func evictionHeadline(p *forensics.Pass, list []logs.Event, why string) string {
	what := "resources"
	if inLog := logview.PressureInLog(p); inLog != nil && inLog.Disk() {
		what = "disk space"
		now := logview.Current(p, logview.Last(list)) && !logview.Stale(p)
		if node, ok := diskview.State(p).Of(eviction.RoleNode); ok && now && node.Error == "" && node.CapacityBytes > 0 {
			why += fmt.Sprintf(", nodefs %d %% full", node.UsagePercent())
		}
	}
	return "Eviction cannot free " + what + ": " + why
}

// settle makes information of what was over when the log ended.
func settle(p *forensics.Pass, f forensics.Finding, list []logs.Event) forensics.Finding {
	if !logview.Current(p, logview.Last(list)) {
		f.Severity, f.Remedies = forensics.Info, nil
		f.Detail = findings.Sentences(f.Detail, fmt.Sprintf("The last message is of %s. The log continues without it.", logview.Moment(logview.Last(list))))
	}
	return f
}

func evictionRemedies() []forensics.Remedy {
	return []forensics.Remedy{remedy.CountUsage(), {
		Action: remedy.ActionFree, Command: []string{"journalctl", "--vacuum-size=200M"},
		Why:    "the disk is full of data that the kubelet does not delete: journals, logs outside of pods, dumps, files of other programs",
		OnlyIf: "the journal of the time in question was saved",
		Risk:   "old journal files are deleted permanently",
	}}
}
