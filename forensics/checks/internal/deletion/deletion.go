// Package deletion follows the deletion of a pod through the kubelet's log, and says at which stage it stands and why.
package deletion

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// loopTrouble is what keeps the sync loop from coming round, by the log.
type loopTrouble struct {
	silent *logview.Silence
	skips  *logview.Skipping
}

// Unproven adds to a pod that only the API server says is to go why the kubelet's log does not show its deletion.
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
		f.Detail = findings.Sentences(f.Detail, "The kubelet's sync loop does not come round, so that it does not act on the request.")
		if silent != nil && silent.Loop.Quote != nil {
			f.Refs = append(f.Refs, logview.Refs(*silent.Loop.Quote)...)
		}
		if skips != nil {
			f.Refs = append(f.Refs, logview.EventRefs(skips.Events...)...)
		}
	case logview.Current(p, logview.Last(lost)):
		f.Detail = findings.Sentences(f.Detail, "The kubelet does not reach the API server, so that it does not know of the request: "+lost[0].Reason+".")
		f.Refs = append(f.Refs, logview.EventRefs(lost...)...)
	}
	return f
}

// A Stuck pod is one whose deletion does not go on, with the stage at which that stands.
type Stuck struct {
	forensics.Finding
	Stage logs.Stage
}

// InLog finds the pods whose deletion stands by the kubelet's log.
func InLog(p *forensics.Pass) []Stuck {
	logview.OrKubelet(p, forensics.SourceAPIDump)
	var found []Stuck
	unseen := 0
	for _, d := range logview.Story(p).Deletions {
		if d.Done {
			continue
		}
		s := Pod{p: p, d: d, uid: logview.UIDOf(p, logs.Subject{PodUID: d.PodUID, PodName: d.PodName})}
		s.judge()
		switch {
		case s.finished:
		case !d.Proven && !s.failing:
			unseen++
		case s.counts():
			found = append(found, Stuck{s.finding(), d.Stage})
		}
	}
	if unseen > 0 {
		p.Unjudged("the deletion of %s seems to stand, but at the verbosity of the log its end would not be seen", text.Plural(unseen, "pod"))
	}
	return found
}

// stageLimit is how long a stage takes at most in a kubelet that is well: its own time limits are 2 min and 2 min 3 s.
const stageLimit = 150 * time.Second

// Pod is a pod whose deletion has not ended, and what is known of the reason.
type Pod struct {
	p   *forensics.Pass
	d   logs.Deletion
	uid string
	// verdict says what it waits for, in a clause; detail adds to it.
	verdict, detail string
	because         []forensics.Entity
	refs            []forensics.Ref
	remedies        []forensics.Remedy
	// failing says that a failure is repeated up to the end of the log, or that the node itself shows the reason: then
	// it stands, whatever the verbosity.
	failing bool
	// finished says that nothing is left to do: the pod ended by itself, and nobody has asked for its deletion.
	finished bool
}

// judge finds the reason, by the stage (in the order in which a deletion goes through them).
func (s *Pod) judge() {
	switch s.d.Stage {
	case logs.StageRequested, logs.StageKilling: // no container has been told to end
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
		s.verdict = "it is gone from the node: the API server or a finalizer keeps the object, not the kubelet"
	}
}

// requested says whether the log shows that the API server asked for the deletion.
func (s *Pod) requested() bool {
	return slices.ContainsFunc(s.d.Steps, func(step logs.Step) bool { return step.Stage == logs.StageRequested })
}

// seconds is how long the log shows it at its stage.
func (s *Pod) seconds() float64 { return logview.Between(s.d.Since, logview.KubeletEnd(s.p)) }

// patience is how long a pod may stay at its stage; false where the log does not tell.
func (s *Pod) patience() (time.Duration, bool) {
	switch {
	case s.d.Stage != logs.StageContainers:
		return stageLimit, true
	case s.d.GraceSeconds == nil:
		return 0, false
	}
	return stageLimit + time.Duration(*s.d.GraceSeconds)*time.Second, true
}

// counts says whether it is stuck, or may be.
func (s *Pod) counts() bool {
	if s.failing {
		return true
	}
	limit, known := s.patience()
	if !known {
		s.p.Unjudged("pod %s: its containers are being killed, and no line names its grace period", findings.PodLabel(s.p, s.d.PodName, s.uid))
		return false
	}
	return s.seconds() > limit.Seconds()
}

func (s *Pod) finding() forensics.Finding {
	end := logview.KubeletEnd(s.p)
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: findings.PodOrName(s.d.PodName, s.uid), Pods: findings.UIDs(s.uid), Since: s.since(),
		Title:   fmt.Sprintf("pod %s does not go away: %s", findings.PodLabel(s.p, s.d.PodName, s.uid), cmp.Or(s.verdict, s.d.Waits, "what it waits for is not known")),
		Because: s.because, Remedies: s.remedies, Confidence: forensics.Certain, ConfidenceWhy: "the kubelet's log shows each stage at its verbosity",
	}
	if !s.d.Proven {
		f.Confidence, f.ConfidenceWhy = forensics.Likely, "the log does not show every stage at its verbosity, but the failure was repeated up to its end"
	}
	waits := ""
	if s.d.Waits != "" && s.verdict != "" {
		waits = "By the log it waits for " + s.d.Waits + "."
	}
	f.Detail = findings.Sentences(fmt.Sprintf("Its deletion stands at the stage %q since %s, for %s.", s.d.Stage, logview.Moment(s.d.Since), text.Duration(logview.Between(s.d.Since, end))),
		s.path(), waits, s.detail, logview.AsOf(s.p))
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
	text := "Its way:"
	for i, step := range s.d.Steps {
		if i > 0 {
			text += ","
		}
		text += " " + string(step.Stage) + " " + logview.Clock(&step.Time)
	}
	return text + "."
}

// listed says whether the kubelet's own list still has the pod, as one that is to go.
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
		Action: remedy.ActionLook, Command: slices.Concat([]string{"kubectl", "get", "pod"}, podArguments(name), []string{"-o", "jsonpath={.metadata.finalizers} {.metadata.deletionTimestamp}"}),
		Why: "names the finalizers; whoever has set one must remove it", Risk: "none: it reads. Taking a finalizer away by hand skips the work that it stands for",
	}
}

// podArguments are "-n NAMESPACE NAME".
func podArguments(name string) []string {
	if namespace, pod, ok := strings.Cut(name, "/"); ok && remedy.IsLabelName(namespace) && remedy.IsObjectName(pod) {
		return []string{"-n", namespace, pod}
	}
	return []string{"-n", "NAMESPACE", "POD"}
}

// events are events of some kinds about this pod.
func (s *Pod) events(kinds ...logs.Kind) []logs.Event {
	return logview.PodEvents(s.p, s.uid, s.d.PodName, kinds...)
}

// unresolved are those of mine that still were said when the log ended.
func (s *Pod) unresolved(kinds ...logs.Kind) []logs.Event {
	return slices.DeleteFunc(s.events(kinds...), func(e logs.Event) bool { return !logview.Unresolved(s.p, e) })
}

func (s *Pod) blame(e forensics.Entity) {
	if !slices.Contains(s.because, e) {
		s.because = append(s.because, e)
	}
}

func (s *Pod) quote(list []logs.Event) { s.refs = append(s.refs, logview.EventRefs(list...)...) }
