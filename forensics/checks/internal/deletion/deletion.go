// Package deletion follows the deletion of a pod through the kubelet's log, and says at which stage it is stuck and why.
package deletion

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// loopTrouble is why the sync loop is stalled, by the log.
type loopTrouble struct {
	silent *logview.Silence
	skips  *logview.Skipping
}

// Unproven adds why the kubelet's log does not show the deletion of a pod, where only the API server shows it.
func Unproven(p *forensics.Pass, f forensics.Finding) forensics.Finding {
	loop := forensics.Once(p, "the sync loop in the log", func() (l loopTrouble) {
		l.silent, l.skips, _ = logview.SyncLoop(p)
		return l
	})
	silent, skips := loop.silent, loop.skips
	lost := logview.Events(p, logs.KindAPIUnreachable, logs.KindAPIUnauthorized, logs.KindCertExpired)
	switch {
	case silent != nil || skips != nil:
		f.Because = append(f.Because, stall.SyncLoopEntity)
		f.Detail = findings.Sentences(f.Detail, "The kubelet's sync loop is stalled and does not process the deletion.")
		if silent != nil && silent.Loop.Quote != nil {
			f.Refs = append(f.Refs, logview.Refs(*silent.Loop.Quote)...)
		}
		if skips != nil {
			f.Refs = append(f.Refs, logview.EventRefs(skips.Events...)...)
		}
	case len(lost) > 0 && logview.Current(p, logview.Last(lost)):
		f.Detail = findings.Sentences(f.Detail, "The kubelet cannot reach the API server and does not know about the deletion: "+lost[0].Reason+".")
		f.Refs = append(f.Refs, logview.EventRefs(lost...)...)
	}
	return f
}

// A Stuck pod is one whose deletion is stuck, with its stage.
type Stuck struct {
	forensics.Finding
	Stage logs.Stage
	// Fails are the failures to stop its containers.
	Fails []logs.Event
}

// InLog finds the pods whose deletion is stuck according to the kubelet's log.
func InLog(p *forensics.Pass) []Stuck {
	logview.OrKubelet(p, forensics.SourceAPIDump, forensics.SourceAPI)
	var found []Stuck
	unseen := 0
	for _, d := range logview.Story(p).Deletions {
		if d.Done {
			continue
		}
		s := Pod{p: p, d: d, uid: logview.UIDOf(p, logs.Subject{PodUID: d.PodUID, PodName: d.PodName})}
		if state, _ := p.Model.PodState(s.uid); state.Orphaned() != "" && state.Orphaned() != forensics.Possible && !s.requested() {
			continue // a kubelet that has started unmounts what it finds of orphaned pods, and logs that like a deletion
		}
		s.judge()
		switch {
		case s.finished, d.Inferred && (s.orphan() || !s.onNode()): // other checks report the unmounts
		case !d.Proven && !s.failing:
			if !s.young() {
				unseen++
			}
		case s.counts():
			found = append(found, Stuck{s.finding(), d.Stage, s.events(logs.KindContainerStopFailed, logs.KindSandboxStopFailed)})
		}
	}
	if unseen > 0 {
		p.Unjudged("the deletion of %s seems to be stuck, but the log's verbosity is too low to show the end of a deletion", findings.Plural(unseen, "pod"))
	}
	return found
}

// orphan says whether the kubelet's log calls the pod orphaned after it came to its stage. Where no line tells of its end either, the kubelet
// has forgotten the pod, and no deletion goes on.
func (s *Pod) orphan() bool {
	return slices.ContainsFunc(s.events(logs.KindOrphan, logs.KindOrphanDetail, logs.KindOrphanRemoveFailed, "orphan-mounted"), func(e logs.Event) bool {
		return e.Last == nil || s.d.Since == nil || !e.Last.Before(*s.d.Since)
	}) && !s.listed()
}

// onNode says whether the node's own lists or directories were read: they tell a pod that is being deleted from an orphan.
func (s *Pod) onNode() bool {
	for _, source := range []string{forensics.SourcePodDirs, forensics.SourceKubeletPods, forensics.SourceAPIDump, forensics.SourceAPI} {
		if ok, _ := s.p.Evidence.Saw(source); ok {
			return true
		}
	}
	return s.listed()
}

// stageLimit is how long a stage takes at most in a healthy kubelet: its own timeouts are 2 min and 2 min 3 s.
const stageLimit = 150 * time.Second

