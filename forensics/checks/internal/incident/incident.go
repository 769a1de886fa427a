// Package incident makes findings of what only a log reports: what fails, since when, how often, and whether it still failed when the
// log ended. A log proves that something failed; that it works again is only said where a line says so.
package incident

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/headline"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// A Spec says which messages are incidents of one sort, and when they count.
type Spec struct {
	// Subject is what a message is about: messages about the same are one incident. One without a kind is passed over.
	Subject func(logs.Event) forensics.Entity
	// Ended is when a later message said that the trouble of a subject was over; nil where no message does.
	Ended func(forensics.Entity) *time.Time
	// Window is how long before the end of the log the last message of a current incident was written; 0 is 150 s, which is longer than
	// the kubelet waits between two tries.
	Window time.Duration
	// Lasting trouble is logged once, and remains until a message ends it.
	Lasting bool
	// Few is how many messages it takes for trouble; fewer are left out.
	Few int64
	// Kubelet says that the kubelet repeats the messages. Those of its first minute are left out: what it needs has not started yet.
	Kubelet bool
	// Waited says that each message tells of minutes that have passed: among lines that somebody has picked, one is enough.
	Waited bool
}

// An Incident is all that the log has about one subject.
type Incident struct {
	Subject     forensics.Entity
	Events      []logs.Event
	Count       int64
	First, Last *time.Time
	// Ended is when a message said that it was over; Current says that it was not, when the log ended.
	Ended   *time.Time
	Current bool
	// Booted says that it ended because the machine was started again.
	Booted bool
	// SaidOver says that a sentence below it says that it is over.
	SaidOver bool
	// Minor says that it is information also while it is current.
	Minor bool
	// brief says that it is logged too seldom to be trouble, but last in a text that somebody shows: it counts if nothing else is found.
	brief bool
	// few says that it is not trouble: it is logged too seldom.
	few bool
	// lone says that it counts though it is logged less often than elsewhere, see Expect.
	lone bool
	// Said says that the words of the headline have the reason.
	Said bool
}

// Brief says that it counts only if nothing worse is found, since it is logged too seldom.
func (i Incident) Brief() bool { return i.brief }

// Grave says whether the incident is worth a step.
func (i Incident) Grave() bool { return i.Current && !i.Minor && !i.brief }

// Expect makes the incident information where it is logged less often than few. In lines that somebody has picked, neither repeats nor
// counts are to be seen: there, what no later line ends is possible.
func (i *Incident) Expect(p *forensics.Pass, few int64) { i.ExpectAgain(p, few, logview.Moments) }

// ExpectAgain is Expect of a message that is logged again after a pause at the earliest: until then, lines about other things tell nothing of it.
func (i *Incident) ExpectAgain(p *forensics.Pass, few int64, pause time.Duration) {
	i.Minor = i.Count < few && (!i.Current || !logview.PickedWithin(p, i.Last, pause) && !logview.SaidRepeated(p, i.Events...))
	i.lone = i.Count < few && !i.Minor
}

// FewLines is why what is logged once is possible.
const FewLines = "only a few lines were given, which do not show whether it is repeated"

// Find groups messages to incidents, in the order of their first.
func (s Spec) Find(p *forensics.Pass, list []logs.Event) []Incident {
	var found []Incident
	at := map[forensics.Entity]int{}
	for _, e := range list {
		subject := s.Subject(e)
		if subject.Kind == "" {
			continue
		}
		i, ok := at[subject]
		if !ok {
			i = len(found)
			at[subject] = i
			found = append(found, Incident{Subject: subject})
		}
		found[i].Events = append(found[i].Events, e)
	}
	for i := range found {
		s.judge(p, &found[i])
	}
	for n, i := range found {
		waited := s.Waited && i.Current && logview.Picked(p, i.Last)
		found[n].brief = i.Count < s.Few && !waited && i.Current && i.shown(p) && logview.LastWritten(p, i.Last)
		found[n].few = i.Count < s.Few && !waited && !found[n].brief
	}
	return sorting.Delete(found, func(i Incident) bool { return i.few || s.Kubelet && !logview.AfterStart(p, i.Last) })
}

