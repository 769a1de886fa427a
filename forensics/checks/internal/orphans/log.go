package orphans

import (
	"cmp"
	"fmt"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/shellword"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// LogComplaints is what the kubelet's log says of directories that it cannot remove.
type LogComplaints struct {
	events []logs.Event
	// total is how many pods the last round that was seen counted.
	total int64
	since *time.Time
	until *time.Time
	// firsts are the pods that rounds named first.
	firsts []string
	shown  map[string]bool
	byPod  map[string][]logs.Event
}

// InLog are the complaints that still were made in the sync loop's last rounds.
func InLog(p *forensics.Pass) *LogComplaints {
	t := LogComplaints{shown: map[string]bool{}, byPod: map[string][]logs.Event{}}
	for _, e := range logview.Events(p, logs.KindOrphan, logs.KindOrphanDetail, logs.KindOrphanRemoveFailed, logs.KindOrphanCleanupFailed) {
		last := logview.Last([]logs.Event{e})
		if !logview.Within(last, loopEnd(p), logview.EveryRound) {
			continue
		}
		t.events = append(t.events, e)
		if e.Kind == logs.KindOrphan {
			t.firsts = append(t.firsts, findings.UIDs(e.PodUID)...)
			if last != nil && (t.until == nil || !last.Before(*t.until)) {
				t.total, t.until = int64(e.Number), last
			}
		}
		t.since = logview.Earliest(t.since, e.First)
		t.byPod[e.PodUID] = append(t.byPod[e.PodUID], e)
	}
	t.firsts = findings.Union(nil, t.firsts)
	return &t
}

// loopEnd is the end of what housekeeping could say: the sync loop's last line where it stands still, else the end of
// the log.
func loopEnd(p *forensics.Pass) *time.Time {
	return forensics.Once(p, "the end of the sync loop", func() *time.Time {
		if silent, _, _ := logview.SyncLoop(p); silent != nil {
			return &silent.Since
		}
		return logview.KubeletEnd(p)
	})
}

// of are the complaints about one pod.
func (t *LogComplaints) of(uid string) []logs.Event {
	return t.byPod[uid]
}

// Done marks a pod as told, so that it is not told again.
func (t *LogComplaints) Done(uid string) { t.shown[uid] = true }

// Join adds what the log says of the pod of a finding.
func (t *LogComplaints) Join(f forensics.Finding) forensics.Finding {
	list := t.of(f.Subject.ID)
	if len(list) == 0 {
		return f
	}
	if f.Severity == forensics.Info {
		f.Severity = forensics.Warning // the kubelet has tried to remove it, and cannot
		f.Detail = ""
	}
	f.Since = logview.Earliest(f.Since, logview.First(list))
	f.Detail = findings.Sentences(f.Detail, orphanSaid(list))
	f.Refs = append(f.Refs, logview.EventRefs(list...)...)
	return f
}

// A left is an orphan with its finding.
type left struct {
	o Orphan
	f forensics.Finding
}

// Findings are those about directories of pods, before they are reported: a line of the kubelet names only one pod of many.
type Findings struct {
	log   *LogComplaints
	found []left
}

// Findings begins a list.
func (t *LogComplaints) Findings() *Findings { return &Findings{log: t} }

// Add adds a finding about an orphan, with what the log says of it.
func (l *Findings) Add(o Orphan, f forensics.Finding) {
	l.found = append(l.found, left{o, l.log.Join(f)})
}

// Report reports them, as one where the same is left, the kubelet does the same about it and says the same of it. What holds data, or
// may, stays apart. Of a pod that the log does not name, the log says what it says of all others with the same leftovers that it names.
func (l *Findings) Report(p *forensics.Pass, title func(n int, first Orphan) string) {
	causes := map[string]string{}
	for _, x := range l.found {
		kinds, cause := x.o.kinds(), l.log.causeOf(x.o.UID)
		switch known, again := causes[kinds]; {
		case cause == "" || again && known == cause:
		case again:
			causes[kinds] = "" // they differ
		default:
			causes[kinds] = cause
		}
	}
	for _, x := range l.found {
		if x.o.MayHoldData() {
			p.Report(x.f)
			continue
		}
		type key struct{ kinds, cause string }
		kinds := x.o.kinds()
		p.ReportAlike(key{kinds, cmp.Or(l.log.causeOf(x.o.UID), causes[kinds])}, func(n int) string { return title(n, x.o) }, x.f)
	}
}

// causeOf is what the log gives as the reason of a pod's directory, as far as it can be told apart; "" where it does not name the pod.
func (t *LogComplaints) causeOf(uid string) string {
	list := t.of(uid)
	if len(list) == 0 {
		return ""
	}
	return string(list[0].Kind) + " " + cmp.Or(string(list[0].Cause()), list[0].Code)
}

// Report tells of the pods that only the log knows.
func (t *LogComplaints) Report(p *forensics.Pass) {
	var named []string
	for _, e := range t.events {
		named = append(named, findings.UIDs(e.PodUID)...)
	}
	named = findings.Union(nil, named)
	for _, uid := range named {
		state, why := p.Model.PodState(uid)
		if t.shown[uid] || state == forensics.PodLive || len(p.Model.PodMounts(uid)) > 0 && state == forensics.PodOrphaned {
			continue
		}
		list := t.of(uid)
		f := forensics.Finding{
			Severity: forensics.Warning, Subject: findings.PodOrName("", uid), Pods: []string{uid}, Since: logview.First(list), Confidence: forensics.Likely,
			Title:         fmt.Sprintf("pod %s is gone, its directory cannot be removed: %s", findings.PodLabel(p, "", uid), orphanReason(list[0])),
			Detail:        findings.Sentences(orphanSaid(list), t.count(p), logview.AsOf(p)),
			ConfidenceWhy: "the kubelet says so in its log; on this node the pod is " + string(state) + " (" + why + ")",
			Refs:          logview.EventRefs(list...), Remedies: []forensics.Remedy{lookWithoutDir(p, uid)},
		}
		if e := list[0]; e.Path != "" {
			if mounts := p.Model.Host().At(e.Path); len(mounts) > 0 {
				f.Because = []forensics.Entity{forensics.MountEntity(mounts[len(mounts)-1].ID)}
			}
		}
		type key struct {
			cause, reason string
			state         forensics.PodState
		}
		reason := list[0].Reason
		if list[0].Path != "" {
			reason = "" // it names a directory
		}
		p.ReportAlike(key{t.causeOf(uid), reason, state}, func(n int) string {
			return fmt.Sprintf("%d pods are gone, their directories cannot be removed: %s", n, cmp.Or(reason, list[0].Code, logs.Words(list[0].Kind)))
		}, f)
	}
	if len(named) == 0 && len(t.events) > 0 {
		p.Report(forensics.Finding{
			Severity: forensics.Warning, Subject: stall.HousekeepingEntity, Since: t.since, Confidence: forensics.Likely,
			Title:         "directories of pods that are gone cannot be removed: " + orphanReason(t.events[0]),
			Detail:        findings.Sentences(orphanSaid(t.events), t.count(p), logview.AsOf(p)),
			ConfidenceWhy: "the kubelet says so in its log", Refs: logview.EventRefs(t.events...),
		})
	}
}

// count says how many pods there are, and whether the same one is always named.
func (t *LogComplaints) count(p *forensics.Pass) string {
	total, named, rotates := t.total, int64(len(t.firsts)), len(t.firsts) > 1
	if o := logview.Story(p).Orphans; o != nil {
		total, named, rotates = max(total, o.Last), max(named, o.Named), rotates && o.Rotates
	}
	switch {
	case total < 2 && !rotates:
		return ""
	case rotates:
		return fmt.Sprintf("It is one of %d; the one that is named first changes (%s so far), so that pods come and go.", max(total, 1), text.Plural(int(named), "pod"))
	}
	return fmt.Sprintf("It is one of %d; each round names the same one first, so it is stuck, and nothing is said of the others below -v 5.", total)
}

func orphanReason(e logs.Event) string {
	return cmp.Or(e.Reason, e.Code, logs.Words(e.Kind))
}

// orphanSaid says what was said, how often, and what it means.
func orphanSaid(list []logs.Event) string {
	e := list[0]
	return findings.Sentences(fmt.Sprintf("The kubelet's log says so %s, from %s to %s: %s.", findings.Times(logview.Count(list)), logview.Clock(logview.First(list)), logview.Clock(logview.Last(list)), orphanReason(e)),
		orphanMeaning(e))
}

// orphanMeaning says what the error inside an orphan's line means.
func orphanMeaning(e logs.Event) string {
	switch e.Cause() {
	case logs.CauseSubpathLeft:
		return "A subpath is left over, mounted or not; a kubelet up to 1.17 never removes it."
	case logs.CauseVolumeLeft:
		return "Directories of volumes are left that are not mounted; a kubelet up to 1.17 never removes them, and they can be removed with rmdir once no mount lies beneath."
	case logs.CauseMounted:
		return "Something is mounted there, in this mount namespace or in another one: look into /proc/*/mountinfo of all processes."
	case logs.CauseFileInVolumes:
		return "A file lies where only directories are expected, most often vol_data.json of a CSI volume whose mount directory is gone: it stays until that file is removed."
	case logs.CauseFileOfSubpath:
		return "The file that a subpath was bound to is left; kubelets up to 1.26 cannot remove it."
	case logs.CauseNotEmpty:
		return "There is data in it: written below the mount point while nothing was mounted, or left from an unmount that failed. Look at it before anything is removed: nobody else may have it."
	case logs.CauseServerNotThere:
		return "The file server or FUSE daemon behind a volume is gone: the mount answers with an error, and can be unmounted."
	}
	return ""
}

// lookWithoutDir is [LookFirst] for a directory that was not walked.
func lookWithoutDir(p *forensics.Pass, uid string) forensics.Remedy {
	root := "/var/lib/kubelet"
	if roots := p.Model.KubeletRoots(); len(roots) > 0 {
		root = roots[0]
	}
	return listFiles(forensics.Remedy{
		Action: remedy.ActionLook,
		Why:    "shows what is left. Empty directories can be removed with rmdir, from the innermost out; of files only vol_data.json",
		OnlyIf: "no mount at or below the directory in any mount namespace: grep " + shellword.Quote(uid) + " /proc/*/mountinfo prints nothing",
		Risk:   "the listing is harmless. rm -rf is not: a mount that is not seen, or a bind mount of the same file system, is emptied at its source",
	}, root+"/pods/"+uid)
}
