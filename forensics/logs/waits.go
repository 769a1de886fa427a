package logs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// unmountTakes is how long an unmount may run without a message before it counts as hung.
const unmountTakes = 2 * time.Minute

// list returns the deletions, unfinished ones first, the oldest of them first.
func (s *deletions) list(f *folder) []Deletion {
	all := sorting.Delete(slices.Clone(s.all), func(d *deletion) bool { return !d.shown() })
	for _, d := range all {
		d.finish(f)
	}
	sorting.Stable(all, func(a, b *deletion) int {
		return cmp.Or(boolOrder(a.Done, b.Done), boolOrder(a.weak(), b.weak()), cmp.Compare(a.order, b.order))
	})
	out := make([]Deletion, 0, min(len(all), maxDeletions))
	for _, d := range all[:min(len(all), maxDeletions)] {
		out = append(out, d.Deletion)
	}
	if lost := s.pruned + int64(len(all)-len(out)); lost > 0 {
		f.dropped[kindPodTeardown] += lost
	}
	return out
}

func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// weak deletions only seem stuck: no failure repeats, and the log would not show their end.
func (d *deletion) weak() bool { return !d.Proven && len(d.complaints) == 0 }

// finish completes the deletion: whether it has ended, what it waits for, what repeats.
func (d *deletion) finish(f *folder) {
	if d.Steps == nil {
		d.Steps = []Step{}
	}
	if !d.Done && d.gone && d.idle() && (stageRank(d.Stage) < stageRank(StageKilling) || d.unmounted > 0 && !d.workerShown(f)) {
		d.Done, d.Stage = true, StageRemoved // nothing was left to do for it, or all that began has ended well
	}
	if d.Stage == "" {
		d.Stage = StageRequested
	}
	d.Complaints, d.Inferred = []Quote{}, !d.ending
	if d.Done {
		return
	}
	if d.Stage == StageVolumes && d.unmounted > 0 && len(d.mounts) == 0 && len(d.complaints) == 0 && !d.volumesShown(f) {
		d.Stage = StageCgroup // all unmounts that began have ended well, and no line would tell more
	}
	if !d.since.IsZero() {
		t := d.since
		d.Since = &t
	}
	for _, c := range d.complaints {
		d.Complaints = append(d.Complaints, c.quote)
	}
	if d.life != f.deletions.life { // another kubelet runs now, and says nothing of it
		return
	}
	d.Proven = d.proven(f)
	d.Waits = d.waits(f)
}

// volumesShown says whether the kubelet's verbosity shows the end of the stage "volumes".
func (d *deletion) volumesShown(f *folder) bool {
	cur := f.lives.current()
	return cur != nil && cur.Verbosity >= 3
}

// workerShown says whether the kubelet's verbosity shows the last lines of a pod's worker.
func (d *deletion) workerShown(f *folder) bool {
	cur := f.lives.current()
	return cur != nil && cur.Verbosity >= 4
}

// proven says whether the next stage would have been seen: its lines are of a verbosity that this kubelet writes.
func (d *deletion) proven(f *folder) bool {
	cur := f.lives.current()
	if cur == nil {
		return false
	}
	if len(d.mounts) > 0 || d.complains(f.latest) {
		return true // the end of an unmount, and what repeats, are written at any verbosity
	}
	needs := map[Stage]int{
		StageRequested: 2, StageKilling: 2, StageContainers: 2, StageVolumes: 3, StageCgroup: 3, StageStatus: 3, StageAPI: 2,
	}
	return cur.Verbosity >= needs[d.Stage]
}

// complainedLately is how long a line may be ago that repeats: every back-off of the kubelet is shorter.
const complainedLately = 10 * time.Minute

// complains says whether a complaint still repeats at the end of the log.
func (d *deletion) complains(latest time.Time) bool {
	for _, c := range d.complaints {
		if distance(c.time, latest) <= complainedLately {
			return true
		}
	}
	return false
}

// waits is what the deletion waits for; "" where the log does not show it.
func (d *deletion) waits(f *folder) string {
	switch d.Stage {
	case StageRequested, StageKilling:
		return d.waitsForWorker(f)
	case StageContainers:
		return d.waitsForContainers(f)
	case StageVolumes:
		return d.waitsForVolumes(f)
	case StageCgroup:
		if c := d.complaint(StageCgroup); c != nil {
			return "the removal of the pod's cgroup: " + c.cause()
		}
		if d.Proven {
			return "the removal of the pod's cgroup (no message about it)"
		}
	case StageStatus:
		if c := d.complaint(StageStatus); c != nil && c.kind != KindPodDeleteDelayed {
			return "the API server to accept the last status: " + c.cause()
		}
		if d.Proven {
			return "the status manager to write the last status"
		}
	case StageAPI:
		if c := d.complaint(StageAPI); c != nil {
			return "the API server to delete the pod: " + c.cause()
		}
		if d.Proven {
			return "the API server: the kubelet has finished; finalizers or a broken watch keep the object"
		}
	}
	return ""
}

