package orphans

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// LogComplaints is what the kubelet's log says about directories that it cannot remove.
type LogComplaints struct {
	events []logs.Event
	// total is how many pods the last round counted.
	total int64
	since *time.Time
	until *time.Time
	// firsts are the pods that rounds name first.
	firsts []string
	shown  map[string]bool
	byPod  map[string][]logs.Event
	// mounts are those of each pod, below whatever directory the kubelet has.
	mounts map[string][]mounts.Mount
}

// InLog are the complaints of the sync loop's last rounds.
func InLog(p *forensics.Pass) *LogComplaints {
	t := LogComplaints{shown: map[string]bool{}, byPod: map[string][]logs.Event{}, mounts: map[string][]mounts.Mount{}}
	for _, e := range logview.Events(p, logs.KindOrphan, logs.KindOrphanDetail, logs.KindOrphanRemoveFailed, logs.KindOrphanCleanupFailed) {
		last := logview.Last([]logs.Event{e})
		if !logview.Within(last, loopEnd(p), logview.EveryRound) || cleaned(p, e) {
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
	if len(t.events) > 0 {
		for _, m := range p.Evidence.Mounts.Mounts {
			if uid, _ := forensics.PodOf(m.MountPoint); uid != "" {
				t.mounts[uid] = append(t.mounts[uid], m)
			}
		}
	}
	return &t
}

// cleaned says that a later line reports the pod of a complaint as cleaned up, and that the complaint counted no other pod.
func cleaned(p *forensics.Pass, e logs.Event) bool {
	last := logview.Last([]logs.Event{e})
	return last != nil && e.Number <= 1 && slices.ContainsFunc(logview.Events(p, "orphan-dir-removed"), func(done logs.Event) bool {
		at := logview.Last([]logs.Event{done})
		return done.PodUID == e.PodUID && at != nil && at.After(*last)
	})
}

// loopEnd is when housekeeping could last write: at the sync loop's last line where that is stalled, else at the end of the log.
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

// Done marks a pod as reported, so that it is not reported again.
func (t *LogComplaints) Done(uid string) { t.shown[uid] = true }

// Join adds what the log says about the pod of a finding.
func (t *LogComplaints) Join(f forensics.Finding) forensics.Finding {
	list := t.of(f.Subject.ID)
	if len(list) == 0 {
		return f
	}
	if f.Severity == forensics.Info {
		f.Severity = forensics.Warning // the kubelet has tried to remove it, and cannot
		f.Title, f.Detail = logHeadline(1, list[0]), ""
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

// Findings are those about pod directories, before they are reported: a message of the kubelet names only one pod of many.
type Findings struct {
	log   *LogComplaints
	found []left
}

// Findings begins a list.
func (t *LogComplaints) Findings() *Findings { return &Findings{log: t} }

// Add adds a finding about an orphan, with what the log says about it.
func (l *Findings) Add(o Orphan, f forensics.Finding) {
	l.found = append(l.found, left{o, l.log.Join(f)})
}

// Report reports them. Directories with the same leftovers, about which the kubelet does and says the same, are one finding. Directories
// that contain data, or may, are findings of their own. For a pod that the log does not name, the message about pods with the same
// leftovers counts, if there is one only.
func (l *Findings) Report(p *forensics.Pass) {
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
		p.ReportAlike(key{kinds, cmp.Or(l.log.causeOf(x.o.UID), causes[kinds])}, func(n int) string {
			if list := l.log.of(x.o.UID); len(list) > 0 && x.o.Heals() {
				return logHeadline(n, list[0])
			}
			return Headline(p, n, x.o)
		}, x.f)
	}
}

// causeOf is the reason that the log gives for a pod's directory; "" where it does not name the pod.
func (t *LogComplaints) causeOf(uid string) string {
	list := t.of(uid)
	if len(list) == 0 {
		return ""
	}
	return string(list[0].Kind) + " " + cmp.Or(string(list[0].Cause()), list[0].Code)
}

// mounted says whether the kubelet could not remove a directory of a pod since something is mounted there, or the mount table shows a mount.
func (t *LogComplaints) mounted(uid string) bool {
	list := t.of(uid)
	return len(list) > 0 && (list[0].Cause() == logs.CauseMounted || len(t.mounts[uid]) > 0)
}

// ReportMounted reports the pods that only the log names, and of which something is still mounted.
func (t *LogComplaints) ReportMounted(p *forensics.Pass) {
	t.report(p, t.mounted)
	few := int64(logview.FewFailures)
	if logview.Written(p) {
		few = 0 // where a mount is shown, one is enough
	}
	spec := incident.Spec{Few: few, Window: 10 * time.Minute, Subject: func(e logs.Event) forensics.Entity { return incident.PodOf(p, e) }, Ended: func(pod forensics.Entity) *time.Time {
		done := sorting.Delete(logview.Events(p, "orphan-dir-removed", "orphan-removing"), func(e logs.Event) bool { return incident.PodOf(p, e) != pod })
		return logview.Last(done)
	}}
	for _, i := range spec.Find(p, logview.Events(p, "orphan-mounted")) {
		if state, _ := p.Model.PodState(i.Subject.ID); t.shown[i.Subject.ID] || state == forensics.PodLive || logview.Between(i.First, i.Last) < 60 && !mountShown(p, i.Subject.ID) {
			continue
		}
		if i.Said = true; !mountShown(p, i.Subject.ID) {
			i.Expect(p, logview.FewFailures)
		}
		f := i.Finding(p, "Orphaned pod directory still has mounted volumes", "Orphaned pod directory had mounted volumes")
		f.Detail = findings.Sentences(f.Detail, "The kubelet neither unmounts them nor removes the directory.")
		p.ReportAlike("mounted", func(n int) string {
			return findings.Plural(n, "orphaned pod directory") + " still have mounted volumes"
		}, f)
	}
}

// mountShown says whether somebody shows a mount of a pod below what the kubelet says of it.
func mountShown(p *forensics.Pass, uid string) bool {
	return logview.Written(p) && slices.ContainsFunc(p.Evidence.Mounts.Mounts, func(m mounts.Mount) bool {
		pod, _ := forensics.PodOf(m.MountPoint)
		return pod == uid
	})
}

// ReportFiles reports the pods that only the log names, and among whose volumes is a file in place of a directory.
func (t *LogComplaints) ReportFiles(p *forensics.Pass) { t.report(p, t.hasFile) }

func (t *LogComplaints) hasFile(uid string) bool {
	list := t.of(uid)
	return !t.mounted(uid) && len(list) > 0 && list[0].Cause() == logs.CauseFileInVolumes
}

// Report reports the other pods that only the log names.
func (t *LogComplaints) Report(p *forensics.Pass) {
	t.report(p, func(uid string) bool { return !t.mounted(uid) && !t.hasFile(uid) })
	if len(t.events) > 0 && !slices.ContainsFunc(t.events, func(e logs.Event) bool { return e.PodUID != "" }) {
		p.Report(forensics.Finding{
			Severity: forensics.Warning, Subject: stall.HousekeepingEntity, Since: t.since, Confidence: forensics.Likely,
			Title:         "Orphaned pod directories cannot be removed: " + orphanReason(t.events[0]),
			Detail:        findings.Sentences(orphanSaid(t.events), t.count(p), logview.AsOf(p)),
			ConfidenceWhy: "the kubelet's log says so", Refs: logview.EventRefs(t.events...),
		})
	}
}

// report reports the pods that only the log names and that are meant.
func (t *LogComplaints) report(p *forensics.Pass, meant func(uid string) bool) {
	var named []string
	for _, e := range t.events {
		named = append(named, findings.UIDs(e.PodUID)...)
	}
	named = findings.Union(nil, named)
	counted := 1
	if total, _, rotates := t.sum(p); len(named) == 1 && len(t.shown) == 0 && !rotates {
		counted = int(max(total, 1)) // the kubelet names only the first
	}
	for _, uid := range named {
		state, why := p.Model.PodState(uid)
		if t.shown[uid] || !meant(uid) || state == forensics.PodLive || len(p.Model.PodMounts(uid)) > 0 && state.Orphaned() != "" {
			continue
		}
		list := t.of(uid)
		f := forensics.Finding{
			Severity: forensics.Warning, Subject: findings.PodOrName("", uid), Pods: []string{uid}, Since: logview.First(list), Confidence: forensics.Likely,
			Title:         logHeadline(counted, list[0]),
			Detail:        findings.Sentences("According to the kubelet's log, pod "+findings.PodLabel(p, "", uid)+" no longer exists.", orphanSaid(list), t.count(p), logview.AsOf(p)),
			ConfidenceWhy: "the kubelet's log says so; state of the pod on this node: " + strings.ReplaceAll(string(state), "-", " ") + " (" + why + ")",
			Refs:          logview.EventRefs(list...), Remedies: []forensics.Remedy{lookWithoutDir(p, uid)},
		}
		if e := list[0]; e.Path != "" {
			if list := p.Model.Host().At(e.Path); len(list) > 0 {
				f.Because = []forensics.Entity{forensics.MountEntity(list[len(list)-1].ID)}
			}
		}
		for _, m := range t.mounts[uid] {
			f.Because = findings.Union(f.Because, []forensics.Entity{forensics.MountEntity(m.ID)})
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
			return logHeadline(n, list[0])
		}, f)
	}
}

// logHeadline is about n directories, with the kubelet's own words.
func logHeadline(n int, e logs.Event) string {
	reason := cmp.Or(e.Reason, e.Code)
	if e.Path != "" && n > 1 {
		reason = e.Code // the words name one directory
	}
	if reason == "" {
		return count(n) + " cannot be removed"
	}
	return count(n) + " cannot be removed: " + reason
}

// sum is how many pods the last round counted, how many were named first, and whether those change.
func (t *LogComplaints) sum(p *forensics.Pass) (total, named int64, rotates bool) {
	total, named, rotates = t.total, int64(len(t.firsts)), len(t.firsts) > 1
	if o := logview.Story(p).Orphans; o != nil {
		total, named, rotates = max(total, o.Last), max(named, o.Named), rotates && o.Rotates
	}
	return total, named, rotates
}

// count says how many pods there are, and whether the kubelet always names the same one.
func (t *LogComplaints) count(p *forensics.Pass) string {
	total, named, rotates := t.sum(p)
	switch {
	case total < 2 && !rotates:
		return ""
	case rotates:
		return fmt.Sprintf("The kubelet counts %s and names only the first. The name changes (%s so far), so orphaned pods come and go.",
			findings.Plural(int(max(total, 1)), "orphaned pod"), findings.Plural(int(named), "pod"))
	}
	return fmt.Sprintf("The kubelet counts %s and names only the first. Each round names the same pod, so this pod is stuck. Below -v 5 the log does not name the others.",
		findings.Plural(int(total), "orphaned pod"))
}

func orphanReason(e logs.Event) string {
	return cmp.Or(e.Reason, e.Code, logs.Words(e.Kind))
}

// orphanSaid says what the log says, how often, and what it means.
func orphanSaid(list []logs.Event) string {
	e := list[0]
	return findings.Sentences(fmt.Sprintf("The kubelet logged %s, %s: %s.", findings.Times(logview.Count(list)), logview.Span(logview.First(list), logview.Last(list)), orphanReason(e)),
		orphanMeaning(e))
}

// orphanMeaning says what the error inside an orphan's message means.
func orphanMeaning(e logs.Event) string {
	switch e.Cause() {
	case logs.CauseSubpathLeft:
		return "A subPath directory is left over, mounted or not. Kubelets up to 1.17 never remove it."
	case logs.CauseVolumeLeft:
		return "Volume directories are left over that are not mounted. Kubelets up to 1.17 never remove them. Remove them with rmdir when no mount is below them."
	case logs.CauseMounted:
		return "A file system is mounted there, in this mount namespace or in another one. Search /proc/*/mountinfo of all processes."
	case logs.CauseFileInVolumes:
		return "The kubelet found a file where it expects only directories. Most often it is vol_data.json of a CSI volume without a mount directory. The directory remains until that file is removed."
	case logs.CauseFileOfSubpath:
		return "The bind mount target of a subPath file is left over. Kubelets up to 1.26 cannot remove it."
	case logs.CauseNotEmpty:
		return "The directory contains data. It was written below the mount point while nothing was mounted, or it remained after a failed unmount. Check it before you remove anything: it may be the only copy."
	case logs.CauseServerNotThere:
		return "The file server or FUSE daemon of a volume no longer exists. The mount returns errors and can be unmounted."
	}
	return ""
}

// lookWithoutDir is [LookFirst] for a directory that was not read.
func lookWithoutDir(p *forensics.Pass, uid string) forensics.Remedy {
	root := "/var/lib/kubelet"
	if roots := p.Model.KubeletRoots(); len(roots) > 0 {
		root = roots[0]
	}
	return listFiles(forensics.Remedy{
		Action: remedy.ActionLook,
		Why:    whyList,
		OnlyIf: onlyUnmounted(uid),
		Risk:   riskOfList,
	}, root+"/pods/"+uid)
}
