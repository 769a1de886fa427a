package logs

import (
	"slices"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// minGap is the shortest gap of the sync loop that is reported.
const minGap = time.Minute

// loopNames are the kinds that the goroutine of the sync loop writes itself, as Loop.LastSeen names them. Housekeeping
// runs in it too: the lines about orphans are a sign of life at any verbosity.
var loopNames = map[Kind]string{
	kindSyncLoopAdd: "ADD", kindSyncLoopUpdate: "UPDATE", kindSyncLoopDelete: "DELETE", kindSyncLoopRemove: "REMOVE",
	kindSyncLoopReconcile: "RECONCILE", kindSyncLoopRestore: "RESTORE", kindSyncLoopPLEG: "PLEG",
	kindSyncLoopSync: "SYNC", kindSyncLoopProbe: "probe", kindSyncLoopHousekeeping: "housekeeping",
	kindSyncLoopHousekeepingEnd: "housekeeping end", kindSyncLoopNotReady: "sources not ready",
	kindSyncLoopStarted: "started", KindSyncLoopSkipped: "skipped", KindPLEGUnhealthy: "skipped",
	noiseStartPLEG: "skipped", kindHousekeepingLong: "housekeeping took long", KindOrphan: "orphans",
	kindOrphanVolumeRemoved: "orphans", kindOrphanDirRemoved: "orphans", KindOrphanRemoveFailed: "orphans",
	kindOrphanMounted: "orphans",
}

// loop follows the sync loop of the present life.
type loop struct {
	Loop
	last         time.Time
	others       time.Time
	housekeeping cadence
}

func newLoop() loop { return loop{Loop: Loop{LastSeen: map[string]time.Time{}}} }

func (l *loop) add(file string, o occurrence) {
	name, ok := loopNames[o.Kind]
	if !ok || o.Kind == KindPLEGUnhealthy && !isSkip(o.Entry.Message) {
		l.other(o.Time)
		return
	}
	q := quote(file, o.Entry)
	l.Quote = &q
	l.OthersCount = 0
	if o.Time.IsZero() {
		return
	}
	if !l.last.IsZero() {
		l.gap(o.Time)
	}
	l.last = o.Time
	l.LastSeen[name] = o.Time
	if o.Kind == kindSyncLoopHousekeeping {
		l.housekeeping.add(o.Time)
	}
}

// isSkip distinguishes the loop's own message about an unhealthy PLEG from those of others.
func isSkip(message string) bool {
	return len(message) > 7 && message[1:8] == "kipping"
}

// other notes a line of another part of the kubelet.
func (l *loop) other(t time.Time) {
	l.OthersCount++
	if t.After(l.others) {
		l.others = t
	}
}

func (l *loop) gap(until time.Time) {
	silence := until.Sub(l.last)
	if silence <= minGap {
		return
	}
	l.Gaps = append(l.Gaps, Gap{From: l.last, Seconds: silence.Seconds()})
	sorting.Stable(l.Gaps, func(a, b Gap) int { return int(b.Seconds - a.Seconds) })
	if len(l.Gaps) > maxGaps {
		l.Gaps = l.Gaps[:maxGaps]
	}
}

func (l *loop) result() *Loop {
	out := l.Loop
	if out.Gaps == nil {
		out.Gaps = []Gap{}
	}
	if !l.last.IsZero() {
		t := l.last
		out.Last = &t
	}
	if !l.others.IsZero() {
		t := l.others
		out.OthersLast = &t
	}
	out.Cadence = l.housekeeping.usual()
	return &out
}

// cadence keeps the last distances of a repeating line.
type cadence struct {
	last      time.Time
	distances [32]float64
	n         int
}

func (c *cadence) add(t time.Time) {
	if d := t.Sub(c.last).Seconds(); !c.last.IsZero() && d > 0 {
		c.distances[c.n%len(c.distances)] = d
		c.n++
	}
	c.last = t
}

// usual is the median, in seconds; 0 where too few are known.
func (c *cadence) usual() float64 {
	n := min(c.n, len(c.distances))
	if n < 3 {
		return 0
	}
	sorted := slices.Clone(c.distances[:n])
	slices.Sort(sorted)
	return sorted[n/2]
}

// Silence is for how long, in seconds, other parts of the kubelet wrote messages after the last message of the sync loop; 0 where none
// did. It is proven only if the verbosity shows the loop: if housekeeping messages came before (-v 4), and the silence is longer than a
// minute and many times their interval. Without that, an idle loop is as silent as a hung one, and the log proves nothing.
func (l *Loop) Silence() (seconds float64, proven bool) {
	if l.Last == nil || l.OthersLast == nil || l.OthersCount == 0 {
		return 0, false
	}
	seconds = max(0, l.OthersLast.Sub(*l.Last).Seconds())
	return seconds, l.Cadence > 0 && seconds >= minGap.Seconds() && seconds >= 10*l.Cadence
}
