package checks

import (
	"cmp"
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// EvictionStuck finds evictions that do not help.
var EvictionStuck = forensics.Check{
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
	Needs:    needsLogs,
	Run: func(p *forensics.Pass) {
		sawKubeletLog(p)
		failed := events(p, logs.KindEvictionFailed, logs.KindEvictionCleanupTimeout)
		nobody := events(p, logs.KindEvictionCritical, logs.KindEvictionNone)
		if said(failed) > 0 {
			p.Report(evictionFailedFinding(p, failed))
		}
		if said(nobody) >= fewFailures {
			p.Report(evictionNobodyFinding(p, nobody))
		}
	},
}

func evictionNobodyFinding(p *forensics.Pass, list []logs.Event) forensics.Finding {
	var critical []string
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: evictionEntity, ConfidenceWhy: "the kubelet says so in its log",
		Since: firstSaid(list), Refs: quotesOf(list...), Remedies: evictionRemedies(),
	}
	for _, e := range list {
		if e.Kind == logs.KindEvictionCritical && e.PodName != "" {
			uid := uidOf(p, e.Subject)
			critical = append(critical, podLabel(p, e.PodName, uid))
			f.Pods = append(f.Pods, uids(uid)...)
		}
	}
	critical, f.Pods = union(nil, critical), union(nil, f.Pods)
	state := "cannot evict any pod"
	if len(critical) > 0 {
		state = "can evict nobody, the only pods left are critical: " + some(critical)
	}
	f.Title = fmt.Sprintf("%s eviction manager %s", p.Model.KubeletName(), state)
	f.Detail = fmt.Sprintf("It has tried %s, from %s to %s. The pressure stays until somebody frees space by hand; meanwhile every unused image is deleted, and new pods are refused.",
		times(said(list)), clock(firstSaid(list)), clock(lastSaid(list)))
	return settle(p, pressureInLog(p).join(p, f), list)
}

func evictionFailedFinding(p *forensics.Pass, list []logs.Event) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: evictionEntity, ConfidenceWhy: "the kubelet says so in its log",
		Since: firstSaid(list), Refs: quotesOf(list...), Remedies: evictionRemedies(),
	}
	var names []string
	for _, e := range list {
		uid := uidOf(p, e.Subject)
		names = append(names, podLabel(p, e.PodName, uid))
		f.Pods = append(f.Pods, uids(uid)...)
		if e.PodName != "" || uid != "" {
			f.Because = append(f.Because, podOrName(e.PodName, uid))
		}
	}
	names, f.Pods, f.Because = union(nil, names), union(nil, f.Pods), union(nil, f.Because)
	f.Title = fmt.Sprintf("%s eviction manager frees nothing: %s did not go away in time", p.Model.KubeletName(), some(names))
	f.Detail = fmt.Sprintf("%s: %s. Its space is not freed, so that the next pod is evicted, and the next. See pod-terminating-stuck for what holds it.",
		capital(times(said(list))), cmp.Or(list[0].Reason, logs.Words(list[0].Kind)))
	return settle(p, pressureInLog(p).join(p, f), list)
}

// settle makes information of what was over when the log ended.
func settle(p *forensics.Pass, f forensics.Finding, list []logs.Event) forensics.Finding {
	if !stands(p, lastSaid(list)) {
		f.Severity, f.Remedies = forensics.Info, nil
		f.Detail = sentences(f.Detail, fmt.Sprintf("It was said last at %s; the log goes on without it.", clock(lastSaid(list))))
	}
	return f
}

func evictionRemedies() []forensics.Remedy {
	return []forensics.Remedy{countUsage(), {
		Command:      "journalctl --vacuum-size=200M",
		Why:          "what fills the disk is not what the kubelet may delete: journals, logs outside of pods, dumps, files of other programs",
		Precondition: "the journal of the time in question has been saved",
		Risk:         "the vacuum deletes old journal files for good",
	}}
}