// Pod is a pod whose deletion has not ended, and what is known of the reason.
type Pod struct {
	p   *forensics.Pass
	d   logs.Deletion
	uid string
	// verdict says for the headline what it waits for; detail adds the evidence and what follows.
	verdict, detail string
	because         []forensics.Entity
	refs            []forensics.Ref
	remedies        []forensics.Remedy
	// failing says that a failure is repeated up to the end of the log, or that the node itself shows the reason: then the
	// pod is stuck, whatever the verbosity.
	failing bool
	// finished says that nothing is left to do: the pod ended by itself, and its deletion was not requested.
	finished bool
}

// judge finds the reason, by the stage (in the order in which a deletion goes through them).
func (s *Pod) judge() {
	switch s.d.Stage {
	case logs.StageRequested, logs.StageKilling: // no container was killed yet
		s.judgeRequested()
	case logs.StageContainers:
		s.judgeKilling()
	case logs.StageVolumes:
		s.judgeVolumes()
	case logs.StageCgroup:
		s.judgeCgroup()
	case logs.StageStatus:
		s.judgeStatus()
	default:
		s.finished = !s.requested() && !s.listed()
		s.remedies = []forensics.Remedy{finalizerRemedy(s.d.PodName)}
		s.verdict = "the API server or a finalizer keeps the object"
		s.detail = "The pod no longer exists on the node. The kubelet is not the cause."
	}
}

// requested says whether the log shows the deletion request of the API server.
func (s *Pod) requested() bool {
	return slices.ContainsFunc(s.d.Steps, func(step logs.Step) bool { return step.Stage == logs.StageRequested })
}

// seconds is how long the log shows it at its stage.
func (s *Pod) seconds() float64 { return logview.Between(s.d.Since, logview.KubeletEnd(s.p)) }

// patience is how long a pod may stay at its stage; false where that is not known.
func (s *Pod) patience() (time.Duration, bool) {
	switch {
	case s.d.Stage != logs.StageContainers:
		return stageLimit, true
	case s.d.GraceSeconds == nil:
		return 0, false
	}
	return stageLimit + time.Duration(*s.d.GraceSeconds)*time.Second, true
}

// young says that it has not been at its stage for longer than a healthy kubelet needs. A log can end long before the examination, so
// the later of both counts.
func (s *Pod) young() bool {
	end := s.p.Evidence.Collected
	if last := logview.KubeletEnd(s.p); last != nil && last.After(end) {
		end = *last
	}
	limit, known := s.patience()
	return known && s.d.Since != nil && !end.IsZero() && end.Sub(*s.d.Since) <= limit
}

// counts says whether it is stuck, or may be.
func (s *Pod) counts() bool {
	if s.failing {
		return true
	}
	if s.d.Stage == logs.StageRequested && len(s.d.Complaints) == 0 && logview.Written(s.p) { // of all that the kubelet logs about a deletion, people quote a line
		s.p.Unjudged("pod %s: the text has one line about its deletion", findings.PodLabel(s.p, s.d.PodName, s.uid))
		return false
	}
	limit, known := s.patience()
	if !known {
		s.p.Unjudged("pod %s: its containers are being killed, and the log does not show its grace period", findings.PodLabel(s.p, s.d.PodName, s.uid))
		return false
	}
	return s.seconds() > limit.Seconds()
}

func (s *Pod) finding() forensics.Finding {
	end := logview.KubeletEnd(s.p)
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: findings.PodOrName(s.d.PodName, s.uid), Pods: findings.UIDs(s.uid), Since: s.since(),
		Title:   fmt.Sprintf("%s stuck in Terminating%s: %s", s.title(), s.age(end), cmp.Or(s.verdict, waitingFor(s.d.Waits), "the reason is not known")),
		Effect:  "pod deletion is blocked",
		Because: s.because, Remedies: s.remedies, Confidence: forensics.Certain, ConfidenceWhy: "the log's verbosity is high enough to show each stage",
	}
	if !s.d.Proven {
		f.Confidence, f.ConfidenceWhy = forensics.Likely, "the log's verbosity is too low to show every stage, but the failure was repeated up to the end of the log"
	}
	waits := ""
	if s.d.Waits != "" && s.verdict != "" {
		waits = "According to the log, the deletion waits for " + s.d.Waits + "."
	}
	f.Detail = findings.Sentences(fmt.Sprintf("The deletion of %s has been stuck at the stage %q (%s) since %s, for %s.", findings.PodLabel(s.p, s.d.PodName, s.uid), s.d.Stage, stageWords[s.d.Stage],
		logview.Moment(s.d.Since), text.Duration(logview.Between(s.d.Since, end))), s.path(), s.detail, waits, logview.AsOf(s.p))
	var lines []logs.Quote
	for _, step := range s.d.Steps {
		lines = append(lines, step.Quote)
	}
	f.Refs = logview.Refs(append(lines[max(0, len(lines)-2):], s.d.Complaints...)...)
	for _, r := range s.refs {
		if !slices.Contains(f.Refs, r) {
			f.Refs = append(f.Refs, r)
		}
	}
	return f
}

