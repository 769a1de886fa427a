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

var evictionEntity = forensics.Entity{Kind: forensics.KindSubsystem, ID: "eviction"}

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

// pressure is what the kubelet's log tells of a resource that runs short.
type pressure struct {
	events    []logs.Event
	refs      []forensics.Ref // of the events
	times     string          // how often they were said
	resources []string
	since     *time.Time
	until     *time.Time
	// stands says that it was so when the log ended.
	stands bool
	// evicted are pods that were evicted, removed counts images, refused pods that were not admitted.
	evicted []string
	removed int64
	refused []string
}

// pressureInLog is the pressure that the log tells of, nil if none.
func pressureInLog(p *forensics.Pass) *pressure {
	return forensics.Once(p, "pressure in the log", func() *pressure { return findPressure(p) })
}

func findPressure(p *forensics.Pass) *pressure {
	var s pressure
	s.events = events(p, logs.KindEvictionReclaiming, logs.KindEvictionMustEvict)
	full := events(p, logs.KindDiskFull)
	s.events = append(s.events, full...)
	if len(s.events) == 0 {
		return nil
	}
	for _, e := range s.events {
		resource := e.Reason
		if e.Kind == logs.KindDiskFull {
			resource = "disk"
		}
		if resource != "" {
			s.resources = append(s.resources, resource)
		}
	}
	for _, e := range events(p, logs.KindEvictionEvicted) {
		s.evicted = append(s.evicted, podLabel(p, e.PodName, uidOf(p, e.Subject)))
	}
	for _, e := range events(p, logs.KindAdmissionRefused) {
		if strings.Contains(e.Reason, "Pressure") {
			s.refused = append(s.refused, podLabel(p, e.PodName, uidOf(p, e.Subject)))
		}
	}
	s.resources, s.evicted, s.refused = union(nil, s.resources), union(nil, s.evicted), union(nil, s.refused)
	s.removed = said(events(p, logs.KindImageRemoved))
	s.refs, s.times = quotesOf(s.events...), times(said(s.events))
	s.since, s.until = firstSaid(s.events), lastSaid(s.events)
	s.stands = stands(p, s.until)
	return &s
}

// disk says whether a disk is short, not memory or process ids.
func (s *pressure) disk() bool {
	return slices.ContainsFunc(s.resources, func(r string) bool {
		return r == "disk" || r == "ephemeral-storage" || strings.Contains(r, "inodes") || strings.Contains(r, "fs.")
	})
}

// short names the resources. A kubelet knows a dozen; who writes a log can make it thousands, once for each disk.
func (s *pressure) short() string {
	if len(s.resources) > 12 {
		return some(s.resources)
	}
	return strings.Join(s.resources, ", ")
}

// finding is disk pressure by the log alone, about the given entity; false where the log tells of none.
func (s *pressure) finding(p *forensics.Pass, subject forensics.Entity) (forensics.Finding, bool) {
	if s == nil || !s.disk() {
		return forensics.Finding{}, false
	}
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: subject, ConfidenceWhy: "the kubelet says so in its log",
		Title: fmt.Sprintf("%s has been short of %s since %s", p.Model.KubeletName(), s.short(), moment(s.since)),
	}
	if !s.stands {
		f.Severity = forensics.Info
		f.Title = fmt.Sprintf("%s was short of %s from %s to %s", p.Model.KubeletName(), s.short(), moment(s.since), clock(s.until))
	}
	return s.join(p, f), true
}

// join adds what the log tells to a finding about the same pressure.
func (s *pressure) join(p *forensics.Pass, f forensics.Finding) forensics.Finding {
	if s == nil {
		return f
	}
	if s.stands || f.Since == nil {
		f.Since = earliest(f.Since, s.since)
	}
	var parts []string
	if s.removed > 0 {
		parts = append(parts, "removed "+text.Plural(int(s.removed), "image"))
	}
	if len(s.evicted) > 0 {
		parts = append(parts, "evicted "+some(s.evicted))
	}
	if len(s.refused) > 0 {
		parts = append(parts, "refused "+some(s.refused))
	}
	text := fmt.Sprintf("By its log the kubelet has tried to reclaim %s %s, from %s to %s", s.short(), s.times, clock(s.since), clock(s.until))
	if len(parts) > 0 {
		text += ", and has " + strings.Join(parts, ", ")
	}
	f.Detail = sentences(f.Detail, text+".")
	if s.stands {
		f.Detail = sentences(f.Detail, asOf(p))
	}
	f.Refs = append(f.Refs, s.refs...)
	return f
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