func (d *deletion) waitsForWorker(f *folder) string {
	l := f.loop.result()
	skipped, skips := l.LastSeen["skipped"]
	_, silent := l.Silence()
	switch {
	case skips && l.Last != nil && skipped.Equal(*l.Last):
		return "the sync loop: it skips all pods: " + f.skipReason()
	case silent:
		return "the sync loop: no message since " + clockTime(*l.Last)
	case d.cancelled:
		return "the pod worker: the previous sync was cancelled and has not ended"
	case d.Proven:
		return "the pod worker to stop the containers: a previous sync may still run"
	}
	return ""
}

// skipReason is the cause in the last line about skipping.
func (f *folder) skipReason() string {
	var last *event
	for _, ev := range f.order {
		if ev.Kind != KindSyncLoopSkipped && ev.Kind != KindPLEGUnhealthy {
			continue
		}
		if last == nil || compareTimes(last.Last, ev.Last) <= 0 {
			last = ev
		}
	}
	if last == nil {
		return "not known"
	}
	return last.Reason
}

func (d *deletion) waitsForContainers(f *folder) string {
	if c := d.complaint(StageContainers); c != nil {
		switch c.kind {
		case KindCNIDeleteFailed:
			return "the network plugin to tear down the sandbox network: " + c.cause()
		case kindPodContainersLeft:
			return "its containers: " + c.cause()
		}
		return "the runtime to stop a container or sandbox: " + c.cause()
	}
	if d.GraceSeconds != nil && !d.since.IsZero() {
		grace := time.Duration(*d.GraceSeconds) * time.Second
		if end := d.since.Add(grace); f.latest.Before(end) {
			return fmt.Sprintf("its containers to stop until %s (grace period %d s)", clockTime(end), *d.GraceSeconds)
		}
	}
	switch {
	case !d.Proven:
	case d.killed > 0 && len(d.kills) == 0:
		return "its sandbox, or a container without messages: all killed containers have stopped"
	default:
		return "its containers to stop"
	}
	return ""
}

func (d *deletion) waitsForVolumes(f *folder) string {
	for _, op := range f.operations.unmounts(d.PodUID) {
		switch {
		case op.Failures > 0:
			return fmt.Sprintf("the unmount of volume %s (failed %d times, next retry after %s): %s",
				cmp.Or(op.Volume, op.UniqueName), op.Failures, text.Duration(op.RetrySeconds), causeOf(op.Code, op.Reason))
		case !op.started.IsZero() && f.latest.Sub(op.started) > unmountTakes:
			return fmt.Sprintf("the unmount of volume %s (started at %s, has not returned): the operation hangs",
				cmp.Or(op.Volume, op.UniqueName), clockTime(op.started))
		case op.running:
			return "the unmount of volume " + cmp.Or(op.Volume, op.UniqueName) + " (started)"
		}
	}
	for _, c := range d.complaints {
		switch c.kind {
		case KindPodVolumesLeft, kindOrphanMounted:
			return "volume directories that are still on disk (no unmount in progress)"
		case KindPodVolumesWaiting:
			return "the unmount of volumes (" + c.volume + "), not started: the kubelet is not certain that they are mounted, " +
				"or waits for the API server after its start"
		case KindUnmountBusy, KindUnmountFailed, KindCSIDriverMissing, KindCSIAborted, KindCSIDeadline, KindCSIUnavailable,
			KindCSIFailed, KindCSIVolDataMissing:
			return "the unmount of volume " + cmp.Or(c.volume, "(unnamed)") + ": " + c.cause()
		}
	}
	if d.Proven {
		return "the unmount of its volumes, not started"
	}
	return ""
}

// complaint is the latest complaint of a stage.
func (d *deletion) complaint(stage Stage) *complaint {
	var last *complaint
	for i := range d.complaints {
		if c := &d.complaints[i]; c.stage == stage && (last == nil || !c.time.Before(last.time)) {
			last = c
		}
	}
	return last
}

func (c *complaint) cause() string { return causeOf(c.code, c.reason) }

// causeOf joins the name of an error with its message.
func causeOf(code, reason string) string {
	reason = cut(reason, 160)
	switch {
	case reason == "":
		return cmp.Or(code, "no cause given")
	case code == "" || strings.Contains(reason, code):
		return reason
	}
	return code + " (" + reason + ")"
}

func clockTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
