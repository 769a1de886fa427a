package checks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/cri"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// runtimeUnresponsive finds a container runtime that does not answer the kubelet.
var runtimeUnresponsive = forensics.Check{
	ID:    "runtime-unresponsive",
	Title: "The container runtime does not answer",
	Doc: `The kubelet asks the container runtime (containerd, CRI-O, docker) by gRPC over a unix socket, docker up to 1.23
by HTTP, too. A question has a time limit of 2 minutes (--runtime-request-timeout) and is then tried again. A question that
the runtime answers from memory and that has waited for a minute or more (Version, Status, lists, stats, status of a
pod or container) shows that it does not answer. What concerns the whole runtime makes it critical, the status of single
pods or containers a warning. What takes long by its nature is left out: pulling an image, stopping a container, running
a command. The frames (runtimeServiceClient, imageServiceClient, in 1.10 to 1.36; kubeDockerClient up to 1.23) name the
question.

Dumps of the debug=0 and debug=1 forms have no durations: there at least three goroutines that ask at the same moment
are a warning. A runtime that is stopped by a signal (state T) or that itself waits in a file system is named as the cause.

Without goroutines it rests on a question of its own: Version over the runtime's socket, asked only if a process of the
runtime listens there. No answer within 2 s is a warning, since a busy node can be that slow; critical if the process is
stopped. A runtime of which no process runs is critical, if the kubelet is configured for it or containers of it run. An
answer to that question alone does not make it well: lists and status of pods can hang all the same.

The kubelet's log shows it, too: such questions that failed with DeadlineExceeded or Unavailable, "container runtime is
down", a socket that refuses. It is critical if that was still said when the log ended, for a minute or more, and the log
reaches the examination; what was over by then is information.`,
	Severity: forensics.Critical,
	Needs:    []forensics.Need{{forensics.SourceGoroutines, forensics.SourceRuntimeAnswer, forensics.SourceLogs}},
	Run: func(p *forensics.Pass) {
		if seen, why := p.Evidence.Saw(forensics.SourceGoroutines); !seen {
			p.Unjudged("whether the kubelet waits for the runtime is not known without its goroutines: %s", why)
		}
		list, inLog := askingRuntime(p), logview.Runtime(p)
		switch f, ok := runtimeSilent(p); {
		case len(list) > 0:
			p.Report(withRuntimeInLog(p, inLog, runtimeFinding(p, list)))
		case ok:
			p.Report(withRuntimeInLog(p, inLog, f))
		case inLog != nil:
			p.Report(silenceFinding(p, inLog))
		}
	},
}

// askingRuntime lists the goroutines that have waited for an answer that should come at once.
func askingRuntime(p *forensics.Pass) []stall.Goroutine {
	var found, undated []stall.Goroutine
	for s := range stall.Stacks(p) {
		w := stall.WaitOf(s.Goroutine)
		if w.Kind != stall.WaitRuntime || !stall.AnswersAtOnce(w.Call) {
			continue
		}
		if t, ok := stall.Stalled(p, s); ok {
			found = append(found, t)
		} else if s.Goroutine.State == "" {
			undated = append(undated, stall.Goroutine{Stack: s, Wait: w, Why: "this form of dump has no durations, but several goroutines ask at the same moment"})
		}
	}
	if len(found) == 0 && len(undated) >= stall.FewAsking {
		return undated
	}
	sorting.Stable(found, stall.Compare)
	return found
}

func runtimeFinding(p *forensics.Pass, list []stall.Goroutine) forensics.Finding {
	worst := list[0]
	runtime := p.Model.RuntimeEntity()
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: runtime, Confidence: worst.Confidence(), ConfidenceWhy: worst.Why, Since: worst.Since(p),
		Title: fmt.Sprintf("%s has not answered %s", runtimeName(runtime), p.Model.KubeletName()),
	}
	if worst.Proven && slices.ContainsFunc(list, func(t stall.Goroutine) bool { return t.Proven && stall.AsksWholeRuntime(t.Wait.Call) }) {
		f.Severity = forensics.Critical
	}
	f.Title += worst.HowLong()
	verb := " waits in "
	if stall.Count(list) > 1 {
		verb = " wait in "
	}
	f.Title += ": " + text.Plural(stall.Count(list), "goroutine") + verb + stall.Questions(list)
	f.Detail = "The kubelet can start, change and stop no container meanwhile; running ones go on. Who waits: " + stall.Askers(list) +
		". A question ends after 2 minutes and is asked again, so the trouble may be much older. It is a daemon that does not answer, not a file system of the kubelet's."
	blameRuntimeProcess(p, &f)
	if r := kubeletRuntime(p); r != nil && r.Answer != nil {
		f.Detail += " " + findings.Capital(answerText(*r.Answer)) + "."
		f.Refs = append(f.Refs, answerRef(*r))
	}
	for _, t := range list[:min(len(list), findings.MaxQuoted)] {
		f.Refs = append(f.Refs, t.Ref())
	}
	f.Remedies = runtimeRemedies(p, runtime)
	return f
}

