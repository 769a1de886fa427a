package checks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/diskview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/cri"
	"github.com/nodeforensics/nodeforensics/internal/hearsay"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// runtimeUnresponsive finds a container runtime that does not respond to the kubelet.
var runtimeUnresponsive = forensics.Check{
	ID:    "runtime-unresponsive",
	Title: "The container runtime does not respond",
	Doc: `The kubelet calls the container runtime (containerd, CRI-O, docker) by gRPC over a unix socket, docker up to 1.23 also by
HTTP. A call times out after 2 minutes (--runtime-request-timeout) and is retried.

The runtime answers some calls from memory: Version, Status, lists, stats, status of a pod or container. If such a call has
waited for a minute or more, the runtime does not respond. It is critical if the call concerns the whole runtime, and a
warning if it is the status of single pods or containers. Calls that normally take long are left out: pulling an image,
stopping a container, running a command. The frames (runtimeServiceClient, imageServiceClient, in 1.10 to 1.36;
kubeDockerClient up to 1.23) name the call.

Dumps of the debug=0 and debug=1 forms have no durations. There, three or more goroutines in such calls at the same moment
are a warning. A runtime that is stopped by a signal (state T), or is itself blocked in a file system, is named as the cause.

Without goroutines the check uses a call of its own: Version over the runtime's socket, only if a process of the runtime
listens there. No answer within 2 s is a warning, because a busy node can be that slow. It is critical if the process is
stopped. A runtime without a running process is critical if the kubelet is configured for it or containers of it run. An
answer to Version alone does not prove a healthy runtime: lists and the status of pods can still hang.

A sentence that says of "docker ps" or the like that it does not return makes it possible, if nothing else is found.

The kubelet's log shows it, too: such calls that failed with DeadlineExceeded or Unavailable, "container runtime is down", also
as why the node is not ready, a socket that refuses. It is critical if that was logged for a minute or more and still at the log's end, and the log reaches
the examination. A problem that was over by then is information.

containerd's log shows when the shims of single containers have not answered it: three such messages up to the end of the log are a warning.`,
	Severity: forensics.Critical,
	Needs:    []forensics.Need{{forensics.SourceGoroutines, forensics.SourceRuntimeAnswer, forensics.SourceLogs}},
	Run: func(p *forensics.Pass) {
		if seen, why := p.Evidence.Saw(forensics.SourceGoroutines); !seen {
			p.Unjudged("without goroutines it is not known whether the kubelet waits for the runtime: %s", why)
		}
		list, inLog := askingRuntime(p), logview.Runtime(p)
		switch f, ok := runtimeSilent(p); {
		case len(list) > 0:
			p.Report(withRuntimeInLog(p, inLog, runtimeFinding(p, list)))
		case ok:
			p.Report(withRuntimeInLog(p, inLog, f))
		case inLog != nil:
			p.Report(silenceFinding(p, inLog))
		default:
			reportSilentShims(p)
		}
	},
}

// reportSilentShims reports containers whose shim has not answered containerd in time. It asks all of them again and again, for their metrics
// and their state.
func reportSilentShims(p *forensics.Pass) {
	spec := incident.Spec{Window: 6 * time.Minute, Subject: func(logs.Event) forensics.Entity { return p.Model.RuntimeEntity() }}
	for _, i := range spec.Find(p, logview.Events(p, "shim-silent")) {
		i.Expect(p, logview.FewFailures)
		ids := map[string]bool{}
		for _, e := range i.Events {
			ids[e.Container] = true
		}
		what, now := "A container shim", " does not respond to containerd"
		if len(ids) > 1 {
			what, now = findings.Plural(len(ids), "container shim"), " do not respond to containerd"
		}
		f := i.Finding(p, what+now, what+" did not respond to containerd")
		f.Effect = "containers can neither be started nor stopped"
		f.Detail = findings.Sentences(f.Detail, "Each container has a shim, a process that starts and ends it for containerd. One that does not respond is busy, stopped, or blocked in the kernel.")
		if i.Grave() {
			f.Remedies = []forensics.Remedy{incident.Look("shows shims and runc that are blocked in the kernel (state D) or stopped (T)", "ps", "-eo", "pid,ppid,state,wchan:32,args")}
		}
		p.Report(f)
	}
}