// untimed is for how long a log of the kernel that has no times may go on without a message that counts still: much may have been left out.
const untimed = 30 * time.Minute

// ForEvents is for how long a trouble counts whose last message is of that time: for longer than its window, if somebody has pasted only events,
// and none says that a container was started since.
func ForEvents(p *forensics.Pass, last *time.Time, window time.Duration) time.Duration {
	if logview.OnlyEvents(p) && logview.Written(p) && !logview.PodStartedSince(p, last) {
		return max(window, untimed)
	}
	return window
}

func (s Spec) judge(p *forensics.Pass, i *Incident) {
	i.Count, i.First, i.Last = logview.Count(i.Events), logview.First(i.Events), logview.Last(i.Events)
	window := ForEvents(p, i.Last, cmp.Or(s.Window, 150*time.Second))
	i.Current = s.Lasting || logview.Within(i.Last, logview.KubeletEnd(p), window) && logview.Ago(p, i.Events) <= max(window, untimed).Seconds()
	if !s.Lasting && logview.SaidOver(p, i.Events...) {
		i.Current, i.SaidOver = false, true
	}
	var end *time.Time
	if s.Ended != nil {
		end = s.Ended(i.Subject)
	}
	if boot := logview.Boot(p); boot != nil && i.Last != nil && i.ofKernel() && (end == nil || end.Before(*boot)) {
		end = boot
		i.Booted = i.Last.Before(*boot)
	}
	if i.Last == nil && i.ofKernel() && !slices.ContainsFunc(i.Events, func(e logs.Event) bool { return !logview.BootedBelow(p, e) }) {
		i.Current = false
	}
	switch {
	case end == nil:
	case i.Last == nil || !end.Before(*i.Last):
		i.Ended, i.Current = end, false
	default: // it ended in between, and began again
		for _, e := range i.Events {
			if e.First != nil && e.First.After(*end) {
				i.First = logview.Earliest(nil, e.First)
				return
			}
		}
		i.First = i.Last
	}
}

// shown says whether somebody who shows the messages may show them because of what they say. Those of the kernel stand in each excerpt of its
// log, which have others, too.
func (i Incident) shown(p *forensics.Pass) bool {
	return !i.ofKernel() || logview.Brief(p) || logview.Sole(p, i.Events)
}

// ofKernel says whether only the kernel writes of it: a start of the machine ends that, and not what a kubelet needs of others.
func (i Incident) ofKernel() bool {
	return !slices.ContainsFunc(i.Events, func(e logs.Event) bool { return !strings.HasPrefix(string(e.Kind), "kernel-") })
}

// Seconds is how long the log shows the incident: to the log's end if it is current.
func (i Incident) Seconds(p *forensics.Pass) float64 {
	if i.Current {
		return logview.Between(i.First, logview.KubeletEnd(p))
	}
	return logview.Between(i.First, cmp.Or(i.Ended, i.Last))
}

// Reason is the error of the latest message that has one.
func (i Incident) Reason() string {
	for _, e := range slices.Backward(i.Events) {
		if e.Reason != "" {
			return flat(e.Reason)
		}
	}
	return ""
}

func flat(s string) string { return strings.Join(strings.Fields(s), " ") }

// Short is as much of the inner end of a reason as a headline has room for.
func Short(reason string, room int) string {
	const enough = 24 // what is shorter says too little
	short := reason
	if _, desc, ok := strings.Cut(short, " desc = "); ok {
		short = desc
	}
	for len(short) > room {
		_, rest, ok := strings.Cut(short, ": ")
		if !ok || len(rest) < enough {
			return headline.Middle(short, room)
		}
		short = rest
	}
	return strings.TrimRight(strings.Trim(short, `"\ `), ".:;,")
}

