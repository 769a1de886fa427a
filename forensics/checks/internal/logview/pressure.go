package logview

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// pressure is what the kubelet's log says about a resource under pressure.
type pressure struct {
	events    []logs.Event
	refs      []forensics.Ref // of the events
	times     string          // how often they were written
	resources []string
	since     *time.Time
	until     *time.Time
	// current says that it was so when the log ended.
	current bool
	// evicted are pods that were evicted, removed counts images, refused pods that were not admitted.
	evicted []string
	removed int64
	refused []string
}

// PressureInLog is the pressure that the log shows, nil if none.
func PressureInLog(p *forensics.Pass) *pressure {
	return forensics.Once(p, "pressure in the log", func() *pressure { return findPressure(p) })
}

func findPressure(p *forensics.Pass) *pressure {
	var s pressure
	s.events = Events(p, logs.KindEvictionReclaiming, logs.KindEvictionMustEvict)
	full := Events(p, logs.KindDiskFull)
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
	for _, e := range Events(p, logs.KindEvictionEvicted) {
		s.evicted = append(s.evicted, findings.PodLabel(p, e.PodName, UIDOf(p, e.Subject)))
	}
	refused := sorting.Delete(Events(p, logs.KindAdmissionRefused), func(e logs.Event) bool { return e.Cause() != logs.CausePressure })
	for _, e := range refused {
		s.refused = append(s.refused, findings.PodLabel(p, e.PodName, UIDOf(p, e.Subject)))
	}
	s.resources, s.evicted, s.refused = findings.Union(nil, s.resources), findings.Union(nil, s.evicted), findings.Union(nil, s.refused)
	s.removed = Count(Events(p, logs.KindImageRemoved))
	s.refs, s.times = EventRefs(s.events...), findings.Times(Count(s.events))
	same := sorting.Delete(refused, func(e logs.Event) bool { return strings.Contains(e.Reason, "Disk") != s.Disk() })
	s.since, s.until = First(s.events), Latest(Last(s.events), Last(same)) // a pod is refused while the node has the condition
	s.current = Current(p, s.until)
	last := Last(sorting.Delete(slices.Clone(s.events), func(e logs.Event) bool { return e.Code != "condition" }))
	if end := Story(p).Last; last != nil && !relievedSince(p, last) && end.Sub(*last) >= longPressure {
		s.current, s.until = true, end // the kubelet says when a condition ends
	}
	return &s
}

// Disk says whether the pressure is on a disk, not on memory or process ids.
func (s *pressure) Disk() bool {
	return slices.ContainsFunc(s.resources, func(r string) bool {
		return r == "disk" || r == "ephemeral-storage" || strings.Contains(r, "inodes") || strings.Contains(r, "fs.")
	})
}

// OnlyPIDs says whether the pressure is on process ids, and on nothing else.
func (s *pressure) OnlyPIDs() bool {
	return s != nil && len(s.resources) == 1 && s.resources[0] == "pids"
}

// Reclaims says whether the kubelet itself says that it needs space on a disk.
func Reclaims(p *forensics.Pass) bool {
	return slices.ContainsFunc(Events(p, logs.KindEvictionReclaiming, logs.KindEvictionMustEvict), func(e logs.Event) bool {
		return (&pressure{resources: []string{e.Reason}}).Disk()
	})
}

// longPressure is longer than what reclaiming or one eviction needs to end a pressure.
const longPressure = 5 * time.Minute

// Lasting says whether the pressure was there for minutes, or cost more than one pod, or is at the end of a few lines, and was there when the log ended; since when, and of
// which resources.
func (s *pressure) Lasting(p *forensics.Pass) (since *time.Time, resources string, ok bool) {
	if s == nil || s.since == nil || !s.current {
		return nil, "", false
	}
	if s.until.Sub(*s.since) < longPressure && len(s.evicted) < 2 && !s.last(p) {
		return nil, "", false
	}
	if relievedSince(p, s.until) {
		return nil, "", false
	}
	return s.since, s.short(), true
}

// last says whether the pressure is what a few lines end with: of the node's condition, or of a kubelet that begins to evict.
func (s *pressure) last(p *forensics.Pass) bool {
	return Picked(p, s.until) && slices.ContainsFunc(s.events, func(e logs.Event) bool { return e.Kind == logs.KindEvictionMustEvict || e.Code == "condition" })
}

func relievedSince(p *forensics.Pass, t *time.Time) bool {
	relieved := Last(Events(p, "eviction-relieved"))
	return relieved != nil && !relieved.Before(*t)
}

// short names the resources. A kubelet knows a dozen; a forged log can name thousands.
func (s *pressure) short() string {
	if len(s.resources) > 12 {
		return findings.Some(s.resources)
	}
	return strings.Join(s.resources, ", ")
}

// Join adds what the log says to a finding about the same pressure.
func (s *pressure) Join(p *forensics.Pass, f forensics.Finding) forensics.Finding {
	if s == nil {
		return f
	}
	if s.current || f.Since == nil {
		f.Since = Earliest(f.Since, s.since)
	}
	var parts []string
	if s.removed > 0 {
		parts = append(parts, "removed "+text.Plural(int(s.removed), "image"))
	}
	if len(s.evicted) > 0 {
		parts = append(parts, "evicted "+findings.Some(s.evicted))
	}
	if len(s.refused) > 0 {
		parts = append(parts, "refused "+findings.Some(s.refused))
	}
	f.Detail = findings.Sentences(f.Detail, fmt.Sprintf("According to its log, the kubelet tried to reclaim %s %s, %s.", s.short(), s.times, Span(s.since, s.until)))
	if len(parts) > 0 {
		f.Detail += " It " + strings.Join(parts, ", ") + "."
	}
	if s.current {
		f.Detail = findings.Sentences(f.Detail, AsOf(p))
	}
	f.Refs = append(f.Refs, s.refs...)
	return f
}

// EvictionEntity is the kubelet's eviction manager.
var EvictionEntity = forensics.Entity{Kind: forensics.KindSubsystem, ID: "eviction"}