// askingRuntime lists the goroutines that wait for an answer that a healthy runtime gives at once.
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
			undated = append(undated, stall.Goroutine{Stack: s, Wait: w, Why: "this form of dump has no durations, but several goroutines wait at the same moment"})
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
		Effect: runtimeName(runtime) + " is not responding",
	}
	if worst.Proven && slices.ContainsFunc(list, func(t stall.Goroutine) bool { return t.Proven && stall.AsksWholeRuntime(t.Wait.Call) }) {
		f.Severity = forensics.Critical
	}
	if worst.Known {
		f.Title = runtimeTitle(runtime) + " has not answered " + stall.FewQuestions(list) + worst.HowLong()
	} else {
		f.Title = runtimeTitle(runtime) + " may not be responding: no answer yet to " + stall.FewQuestions(list)
	}
	if f.Severity == forensics.Critical {
		f.Title += podsCannot
	}
	f.Detail = fmt.Sprintf("%s Waiting for %s: %s (%s). A call times out after 2 minutes and is retried, so the problem may be much older. "+
		"A daemon does not respond here, not a file system of the kubelet.",
		noContainers, strings.Join(stall.Questions(list), ", "), stall.Goroutines(stall.Count(list)), stall.Askers(list))
	blameRuntimeProcess(p, &f)
	if r := kubeletRuntime(p); r != nil && r.Answer != nil {
		f.Detail += " " + answerText(*r.Answer) + "."
		f.Refs = append(f.Refs, answerRef(*r))
	}
	for _, t := range list[:min(len(list), findings.MaxQuoted)] {
		f.Refs = append(f.Refs, t.Ref())
	}
	f.Remedies = runtimeRemedies(p, runtime)
	return f
}

// What a runtime that does not respond means, for a headline and for a detail.
const (
	podsCannot   = "; pods cannot start or stop"
	noContainers = "The kubelet cannot start, change or stop containers. Running containers continue."
)

// blameRuntimeProcess adds why the runtime does not respond, where its process shows it: it is stopped, or one of its threads is blocked
// in a file system.
func blameRuntimeProcess(p *forensics.Pass, f *forensics.Finding) {
	process, ok := runtimeProcess(p)
	if !ok {
		return
	}
	if process.State == "T" || process.State == "t" {
		f.Severity, f.Confidence, f.ConfidenceWhy = forensics.Critical, forensics.Certain, "the state letter of its process; "+f.ConfidenceWhy
		f.Because = append(f.Because, forensics.Entity{Kind: forensics.KindProcess, ID: strconv.Itoa(process.PID)})
		f.Title = fmt.Sprintf("%s is not responding: process %d is stopped (%s)%s", runtimeTitle(f.Subject), process.PID, stoppedBy(process.State), podsCannot)
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
			Action: remedy.ActionResume, Why: "the runtime continues where it was stopped",
			OnlyIf: "no debugger traces it (TracerPid in /proc/PID/status is 0)", Risk: "none known",
		}, process.PID, "-CONT"))
	case !ok:
		remedies = append(remedies, forensics.Remedy{
			Action: remedy.ActionLook, Command: []string{"crictl", "info"},
			Why: "shows whether the container runtime responds now", Risk: "none: read-only",
		})
	case ok && runtime.ID == "containerd":
		remedies = append(remedies, remedy.Signal(forensics.Remedy{
			Action: remedy.ActionDump,
			Why:    "containerd writes its own goroutine dump to its log and to a file in its state directory. `nodeforensics goroutines` reads it",
			Risk:   "none: containerd continues",
		}, process.PID, "-USR1"))
	}
	return remedies
}

// runtimeTitle begins a headline.
func runtimeTitle(e forensics.Entity) string {
	if e.ID == "runtime" {
		return "Container runtime"
	}
	return e.ID
}

// runtimeName is "containerd", or "container runtime" where the name is not known.
func runtimeName(e forensics.Entity) string {
	if e.ID == "runtime" {
		return "container runtime"
	}
	return e.ID
}

