package checks

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

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

var evictionEntity = forensics.Entity{Kind: forensics.KindSubsystem, ID: "eviction"}