// Finding is the incident as a finding. Its title is now and since when where it is current, else then and until when; of both, the
// reason follows where the headline has room for it.
func (i Incident) Finding(p *forensics.Pass, now, then string) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Info, Subject: i.Subject, Confidence: forensics.Likely, Since: i.First, Refs: logview.EventRefs(i.Events...),
		ConfidenceWhy: "it is in the log; nothing else that was collected shows it",
	}
	if i.lone {
		f.Confidence, f.ConfidenceWhy = forensics.Possible, FewLines
	}
	f.Lone = i.Current && (i.Minor || i.brief) && logview.LastWritten(p, i.Last) && i.shown(p)
	reason := i.Reason()
	if i.Grave() {
		f.Severity = forensics.Warning
	}
	if i.Current {
		f.Title = now + logview.Since(i.First)
	} else {
		f.Title = then + " " + logview.Span(i.First, cmp.Or(i.Ended, i.Last))
	}
	if room := headline.Most - len(f.Title) - 2; reason != "" && room >= 24 && !i.Said {
		f.Title += ": " + Short(reason, room)
	}
	f.Title = headline.Fit(f.Title)
	f.Detail = "It is logged " + findings.Times(i.Count) + ", " + logview.Span(i.First, i.Last) + "."
	if reason != "" {
		f.Detail += " The last error: " + strings.TrimRight(reason, ".") + "."
	}
	switch {
	case i.Booted:
		f.Detail += " The machine was started again at " + logview.Moment(i.Ended) + ", and the log does not show it since."
	case i.Ended != nil:
		f.Detail += " The log says that it ended at " + logview.Moment(i.Ended) + "."
	case i.SaidOver:
		f.Detail += " The text says that it has not come back since."
	case !i.Current:
		f.Detail += " The log does not repeat it later. No line says that it is resolved."
	default:
		f.Detail = findings.Sentences(f.Detail, logview.AsOf(p))
	}
	for _, e := range i.Events {
		f.Pods = append(f.Pods, findings.UIDs(logview.UIDOf(p, e.Subject))...)
	}
	f.Pods = findings.Union(nil, f.Pods)
	return f
}

// Certain marks a finding of which the kernel's own line is the proof.
func Certain(f forensics.Finding) forensics.Finding {
	f.Confidence, f.ConfidenceWhy = forensics.Certain, "the kernel log says so"
	return f
}

// Look is a step that only reads.
func Look(why string, command ...string) forensics.Remedy {
	return forensics.Remedy{Action: remedy.ActionLook, Command: command, Why: why, Risk: "none: read-only"}
}

// SawKernel leaves a check unjudged where no log of a kernel was read.
func SawKernel(p *forensics.Pass) {
	s := logview.Story(p)
	ofKernel := func(f logs.File) bool {
		return f.Status != "absent" && f.Status != "denied" && (f.Origin == "kernel" || f.Origin == "mixed" || strings.HasPrefix(f.Path, "journal"))
	}
	if !slices.ContainsFunc(s.Files, ofKernel) && !slices.ContainsFunc(s.Events, func(e logs.Event) bool { return e.Kind.Lane() == logs.LaneKernel }) {
		p.Unjudged("no kernel log was read")
	}
}

// Thing is an entity that only logs name: a "server", a "disk", a "limit", a part of the "kernel".
func Thing(kind forensics.Kind, id string) forensics.Entity {
	return forensics.Entity{Kind: kind, ID: id}
}

// PodOf is the pod of a message; nothing where it names none.
func PodOf(p *forensics.Pass, e logs.Event) forensics.Entity {
	if id := cmp.Or(logview.UIDOf(p, e.Subject), e.PodName); id != "" {
		return Thing(forensics.KindPod, id)
	}
	return forensics.Entity{}
}

// ByRuntime explains a failure by a container runtime that does not respond.
func ByRuntime(p *forensics.Pass, f *forensics.Finding) {
	if silence := logview.Runtime(p); silence != nil && silence.Current {
		f.Because = append(f.Because, p.Model.RuntimeEntity())
		f.Detail = findings.Sentences(f.Detail, "The container runtime does not respond to the kubelet.")
	}
}