// stageWords say what is done at a stage.
var stageWords = map[logs.Stage]string{
	logs.StageRequested: "the kubelet has not begun", logs.StageKilling: "no container has been told to stop", logs.StageContainers: "containers are stopping",
	logs.StageVolumes: "unmounting volumes", logs.StageCgroup: "removing the cgroup", logs.StageStatus: "sending the last status",
	logs.StageAPI: "waiting for the API object to be deleted", logs.StageRemoved: "removed",
}

// title names the pod for a headline.
func (s *Pod) title() string {
	if s.uid == "" {
		return "Pod " + s.d.PodName
	}
	if namespace, name := s.p.Model.PodName(s.uid); s.d.PodName != "" && (namespace == "" || name == "") {
		return "Pod " + s.d.PodName
	}
	return findings.PodTitle(s.p, s.uid)
}

// age is how long the pod has been terminating; at least so long where the log does not show the request.
func (s *Pod) age(end *time.Time) string {
	seconds := logview.Between(s.since(), end)
	switch {
	case seconds <= 0:
		return ""
	case s.requested():
		return " for " + text.Duration(seconds)
	}
	return " for at least " + text.Duration(seconds)
}

// waitingFor is the reason of a headline that only the log knows.
func waitingFor(what string) string {
	if what == "" {
		return ""
	}
	return "it waits for " + what
}

func (s *Pod) since() *time.Time {
	if len(s.d.Steps) == 0 {
		return s.d.Since
	}
	return logview.Earliest(&s.d.Steps[0].Time, s.d.Since)
}

// path says when each stage was reached.
func (s *Pod) path() string {
	if len(s.d.Steps) < 2 {
		return ""
	}
	text := "Stages: " + string(s.d.Steps[0].Stage) + " " + logview.Moment(&s.d.Steps[0].Time)
	for i := range s.d.Steps[1:] {
		before, step := s.d.Steps[i].Time, s.d.Steps[i+1]
		at := logview.Clock(&step.Time)
		if before.UTC().Format(time.DateOnly) != step.Time.UTC().Format(time.DateOnly) {
			at = logview.Moment(&step.Time)
		}
		text += ", " + string(step.Stage) + " " + at
	}
	return text + "."
}

// listed says whether the kubelet's own list still has the pod, with a deletion timestamp.
func (s *Pod) listed() bool {
	return s.uid != "" && forensics.Once(s.p, "listed as deleted", func() map[string]bool {
		listed := map[string]bool{}
		for _, pod := range s.p.Evidence.Pods {
			listed[pod.UID] = listed[pod.UID] || pod.FromKubelet() && pod.Deleting != nil
		}
		return listed
	})[s.uid]
}

func finalizerRemedy(name string) forensics.Remedy {
	return forensics.Remedy{
		Action: remedy.ActionLook, Command: slices.Concat([]string{"kubectl", "get", "pod"}, remedy.PodArguments(name), []string{"-o", "jsonpath={.metadata.finalizers} {.metadata.deletionTimestamp}"}),
		Why: "shows the finalizers. The controller that set a finalizer must remove it", Risk: "none: read-only. Removing a finalizer manually skips the cleanup that it protects",
	}
}

// events are events of some kinds about this pod.
func (s *Pod) events(kinds ...logs.Kind) []logs.Event {
	return logview.PodEvents(s.p, s.uid, s.d.PodName, kinds...)
}

// unresolved are the events about this pod that were current when the log ended.
func (s *Pod) unresolved(kinds ...logs.Kind) []logs.Event {
	return sorting.Delete(s.events(kinds...), func(e logs.Event) bool { return !logview.Unresolved(s.p, e) })
}

func (s *Pod) blame(e forensics.Entity) {
	if !slices.Contains(s.because, e) {
		s.because = append(s.because, e)
	}
}

func (s *Pod) quote(list []logs.Event) { s.refs = append(s.refs, logview.EventRefs(list...)...) }