// runtimeSilent is the finding for a runtime that did not answer this program's own call, or that does not run.
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
		f.Title, f.Effect = runtimeTitle(runtime)+" is not responding: no answer to Version", runtimeName(runtime)+" is not responding"
		f.ConfidenceWhy = "one call only, and a busy node can be slow"
		f.Detail = answerText(*r.Answer) + ". While it does not respond, the kubelet cannot start, change or stop containers. Running containers continue."
		blameRuntimeProcess(p, &f)
	case seen && (r.Answer.Status == "refused" || r.Answer.Status == "not-owned") && !runtimeRuns(p):
		f.Severity, f.Confidence = forensics.Critical, forensics.Certain
		f.ConfidenceWhy = "/proc has no process of the runtime"
		f.Title, f.Effect = runtimeTitle(runtime)+" is not running"+podsCannot, runtimeName(runtime)+" is not running"
		why := strings.TrimSpace(r.Answer.Detail)
		if why != "" {
			why = " (" + why + ")"
		}
		f.Detail = fmt.Sprintf("No process of %s runs on this node, and no process serves its socket %s%s. %s", runtimeName(runtime), r.Socket, why, noContainers)
	default:
		return forensics.Finding{}, false
	}
	f.Remedies = runtimeRemedies(p, runtime)
	if known, ok := cri.Of(runtime.ID); ok && f.Confidence == forensics.Certain && !runtimeRuns(p) {
		f.Remedies = append(f.Remedies, forensics.Remedy{
			Action: remedy.ActionLook, Command: []string{"journalctl", "-u", known.Units[0], "-n", "200"},
			Why:  "its last lines show why it ended: a full disk, a damaged database, a killed process",
			Risk: "none: read-only",
		})
	}
	return f, true
}

func answerText(a runtimes.Answer) string {
	switch a.Status {
	case "ok":
		return "It answered a Version call of this program at once, so not all of it is blocked"
	case "timeout":
		return strings.TrimSuffix("It did not answer a Version call of this program over its socket: "+a.Detail, ": ")
	}
	return strings.TrimSpace("This program could not call it over its socket: " + a.Status + " " + a.Detail)
}

func answerRef(r runtimes.Runtime) forensics.Ref {
	return forensics.Ref{Source: forensics.SourceRuntimeAnswer + ":" + r.Socket, Excerpt: strings.TrimSpace(r.Answer.Status + " " + r.Answer.Detail)}
}

// silenceFinding is the finding from the log alone.
func silenceFinding(p *forensics.Pass, s *logview.RuntimeSilence) forensics.Finding {
	runtime := p.Model.RuntimeEntity()
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: runtime, Confidence: forensics.Certain, ConfidenceWhy: "the kubelet's log says so",
		Title:  sinceTitle(runtime, s.Since),
		Effect: runtimeName(runtime) + " is not responding", Detail: noContainers,
		Remedies: runtimeRemedies(p, runtime),
	}
	switch {
	case !s.Current:
		f.Severity, f.Remedies = forensics.Info, nil
		f.Title = fmt.Sprintf("%s did not respond from %s to %s; no later line repeats it", runtimeTitle(runtime), logview.Moment(s.Since), logview.Clock(s.Until))
		f.Detail = "In that time the kubelet could not start, change or stop containers. Running containers continued. No line says that it recovered."
	}
	if !slices.ContainsFunc(s.Events, func(e logs.Event) bool { return e.Origin != "crictl" }) {
		f.Confidence, f.ConfidenceWhy = forensics.Likely, "crictl got no answer; it waits for seconds only, and the kubelet for two minutes"
		f.Title = runtimeTitle(runtime) + " has not answered crictl"
	}
	if !slices.ContainsFunc(s.Events, func(e logs.Event) bool { return e.Origin != hearsay.Origin }) {
		f.Severity, f.Lone, f.Confidence, f.ConfidenceWhy = forensics.Info, true, forensics.Possible, hearsay.Says
		f.Title = runtimeTitle(runtime) + " may not be responding: a command has not returned" + podsCannot
	}
	if !slices.ContainsFunc(s.Events, func(e logs.Event) bool { return e.Origin != "systemd" }) {
		f.ConfidenceWhy = "systemd logs how it ended"
		if s.Current {
			f.Title = runtimeTitle(runtime) + " has crashed, and the log shows no later start" + podsCannot
			if last := s.Events[len(s.Events)-1]; last.Last == nil && strings.Contains(last.Reason, ".service is ") { // as systemctl shows it
				f.Title, f.ConfidenceWhy = runtimeTitle(runtime)+" is not running"+podsCannot, "systemctl shows its state"
			}
		}
	}
	if s.Current {
		f.Detail = findings.Sentences(f.Detail, logview.AsOf(p))
		blameRuntimeProcess(p, &f)
		f.Because = append(f.Because, fullDisks(p)...)
		f.Because = append(f.Because, noThreads(p)...)
		if len(f.Because) == 0 {
			byNode(p, &f, s.Since, s.Until)
		}
	}
	return withRuntimeInLog(p, s, f)
}

