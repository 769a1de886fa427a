package checks

import (
	"cmp"
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// evictionStuck finds evictions that do not help.
var evictionStuck = forensics.Check{
	ID:    "eviction-stuck",
	Title: "Evictions do not relieve the node",
	Doc: `Every 10 seconds the kubelet's eviction manager looks at memory and disks. Under pressure it deletes what nobody
uses and then evicts one pod at a time (pkg/kubelet/eviction, 1.10 to 1.36). Its log says where that leads nowhere: the
only pods left are critical ("cannot evict a critical pod", "unable to evict any pods from the node"), a pod could not
be killed ("failed to evict", after 1.5 times its grace period), or its volumes and containers were not cleaned up in
30 seconds, so that the space was not freed and the next pod goes.

A kubelet repeats this every 10 seconds while it lasts. What was over when the log ended is information. That it found
nothing to evict once is no trouble.`,
	Severity: forensics.Warning,
	Needs:    logview.Needs,
	Run: func(p *forensics.Pass) {
		logview.SawKubelet(p)
		failed := logview.Events(p, logs.KindEvictionFailed, logs.KindEvictionCleanupTimeout)
		nobody := logview.Events(p, logs.KindEvictionCritical, logs.KindEvictionNone)
		if logview.Count(failed) > 0 {
			p.Report(evictionFailedFinding(p, failed))
		}
		if logview.Count(nobody) >= logview.FewFailures {
			p.Report(evictionNobodyFinding(p, nobody))
		}
	},
}

func evictionNobodyFinding(p *forensics.Pass, list []logs.Event) forensics.Finding {
	var critical []string
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: logview.EvictionEntity, Confidence: forensics.Certain, ConfidenceWhy: "the kubelet says so in its log",
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
	state := "cannot evict any pod"
	if len(critical) > 0 {
		state = "can evict nobody, the only pods left are critical: " + findings.Some(critical)
	}
	f.Title = fmt.Sprintf("%s eviction manager %s", p.Model.KubeletName(), state)
	f.Detail = fmt.Sprintf("It has tried %s, from %s to %s. The pressure stays until somebody frees space by hand; meanwhile every unused image is deleted, and new pods are refused.",
		findings.Times(logview.Count(list)), logview.Clock(logview.First(list)), logview.Clock(logview.Last(list)))
	return settle(p, logview.PressureInLog(p).Join(p, f), list)
}

func evictionFailedFinding(p *forensics.Pass, list []logs.Event) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: logview.EvictionEntity, Confidence: forensics.Certain, ConfidenceWhy: "the kubelet says so in its log",
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
	f.Title = fmt.Sprintf("%s eviction manager frees nothing: %s did not go away in time", p.Model.KubeletName(), findings.Some(names))
	f.Detail = fmt.Sprintf("%s: %s. Its space is not freed, so that the next pod is evicted, and the next. See pod-terminating-stuck for what holds it.",
		findings.Capital(findings.Times(logview.Count(list))), cmp.Or(list[0].Reason, logs.Words(list[0].Kind)))
	return settle(p, logview.PressureInLog(p).Join(p, f), list)
}

// settle makes information of what was over when the log ended.
func settle(p *forensics.Pass, f forensics.Finding, list []logs.Event) forensics.Finding {
	if !logview.Current(p, logview.Last(list)) {
		f.Severity, f.Remedies = forensics.Info, nil
		f.Detail = findings.Sentences(f.Detail, fmt.Sprintf("It was said last at %s; the log goes on without it.", logview.Clock(logview.Last(list))))
	}
	return f
}

func evictionRemedies() []forensics.Remedy {
	return []forensics.Remedy{remedy.CountUsage(), {
		Action: remedy.ActionFree, Command: []string{"journalctl", "--vacuum-size=200M"},
		Why:    "what fills the disk is not what the kubelet may delete: journals, logs outside of pods, dumps, files of other programs",
		OnlyIf: "the journal of the time in question has been saved",
		Risk:   "the vacuum deletes old journal files for good",
	}}
}
