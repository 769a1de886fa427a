package checks

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

var needsLogs = []forensics.Need{{forensics.SourceLogs}}

const (
	// endOfLog is how close to the end of a log something must have been said to stand there: the kubelet repeats
	// what it cannot do at least every 2 min 2 s.
	endOfLog = 150 * time.Second
	// everyRound is the same for what is said with each round of a loop: every second, every 2 seconds, and skipping at
	// least every 5.
	everyRound = 30 * time.Second
	// freshLog is how close the end of a log must be to the examination to speak of the same moment.
	freshLog = 5 * time.Minute
)

// story is what the logs told, an empty one where none was read.
func story(p *forensics.Pass) *logs.Story {
	if p.Evidence.Logs == nil {
		return &logs.Story{}
	}
	return p.Evidence.Logs
}

// sawKubeletLog says whether the log of a kubelet was among those that were read; if not, the pass is told.
func sawKubeletLog(p *forensics.Pass) bool {
	s := story(p)
	if s.Loop != nil || len(s.Lives) > 0 {
		return true
	}
	p.Unjudged("no log of a kubelet was read")
	return false
}

// orKubeletLog tells the pass where neither a source nor the kubelet's log was read, of which one is enough.
func orKubeletLog(p *forensics.Pass, source string) {
	if ok, _ := p.Evidence.Saw(source); !ok {
		sawKubeletLog(p)
	}
}

// events lists those of some kinds, in the order of their first.
func events(p *forensics.Pass, kinds ...logs.Kind) []logs.Event {
	var found []logs.Event
	for _, e := range story(p).Events {
		if slices.Contains(kinds, e.Kind) {
			found = append(found, e)
		}
	}
	return found
}

// said counts the messages of a list.
func said(list []logs.Event) (n int64) {
	for _, e := range list {
		n += e.Count
	}
	return n
}

func firstSaid(list []logs.Event) *time.Time {
	var t *time.Time
	for _, e := range list {
		t = earliest(t, e.First)
	}
	return t
}

func lastSaid(list []logs.Event) *time.Time {
	var t *time.Time
	for _, e := range list {
		t = latest(t, cmp.Or(e.Last, e.First))
	}
	return t
}

func earliest(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.Before(*a) {
		return b
	}
	return a
}

func latest(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.After(*a) {
		return b
	}
	return a
}

// between is the time from a to b in seconds; 0 where one is unknown.
func between(a, b *time.Time) float64 {
	if a == nil || b == nil {
		return 0
	}
	return b.Sub(*a).Seconds()
}

// kubeletEnd is the time of the last line of a kubelet, or of any log where that is unknown.
func kubeletEnd(p *forensics.Pass) *time.Time {
	s := story(p)
	var end *time.Time
	if s.Loop != nil {
		end = latest(s.Loop.Last, s.Loop.OthersLast)
	}
	for _, l := range s.Lives {
		end = latest(end, l.Last)
	}
	if end == nil {
		return s.Last
	}
	return end
}

// stands says whether something that was said last at that time still was so when the kubelet's log ended.
func stands(p *forensics.Pass, last *time.Time) bool {
	return soonBefore(last, kubeletEnd(p), endOfLog)
}

// soonBefore says whether end is not more than d after t.
func soonBefore(t, end *time.Time, d time.Duration) bool {
	return t != nil && end != nil && end.Sub(*t) <= d
}

// fresh says whether the kubelet's log reaches the examination.
func fresh(p *forensics.Pass) bool {
	end := kubeletEnd(p)
	return end != nil && !p.Evidence.Collected.IsZero() && p.Evidence.Collected.Sub(*end) <= freshLog
}

// stale says whether the log ended well before the examination: what stood then may be over.
func stale(p *forensics.Pass) bool { return !p.Evidence.Collected.IsZero() && !fresh(p) }

// asOf says for which moment a finding holds, where the log does not reach the examination.
func asOf(p *forensics.Pass) string {
	end := kubeletEnd(p)
	if end == nil || fresh(p) {
		return ""
	}
	s := "This is as of " + moment(end) + ", where the log ends"
	if gap := between(end, &p.Evidence.Collected); !p.Evidence.Collected.IsZero() && gap > 0 {
		s += ", " + forensics.Duration(gap) + " before the examination"
	}
	return s + ": it may have ended since."
}

// moment spells a time of a log.
func moment(t *time.Time) string {
	if t == nil {
		return "an unknown time"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// clock is the time of day with the fraction that klog prints.
func clock(t *time.Time) string {
	if t == nil {
		return "an unknown time"
	}
	return t.UTC().Format("15:04:05.000")
}

// quotes are lines as references, each once, and not more than a person reads.
func quotes(lines ...logs.Quote) []forensics.Ref {
	const most = 8
	var refs []forensics.Ref
	for _, q := range lines {
		r := forensics.LogRef(q)
		if q.Text != "" && len(refs) < most && !slices.Contains(refs, r) {
			refs = append(refs, r)
		}
	}
	return refs
}

// quotesOf are the lines of events, the first and the last of each.
func quotesOf(list ...logs.Event) []forensics.Ref {
	var lines []logs.Quote
	for _, e := range list {
		lines = append(lines, e.Quotes...)
	}
	return quotes(lines...)
}

// times spells a count of messages.
func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return forensics.Plural(int(n), "time")
}

// uidOf is the pod's UID, by its name where the line has none; "" if that is not known, or not unique.
func uidOf(p *forensics.Pass, s logs.Subject) string {
	if s.PodUID != "" || s.PodName == "" {
		return s.PodUID
	}
	found := ""
	for _, pod := range p.Evidence.Pods {
		if pod.Namespace+"/"+pod.Name != s.PodName || pod.UID == found {
			continue
		}
		if found != "" {
			return ""
		}
		found = pod.UID
	}
	if found != "" {
		return found
	}
	for _, d := range story(p).Deletions {
		if d.PodName == s.PodName && d.PodUID != "" && d.PodUID != found {
			if found != "" {
				return ""
			}
			found = d.PodUID
		}
	}
	return found
}

// podLabel names a pod by what is known: its name, its UID.
func podLabel(p *forensics.Pass, name, uid string) string {
	if uid != "" {
		if pod := p.Model.Pod(uid); pod.Name != "" {
			return pod.String()
		}
	}
	switch {
	case name != "" && uid != "":
		return name + " (" + uid + ")"
	case name != "":
		return name
	}
	return uid
}

func podEntity(uid string) forensics.Entity {
	return forensics.Entity{Kind: forensics.KindPod, ID: uid}
}

// podOrName is the pod as an entity; by its name where its UID is not known.
func podOrName(name, uid string) forensics.Entity {
	return forensics.Entity{Kind: forensics.KindPod, ID: cmp.Or(uid, name)}
}

func uids(uid string) []string {
	if uid == "" {
		return nil
	}
	return []string{uid}
}

// volumeMounts are the mounts of one volume of a pod, its subpaths included, told by the volume's name.
func volumeMounts(p *forensics.Pass, uid, volume string) []forensics.Entity {
	var found []forensics.Entity
	if uid == "" || volume == "" {
		return nil
	}
	for _, m := range podMounts(p, uid) {
		if _, v := p.Model.PodOf(m.MountPoint); v != "" && strings.HasSuffix(v, "/"+volume) {
			found = append(found, forensics.MountEntity(m.ID))
		}
	}
	return found
}

// withReason adds a reason to those that are there.
func withReason(why, more string) string {
	switch {
	case why == "":
		return more
	case strings.Contains(why, more):
		return why
	}
	return why + "; " + more
}