// blameRuntimeProcess adds why the runtime does not answer, where its process shows it: it is stopped, or a thread of
// it waits in a file system.
func blameRuntimeProcess(p *forensics.Pass, f *forensics.Finding) {
	process, ok := runtimeProcess(p)
	if !ok {
		return
	}
	if process.State == "T" || process.State == "t" {
		f.Severity, f.Confidence, f.ConfidenceWhy = forensics.Critical, forensics.Certain, "the state letter of its process; "+f.ConfidenceWhy
		f.Because = append(f.Because, forensics.Entity{Kind: forensics.KindProcess, ID: strconv.Itoa(process.PID)})
		f.Detail += fmt.Sprintf(" Its process %d is stopped by a signal (state %s).", process.PID, process.State)
		f.Refs = append(f.Refs, forensics.Ref{Source: fmt.Sprintf("%s:%d", forensics.SourceProcesses, process.PID), Excerpt: "state " + process.State})
		return
	}
	for _, w := range stall.Waiters(p, "") {
		if w.Thread.PID == process.PID && w.Seconds >= stall.HungAfter(p) {
			f.Because = append(f.Because, forensics.ThreadEntity(w.Thread))
			f.Detail += fmt.Sprintf(" Its thread %d %s.", w.Thread.TID, forensics.DescribeWait(w.Thread, w.WaitAtLeast))
			f.Refs = append(f.Refs, stall.ThreadRef(w.Thread))
			return
		}
	}
}

func runtimeRemedies(p *forensics.Pass, runtime forensics.Entity) []forensics.Remedy {
	remedies := []forensics.Remedy{remedy.EvidenceFirst(p)}
	process, ok := runtimeProcess(p)
	switch {
	case ok && (process.State == "T" || process.State == "t"):
		remedies = append(remedies, remedy.Signal(forensics.Remedy{
			Action: remedy.ActionResume, Why: "lets the runtime go on where it was stopped",
			OnlyIf: "nobody debugs it (TracerPid in /proc/PID/status is 0)", Risk: "none known",
		}, process.PID, "-CONT"))
	case ok && runtime.ID == "containerd":
		remedies = append(remedies, remedy.Signal(forensics.Remedy{
			Action: remedy.ActionDump,
			Why:    "containerd writes its own goroutine dump to its log and to a file in its state directory; nodeforensics goroutines reads it",
			Risk:   "none: containerd goes on",
		}, process.PID, "-USR1"))
	}
	return remedies
}

// runtimeName begins a sentence.
func runtimeName(e forensics.Entity) string {
	if e.ID == "runtime" {
		return "The container runtime"
	}
	return e.ID
}

// runtimeSilent is the finding for a runtime that did not answer this program's own question, or that does not run.
func runtimeSilent(p *forensics.Pass) (forensics.Finding, bool) {
	r := kubeletRuntime(p)
	if r == nil || r.Answer == nil || p.Evidence.Kubelet == nil || p.Evidence.Kubelet.PID == 0 {
		return forensics.Finding{}, false
	}
	runtime := p.Model.RuntimeEntity()
	seen, _ := p.Evidence.Saw(forensics.SourceProcesses)
	f := forensics.Finding{Severity: forensics.Warning, Subject: runtime, Confidence: forensics.Likely, Refs: []forensics.Ref{answerRef(*r)}}
	switch {
	case r.Answer.Status == "timeout":
		f.Title = runtimeName(runtime) + " does not answer"
		f.ConfidenceWhy = "it was asked once, and a busy node can be slow"
		f.Detail = findings.Capital(answerText(*r.Answer)) + ". The kubelet can start, change and stop no container while it does not answer; running ones go on."
		blameRuntimeProcess(p, &f)
	case seen && (r.Answer.Status == "refused" || r.Answer.Status == "not-owned") && !runtimeRuns(p):
		f.Severity, f.Confidence = forensics.Critical, forensics.Certain
		f.ConfidenceWhy = "no process of it is in /proc"
		f.Title = runtimeName(runtime) + " does not run"
		f.Detail = fmt.Sprintf("No process of it is on this node, and its socket %s is not served (%s). The kubelet can start, change and stop no container; those that run go on.",
			r.Socket, strings.TrimSpace(r.Answer.Detail))
	default:
		return forensics.Finding{}, false
	}
	f.Remedies = runtimeRemedies(p, runtime)
	if known, ok := cri.Of(runtime.ID); ok && f.Confidence == forensics.Certain && !runtimeRuns(p) {
		f.Remedies = append(f.Remedies, forensics.Remedy{
			Action: remedy.ActionLook, Command: []string{"journalctl", "-u", known.Units[0], "-n", "200"}, Why: "its last words say why it ended: a full disk, a damaged database, a killed process",
			Risk: "none: it reads the log",
		})
	}
	return f, true
}