// noThreads is the limit for which a runtime has ended.
func noThreads(p *forensics.Pass) (found []forensics.Entity) {
	for _, l := range limits {
		for _, i := range l.find(p) {
			if i.Grave() && slices.ContainsFunc(i.Events, endsService) {
				found = append(found, i.Subject)
			}
		}
	}
	return found
}

// fullDisks are those that leave no space for what a runtime writes.
func fullDisks(p *forensics.Pass) []forensics.Entity {
	found := measuredFull(p)
	for _, i := range fullUnmeasured(p) {
		if i.Current {
			found = append(found, i.Subject)
		}
	}
	return found
}

// measuredFull are those of which the figures say so.
func measuredFull(p *forensics.Pass) (found []forensics.Entity) {
	d := diskview.State(p)
	for _, f := range d.FileSystems {
		_, full := f.Full()
		if (full || f.AvailableBytes < f.CapacityBytes/1000) && f.Error == "" && kubeletWrites(d, f) && !diskview.ReadOnly(f) {
			found = append(found, diskview.Entity(f))
		}
	}
	return found
}

// sinceTitle is the headline for a runtime that the log shows as not responding.
func sinceTitle(runtime forensics.Entity, since *time.Time) string {
	return fmt.Sprintf("%s has not responded since %s%s", runtimeTitle(runtime), logview.Moment(since), podsCannot)
}

// withRuntimeInLog adds the log to a finding from a dump, or from the log itself.
func withRuntimeInLog(p *forensics.Pass, s *logview.RuntimeSilence, f forensics.Finding) forensics.Finding {
	if s == nil {
		return f
	}
	if f.Severity == forensics.Warning && s.Current && logview.Between(s.Since, s.Until) >= stall.StuckAfter && logview.Count(s.Events) > 2 && !logview.Stale(p) {
		f.Severity = forensics.Critical
		f.Title = sinceTitle(f.Subject, logview.Earliest(f.Since, s.Since)) // a dump without a proven age says only that it may not respond
		f.Confidence, f.ConfidenceWhy = forensics.Certain, findings.WithReason("the kubelet's log says so", f.ConfidenceWhy)
	}
	if s.Current || f.Since == nil {
		f.Since = logview.Earliest(f.Since, s.Since)
	}
	what := "In the kubelet's log"
	if len(s.Calls) > 0 {
		what += " " + findings.Some(s.Calls) + " failed"
	} else {
		what += " it is reported as down"
	}
	f.Detail = findings.Sentences(f.Detail, fmt.Sprintf("%s (%s, first %s, last %s: %s).",
		what, findings.Times(logview.Count(s.Events)), logview.Clock(logview.First(s.Events)), logview.Clock(s.Until), s.Reason))
	f.Refs = append(f.Refs, logview.EventRefs(s.Events...)...)
	return f
}

// runtimeProcess is the process of the container runtime; false where it is unknown or there are several.
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

// kubeletRuntime is the container runtime that the kubelet uses: the one at its configured endpoint, else the only one of that name; nil if
// there is none or several.
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
