package checks

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

const (
	// silentAfter is the silence of the sync loop from which it stands still, silentCritical the one from which that is
	// critical. Housekeeping alone makes it speak every 2 seconds at -v 4.
	silentAfter    = 60 * time.Second
	silentCritical = 2 * time.Minute
	// othersAfter is how many lines other parts must have written meanwhile: a log that was cut is no silence.
	othersAfter = 3
)

// silence is a sync loop that has said nothing while other parts of the kubelet went on.
type silence struct {
	loop  *logs.Loop
	since time.Time
	// seconds is how long the log shows the silence.
	seconds float64
	// last is the kind of the loop's last line.
	last string
}

// skipping is a sync loop that says that it skips.
type skipping struct {
	events []logs.Event
	reason string
	since  *time.Time
	// seconds is how long the log shows that it skips.
	seconds float64
	// pleg says that an unhealthy PLEG is among the reasons, runtime that a runtime that is down is.
	pleg, runtime bool
}

// loopInLog judges the kubelet's log: a silent loop, one that skips, or why neither can be told.
func loopInLog(p *forensics.Pass) (*silence, *skipping, string) {
	s := story(p)
	if s.Loop == nil {
		return nil, nil, ""
	}
	if kubeletEnded(p, s) {
		return nil, nil, "the kubelet's log ends with the end of the kubelet"
	}
	if skips := loopSkips(p); skips != nil {
		return nil, skips, ""
	}
	l := s.Loop
	switch {
	case l.Last == nil || l.Cadence == 0 || l.LastSeen["housekeeping"].IsZero(): // lines about orphans may end for good
		verbosity := ""
		if n := len(s.Lives); n > 0 {
			verbosity = fmt.Sprintf(" (-v %d is proven)", s.Lives[n-1].Verbosity)
		}
		return nil, nil, "the log alone proves nothing about a hang of the sync loop: at its verbosity" + verbosity +
			" the kubelet prints no housekeeping lines, and a loop without work is as silent as one that hangs"
	case l.OthersLast == nil || l.OthersCount < othersAfter:
		return nil, nil, ""
	}
	quiet := l.OthersLast.Sub(*l.Last)
	if quiet < silentAfter || quiet.Seconds() < 10*l.Cadence {
		return nil, nil, ""
	}
	return &silence{l, *l.Last, quiet.Seconds(), lastLoopLine(l)}, nil, ""
}

// kubeletEnded says whether the log's last kubelet is known to have ended. One whose process is there has not, whatever it
// wrote: it recovers from some panics.
func kubeletEnded(p *forensics.Pass, s *logs.Story) bool {
	if len(s.Lives) == 0 {
		return false
	}
	last := s.Lives[len(s.Lives)-1]
	if k := p.Evidence.Kubelet; k != nil && k.PID > 1 && k.PID == last.PID {
		if _, runs := p.Model.Process(k.PID); runs {
			return false
		}
	}
	return last.End != "running" && last.End != ""
}

// lastLoopLine is the kind of the line that the loop said last.
func lastLoopLine(l *logs.Loop) string {
	for _, kind := range slices.Sorted(maps.Keys(l.LastSeen)) {
		if l.Last != nil && l.LastSeen[kind].Equal(*l.Last) {
			return kind
		}
	}
	return ""
}

// loopSkips finds a loop that has skipped for a minute or more and still did when the log ended. A kubelet that starts
// skips for some seconds.
func loopSkips(p *forensics.Pass) *skipping {
	var list []logs.Event
	for _, e := range events(p, logs.KindSyncLoopSkipped, logs.KindPLEGUnhealthy) {
		if last := lastSaid([]logs.Event{e}); soonBefore(last, kubeletEnd(p), endOfLog) && afterStart(p, last) {
			list = append(list, e)
		}
	}
	if !soonBefore(lastSaid(list), kubeletEnd(p), everyRound) {
		return nil
	}
	s := skipping{events: list, since: firstSaid(list), reason: list[len(list)-1].Reason}
	if s.seconds = between(s.since, lastSaid(list)); s.seconds < silentAfter.Seconds() {
		return nil
	}
	for _, e := range list {
		s.pleg = s.pleg || e.Kind == logs.KindPLEGUnhealthy
		s.runtime = s.runtime || strings.Contains(e.Reason, "runtime is down")
	}
	return &s
}

// afterStart says whether a time is more than a minute after the last start of the kubelet, as far as that is known.
func afterStart(p *forensics.Pass, t *time.Time) bool {
	lives := story(p).Lives
	if t == nil || len(lives) == 0 || lives[len(lives)-1].Started == nil {
		return true
	}
	return t.Sub(*lives[len(lives)-1].Started) > time.Minute
}

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