func answerText(a runtimes.Answer) string {
	switch a.Status {
	case "ok":
		return "asked for its version just now, it answered at once, so not all of it stands still"
	case "timeout":
		return "asked for its version just now over its socket, it did not answer: " + a.Detail
	}
	return strings.TrimSpace("its socket could not be asked just now: " + a.Status + " " + a.Detail)
}

func answerRef(r runtimes.Runtime) forensics.Ref {
	return forensics.Ref{Source: forensics.SourceRuntimeAnswer + ":" + r.Socket, Excerpt: strings.TrimSpace(r.Answer.Status + " " + r.Answer.Detail)}
}

// silenceFinding is what the log alone says.
func silenceFinding(p *forensics.Pass, s *logview.RuntimeSilence) forensics.Finding {
	runtime := p.Model.RuntimeEntity()
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: runtime, Confidence: forensics.Certain, ConfidenceWhy: "the kubelet says so in its log",
		Title:    fmt.Sprintf("%s has not answered %s since %s", runtimeName(runtime), p.Model.KubeletName(), logview.Moment(s.Since)),
		Detail:   "The kubelet can start, change and stop no container meanwhile; running ones go on.",
		Remedies: runtimeRemedies(p, runtime),
	}
	switch {
	case !s.Current:
		f.Severity, f.Remedies = forensics.Info, nil
		f.Title = fmt.Sprintf("%s did not answer %s from %s to %s, then did", runtimeName(runtime), p.Model.KubeletName(), logview.Moment(s.Since), logview.Clock(s.Until))
	}
	if s.Current {
		f.Detail = findings.Sentences(f.Detail, logview.AsOf(p))
		blameRuntimeProcess(p, &f)
	}
	return withRuntimeInLog(p, s, f)
}

// withRuntimeInLog adds the log to a finding that rests on a dump, or on the log itself.
func withRuntimeInLog(p *forensics.Pass, s *logview.RuntimeSilence, f forensics.Finding) forensics.Finding {
	if s == nil {
		return f
	}
	if f.Severity == forensics.Warning && s.Current && logview.Between(s.Since, s.Until) >= stall.StuckAfter && logview.Count(s.Events) > 2 && !logview.Stale(p) {
		f.Severity = forensics.Critical
		f.Confidence, f.ConfidenceWhy = forensics.Certain, findings.WithReason(f.ConfidenceWhy, "the kubelet says so in its log")
	}
	if s.Current || f.Since == nil {
		f.Since = logview.Earliest(f.Since, s.Since)
	}
	what := "In the kubelet's log"
	if len(s.Calls) > 0 {
		what += " " + findings.Some(s.Calls) + " failed"
	} else {
		what += " it is said to be down"
	}
	f.Detail = findings.Sentences(f.Detail, fmt.Sprintf("%s (%s, first %s, last %s: %s).", what, findings.Times(logview.Count(s.Events)), logview.Clock(logview.First(s.Events)), logview.Clock(s.Until), s.Reason))
	f.Refs = append(f.Refs, logview.EventRefs(s.Events...)...)
	return f
}

// runtimeProcess is the process of the container runtime; false where it is not known or there are several.
func runtimeProcess(p *forensics.Pass) (procs.Process, bool) {
	var found []procs.Process
	name := p.Model.RuntimeEntity().ID
	for _, process := range forensics.RuntimeProcesses(p.Evidence.Processes) {
		if runtimes.OfProcess(process.Comm) == name {
			found = append(found, process)
		}
	}
	if len(found) != 1 {
		return procs.Process{}, false
	}
	return found[0], true
}

// kubeletRuntime is what is known of the container runtime that the kubelet uses: the one at its configured endpoint, else
// the only one of that name; nil if there is none or it is not known which.
func kubeletRuntime(p *forensics.Pass) *runtimes.Runtime {
	endpoint := strings.TrimPrefix(forensics.RuntimeEndpoint(p.Evidence), "unix://")
	name := p.Model.RuntimeEntity().ID
	var found []*runtimes.Runtime
	for i := range p.Evidence.Runtimes {
		r := &p.Evidence.Runtimes[i]
		if endpoint != "" && strings.TrimPrefix(endpoint, "/var") == strings.TrimPrefix(r.Socket, "/var") {
			return r
		}
		if r.Name == cri.StoreName(name) {
			found = append(found, r)
		}
	}
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

// runtimeRuns says whether a process of the kubelet's runtime runs on the host.
func runtimeRuns(p *forensics.Pass) bool {
	name := p.Model.RuntimeEntity().ID
	return slices.ContainsFunc(forensics.RuntimeProcesses(p.Evidence.Processes), func(process procs.Process) bool {
		return runtimes.OfProcess(process.Comm) == name && process.State != "Z"
	})
}
