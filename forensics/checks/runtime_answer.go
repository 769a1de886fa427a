package checks

import (
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

// runtimeSilent is the finding for a runtime that did not answer this program's own question, or that does not run.
func runtimeSilent(p *forensics.Pass) (forensics.Finding, bool) {
	r := p.Model.KubeletRuntime()
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
		f.Detail = capital(answerText(*r.Answer)) + ". The kubelet can start, change and stop no container while it does not answer; running ones go on."
		blameRuntimeProcess(p, &f)
	case seen && (r.Answer.Status == "refused" || r.Answer.Status == "not-owned") && !p.Model.RuntimeRuns():
		f.Severity, f.Confidence = forensics.Critical, forensics.Certain
		f.ConfidenceWhy = "no process of it is in /proc"
		f.Title = runtimeName(runtime) + " does not run"
		f.Detail = fmt.Sprintf("No process of it is on this node, and its socket %s is not served (%s). The kubelet can start, change and stop no container; those that run go on.",
			r.Socket, strings.TrimSpace(r.Answer.Detail))
	default:
		return forensics.Finding{}, false
	}
	f.Remedies = runtimeRemedies(p, runtime)
	if f.Confidence == forensics.Certain && !p.Model.RuntimeRuns() && unitName.MatchString(runtime.ID) {
		f.Remedies = append(f.Remedies, forensics.Remedy{
			Command: "journalctl -u " + runtime.ID + " -n 200", Why: "its last words say why it ended: a full disk, a damaged database, a killed process",
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
